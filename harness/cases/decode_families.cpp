#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "families/registry.h"
#include "families/shared/decode_launch.h"
#include "harness/cases/family_rows.h"

namespace assay::harness {
namespace {

// Behind kNormFactor each family has axes of its own.
enum AxisIndex : std::size_t {
  kHeadDim,
  kHeads,
  kKvHeads,
  kKvLen,
  kKvCapacity,
  kRingStart,
  kMaskType,
  kWindow,
  kNwg,
  kScale,
  kNormFactor,
  kBlockNorms,          // tq4
  kBits = kBlockNorms,  // tqhb
  kNsg,
  kFuse
};

constexpr std::int64_t kChunk = 32;  // slots that a workgroup visits together

constexpr std::array<std::int64_t, 2> kHeadDims = {256, 512};
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 11> kHeadCounts = {
    {{1, 1}, {2, 1}, {4, 4}, {8, 8}, {8, 2}, {8, 1}, {16, 2}, {32, 4}, {32, 8}, {6, 3}, {5, 1}}};
// Both sides of every edge: one key, one chunk, two chunks, powers of two, and a length with no structure. Behind them the
// lengths of long conversations, where sums of many terms show; few heads do for those.
constexpr std::array<std::int64_t, 25> kLengths = {1,   2,   31,  32,  33,   63,   64,   65,   127,  128,  255,   256,  257,
                                                   511, 512, 513, 777, 1023, 1024, 1025, 2048, 4096, 8192, 32768, 65537};
constexpr std::size_t kEverydayLengths = 22;
constexpr std::int64_t kLongLength = 8192;
constexpr std::int64_t kHeadsOfLongLengths = 2;
constexpr std::array<std::int64_t, 8> kWorkgroups = {1, 2, 3, 4, 8, 16, 31, 32};
constexpr std::array<std::int64_t, 3> kSimdgroups = {1, 2, 4};
constexpr std::array<std::int64_t, 3> kCodebookBits = {5, 6, 8};
constexpr std::array<std::int64_t, 2> kFused = {0, 1};

struct Norms {
  std::string_view label;
  bool per_block;
  std::int64_t factor;
};
// tqhb knows norms of blocks only.
constexpr std::array<Norms, 4> kNorms = {
    {{"one per position", false, 1}, {"1", true, 1}, {"16", true, 16}, {"sqrt(512)", true, kScaleFactorRoot}}};

constexpr std::array<std::string_view, 4> kCapacities = {"n", "n+1", "pow2", "4n"};
constexpr std::array<std::string_view, 6> kRings = {"0", "1", "31", "32", "cap/2", "cap-1"};

struct Mask {
  std::string_view label;
  std::int64_t mask_type;
  std::int64_t of_length;  // 1: the window is n + offset
  std::int64_t offset;
};
// A window with another mask type, and a window of 0, must do nothing at all.
constexpr std::array<Mask, 13> kMasks = {{{"none", 0, 0, 0},
                                          {"causal", 1, 0, 0},
                                          {"none,w33", 0, 0, 33},
                                          {"causal,w33", 1, 0, 33},
                                          {"win0", 2, 0, 0},
                                          {"win1", 2, 0, 1},
                                          {"win31", 2, 0, 31},
                                          {"win32", 2, 0, 32},
                                          {"win33", 2, 0, 33},
                                          {"win512", 2, 0, 512},
                                          {"win(n-1)", 2, 1, -1},
                                          {"win(n)", 2, 1, 0},
                                          {"win(n+1)", 2, 1, 1}}};

enum FactorIndex : std::size_t {
  kFactorD,
  kFactorHeads,
  kFactorLength,
  kFactorCapacity,
  kFactorRing,
  kFactorMask,
  kFactorNwg,
  kFactorScale,
  kFactorNorm,
  kFactorBits,
  kFactorNsg,
  kFactorFuse
};

std::int64_t capacity_of(int level, std::int64_t n) {
  switch (level) {
    case 0:
      return n;
    case 1:
      return n + 1;
    case 2:
      return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
    default:
      return 4 * n;
  }
}

std::int64_t window_of(const Mask& mask, std::int64_t n) { return mask.of_length * n + mask.offset; }

std::int64_t ring_of(int level, std::int64_t capacity) {
  constexpr std::array<std::int64_t, 4> fixed = {0, 1, 31, 32};
  if (level < 4) return fixed[static_cast<std::size_t>(level)];
  return level == 4 ? capacity / 2 : capacity - 1;
}

// `norms` are the family's own.
bool realise(std::span<const Norms> norms, std::span<const int> levels, std::span<std::int64_t> values) {
  const auto level = [&](FactorIndex factor) { return levels[factor]; };
  const auto known = [&](FactorIndex factor) { return factor < levels.size() && levels[factor] >= 0; };
  const auto of = [&](FactorIndex factor, const auto& table) { return table[static_cast<std::size_t>(levels[factor])]; };
  std::ranges::fill(values, kOpen);

  if (known(kFactorD)) values[kHeadDim] = of(kFactorD, kHeadDims);
  if (known(kFactorHeads)) {
    values[kHeads] = of(kFactorHeads, kHeadCounts).first;
    values[kKvHeads] = of(kFactorHeads, kHeadCounts).second;
  }
  if (known(kFactorLength)) values[kKvLen] = of(kFactorLength, kLengths);
  if (known(kFactorNwg)) values[kNwg] = of(kFactorNwg, kWorkgroups);
  if (known(kFactorScale)) values[kScale] = level(kFactorScale);
  if (known(kFactorNorm)) {
    values[kNormFactor] = of(kFactorNorm, norms).factor;
    if (levels.size() <= kFactorBits) values[kBlockNorms] = of(kFactorNorm, norms).per_block ? 1 : 0;
  }
  if (known(kFactorBits)) values[kBits] = of(kFactorBits, kCodebookBits);
  if (known(kFactorNsg)) values[kNsg] = of(kFactorNsg, kSimdgroups);
  if (known(kFactorFuse)) values[kFuse] = of(kFactorFuse, kFused);
  if (known(kFactorMask)) values[kMaskType] = of(kFactorMask, kMasks).mask_type;
  if (!known(kFactorLength)) return true;
  const std::int64_t n = values[kKvLen];
  if (n >= kLongLength && values[kHeads] > kHeadsOfLongLengths) return false;
  if (known(kFactorMask)) values[kWindow] = window_of(of(kFactorMask, kMasks), n);

  const bool ring_turns = known(kFactorRing) && level(kFactorRing) != 0;
  if (!known(kFactorCapacity)) return !ring_turns || ring_of(level(kFactorRing), n) < n;
  const std::int64_t capacity = values[kKvCapacity] = capacity_of(level(kFactorCapacity), n);
  if (!known(kFactorRing)) return true;
  values[kRingStart] = ring_of(level(kFactorRing), capacity);
  // A ring turns only once it is full; the launch code refuses anything else.
  if (ring_turns && capacity != n) return false;
  return values[kRingStart] < capacity;
}

// A coordinate of the cache takes about as long to make up, whether the kernel reads it or not, as two products of a dot product.
std::int64_t work(std::span<const std::int64_t> values) {
  const auto at_least = [&](AxisIndex axis, std::int64_t least) { return values[axis] == kOpen ? least : values[axis]; };
  const std::int64_t n = at_least(kKvLen, 1);
  const std::int64_t row = at_least(kHeadDim, kHeadDims.front());
  return std::max(at_least(kHeads, 1) * n * row, 2 * at_least(kKvHeads, 1) * at_least(kKvCapacity, n) * row);
}

template <typename Table, typename Label>
std::vector<std::string> labels(const Table& table, const Label& label) {
  std::vector<std::string> result;
  for (const auto& row : table) result.push_back(label(row));
  return result;
}

std::int64_t banks(std::span<const std::int64_t> values) { return values[kNwg] * (values.size() > kNsg ? values[kNsg] : 1); }

Classifier class_of(AxisIndex axis, std::string_view name, std::span<const std::int64_t> table) {
  return {name, labels(table, [](std::int64_t value) { return fmt::format("{}", value); }), [axis, table](std::span<const std::int64_t> v) {
            const auto found = std::ranges::find(table, v[axis]);
            return found == table.end() ? -1 : static_cast<int>(found - table.begin());
          }};
}

// A factor whose levels are the values of one axis.
auto equal_to(AxisIndex axis, std::span<const std::int64_t> table) {
  return [axis, table](std::size_t level, std::span<const std::int64_t> v) { return v[axis] == table[level]; };
}

std::vector<Classifier> structural_classifiers() {
  const auto chunks = [](std::span<const std::int64_t> v) { return (v[kKvLen] + kChunk - 1) / kChunk; };
  return {
      {"n mod 32",
       {"0", "1", "31", "other"},
       [](std::span<const std::int64_t> v) {
         const std::int64_t rest = v[kKvLen] % kChunk;
         return rest == 0 ? 0 : rest == 1 ? 1 : rest == 31 ? 2 : 3;
       }},
      {"chunks against simdgroups",
       {"fewer", "equal", "more"},
       [chunks](std::span<const std::int64_t> v) { return chunks(v) < banks(v)    ? 0
                                                          : chunks(v) == banks(v) ? 1
                                                                                  : 2; }},
      {"ring_start",
       {"0", "inside a chunk", "on a chunk edge"},
       [](std::span<const std::int64_t> v) { return v[kRingStart] == 0            ? 0
                                                    : v[kRingStart] % kChunk != 0 ? 1
                                                                                  : 2; }},
      {"window",
       {"off", "inside a chunk", "crossing chunks", ">= n"},
       [](std::span<const std::int64_t> v) {
         if (v[kMaskType] != 2 || v[kWindow] == 0) return 0;
         if (v[kWindow] >= v[kKvLen]) return 3;
         // The oldest and the newest visible slot, in memory.
         const std::int64_t oldest = (v[kRingStart] + v[kKvLen] - v[kWindow]) % v[kKvCapacity];
         const std::int64_t newest = (v[kRingStart] + v[kKvLen] - 1) % v[kKvCapacity];
         return v[kWindow] <= kChunk && oldest / kChunk == newest / kChunk ? 1 : 2;
       }},
  };
}

Family decode_family(std::string_view name, std::span<const Norms> norms) {
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  const auto text = [](std::string_view value) { return std::string(value); };
  Family family;
  family.contract = &families::contract(name);
  family.axes = {
      {.name = "head_dim", .minimum = 256, .maximum = 512, .initial = 256, .is_capability = true},
      {"n_heads", 0, 4096, 1},
      {"n_kv_heads", 0, 4096, 1},
      {"kv_len", 0, 1 << 20, 1},
      {"kv_capacity", 0, 1 << 26, 1},
      {"ring_start", 0, 1 << 20, 0},
      {"mask_type", 0, 2, 0},
      {"sliding_window", 0, 1 << 21, 0},
      {"nwg", 0, 1024, 16, true},
      float_axis("scale", kScaleInverseRoot, kScaleOne),
      float_axis("scale_factor_d512", 1, kScaleFactorWhole),
  };
  family.words = {
      {{{"d{head_dim}", {}}}},
      {{{"h{n_heads}x{n_kv_heads}", {}}}},
      {{{"kv{kv_len}c{kv_capacity}", {}}}},
      {{{"ring{ring_start}", {}}}},
      {{{"nomask", {{"mask_type", 0}, {"sliding_window", 0}}},
        {"causal", {{"mask_type", 1}, {"sliding_window", 0}}},
        {"win{sliding_window}", {{"mask_type", 2}}},
        {"nomaskwin{sliding_window}", {{"mask_type", 0}}},
        {"causalwin{sliding_window}", {{"mask_type", 1}}}}},
      {{{"nwg{nwg}", {}}}},
      {{{"scale{scale}", {}}}, true},
      {{{"sfroot512", {{"scale_factor_d512", kScaleFactorRoot}}}, {"sf{scale_factor_d512}", {}}}, true},
  };
  family.factors = {
      {"head_dim", labels(kHeadDims, number), kHeadDims.size(), equal_to(kHeadDim, kHeadDims)},
      {"heads", labels(kHeadCounts, [](const auto& heads) { return fmt::format("{}x{}", heads.first, heads.second); }), kHeadCounts.size(),
       [](std::size_t level, std::span<const std::int64_t> v) { return std::pair(v[kHeads], v[kKvHeads]) == kHeadCounts[level]; }},
      {"n", labels(kLengths, number), kEverydayLengths, equal_to(kKvLen, kLengths)},
      {"cap", labels(kCapacities, text), kCapacities.size(),
       [](std::size_t level, std::span<const std::int64_t> v) {
         return v[kKvCapacity] == capacity_of(static_cast<int>(level), v[kKvLen]);
       }},
      {"ring_start", labels(kRings, text), kRings.size(),
       [](std::size_t level, std::span<const std::int64_t> v) {
         return v[kRingStart] == ring_of(static_cast<int>(level), v[kKvCapacity]);
       }},
      {"mask", labels(kMasks, [](const Mask& mask) { return std::string(mask.label); }), kMasks.size(),
       [](std::size_t level, std::span<const std::int64_t> v) {
         return v[kMaskType] == kMasks[level].mask_type && v[kWindow] == window_of(kMasks[level], v[kKvLen]);
       }},
      {"nwg", labels(kWorkgroups, number), kWorkgroups.size(), equal_to(kNwg, kWorkgroups)},
      {"scale",
       {"1/sqrt(D)", "1"},
       2,
       [](std::size_t level, std::span<const std::int64_t> v) { return v[kScale] == (level == 0 ? kScaleInverseRoot : kScaleOne); }},
      {"norms", labels(norms, [](const Norms& norm) { return std::string(norm.label); }), norms.size(),
       [norms](std::size_t level, std::span<const std::int64_t> v) {
         return v[kNormFactor] == norms[level].factor && (v.size() > kNsg || (v[kBlockNorms] != 0) == norms[level].per_block);
       }},
  };
  family.realise = [norms](std::span<const int> levels, std::span<std::int64_t> values) { return realise(norms, levels, values); };
  family.work = work;
  family.class_factors = {kFactorLength, kFactorCapacity, kFactorRing, kFactorMask, kFactorNwg};
  family.classifiers = structural_classifiers();
  family.structural_classifiers = family.classifiers.size();
  family.classifiers.push_back(class_of(kNwg, "nwg", kWorkgroups));
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.decode != nullptr; };
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey { return {fmt::format("d{}", values[kHeadDim])}; };
  family.helpers = [](std::span<const std::int64_t> values) -> std::vector<HelperKey> {
    if (values[kNwg] <= 1) return {};
    return {{"reduce", {fmt::format("d{}", values[kHeadDim])}}};
  };
  return family;
}

}  // namespace

Family tq4_family() {
  Family family = decode_family("tq4", kNorms);
  family.axes[kNormFactor].may_be_absent = true;
  family.axes[kNormFactor].needed_by = "block_norms";
  family.axes.push_back({.name = "block_norms", .minimum = 0, .maximum = 1, .initial = 0, .is_capability = true, .may_be_absent = true});
  // Whoever gives a factor means norms of blocks.
  family.words.back() = {
      {{"sfroot512", {{"block_norms", 1}, {"scale_factor_d512", kScaleFactorRoot}}}, {"sf{scale_factor_d512}", {{"block_norms", 1}}}},
      true};
  family.about = "decode attention over a 4-bit TurboQuant cache, one query token per head";
  // Caches of just under 2^32 and of exactly 2^32 bytes, and heads on both sides of byte 2^31.
  family.own_cases = {"d256/h32x32/kv40c1048576/ring0/nomask/nwg1/huge/s1", "d256/h2x2/kv65c16777216/ring0/win33/nwg2/huge/s2",
                      "d512/h16x8/kv33c2097152/ring0/nomask/nwg3/huge/s3", "d512/h5x5/kv100c3355443/ring0/causal/nwg1/scale1/huge/s4",
                      "d256/h32x32/kv40c1048576/ring0/nomask/nwg1/sf1/huge/s5", "d512/h16x8/kv33c2097152/ring0/nomask/nwg3/sf16/huge/s6",
                      // Queries that round to even.
                      "d256/h4x2/kv33c33/ring0/nomask/nwg1/query_ties/s1", "d512/h2x1/kv65c65/ring3/nomask/nwg2/query_ties/s2",
                      "d512/h2x2/kv33c64/ring0/nomask/nwg1/sf16/query_ties/s3"};
  family.long_cases = {"d256/h1x1/kv65537c65537/ring32/nomask/nwg32/drift/s1", "d256/h2x1/kv65537c65537/ring65536/win512/nwg31/gauss/s2",
                       "d512/h2x2/kv65537c65537/ring0/nomask/nwg16/sf16/needle/s3",
                       "d512/h1x1/kv65537c65537/ring32768/win65536/nwg3/faint/s4", "d512/h2x1/kv65537c65538/ring0/causal/nwg1/cancel/s5"};
  return family;
}

Family tqhb_family() {
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  Family family = decode_family("tqhb", std::span(kNorms).subspan(1));
  family.about = "decode attention over a 5-, 6- or 8-bit TurboQuant cache, one query token per head";
  family.axes.insert(family.axes.end(),
                     {{.name = "codebook_bits", .minimum = 0, .maximum = 16, .initial = 8, .is_capability = true},
                      {.name = "nsg", .minimum = 0, .maximum = 1024, .initial = 1, .is_launch_choice = true, .is_capability = true},
                      {.name = "fuse_fwht_pre", .minimum = 0, .maximum = 1, .initial = 0, .is_capability = true, .may_be_absent = true}});
  family.words.insert(family.words.begin() + 1, Word{{{"b{codebook_bits}", {}}}});
  const auto nwg = std::ranges::find_if(family.words, [](const Word& word) { return word.forms.front().pattern.starts_with("nwg"); });
  family.words.insert(nwg + 1, {Word{{{"nsg{nsg}", {}}}}, Word{{{"fuse", {{"fuse_fwht_pre", 1}}}}, true}});
  family.factors.push_back({"codebook_bits", labels(kCodebookBits, number), kCodebookBits.size(), equal_to(kBits, kCodebookBits)});
  family.factors.push_back({"nsg", labels(kSimdgroups, number), kSimdgroups.size(), equal_to(kNsg, kSimdgroups)});
  family.factors.push_back({"fuse_fwht_pre", labels(kFused, number), kFused.size(), equal_to(kFuse, kFused)});
  family.class_factors.push_back(kFactorNsg);
  family.classifiers.push_back(class_of(kNsg, "nsg", kSimdgroups));
  // And indices of fewer bits than their byte, with something in the others.
  family.own_cases = {
      "d256/b8/h2x2/kv65c8388608/ring0/win33/nwg2/nsg2/huge/s2", "d512/b5/h5x5/kv100c1677721/ring0/causal/nwg1/nsg1/huge/s4",
      "d512/b8/h3x3/kv33c2097152/ring0/nomask/nwg2/nsg1/huge/s5", "d256/b6/h2x2/kv40c8388608/ring0/nomask/nwg1/nsg1/huge/s6",
      "d256/b5/h2x1/kv65c65/ring0/nomask/nwg2/nsg1/stray_bits/s1", "d512/b5/h2x1/kv33c64/ring0/win31/nwg1/nsg2/stray_bits/s2",
      "d256/b6/h4x4/kv33c33/ring1/causal/nwg1/nsg4/stray_bits/s3", "d512/b6/h2x1/kv65c65/ring32/nomask/nwg3/nsg1/stray_bits/s4",
      // Queries that round to even.
      "d256/b8/h4x2/kv33c33/ring0/nomask/nwg1/nsg1/query_ties/s1", "d512/b5/h2x1/kv65c65/ring3/nomask/nwg2/nsg2/query_ties/s2"};
  family.long_cases = {
      "d256/b8/h1x1/kv65537c65537/ring32/nomask/nwg32/nsg4/drift/s1", "d256/b5/h2x1/kv65537c65537/ring65536/win512/nwg31/nsg1/gauss/s2",
      "d512/b6/h2x2/kv65537c65537/ring0/nomask/nwg16/nsg2/sf16/needle/s3",
      "d512/b8/h1x1/kv65537c65537/ring32768/win65536/nwg3/nsg1/faint/s4", "d512/b5/h2x1/kv65537c65538/ring0/causal/nwg1/nsg1/cancel/s5"};
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey {
    return {fmt::format("d{}", values[kHeadDim]), {{families::kCodebookConstant, values[kBits]}}};
  };
  return family;
}

}  // namespace assay::harness
