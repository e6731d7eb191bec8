// A place in the user's source.
#pragma once

#include <cstdint>
#include <string>

namespace assay::metal {

struct SourceLocation {
  std::string file;
  std::uint32_t line = 0;

  friend bool operator==(const SourceLocation&, const SourceLocation&) = default;
};

}  // namespace assay::metal
