// What the HTML page knows of a run, as JSON: columns with a value per case, so that tens of thousands of cases are read in no time, and
// what only a look at one case needs in parts of their own, which the page reads when somebody looks.
//
// Seeds are texts, and so are values of axes that a double does not hold. Texts that repeat are numbers: places in "words". What is no
// number is null, infinities are the texts "inf" and "-inf".
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// {"run": {...}, "words": [...], "findings": [...],
//  "cases": {"name", "variant", "family", "fixture", "status", "reason", "note", "replay", "seed", "ratio", "sharpness", "compared",
//            "faulty", "seconds": [...] each},
//  "axes": {family: {axis: [a value per case of the family]}}, "counters": {name: [...]}}
// "replay" is what follows the case's name in the line that repeats it; "sharpness" the median of bound / magnitude; "seconds" those of the
// simulator. A counter that no case has is left out.
[[nodiscard]] std::string page_data(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

inline constexpr std::size_t kDetailsPerPart = 256;

// [{"figures": {...}, "schedules", "digest", "row_length", "worst"?: [[element, expected, actual, bound, ratio, fault]], "hazards"?,
// "stages"?,
//   "known"?}], one per case.
[[nodiscard]] std::string page_details(std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
