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

namespace assay::reports {

// {"run": {...}, "words": [...], "findings": [...],
//  "cases": {"name", "variant", "family", "fixture", "status", "reason", "note", "replay", "seed", "ratio", "sharpness", "compared",
//            "faulty", "seconds": [...] each},
//  "causes"?, "cause_of"?: what triage found, and the index of the cause for each case or null; "remarks"?: groups of similar ones
//  "axes": {family: {axis: [a value per case of the family]}}, "counters": {name: [...]}}
// "replay" is what follows the case's name in the line that repeats it; "sharpness" the median of bound / magnitude; "seconds" those of the
// simulator. A counter that no case has is left out.
[[nodiscard]] std::string page_data(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

inline constexpr std::size_t kDetailsPerPart = 256;

// [{"figures": {...}, "schedules", "digest", "row_length", "worst"?: [[element, expected, actual, bound, ratio, fault]], "hazards"?,
// "remarks"?, "stages"?,
//   "known"?}], one per case.
[[nodiscard]] std::string page_details(std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
