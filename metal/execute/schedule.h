// The order in which the simdgroups of a threadgroup take turns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::metal {

// The results of a correct kernel do not depend on the schedule.
struct Schedule {
  enum class Kind { forward, reverse, random } kind = Kind::forward;
  std::uint64_t seed = 0;  // for `random`

  // "forward", "reverse" or "random:<seed>"; throws std::invalid_argument for anything else.
  static Schedule parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;
};

}  // namespace assay::metal
