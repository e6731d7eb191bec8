// Names of constructed cases, which may not exist.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "harness/cases/case.h"

namespace assay::harness {

// Empty for a combination of axis values that no case has.
[[nodiscard]] inline std::optional<std::string> name_of(const Case& about) {
  try {
    return format_case(about);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace assay::harness
