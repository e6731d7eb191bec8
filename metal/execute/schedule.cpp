// Reads and writes the name of a schedule.
#include "metal/execute/schedule.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/text.h"

namespace assay::metal {

Schedule Schedule::parse(std::string_view text) {
  if (text == "forward") return {Kind::forward, 0};
  if (text == "reverse") return {Kind::reverse, 0};
  constexpr std::string_view kRandom = "random:";
  if (text.starts_with(kRandom)) {
    if (const auto seed = base::number_of<std::uint64_t>(text.substr(kRandom.size()))) return {Kind::random, *seed};
  }
  throw std::invalid_argument(fmt::format("schedule '{}' is none of forward, reverse, random:<seed>", text));
}

std::string Schedule::to_string() const {
  switch (kind) {
    case Kind::forward:
      return "forward";
    case Kind::reverse:
      return "reverse";
    case Kind::random:
      break;
  }
  return fmt::format("random:{}", seed);
}

}  // namespace assay::metal
