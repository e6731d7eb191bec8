// Tables of values, and what [limits] leave of them.
#include "families/attention/factors.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "families/attention/axes.h"
#include "families/attention/contract.h"
#include "families/draw.h"
#include "families/shared/levels.h"

namespace assay::families::attention {
namespace {

std::vector<Level> numbers(AxisIndex axis, std::initializer_list<std::int64_t> everyday, std::initializer_list<std::int64_t> longer = {}) {
  std::vector<Level> levels;
  for (const std::int64_t value : everyday) levels.push_back({fmt::format("{}", value), {{axis, value}}});
  for (const std::int64_t value : longer) levels.push_back({fmt::format("{}", value), {{axis, value}}, false});
  return levels;
}

std::vector<Level> words(AxisIndex axis, std::span<const std::string_view> all) {
  std::vector<Level> levels;
  for (std::size_t i = 0; i < all.size(); ++i) levels.push_back({std::string(all[i]), {{axis, static_cast<std::int64_t>(i)}}});
  return levels;
}

std::vector<Level> pairs(AxisIndex first, AxisIndex second, std::initializer_list<std::pair<std::int64_t, std::int64_t>> all) {
  std::vector<Level> levels;
  for (const auto& [a, b] : all) levels.push_back({fmt::format("{}x{}", a, b), {{first, a}, {second, b}}});
  return levels;
}

std::vector<Level> masks() {
  std::vector<Level> levels;
  for (std::size_t kind = 0; kind < kMaskWords.size(); ++kind) {
    const bool is_windowed = kind == static_cast<std::size_t>(Mask::window) || kind == static_cast<std::size_t>(Mask::causal_window);
    if (!is_windowed) levels.push_back({std::string(kMaskWords[kind]), {{kMask, static_cast<std::int64_t>(kind)}, {kWindow, 0}}});
    for (const std::int64_t window : {1, 31, 32, 200}) {
      if (is_windowed)
        levels.push_back({fmt::format("{} {}", kMaskWords[kind], window), {{kMask, static_cast<std::int64_t>(kind)}, {kWindow, window}}});
    }
  }
  return levels;
}

std::vector<Level> caches() {
  const auto level = [](std::string label, Cache cache, std::int64_t room, std::int64_t start, std::int64_t page) {
    return Level{std::move(label), {{kCache, static_cast<std::int64_t>(cache)}, {kRoom, room}, {kRingStart, start}, {kPage, page}}};
  };
  return {level("contiguous", Cache::contiguous, 0, 0, 16),
          level("capacity + 1", Cache::capacity, 1, 0, 16),
          level("capacity + 40", Cache::capacity, 40, 0, 16),
          level("ring 0", Cache::ring, 7, 0, 16),
          level("ring 1", Cache::ring, 0, 1, 16),
          level("ring 5", Cache::ring, 9, 5, 16),
          level("page 8", Cache::paged, 0, 0, 8),
          level("page 16", Cache::paged, 0, 0, 16),
          level("page 32", Cache::paged, 0, 0, 32)};
}

bool has_level(const FactorTable& table, AxisIndex axis, std::int64_t value) {
  return std::ranges::any_of(table.levels,
                             [&](const Level& level) { return std::ranges::find(level.values, Given{axis, value}) != level.values.end(); });
}

// Values of two axes that [limits] names and no level has: with each that [limits] names for the other axis, or twice the same.
void add_pairs(FactorTable& table, AxisIndex first, AxisIndex second, std::span<const kernels::AxisLimit> limits) {
  const std::vector<std::int64_t> all_first = limit_of(limits, first);
  const std::vector<std::int64_t> all_second = limit_of(limits, second);
  const auto add = [&](std::int64_t a, std::int64_t b) {
    if (a < 1 || b < 1 || (first == kHeads && a % b != 0)) return;
    const bool is_known =
        std::ranges::any_of(table.levels, [&](const Level& level) { return level.values == std::vector<Given>{{first, a}, {second, b}}; });
    if (!is_known) table.levels.push_back({fmt::format("{}x{}", a, b), {{first, a}, {second, b}}});
  };
  for (const std::int64_t a : all_first) {
    if (has_level(table, first, a)) continue;
    for (const std::int64_t b : all_second.empty() ? std::vector<std::int64_t>{a} : all_second) add(a, b);
  }
  for (const std::int64_t b : all_second) {
    if (has_level(table, second, b)) continue;
    for (const std::int64_t a : all_first.empty() ? std::vector<std::int64_t>{b} : all_first) add(a, b);
  }
}

void add_windows(FactorTable& table, std::span<const kernels::AxisLimit> limits) {
  const std::vector<std::int64_t> kinds = limit_of(limits, kMask);
  for (const std::int64_t window : limit_of(limits, kWindow)) {
    if (window < 1 || has_level(table, kWindow, window)) continue;
    for (const std::int64_t kind : {static_cast<std::int64_t>(Mask::window), static_cast<std::int64_t>(Mask::causal_window)}) {
      if (std::ranges::find(kinds, kind) != kinds.end())
        table.levels.push_back(
            {fmt::format("{} {}", kMaskWords[static_cast<std::size_t>(kind)], window), {{kMask, kind}, {kWindow, window}}});
    }
  }
}

void add_pages(FactorTable& table, std::span<const kernels::AxisLimit> limits) {
  const std::vector<std::int64_t> kinds = limit_of(limits, kCache);
  const auto paged = static_cast<std::int64_t>(Cache::paged);
  if (std::ranges::find(kinds, paged) == kinds.end()) return;
  for (const std::int64_t page : limit_of(limits, kPage)) {
    if (page >= 1 && !has_level(table, kPage, page))
      table.levels.push_back({fmt::format("page {}", page), {{kCache, paged}, {kRoom, 0}, {kRingStart, 0}, {kPage, page}}});
  }
}

// Every pair of head sizes that [limits] admits. Without a limit of dv: those of the table.
void add_dims(FactorTable& table, std::span<const kernels::AxisLimit> limits) {
  const std::vector<std::int64_t> all_dk = limit_of(limits, kDk);
  const auto limit = std::ranges::find(limits, axes()[kDv].name, &kernels::AxisLimit::axis);
  if (limit == limits.end()) return add_pairs(table, kDk, kDv, limits);
  std::erase_if(table.levels, [&](const Level& level) { return !limit->admits(level.values[1].second, level.values[0].second); });
  for (const std::int64_t dk : all_dk) {
    for (const std::int64_t dv : limit->values) {
      const bool is_known =
          std::ranges::any_of(table.levels, [&](const Level& level) { return level.values == std::vector<Given>{{kDk, dk}, {kDv, dv}}; });
      if (dk >= 1 && dv >= 1 && !is_known && limit->admits(dv, dk))
        table.levels.push_back({fmt::format("{}x{}", dk, dv), {{kDk, dk}, {kDv, dv}}});
    }
  }
}

}  // namespace

std::vector<FactorTable> all_factors() {
  return {
      {"dims", pairs(kDk, kDv,
                     {{32, 32},
                      {64, 64},
                      {72, 72},
                      {80, 80},
                      {96, 96},
                      {112, 112},
                      {128, 128},
                      {192, 192},
                      {256, 256},
                      {512, 512},
                      {192, 128},
                      {576, 512}})},
      {"heads", pairs(kHeads, kKvHeads, {{1, 1}, {4, 4}, {8, 2}, {8, 1}, {32, 8}, {6, 3}, {5, 1}})},
      {"batch", numbers(kBatch, {1, 2, 3})},
      {"queries", numbers(kQueries, {1, 2, 7, 8, 9, 31, 32, 33, 64, 65})},
      {"keys",
       numbers(kKeys, {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1000, 1024, 1025, 2048}, {4096, 16384})},
      {"type", words(kType, kStorageWords)},
      {"k_type", words(kKType, kKeyTypeWords)},
      {"v_type", words(kVType, kKeyTypeWords)},
      {"out_type", words(kOutType, kOutTypeWords)},
      {"mask", masks()},
      {"mask_type", words(kMaskType, kOutTypeWords)},
      {"mask_planes", words(kMaskPlanes, kPlaneWords)},
      {"mask_gaps", words(kMaskGaps, kNoYesWords)},
      {"offset", words(kOffset, kOffsetWords)},
      {"softcap", numbers(kSoftcap, {0, 30, 50})},
      {"sinks", words(kSinks, kSinkWords)},
      {"scale", words(kScale, kScaleWords)},
      {"cache", caches()},
      {"layout", words(kLayout, kLayoutWords)},
      {"shared_kv", words(kSharedKv, kNoYesWords)},
      {"ragged", words(kRagged, kRaggedWords)},
      {"gaps", words(kGaps, kGapWords)},
      {"blocks", numbers(kBlocks, {1, 2, 3, 8, 16, 32})},
      {"nsg", numbers(kNsg, {1, 2, 4, 8, 32})},
  };
}

AxisValues first_values(const std::vector<FactorTable>& tables) {
  AxisValues first{};
  for (const FactorTable& table : tables) {
    for (const auto& [axis, value] : table.levels.empty() ? std::vector<Given>() : table.levels.front().values) first[axis] = value;
  }
  return first;
}

AxisValues least_values(const std::vector<FactorTable>& tables) {
  AxisValues least{};
  for (const FactorTable& table : tables) {
    for (const Level& level : table.levels) {
      for (std::size_t i = 0; i < level.values.size(); ++i) {
        const auto [axis, value] = level.values[i];
        least[axis] = &level == table.levels.data() ? value : std::min(least[axis], value);
      }
    }
  }
  return least;
}

bool is_possible(std::span<const std::int64_t> v, const AxisValues& first, const AxisValues& least) {
  const auto is = [&](AxisIndex axis, std::int64_t value) { return v[axis] == value; };
  const auto is_set = [&](std::initializer_list<AxisIndex> several) {
    return std::ranges::all_of(several, [&](AxisIndex axis) { return v[axis] != kOpen; });
  };
  // Of an open axis, what it will be at least: a design that met a contradiction at the last axis only would try all values of the others.
  const auto at_least = [&](AxisIndex axis) { return v[axis] == kOpen ? least[axis] : v[axis]; };
  const auto is_used = [&](AxisIndex axis) { return at_least(axis) > 0; };
  const bool is_alibi = at_least(kMask) >= static_cast<std::int64_t>(Mask::alibi);
  const bool has_mask_type = v[kMask] == kOpen || is(kMask, 5) || is_alibi;
  const bool has_planes = has_mask_type || is(kMask, 4);
  const bool has_offset = v[kMask] == kOpen || is(kMask, 1) || is(kMask, 2) || is(kMask, 3) || is_alibi;
  const auto is_chosen = [&](AxisIndex axis) { return v[axis] != kOpen && v[axis] != first[axis]; };
  if (is_chosen(kMaskType) && !has_mask_type) return false;
  if ((is_chosen(kMaskPlanes) || is_chosen(kMaskGaps)) && !has_planes) return false;
  if (is_chosen(kOffset) && !has_offset) return false;
  // A batch alone shares nothing, and all of it is as long as it is.
  if ((is_used(kSharedKv) || is_used(kRagged)) && is(kBatch, 1)) return false;
  // Batches of different lengths have different distances, which a mask that they share cannot hold: they differ by a constant, which
  // softmax does not see, and a sink does.
  if (is_alibi && is_used(kRagged) && (at_least(kQueries) > 1 || is_used(kSinks))) return false;
  if (is(kSharedKv, 1) && is(kCache, 3)) return false;
  if (is_set({kRingStart, kKeys, kRoom}) && is(kCache, 2) && v[kRingStart] >= v[kKeys] + v[kRoom]) return false;
  const auto needs_blocks = [&](AxisIndex type) { return at_least(type) >= kFirstOfBlocks; };
  if (needs_blocks(kKType) && is_set({kDk}) && v[kDk] % 32 != 0) return false;
  if (needs_blocks(kVType) && is_set({kDv}) && v[kDv] % 32 != 0) return false;
  if (needs_blocks(kKType) && is(kVType, 0) && is_set({kDv}) && v[kDv] % 32 != 0) return false;
  if (at_least(kLayout) != 2) return true;
  const bool differs = is_set({kQueries, kKeys}) && v[kQueries] != v[kKeys];
  if (is(kGaps, 1) || is(kGaps, 2)) return false;
  const bool has_cache = is_used(kCache) || is_used(kSharedKv) || is_used(kKType) || is_used(kVType);
  return !differs && !has_cache && !(is_set({kDk, kDv}) && v[kDk] != v[kDv]);
}

std::vector<std::int64_t> limit_of(std::span<const kernels::AxisLimit> limits, AxisIndex axis) {
  const auto limit = std::ranges::find(limits, axes()[axis].name, &kernels::AxisLimit::axis);
  return limit == limits.end() ? std::vector<std::int64_t>() : limit->values;
}

std::vector<FactorTable> factors_within(std::span<const kernels::AxisLimit> limits) {
  std::vector<FactorTable> tables = all_factors();
  for (const kernels::AxisLimit& limit : limits) {
    const auto axis = std::ranges::find(axes(), limit.axis, &Axis::name);
    if (axis == axes().end()) continue;  // reported when the variant is selected
    const auto index = static_cast<AxisIndex>(axis - axes().begin());
    for (FactorTable& table : tables) {
      const auto excluded = [&](const Level& level) {
        return std::ranges::any_of(level.values, [&](const Given& given) {
          return given.first == index && std::ranges::find(limit.values, given.second) == limit.values.end();
        });
      };
      // Numbers that no table has, such as a head size of 100, are levels of their own.
      const bool is_number =
          table.levels.size() > 0 && table.levels.front().values.size() == 1 && table.levels.front().values[0].first == index;
      std::erase_if(table.levels, excluded);
      for (const std::int64_t value : limit.values) {
        const bool known = std::ranges::any_of(table.levels, [&](const Level& level) {
          return std::ranges::any_of(level.values, [&](const Given& given) { return given == Given{index, value}; });
        });
        if (!known && value >= 0 && is_number) table.levels.push_back({fmt::format("{}", value), {{index, value}}});
      }
    }
  }
  for (FactorTable& table : tables) {
    if (table.name == "dims") add_dims(table, limits);
    if (table.name == "heads") add_pairs(table, kHeads, kKvHeads, limits);
    if (table.name == "mask") add_windows(table, limits);
    if (table.name == "cache") add_pages(table, limits);
  }
  // Everyday levels come first, as Factor wants it.
  for (FactorTable& table : tables) {
    std::vector<Level> ordered;
    for (const bool everyday : {true, false})
      std::ranges::copy_if(table.levels, std::back_inserter(ordered), [&](const Level& level) { return level.is_everyday == everyday; });
    table.levels = std::move(ordered);
  }
  return tables;
}

}  // namespace assay::families::attention
