// Names of engines.
#include "metal/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace assay::metal {

namespace {

// In the order of Engine.
constexpr std::array<std::string_view, 2> kEngines = {"vector", "fibers"};

}  // namespace

std::string_view to_string(Engine engine) { return kEngines.at(static_cast<std::size_t>(engine)); }

Engine parse_engine(std::string_view text) {
  const auto* const found = std::ranges::find(kEngines, text);
  if (found != kEngines.end()) return static_cast<Engine>(found - kEngines.begin());
  throw std::invalid_argument(fmt::format("'{}' is no engine: accepted are vector and fibers", text));
}

}  // namespace assay::metal
