// Tries the factors that take one element to some number.
#include "harness/triage/common_factor.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace assay::harness {

std::optional<double> common_factor(const std::vector<double>& numbers, const ElementList& elements, double tolerance) {
  constexpr std::size_t few = 6, many = 64;  // numbers for each element
  if (elements.size() < few || numbers.empty() || numbers.size() > many * elements.size()) return std::nullopt;
  std::vector<families::LandmarkElement> firsts;
  for (const families::LandmarkElement* element : elements)
    firsts.push_back({.values = {element->values.front()}, .coarseness = element->coarseness});
  // The largest first: rounding changes it least.
  std::ranges::sort(firsts, std::ranges::greater(), [](const families::LandmarkElement& one) { return std::abs(one.values.front()); });
  // Equal elements are met together.
  if (std::abs(firsts.front().values.front()) <= (1 + tolerance) * std::abs(firsts.back().values.front())) return std::nullopt;
  ElementList some, all;
  for (const families::LandmarkElement& first : firsts) {
    if (some.size() < few) some.push_back(&first);
    all.push_back(&first);
  }
  const double pivot = firsts.front().values.front();
  for (const double number : numbers) {
    const double factor = number / pivot;
    constexpr double least = 1e-9, most = 1e9, same = 1e-3;
    if (std::abs(factor) < least || std::abs(factor) > most || std::abs(factor - 1) < same) continue;
    if (cover(numbers, some, factor, tolerance).held != some.size()) continue;
    if (cover(numbers, all, factor, tolerance).held == all.size()) return factor;
  }
  return std::nullopt;
}

}  // namespace assay::harness
