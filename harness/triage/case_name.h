// Names of constructed cases, which may not exist.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "harness/cases/case.h"

namespace assay::harness {

// Empty for a combination of axis values that no case has.
[[nodiscard]] inline std::optional<std::string> name_of(const Case& test_case) {
  try {
    return format_case(test_case);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace assay::harness
