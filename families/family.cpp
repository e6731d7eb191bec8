// Functions for the axes of every family.
#include "families/family.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

namespace assay::families {

bool Axis::holds(std::int64_t value) const {
  if (value < minimum || value > maximum) return false;
  if (!values.empty()) return std::ranges::find(values, value) != values.end();
  return !largest_whole || value <= *largest_whole || value >= kSmallestFloatBits;
}

std::string Axis::range() const {
  if (!values.empty()) return fmt::format("{}", fmt::join(values, ", "));
  if (!largest_whole) return fmt::format("{} .. {}", minimum, maximum);
  return fmt::format("{} .. {} and the bits of floats, {} .. {}", minimum, *largest_whole, kSmallestFloatBits, maximum);
}

bool Family::has_axis(std::string_view axis) const { return std::ranges::find(axes, axis, &Axis::name) != axes.end(); }

const Omission* Family::find_omission(std::string_view id) const {
  const auto found = std::ranges::find(omissions, id, &Omission::id);
  return found == omissions.end() ? nullptr : &*found;
}

std::size_t Family::axis_index(std::string_view axis) const {
  const auto found = std::ranges::find(axes, axis, &Axis::name);
  if (found == axes.end()) {
    std::vector<std::string_view> names;
    for (const Axis& known : axes) names.push_back(known.name);
    throw std::invalid_argument(fmt::format("family {} has no axis '{}'; it has {}", name(), axis, fmt::join(names, ", ")));
  }
  return static_cast<std::size_t>(found - axes.begin());
}

}  // namespace assay::families
