// Where a kernel makes the first NaN.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "harness/triage/laboratory.h"
#include "metal/hazard.h"

namespace assay::harness {

// Of a failing case whose worst element is no number, or 0: the first line, under the policy `checked`, that makes one of numbers that are
// none, but does so in none of the passing cases, of which a few are tried. nullopt if there is none.
[[nodiscard]] std::optional<metal::Hazard> find_nan_birth(Laboratory& laboratory, const Verdict& failing,
                                                          std::span<const Observation> passing);

// "-inf - -inf": what such a line computes.
[[nodiscard]] std::string formula_of(const metal::Hazard& birth);

// Whether it is the difference of two maxima of nothing, or the quotient of two sums of nothing.
[[nodiscard]] bool is_of_nothing(const metal::Hazard& birth);

}  // namespace assay::harness
