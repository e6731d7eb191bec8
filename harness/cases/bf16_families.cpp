// The families over bfloat keys and values: bf16_prefill and bf16_vec. They share all axes but the number of simdgroups.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "families/registry.h"
#include "harness/cases/family_rows.h"

namespace assay::harness {
namespace {

enum AxisIndex : std::size_t {
  kBatches,
  kHeads,
  kKvHeads,
  kQueries,
  kKvLen,
  kRoom,
  kMaskType,
  kWindow,
  kMaskBatches,
  kMaskHeads,
  kHidesLowest,
  kScale,
  kNsg  // bf16_vec only
};

enum FactorIndex : std::size_t {
  kFactorBatches,
  kFactorHeads,
  kFactorQueries,
  kFactorLength,
  kFactorRoom,
  kFactorMask,
  kFactorSpread,
  kFactorScale,
  kFactorNsg
};

constexpr std::int64_t kHeadDim = 512;
constexpr std::int64_t kTileQueries = 8;
constexpr std::int64_t kTileKeys = 64;

constexpr std::array<std::int64_t, 2> kBatchCounts = {1, 2};
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 11> kHeadCounts = {
    {{1, 1}, {2, 1}, {4, 4}, {8, 8}, {8, 2}, {8, 1}, {16, 2}, {32, 4}, {32, 8}, {6, 3}, {5, 1}}};
constexpr std::array<std::int64_t, 8> kQueryCounts = {1, 2, 7, 8, 9, 16, 33, 64};
// As for decode: both sides of a chunk of 32, of a tile of 64, of powers of two; then the lengths of long conversations.
constexpr std::array<std::int64_t, 25> kLengths = {1,   2,   31,  32,  33,   63,   64,   65,   127,  128,  255,   256,  257,
                                                   511, 512, 513, 777, 1023, 1024, 1025, 2048, 4096, 8192, 32768, 65537};
constexpr std::size_t kEverydayLengths = 22;
// Rows behind the last key of a head: none, fewer than a chunk needs to be whole, a tile.
constexpr std::array<std::int64_t, 3> kRooms = {0, 7, 64};
constexpr std::array<std::int64_t, 3> kSimdgroups = {1, 2, 4};

// The values of axis mask_type, as fixtures::DenseMask counts them.
enum MaskType : std::int64_t { kNoMask, kZeroMask, kCausal, kWindowed, kRandom, kOneRow, kSingle };

struct Mask {
  std::string_view label;
  MaskType type;
  std::int64_t window;
  std::int64_t hides_lowest;
};
constexpr std::array<Mask, 10> kMasks = {{{"none", kNoMask, 0, 0},
                                          {"zero", kZeroMask, 0, 0},
                                          {"causal", kCausal, 0, 0},
                                          {"causal low", kCausal, 0, 1},
                                          {"win33", kWindowed, 33, 0},
                                          {"win33 low", kWindowed, 33, 1},
                                          {"random", kRandom, 0, 0},
                                          {"random low", kRandom, 0, 1},
                                          {"row", kOneRow, 0, 0},
                                          {"row low", kOneRow, 0, 1}}};
constexpr std::array<std::string_view, 3> kSpreads = {"1x1", "1xH", "BxH"};

std::int64_t mask_batches_of(int level, std::int64_t batches) { return level == 2 ? batches : 1; }
std::int64_t mask_heads_of(int level, std::int64_t heads) { return level == 0 ? 1 : heads; }

bool realise(std::span<const int> levels, std::span<std::int64_t> values) {
  const auto known = [&](FactorIndex factor) { return factor < levels.size() && levels[factor] >= 0; };
  const auto of = [&](FactorIndex factor, const auto& table) { return table[static_cast<std::size_t>(levels[factor])]; };
  std::ranges::fill(values, kOpen);
  if (known(kFactorBatches)) values[kBatches] = of(kFactorBatches, kBatchCounts);
  if (known(kFactorHeads)) {
    values[kHeads] = of(kFactorHeads, kHeadCounts).first;
    values[kKvHeads] = of(kFactorHeads, kHeadCounts).second;
  }
  if (known(kFactorQueries)) values[kQueries] = of(kFactorQueries, kQueryCounts);
  if (known(kFactorLength)) values[kKvLen] = of(kFactorLength, kLengths);
  if (known(kFactorRoom)) values[kRoom] = of(kFactorRoom, kRooms);
  if (known(kFactorScale)) values[kScale] = levels[kFactorScale];
  if (known(kFactorNsg)) values[kNsg] = of(kFactorNsg, kSimdgroups);
  const bool spread_known = known(kFactorSpread);
  if (spread_known && values[kBatches] != kOpen) values[kMaskBatches] = mask_batches_of(levels[kFactorSpread], values[kBatches]);
  if (spread_known && values[kHeads] != kOpen) values[kMaskHeads] = mask_heads_of(levels[kFactorSpread], values[kHeads]);
  if (!known(kFactorMask)) return true;

  const Mask& mask = kMasks[static_cast<std::size_t>(levels[kFactorMask])];
  values[kMaskType] = mask.type;
  values[kWindow] = mask.window;
  values[kHidesLowest] = mask.hides_lowest;
  if (mask.type == kNoMask && spread_known && levels[kFactorSpread] != 0) return false;
  // A row that sees nothing needs others that do; queries are the newest of the keys.
  if (mask.type == kOneRow && values[kQueries] == 1) return false;
  const bool by_position = mask.type == kCausal || mask.type == kWindowed;
  return !by_position || values[kQueries] == kOpen || values[kKvLen] == kOpen || values[kQueries] <= values[kKvLen];
}

std::int64_t at_least(std::span<const std::int64_t> values, AxisIndex axis, std::int64_t least) {
  return values[axis] == kOpen ? least : values[axis];
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

std::int64_t key_rows(std::span<const std::int64_t> v) {
  return at_least(v, kBatches, 1) * at_least(v, kKvHeads, 1) * (at_least(v, kKvLen, 1) + at_least(v, kRoom, 0));
}
std::int64_t query_rows(std::span<const std::int64_t> v) { return at_least(v, kBatches, 1) * at_least(v, kHeads, 1); }

std::int64_t prefill_work(std::span<const std::int64_t> v) {
  const std::int64_t tiles = query_rows(v) * round_up(at_least(v, kQueries, 1), kTileQueries) * round_up(at_least(v, kKvLen, 1), kTileKeys);
  return kHeadDim * (tiles + 2 * key_rows(v));
}

std::int64_t vec_work(std::span<const std::int64_t> v) {
  const std::int64_t scores = query_rows(v) * at_least(v, kQueries, 1) * round_up(at_least(v, kKvLen, 1), 32);
  return kHeadDim * (scores + 2 * key_rows(v));
}

template <typename Table, typename Label>
std::vector<std::string> labels(const Table& table, const Label& label) {
  std::vector<std::string> result;
  for (const auto& row : table) result.push_back(label(row));
  return result;
}

// Both but for the simdgroups and what a case costs.
Family bf16_family(std::string_view name) {
  const auto number = [](std::int64_t value) { return fmt::format("{}", value); };
  const auto equals = [](AxisIndex axis, const auto& table) {
    return [axis, &table](std::size_t level, std::span<const std::int64_t> v) { return v[axis] == table[level]; };
  };
  Family family;
  family.contract = &families::contract(name);
  family.axes = {
      {"batches", 0, 64, 1},
      {"n_heads", 0, 4096, 1},
      {"n_kv_heads", 0, 4096, 1},
      {"queries", 0, 1 << 16, 1},
      {"kv_len", 0, 1 << 20, 1},
      {"kv_room", 0, 1 << 20, 0},
      {"mask_type", kNoMask, kSingle, kNoMask},
      {"sliding_window", 0, 1 << 20, 0},
      {"mask_batches", 1, 64, 1},
      {"mask_heads", 1, 4096, 1},
      {"hides_lowest", 0, 1, 0},
      float_axis("scale", kScaleInverseRoot, kScaleOne),
  };
  family.words = {
      {{{"b{batches}", {}}}},
      {{{"h{n_heads}x{n_kv_heads}", {}}}},
      {{{"q{queries}", {}}}},
      {{{"kv{kv_len}r{kv_room}", {}}}},
      {{{"nomask", {{"mask_type", kNoMask}, {"sliding_window", 0}, {"mask_batches", 1}, {"mask_heads", 1}}},
        {"zero{mask_batches}x{mask_heads}", {{"mask_type", kZeroMask}, {"sliding_window", 0}}},
        {"causal{mask_batches}x{mask_heads}", {{"mask_type", kCausal}, {"sliding_window", 0}}},
        {"win{sliding_window}m{mask_batches}x{mask_heads}", {{"mask_type", kWindowed}}},
        {"random{mask_batches}x{mask_heads}", {{"mask_type", kRandom}, {"sliding_window", 0}}},
        {"row{mask_batches}x{mask_heads}", {{"mask_type", kOneRow}, {"sliding_window", 0}}},
        {"single{mask_batches}x{mask_heads}", {{"mask_type", kSingle}, {"sliding_window", 0}}}}},
      {{{"low", {{"hides_lowest", 1}}}}, true},
      {{{"scale{scale}", {}}}, true},
  };
  family.factors = {
      {"batches", labels(kBatchCounts, number), kBatchCounts.size(), equals(kBatches, kBatchCounts)},
      {"heads", labels(kHeadCounts, [](const auto& heads) { return fmt::format("{}x{}", heads.first, heads.second); }), kHeadCounts.size(),
       [](std::size_t level, std::span<const std::int64_t> v) { return std::pair(v[kHeads], v[kKvHeads]) == kHeadCounts[level]; }},
      {"queries", labels(kQueryCounts, number), kQueryCounts.size(), equals(kQueries, kQueryCounts)},
      {"n", labels(kLengths, number), kEverydayLengths, equals(kKvLen, kLengths)},
      {"room", labels(kRooms, number), kRooms.size(), equals(kRoom, kRooms)},
      {"mask", labels(kMasks, [](const Mask& mask) { return std::string(mask.label); }), kMasks.size(),
       [](std::size_t level, std::span<const std::int64_t> v) {
         const Mask& mask = kMasks[level];
         return v[kMaskType] == mask.type && v[kWindow] == mask.window && v[kHidesLowest] == mask.hides_lowest;
       }},
      {"planes", labels(kSpreads, [](std::string_view text) { return std::string(text); }), kSpreads.size(),
       [](std::size_t level, std::span<const std::int64_t> v) {
         const int spread = static_cast<int>(level);
         return v[kMaskBatches] == mask_batches_of(spread, v[kBatches]) && v[kMaskHeads] == mask_heads_of(spread, v[kHeads]);
       }},
      {"scale",
       {"1/sqrt(D)", "1"},
       2,
       [](std::size_t level, std::span<const std::int64_t> v) { return v[kScale] == (level == 0 ? kScaleInverseRoot : kScaleOne); }},
  };
  family.realise = realise;
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.dense != nullptr; };
  return family;
}

}  // namespace

Family bf16_prefill_family() {
  Family family = bf16_family("bf16_prefill");
  family.about = "attention of many queries over bfloat keys and values with head dimension 512, in tiles, with pad and blk";
  family.work = prefill_work;
  // Sums beyond half, which the pairs of the design bring together with rows of fewer than eight queries only.
  family.own_cases = {"b1/h1x1/q8/kv190r0/nomask/broad/s1", "b1/h2x1/q16/kv257r7/causal1x1/broad/s2",
                      // Heads and batches of keys and values on both sides of bytes 2^31 and 2^32.
                      "b2/h4x4/q8/kv40r1048536/nomask/huge/s1", "b1/h6x6/q16/kv128r1048448/causal1x6/huge/s2",
                      // Tiles with one key to see, at any column: who looks for visible tiles must look at all of them.
                      "b1/h4x4/q8/kv512r0/single1x4/gauss/s1", "b2/h2x2/q9/kv321r7/single2x2/low/uniform/s2",
                      // Each number that hides, in rows of which it hides all, and each way to be added.
                      "b1/h4x2/q9/kv65r0/row1x4/bias/s1", "b1/h2x1/q17/kv130r7/row1x2/bias/s2", "b2/h2x2/q8/kv129r0/random2x2/bias/s3",
                      "b1/h4x2/q9/kv64r0/causal1x1/bias/s4", "b1/h2x1/q64/kv96r0/zero1x1/bias/s5"};
  // And many heads over many keys, the pairs that cost the gate too much.
  family.long_cases = {"b1/h1x1/q1/kv36864r0/nomask/drift/s1",       "b1/h1x1/q8/kv36864r0/causal1x1/drift/s2",
                       "b1/h1x1/q1/kv65537r0/nomask/drift/s3",       "b1/h1x1/q8/kv32768r7/causal1x1/needle/s4",
                       "b1/h32x8/q9/kv1025r0/nomask/gauss/s5",       "b1/h32x4/q1/kv4096r7/nomask/uniform/s6",
                       "b1/h16x2/q1/kv4096r0/nomask/needle/s7",      "b1/h32x8/q8/kv777r0/causal1x1/gauss/s8",
                       "b1/h32x4/q1/kv777r7/nomask/heavy/s9",        "b1/h32x8/q1/kv1023r0/nomask/outlier/s10",
                       "b1/h32x4/q8/kv1023r0/random1x32/gauss/s11",  "b1/h32x8/q8/kv1024r64/win33m1x1/gauss/s12",
                       "b1/h32x4/q2/kv1024r0/nomask/cancel/s13",     "b1/h32x4/q8/kv1025r0/zero1x32/poisoned/s14",
                       "b1/h32x8/q8/kv2048r0/causal1x32/needle/s15", "b1/h32x4/q7/kv2048r0/nomask/gauss/s16",
                       "b1/h32x8/q8/kv4096r0/causal1x1/gauss/s17",   "b1/h16x2/q8/kv2048r7/row1x16/gauss/s18",
                       "b1/h8x8/q8/kv4096r0/random1x8/heavy/s19",    "b1/h8x2/q1/kv4096r0/nomask/large/s20",
                       "b1/h8x1/q8/kv4096r64/causal1x1/uniform/s21"};
  family.function_key = [](std::span<const std::int64_t> v) -> kernels::FunctionKey {
    return {"d512", {{300, v[kMaskType] != kNoMask}, {304, v[kKvLen] % kTileKeys != 0}}};
  };
  family.helpers = [](std::span<const std::int64_t> v) {
    std::vector<HelperKey> helpers;
    const bool has_mask = v[kMaskType] != kNoMask;
    if (v[kKvLen] % kTileKeys != 0) helpers.push_back({"bf16_pad", {"pad", {{100, has_mask}}}});
    if (has_mask) helpers.push_back({"bf16_blk", {"blk"}});
    return helpers;
  };
  return family;
}

Family bf16_vec_family() {
  Family family = bf16_family("bf16_vec");
  family.about = "attention of few queries over bfloat keys and values with head dimension 512, NSG simdgroups per query and head";
  family.axes.push_back({"nsg", 0, 32, 4, true});
  family.words.push_back({{{"nsg{nsg}", {}}}});
  family.factors.push_back({"nsg", labels(kSimdgroups, [](std::int64_t value) { return fmt::format("{}", value); }), kSimdgroups.size(),
                            [](std::size_t level, std::span<const std::int64_t> v) { return v[kNsg] == kSimdgroups[level]; }});
  family.work = vec_work;
  // A chunk of which all but one key is room, and room that is just enough for it.
  family.own_cases = {"b1/h2x2/q1/kv1r31/nomask/nsg1/gauss/s1", "b1/h2x2/q1/kv65r31/nomask/nsg2/poisoned/s2",
                      // Heads and batches of keys and values on both sides of bytes 2^31 and 2^32.
                      "b2/h4x4/q1/kv40r1048536/nomask/nsg2/huge/s1", "b1/h6x6/q2/kv128r1048448/causal1x6/nsg4/huge/s2",
                      // Chunks with one key to see, and chunks with none.
                      "b1/h4x4/q2/kv512r0/single1x4/nsg2/gauss/s1", "b2/h2x2/q3/kv321r7/single2x2/low/nsg4/uniform/s2",
                      // Each number that hides, in rows of which it hides all, and each way to be added.
                      "b1/h4x2/q9/kv65r0/row1x4/nsg2/bias/s1", "b1/h2x1/q5/kv130r7/row1x2/nsg4/bias/s2",
                      "b2/h2x2/q4/kv129r0/random2x2/nsg1/bias/s3", "b1/h4x2/q9/kv64r0/causal1x1/nsg2/bias/s4",
                      "b1/h2x1/q4/kv96r0/zero1x1/nsg1/bias/s5",
                      // Queries that round to even.
                      "b1/h4x2/q3/kv33r0/nomask/nsg1/query_ties/s1", "b2/h2x1/q2/kv96r0/zero1x1/nsg2/query_ties/s2"};
  family.long_cases = {"b1/h2x1/q8/kv36864r0/causal1x1/nsg4/drift/s1",   "b1/h1x1/q1/kv65537r31/nomask/nsg4/drift/s2",
                       "b1/h2x1/q1/kv32768r0/random1x2/nsg2/uniform/s3", "b1/h32x8/q1/kv2048r0/nomask/nsg4/gauss/s4",
                       "b1/h32x4/q1/kv4096r0/causal1x32/nsg2/needle/s5", "b1/h1x1/q64/kv4096r64/nomask/nsg4/gauss/s6"};
  family.function_key = [](std::span<const std::int64_t>) -> kernels::FunctionKey { return {"d512"}; };
  return family;
}

}  // namespace assay::harness
