// Family `attention`: dense attention of any project, with its launch and its arguments described as data.
// Long because the descriptor has the tables of all axes, words and classes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "families/attention/contract.h"
#include "families/attention/job.h"
#include "families/attention/layout.h"
#include "families/attention/names.h"
#include "families/attention/omissions.h"
#include "families/attention/shape.h"
#include "families/attention/sketch.h"
#include "families/draw.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace {

using namespace attention;
using Values = std::span<std::int64_t>;
using Given = std::pair<AxisIndex, std::int64_t>;

// Rows of the smallest type, 32 coordinates of q4_0, that have more than 2^33 bytes.
constexpr std::int64_t kMostRoom = std::int64_t{1} << 29U;

// One level of a factor: the values of its axes.
struct Level {
  std::string label;
  std::vector<Given> values;
  bool is_everyday = true;
};

struct FactorTable {
  std::string_view name;
  std::vector<Level> levels;
};

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

// All values that a gate must meet.
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

const std::vector<Axis>& axes() {
  static const std::vector<Axis> axes = [] {
    const auto size = [](std::string_view name, std::int64_t most, Weight weight = Weight::factor) {
      return Axis{.name = name, .minimum = 0, .maximum = most, .initial = 1, .weight = weight, .tried = Tried::counts, .simplest = 1};
    };
    const auto choice = [](std::string_view name, std::size_t count) {
      return Axis{.name = name,
                  .minimum = 0,
                  .maximum = static_cast<std::int64_t>(count) - 1,
                  .initial = 0,
                  .weight = Weight::choice,
                  .tried = Tried::simplest};
    };
    std::vector<Axis> all = {size("b", 64), size("h", 4096), size("g", 4096, Weight::extent), size("lq", 1 << 16), size("lk", 1 << 21)};
    all.back().brief = "n";
    all.back().is_length = true;
    all.push_back({.name = "dk", .minimum = 1, .maximum = 4096, .initial = 128, .brief = "d", .weight = Weight::factor});
    all.push_back({.name = "dv", .minimum = 1, .maximum = 4096, .initial = 128, .weight = Weight::extent});
    all.push_back(choice("type", kStorageWords.size()));
    all.push_back(choice("k_type", kKeyTypeWords.size()));
    all.push_back(choice("v_type", kKeyTypeWords.size()));
    all.push_back(choice("out_type", kOutTypeWords.size()));
    all.push_back({.name = "mask", .minimum = 0, .maximum = 7, .initial = 0, .weight = Weight::choice});
    all.push_back({.name = "window", .minimum = 0, .maximum = 1 << 21, .initial = 0, .weight = Weight::start});
    all.push_back(choice("mask_type", kOutTypeWords.size()));
    all.push_back(choice("mask_planes", kPlaneWords.size()));
    all.push_back(choice("mask_gaps", 2));
    all.push_back(choice("offset", kOffsetWords.size()));
    all.push_back({.name = "softcap", .minimum = 0, .maximum = 1 << 20, .initial = 0, .weight = Weight::choice, .tried = Tried::simplest});
    all.push_back(choice("sinks", kSinkWords.size()));
    all.push_back(choice("scale", 2));
    all.push_back({.name = "cache", .minimum = 0, .maximum = 3, .initial = 0, .weight = Weight::choice});
    all.push_back({.name = "room", .minimum = 0, .maximum = kMostRoom, .initial = 0, .weight = Weight::extent});
    all.push_back({.name = "ring_start", .minimum = 0, .maximum = kMostRoom, .initial = 0, .weight = Weight::start});
    all.push_back({.name = "page_size", .minimum = 1, .maximum = 4096, .initial = 16, .weight = Weight::extent});
    all.push_back({.name = "layout", .minimum = 0, .maximum = 2, .initial = 0, .weight = Weight::choice});
    all.push_back(choice("shared_kv", 2));
    all.push_back(choice("ragged", kRaggedWords.size()));
    all.push_back(choice("gaps", kGapWords.size()));
    for (const std::string_view name : {"blocks", "nsg"}) {
      Axis axis = size(name, 1024, Weight::repeat);
      axis.is_launch_choice = true;
      axis.is_simdgroups = name == "nsg";
      all.push_back(axis);
    }
    Axis far = choice("far", 2);
    far.may_be_absent = true;
    all.push_back(far);
    return all;
  }();
  return axes;
}

// Spellings of one storage type each.
Word storage_word(std::string_view axis, std::string_view prefix, std::span<const std::string_view> names) {
  static std::deque<std::string> spellings;
  Word word{{}, true};
  for (std::size_t i = 0; i < names.size(); ++i)
    word.forms.push_back({spellings.emplace_back(fmt::format("{}{}", prefix, names[i])), {{axis, static_cast<std::int64_t>(i)}}});
  return word;
}

const std::vector<Word>& case_words() {
  static const std::vector<Word> all = [] {
    std::vector<Word> words;
    Word type = storage_word("type", "", kStorageWords);
    type.optional = false;
    words.push_back(type);
    words.push_back({{{"d{dk}x{dv}", {}}}});
    words.push_back({{{"b{b}", {}}}});
    words.push_back({{{"h{h}x{g}", {}}}});
    words.push_back({{{"q{lq}", {}}}});
    words.push_back({{{"k{lk}", {}}}});
    words.push_back(storage_word("k_type", "k_", kKeyTypeWords));
    words.push_back(storage_word("v_type", "v_", kKeyTypeWords));
    words.push_back(storage_word("out_type", "out_", kOutTypeWords));
    words.push_back({{{"nomask", {{"mask", 0}, {"window", 0}}},
                      {"causal", {{"mask", 1}, {"window", 0}}},
                      {"window{window}", {{"mask", 2}}},
                      {"causal_window{window}", {{"mask", 3}}},
                      {"boolean", {{"mask", 4}, {"window", 0}}},
                      {"additive", {{"mask", 5}, {"window", 0}}},
                      {"alibi", {{"mask", 6}, {"window", 0}}},
                      {"causal_alibi", {{"mask", 7}, {"window", 0}}}}});
    words.push_back(storage_word("mask_type", "mask_", kOutTypeWords));
    words.push_back(storage_word("mask_planes", "planes_", kPlaneWords));
    words.push_back({{{"mask_gaps", {{"mask_gaps", 1}}}}, true});
    words.push_back(storage_word("offset", "offset_", kOffsetWords));
    words.push_back({{{"cap{softcap}", {}}}, true});
    words.push_back({{{"sinks", {{"sinks", 1}}}, {"sinks_typed", {{"sinks", 2}}}}, true});
    words.push_back({{{"scale_one", {{"scale", 1}}}}, true});
    words.push_back({{{"room{room}", {{"cache", 1}, {"ring_start", 0}, {"page_size", 16}}},
                      {"ring{ring_start}room{room}", {{"cache", 2}, {"page_size", 16}}},
                      {"page{page_size}room{room}", {{"cache", 3}, {"ring_start", 0}}}},
                     true});
    words.push_back({{{"blhd", {{"layout", 1}}}, {"packed", {{"layout", 2}}}}, true});
    words.push_back({{{"shared_kv", {{"shared_kv", 1}}}}, true});
    words.push_back({{{"ragged", {{"ragged", 1}}}, {"ragged_empty", {{"ragged", 2}}}}, true});
    words.push_back(storage_word("gaps", "gaps_", kGapWords));
    words.push_back({{{"blocks{blocks}", {}}}, true});
    words.push_back({{{"nsg{nsg}", {}}}, true});
    words.push_back({{{"far", {{"far", 1}}}}, true});
    return words;
  }();
  return all;
}

constexpr std::array<std::string_view, 14> kFixtures = {"gauss",        "heavy",          "outlier",      "needle",     "uniform",
                                                        "drift",        "cancel",         "large",        "zero",       "tiny",
                                                        "all_negative", "sink_dominates", "softcap_edge", "one_key_far"};

bool has_fixture(const fixtures::Fixture& fixture) {
  return fixture.name == "mask_rows" || std::ranges::find(kFixtures, fixture.name) != kFixtures.end();
}

// The values of the first level of every factor: those of features that a case does not use.
std::array<std::int64_t, kAxisCount> first_values(const std::vector<FactorTable>& tables) {
  std::array<std::int64_t, kAxisCount> first{};
  for (const FactorTable& table : tables) {
    for (const auto& [axis, value] : table.levels.empty() ? std::vector<Given>() : table.levels.front().values) first[axis] = value;
  }
  return first;
}

// Whether values that are set can be part of a valid case. Open ones are kOpen.
bool is_possible(std::span<const std::int64_t> v, const std::array<std::int64_t, kAxisCount>& first) {
  const auto is = [&](AxisIndex axis, std::int64_t value) { return v[axis] == value; };
  const auto is_set = [&](std::initializer_list<AxisIndex> several) {
    return std::ranges::all_of(several, [&](AxisIndex axis) { return v[axis] != kOpen; });
  };
  const auto more_than_first = [&](AxisIndex axis) { return v[axis] > 0; };
  const bool is_alibi = is(kMask, 6) || is(kMask, 7);
  const bool has_mask_type = v[kMask] == kOpen || is(kMask, 5) || is_alibi;
  const bool has_planes = has_mask_type || is(kMask, 4);
  const bool has_offset = v[kMask] == kOpen || is(kMask, 1) || is(kMask, 2) || is(kMask, 3) || is_alibi;
  const auto is_chosen = [&](AxisIndex axis) { return v[axis] != kOpen && v[axis] != first[axis]; };
  if (is_chosen(kMaskType) && !has_mask_type) return false;
  if ((is_chosen(kMaskPlanes) || is_chosen(kMaskGaps)) && !has_planes) return false;
  if (is_chosen(kOffset) && !has_offset) return false;
  // A batch alone shares nothing, and all of it is as long as it is.
  if ((is(kSharedKv, 1) || more_than_first(kRagged)) && is(kBatch, 1)) return false;
  // Batches of different lengths have different distances, which a mask that they share cannot hold.
  if (is_alibi && more_than_first(kRagged) && is_set({kQueries}) && v[kQueries] > 1) return false;
  if (is(kSharedKv, 1) && is(kCache, 3)) return false;
  if (is_set({kRingStart, kKeys, kRoom}) && is(kCache, 2) && v[kRingStart] >= v[kKeys] + v[kRoom]) return false;
  const auto needs_blocks = [&](AxisIndex type) { return v[type] >= 4; };
  if (needs_blocks(kKType) && is_set({kDk}) && v[kDk] % 32 != 0) return false;
  if (needs_blocks(kVType) && is_set({kDv}) && v[kDv] % 32 != 0) return false;
  if (needs_blocks(kKType) && is(kVType, 0) && is_set({kDv}) && v[kDv] % 32 != 0) return false;
  if (!is(kLayout, 2)) return true;
  const bool differs = is_set({kQueries, kKeys}) && v[kQueries] != v[kKeys];
  if (is(kGaps, 1) || is(kGaps, 2)) return false;
  const bool has_cache = more_than_first(kCache) || more_than_first(kSharedKv) || more_than_first(kKType) || more_than_first(kVType);
  return !differs && !has_cache && !(is_set({kDk, kDv}) && v[kDk] != v[kDv]);
}

std::vector<std::int64_t> limit_of(std::span<const kernels::AxisLimit> limits, AxisIndex axis) {
  const auto limit = std::ranges::find(limits, axes()[axis].name, &kernels::AxisLimit::axis);
  return limit == limits.end() ? std::vector<std::int64_t>() : limit->values;
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

// The factors of one variant: without the levels that its [limits] exclude.
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

// Cases that no design combines, by name without the variant: `own` for the gate too, `longer` for suites with long contexts, `longest` for
// the suite `long`.
struct SpecialCases {
  std::deque<std::string> names;
  std::vector<std::string_view> own, longer, longest;
};

// The name of a case with these values, without the variant.
std::string name_of(std::span<const std::int64_t> v, std::string_view fixture, int seed) {
  std::string name = fmt::format("{}/d{}x{}/b{}/h{}x{}/q{}/k{}", kStorageWords[static_cast<std::size_t>(v[kType])], v[kDk], v[kDv],
                                 v[kBatch], v[kHeads], v[kKvHeads], v[kQueries], v[kKeys]);
  const auto add = [&](AxisIndex axis, std::string_view prefix, std::span<const std::string_view> words) {
    if (v[axis] != 0) name += fmt::format("/{}{}", prefix, words[static_cast<std::size_t>(v[axis])]);
  };
  add(kKType, "k_", kKeyTypeWords);
  add(kVType, "v_", kKeyTypeWords);
  add(kOutType, "out_", kOutTypeWords);
  name += v[kMask] == 0 ? "/nomask" : fmt::format("/{}", kMaskWords[static_cast<std::size_t>(v[kMask])]);
  if (v[kWindow] != 0) name += fmt::format("{}", v[kWindow]);
  add(kMaskType, "mask_", kOutTypeWords);
  add(kMaskPlanes, "planes_", kPlaneWords);
  if (v[kMaskGaps] != 0) name += "/mask_gaps";
  add(kOffset, "offset_", kOffsetWords);
  if (v[kSoftcap] != 0) name += fmt::format("/cap{}", v[kSoftcap]);
  if (v[kSinks] != 0) name += v[kSinks] == 1 ? "/sinks" : "/sinks_typed";
  if (v[kScale] != 0) name += "/scale_one";
  if (v[kCache] == 1) name += fmt::format("/room{}", v[kRoom]);
  if (v[kCache] == 2) name += fmt::format("/ring{}room{}", v[kRingStart], v[kRoom]);
  if (v[kCache] == 3) name += fmt::format("/page{}room{}", v[kPage], v[kRoom]);
  add(kLayout, "", kLayoutWords);
  if (v[kSharedKv] != 0) name += "/shared_kv";
  if (v[kRagged] != 0) name += v[kRagged] == 1 ? "/ragged" : "/ragged_empty";
  add(kGaps, "gaps_", kGapWords);
  if (v[kBlocks] != 1) name += fmt::format("/blocks{}", v[kBlocks]);
  if (v[kNsg] != 1) name += fmt::format("/nsg{}", v[kNsg]);
  if (v[kFar] != 0) name += "/far";
  return name + fmt::format("/{}/s{}", fixture, seed);
}

// Makes the special cases of one variant from the first values that it supports.
class SpecialMaker {
 public:
  SpecialMaker(const std::vector<FactorTable>& tables, const kernels::Variant& variant)
      : tables_(tables), variant_(variant), limits_(variant.limits), first_(first_values(tables)) {}

  SpecialCases make() {
    for (const Level& mask : levels_of("mask")) {
      const std::int64_t kind = mask.values[0].second;
      // The only query sees nothing.
      if (kind == 4 || kind == 5) add(special_.own, {{kMask, kind}, {kQueries, 1}, {kKeys, 33}}, 3);
      if (mask.values[1].second != 0) add_windows_behind(mask);
    }
    add_gigabytes();
    // Keys that a short does not hold.
    add(special_.own, {{kQueries, 1}, {kKeys, 33000}}, 1, "one_key_far");
    add_rows();
    // Numbers of keys, of heads times sizes, and of queries that 16 bits, 64 heads and 256 rows do not hold.
    add(special_.longer, {{kQueries, 1}, {kKeys, 65600}}, 1, "one_key_far");
    add(special_.longer, {{kQueries, 1}, {kKeys, 65600}}, 1, "needle");
    add(special_.longer, {{kHeads, 80}, {kKvHeads, 8}, {kQueries, 1}, {kKeys, 129}}, 1);
    add(special_.longer, {{kQueries, 300}, {kKeys, 333}}, 1);
    add(special_.longer, {{kQueries, 300}, {kKeys, 300}}, 1);
    // Powers of two, and a length that is no multiple of any tile. Of more than 262,144 keys, each weighs so little that a sum in float may
    // lose it, unless one counts alone.
    for (const std::int64_t keys : {65536, 65573, 131072, 262144, 524288, 1048576})
      add(special_.longest, {{kQueries, 1}, {kKeys, keys}}, static_cast<int>(special_.longest.size()) + 1,
          keys > 262144 ? "one_key_far" : "gauss");
    return std::move(special_);
  }

 private:
  [[nodiscard]] const std::vector<Level>& levels_of(std::string_view factor) const {
    return std::ranges::find(tables_, factor, &FactorTable::name)->levels;
  }

  // A window of a few keys at the end, and as many keys as splits: all splits but the last ones see nothing.
  void add_windows_behind(const Level& mask) {
    for (const Level& blocks : levels_of("blocks")) {
      const std::int64_t count = blocks.values[0].second;
      if (count < 8 || mask.values[1].second >= count) continue;
      add(special_.own, {mask.values[0], mask.values[1], {kQueries, 1}, {kKeys, count}, {kBlocks, count}}, 1);
    }
  }

  [[nodiscard]] bool admits(AxisIndex axis, std::int64_t value) const {
    const std::vector<std::int64_t> limit = limit_of(limits_, axis);
    return limit.empty() || std::ranges::find(limit, value) != limit.end();
  }

  // Byte offsets of more than 31 and 32 bits: by gaps between rows, with and without a mask, and by the room of each kind of cache.
  void add_gigabytes() {
    if (!admits(kFar, 1)) return;
    const std::vector<Level>& gaps = levels_of("gaps");
    if (!gaps.empty() && gaps.back().values[0].second != 0) add_far(gaps.back().values[0]);
    std::int64_t kind = 0;
    for (const Level& cache : levels_of("cache")) {
      if (cache.values[0].second == std::exchange(kind, cache.values[0].second)) continue;
      std::vector<Given> given = cache.values;
      for (const std::int64_t batches : {2, 1}) {
        given[1].second = gigabytes_of_room(cache, batches);
        if (given[1].second > 0 && add_to(given, batches)) break;
      }
      add_far_room(cache);
    }
  }

  // Sums of offsets first, then each term of them alone: a kernel may count one in a narrow type and add it in a wide one.
  void add_far(const Given& gaps) {
    const std::vector<Given> far = {gaps, {kFar, 1}};
    add_to_several(far);
    for (const Level& layout : levels_of("layout")) {
      const bool is_token_major = layout.values[0].second == static_cast<std::int64_t>(Layout::blhd);
      const std::vector<Given> laid = {gaps, {kFar, 1}, layout.values[0]};
      if (is_token_major) {
        add_far_tokens(laid);
      } else {
        add_far_heads(laid);
      }
      add_far_batches(laid);
    }
    const std::vector<Level>& planes = levels_of("mask_planes");
    if (planes.empty() || planes.back().values[0].second == 0) return;
    const std::int64_t kinds = planes.back().values[0].second;
    for (const std::int64_t mask : {4, 5}) {
      const std::vector<Given> masked = {gaps, {kFar, 1}, {kMask, mask}, planes.back().values[0], {kMaskGaps, 1}};
      add_to_several(masked);
      if ((kinds & 1) != 0) add_far_heads(masked);
      if ((kinds & 2) != 0) add_far_batches(masked);
    }
  }

  void add_far_heads(std::vector<Given> given) {
    if (several_heads() != nullptr) add_to(std::move(given), 1);
  }

  // One key/value head, so that nothing but the batch is far. The last of three is behind byte 2^32, the one before it behind 2^31.
  void add_far_batches(std::vector<Given> given) {
    if (one_head() == nullptr) return;
    given.insert(given.end(), one_head()->values.begin(), one_head()->values.end());
    given.emplace_back(kKeys, 65);
    for (const std::int64_t batches : {3, 2}) {
      given.emplace_back(kBatch, batches);
      if (add(special_.own, given, 1)) return;
    }
  }

  // One head of one batch, and two queries if there may be: those are as far apart as all keys are.
  void add_far_tokens(std::vector<Given> given) {
    if (one_head() == nullptr) return;
    given.insert(given.end(), one_head()->values.begin(), one_head()->values.end());
    given.insert(given.end(), {{kBatch, 1}, {kKeys, 65}});
    for (const std::int64_t queries : {std::int64_t{2}, first_[kQueries]}) {
      given.emplace_back(kQueries, queries);
      if (add(special_.own, given, 1)) return;
    }
  }

  // As add_far(), by the room of a cache: heads, batches, the slots of a ring, and pages.
  void add_far_room(const Level& cache) {
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 32U;
    const auto kind = static_cast<Cache>(cache.values[0].second);
    std::vector<Given> given = cache.values;
    std::array<std::int64_t, kAxisCount> values = first_;
    const Shape shape = shape_of(values, 1);
    const std::int64_t rows = kFarBytes / std::min(row_bytes(shape.dk, shape.k), row_bytes(shape.dv, shape.v));
    if (kind == Cache::contiguous) return;
    if (kind == Cache::paged) {
      given[1].second = 2 * rows / kv_heads_of(several_heads());
      add_to(given, 1);
      return;
    }
    if (shape.layout != Layout::blhd && several_heads() != nullptr) {
      given[1].second = rows / (kv_heads_of(several_heads()) - 1) + 1;
      add_far_heads(given);
    }
    given[1].second = rows / (admits(kBatch, 3) ? 2 : 1) + 1;
    add_far_batches(given);
    if (kind != Cache::ring) return;
    // The keys are on both sides of the last slot.
    given[1].second = rows;
    given[2].second = rows + 32;
    add_far_tokens(given);
  }

  static std::int64_t row_bytes(std::size_t coordinates, Storage type) {
    const ElementSize element = element_size(type);
    return static_cast<std::int64_t>(coordinates / element.coordinates * element.bytes);
  }

  [[nodiscard]] std::int64_t kv_heads_of(const Level* heads) const { return heads == nullptr ? first_[kKvHeads] : heads->values[1].second; }

  // Rows behind the keys with which the last head, batch or half of the pages lies behind byte 2^31; 0 if nothing does that.
  [[nodiscard]] std::int64_t gigabytes_of_room(const Level& cache, std::int64_t batches) const {
    const std::int64_t heads = kv_heads_of(several_heads());
    std::array<std::int64_t, kAxisCount> values = first_;
    values[kBatch] = batches;
    const Shape shape = shape_of(values, 1);
    const std::int64_t bytes = row_bytes(shape.dk, shape.k);
    constexpr std::int64_t kFarBytes = std::int64_t{1} << 31U;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::contiguous)) return 0;
    if (cache.values[0].second == static_cast<std::int64_t>(Cache::paged)) return 2 * kFarBytes / bytes / heads / batches;
    const std::int64_t before = shape.layout == Layout::blhd ? (batches - 1) * heads : batches * heads - 1;
    return before == 0 ? 0 : kFarBytes / bytes / before + 1;
  }

  // Rows of queries of all heads and batches that 16 bits do not hold, and two keys: by queries, or by heads and batches if queries have a
  // limit. In the gate if threads are few; each takes about 0.3 us.
  void add_rows() {
    constexpr std::int64_t kRows = 65600;
    constexpr std::int64_t kMostThreads = 5'000'000;
    std::vector<Given> given = many_rows(kRows);
    if (given.empty()) return;
    given.emplace_back(kKeys, 2);
    std::array<std::int64_t, kAxisCount> values = first_;
    for (const auto& [axis, value] : given) values[axis] = value;
    const std::optional<std::int64_t> threads = threads_of(values);
    add(threads && *threads <= kMostThreads ? special_.own : special_.longer, given, 1);
  }

  // Values with at least so many rows; none if the limits admit no such.
  [[nodiscard]] std::vector<Given> many_rows(std::int64_t rows) const {
    const auto whole = [](std::int64_t all, std::int64_t part) { return (all + part - 1) / part; };
    const std::vector<std::int64_t> queries = limit_of(limits_, kQueries);
    if (queries.empty() && several_heads() != nullptr) {
      const std::int64_t heads = several_heads()->values[0].second;
      return {{kHeads, heads}, several_heads()->values[1], {kQueries, whole(rows, heads)}};
    }
    const std::int64_t most_queries = queries.empty() ? 1 << 16 : std::ranges::max(queries);
    const std::vector<std::int64_t> head_limit = limit_of(limits_, kHeads);
    const std::int64_t most_heads = head_limit.empty() ? axes()[kHeads].maximum : std::ranges::max(head_limit);
    const std::vector<std::int64_t> group_limit = limit_of(limits_, kKvHeads);
    for (std::int64_t batches = 1; batches <= axes()[kBatch].maximum; ++batches) {
      const std::int64_t least = whole(whole(rows, most_queries), batches);
      if (!admits(kBatch, batches) || least > most_heads) continue;
      const std::int64_t heads = head_limit.empty() ? least : most_heads;
      if (group_limit.empty()) return {{kBatch, batches}, {kHeads, heads}, {kKvHeads, 1}, {kQueries, most_queries}};
      const std::int64_t groups = group_limit.front();
      const std::int64_t divisible = head_limit.empty() ? whole(heads, groups) * groups : heads;
      if (divisible % groups == 0 && divisible <= most_heads)
        return {{kBatch, batches}, {kHeads, divisible}, {kKvHeads, groups}, {kQueries, most_queries}};
    }
    return {};
  }

  // Of all dispatches of a case; nothing if its launch cannot be computed.
  [[nodiscard]] std::optional<std::int64_t> threads_of(std::span<const std::int64_t> values) const {
    if (!variant_.launch) return std::nullopt;
    try {
      const CaseNames of_case(shape_of(values, 1), variant_.setting("max_bias"));
      const kernels::LaunchNames names(*variant_.launch, variant_.fields, of_case);
      std::uint64_t threads = 0;
      for (const kernels::PlannedDispatch& dispatch : kernels::plan_launch(*variant_.launch, names))
        threads += dispatch.grid.count() * (dispatch.description->grid_counts_threads ? 1 : dispatch.threads.count());
      return static_cast<std::int64_t>(threads);
    } catch (const std::exception&) {
      return std::nullopt;  // whoever runs the case is told
    }
  }

  [[nodiscard]] const Level* heads_if(const auto& is_wanted) const {
    const std::vector<Level>& heads = levels_of("heads");
    const auto found = std::ranges::find_if(heads, [&](const Level& level) { return is_wanted(level.values[1].second); });
    return found == heads.end() ? nullptr : &*found;
  }
  [[nodiscard]] const Level* several_heads() const {
    return heads_if([](std::int64_t count) { return count > 1; });
  }
  [[nodiscard]] const Level* one_head() const {
    return heads_if([](std::int64_t count) { return count == 1; });
  }

  // A short case with several key/value heads, if there are.
  bool add_to(std::vector<Given> given, std::int64_t batches) {
    given.insert(given.end(), {{kBatch, batches}, {kKeys, 65}});
    if (const Level* heads = several_heads()) given.insert(given.end(), heads->values.begin(), heads->values.end());
    return add(special_.own, given, 1);
  }

  // With two batches if that is possible.
  void add_to_several(const std::vector<Given>& given) {
    if (!add_to(given, 2)) add_to(given, 1);
  }

  // Only if [limits] admit it and it is possible. Returns whether it is.
  bool add(std::vector<std::string_view>& cases, const std::vector<Given>& given, int seed, std::string_view fixture = "gauss") {
    std::array<std::int64_t, kAxisCount> values = first_;
    for (const auto& [axis, value] : given) values[axis] = value;
    for (const kernels::AxisLimit& limit : limits_) {
      const auto axis = std::ranges::find(axes(), limit.axis, &Axis::name) - axes().begin();
      if (std::cmp_equal(axis, axes().size()) ||
          std::ranges::find(limit.values, values[static_cast<std::size_t>(axis)]) == limit.values.end())
        return false;
    }
    if (!is_possible(values, first_)) return false;
    const std::string name = name_of(values, fixture, seed);
    if (std::ranges::find(cases, name) == cases.end()) cases.push_back(special_.names.emplace_back(name));
    return true;
  }

  const std::vector<FactorTable>& tables_;
  const kernels::Variant& variant_;
  std::span<const kernels::AxisLimit> limits_;
  std::array<std::int64_t, kAxisCount> first_;
  SpecialCases special_;
};

// What mask, queries and keys mean to each other; suites have all triples of these classes.
std::vector<Classifier> classifiers() {
  return {
      {"mask", {kMaskWords.begin(), kMaskWords.end()}, [](std::span<const std::int64_t> v) { return static_cast<int>(v[kMask]); }},
      {"offset", {kOffsetWords.begin(), kOffsetWords.end()}, [](std::span<const std::int64_t> v) { return static_cast<int>(v[kOffset]); }},
      {"queries",
       {"one", "several", "more than keys"},
       [](std::span<const std::int64_t> v) { return v[kQueries] > v[kKeys] ? 2
                                                    : v[kQueries] > 1      ? 1
                                                                           : 0; }},
      {"keys",
       {"one", "below 32", "whole tiles", "a tail"},
       [](std::span<const std::int64_t> v) {
         return v[kKeys] == 1 ? 0 : v[kKeys] < 32 ? 1 : v[kKeys] % 32 == 0 ? 2 : 3;
       }},
      // A sink gives a query without a key its output.
      {"sinks", {"none", "some"}, [](std::span<const std::int64_t> v) { return v[kSinks] != 0 ? 1 : 0; }},
      {"batches", {"one", "several"}, [](std::span<const std::int64_t> v) { return v[kBatch] > 1 ? 1 : 0; }}};
}

Family family_with(const std::vector<FactorTable>& factor_tables) {
  const auto tables = std::make_shared<const std::vector<FactorTable>>(factor_tables);
  Family family{.contract = kAttentionContract,
                .description = "softmax(scale q k + mask) v of any kernel, whose variant.toml describes types, masks, cache and launch",
                .axes = axes(),
                .words = case_words(),
                .factors = {},
                .realise =
                    [tables, first = first_values(*tables)](std::span<const int> levels, Values values) {
                      std::ranges::fill(values, kOpen);
                      values[kFar] = 0;
                      for (std::size_t factor = 0; factor < tables->size(); ++factor) {
                        if (levels[factor] < 0) continue;
                        for (const auto& [axis, value] : (*tables)[factor].levels[static_cast<std::size_t>(levels[factor])].values)
                          values[axis] = value;
                      }
                      return is_possible(values, first);
                    },
                .draw =
                    [](Draw& draw, Values values) {
                      if (values[kLayout] == static_cast<std::int64_t>(Layout::packed)) return;
                      values[kKeys] = draw.between(std::max<std::int64_t>(1, values[kRingStart] + 1), 700);
                    },
                .work =
                    [](std::span<const std::int64_t> values) {
                      const auto least = [&](AxisIndex axis, std::int64_t open) { return values[axis] == kOpen ? open : values[axis]; };
                      return least(kBatch, 1) * least(kHeads, 1) * least(kQueries, 1) * least(kKeys, 1) * (least(kDk, 32) + least(kDv, 32));
                    },
                .classifiers = classifiers(),
                .has_fixture = has_fixture,
                .launch = nullptr,
                .expression_names = [](const Case& test_case, const kernels::Variant& variant) -> std::shared_ptr<const kernels::Names> {
                  return std::make_shared<CaseNames>(shape_of(test_case), variant.setting("max_bias"));
                },
                .sketch = attention::sketch,
                .validate = attention::validate,
                // A launch may have any number; two orders are compared in any case.
                .simdgroups = [](const Case&) { return std::int64_t{2}; },
                .files = attention::files(),
                .job = attention::job,
                .minimum = attention::minimum_of,
                .triage = attention::triage(),
                .bounds_weaker_storage = true,
                .omissions = attention_omissions()};
  for (const FactorTable& table : *tables) {
    constexpr std::array<std::string_view, 6> kClassed = {"batch", "queries", "keys", "mask", "offset", "sinks"};
    if (std::ranges::find(kClassed, table.name) != kClassed.end()) family.class_factors.push_back(family.factors.size());
    std::vector<std::string> labels;
    for (const Level& level : table.levels) labels.push_back(level.label);
    const auto everyday = static_cast<std::size_t>(std::ranges::count_if(table.levels, &Level::is_everyday));
    family.factors.push_back(
        {table.name, std::move(labels), everyday, [&table, tables](std::size_t level, std::span<const std::int64_t> values) {
           return std::ranges::all_of(table.levels[level].values, [&](const Given& given) { return values[given.first] == given.second; });
         }});
  }
  return family;
}

}  // namespace

Family attention_family() {
  Family family = family_with(all_factors());
  family.of_variant = [](const kernels::Variant& variant) {
    const std::vector<FactorTable> tables = factors_within(variant.limits);
    Family own = family_with(tables);
    const auto has_none = [](const FactorTable& table) { return table.levels.empty(); };
    if (std::ranges::any_of(tables, has_none)) return own;
    const auto special = std::make_shared<const SpecialCases>(SpecialMaker(tables, variant).make());
    own.own_cases = special->own;
    own.long_cases = special->longer;
    own.longest_cases = special->longest;
    // The names live as long as the family.
    own.has_fixture = [special](const fixtures::Fixture& fixture) { return has_fixture(fixture); };
    return own;
  };
  return family;
}

}  // namespace assay::families
