// The class of a mistake of which no repair is known, or not yet.
#pragma once

#include <span>

#include "harness/cases/case.h"
#include "harness/triage/classify.h"
#include "harness/triage/focus.h"
#include "harness/triage/triage.h"

namespace assay::harness {

// What the mistake is about, as far as it is known before a repair is. A number that was fitted to outputs, and a known mistake that
// explains little of the error, tell less than what only the failing cases have.
[[nodiscard]] Classification likely_class(const Classification& classification, std::span<const Case> failing,
                                          std::span<const Case> passed);

// Without a repair, the first value that is computed wrongly tells more than a number fitted to outputs, or nothing.
void classify_by_landmark(const Focus& focus, std::span<const Case> failing, std::span<const Case> passed, Classification& classification);

// Says what only the failing cases have, which also gives a class to what has none. Without a repair, it tells more than a known mistake
// that explains a part of the error.
void add_common(std::span<const Case> failing, std::span<const Case> passed, Finding& finding);

}  // namespace assay::harness
