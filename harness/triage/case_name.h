// Names of cases that were made up, and may not exist.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "harness/cases/case.h"

namespace assay::harness {

// Nothing for axis values that no case has together.
[[nodiscard]] inline std::optional<std::string> name_of(const Case& about) {
  try {
    return format_case(about);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace assay::harness
