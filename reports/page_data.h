// The data of the HTML page as JSON: columns with one value per case, so that tens of thousands of cases load quickly, and details of
// single cases in separate parts that the page loads on demand.
//
// Seeds are strings, and so are axis values that a double cannot represent. Repeated strings are indices into "words". NaN is null,
// infinities are the strings "inf" and "-inf".
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/ledger/ledger.h"
#include "reports/other_runs.h"
#include "reports/source_root.h"

namespace assay::reports {

class Histories;
class SourceFiles;

// What the page says of other runs: null, nothing.
struct PageOthers {
  const AgainstRun* against = nullptr;
  const Histories* histories = nullptr;
  const SourceRoot* root = nullptr;  // from which reasons name files; null: without folders
};

// {"run": {...}, "words": [...], "findings": [...],
//  "cases": {"name", "variant", "family", "fixture", "status", "reason", "note", "replay", "seed", "ratio", "sharpness", "compared",
//            "faulty", "seconds", "expected", "error": [...] each},
//  "shared"?: sentences on what failing cases have in common
//  "causes"?, "cause_of"?: what triage found, and the index of the cause for each case or null; "remarks"?: groups of similar ones
//  "sources"?: {file: {line: text}}: the lines around the places that cases name; "against"?, "past"?: page_others.h
//  "axes": {family: {axis: [a value per case of the family]}}, "counters": {name: [...]}}
// "replay" is what follows the case's name in the line that repeats it; "sharpness" the median of bound / magnitude; "seconds" those of the
// simulator; "expected" and "error" the magnitude of the expected value and the error of the element with the largest error / bound. A
// counter that no case has is left out.
[[nodiscard]] std::string page_data(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases,
                                    const PageOthers& others = {});

inline constexpr std::size_t kDetailsPerPart = 256;

// [{"figures": {...}, "schedules", "digest", "row_length", "worst"?: [[element, expected, actual, bound, ratio, fault]],
//   "hazards"?, "remarks"?: [[text, count, [[file, line], ...]]], "stages"?, "known"?, "past"?}], one per case.
[[nodiscard]] std::string page_details(std::span<const harness::CaseRecord> cases, const Histories* histories = nullptr,
                                       const SourceFiles* files = nullptr);

}  // namespace assay::reports
