// Finds what failing cases have that most passing ones have not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/cases/case.h"

namespace assay::harness {

struct CommonFeature {
  std::string_view kind;  // a class; empty if mistakes in it are of many classes
  std::string says;       // "only cases with a soft cap fail so: 12 of 12; of the 40 others none"
};

// The most special feature of the family that all of the failing cases have, with a second one if few others have both; or the most usual
// one without which few fail and with which none passes. nullopt if that could be chance, such as for few cases.
[[nodiscard]] std::optional<CommonFeature> common_feature(std::span<const Case> failing, std::span<const Case> passing);

}  // namespace assay::harness
