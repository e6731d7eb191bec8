// A stable sort by a number; the one of <algorithm> causes a warning about a deprecated function in its own library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace assay::harness {

template <typename Value, typename Key>
void order_by(std::vector<Value>& values, const Key& key) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < values.size(); ++i) order.emplace_back(static_cast<double>(key(values[i])), i);
  std::ranges::sort(order);
  std::vector<Value> sorted;
  sorted.reserve(values.size());
  for (const auto& [unused, i] : order) sorted.push_back(std::move(values[i]));
  values = std::move(sorted);
}

}  // namespace assay::harness
