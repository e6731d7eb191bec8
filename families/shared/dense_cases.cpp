// The axes and cases of attention over bfloat keys and values.
#include "families/shared/dense_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "families/described_launch.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/levels.h"
#include "families/shared/omissions.h"

namespace assay::families::dense {
namespace {

constexpr std::array<std::int64_t, 2> kBatchCounts = {1, 2};
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 11> kHeadCounts = {
    {{1, 1}, {2, 1}, {4, 4}, {8, 8}, {8, 2}, {8, 1}, {16, 2}, {32, 4}, {32, 8}, {6, 3}, {5, 1}}};
constexpr std::array<std::int64_t, 8> kQueryCounts = {1, 2, 7, 8, 9, 16, 33, 64};
// As for decode: both sides of a chunk of 32, of a tile of 64 and of powers of two; then the lengths of long conversations.
constexpr std::array<std::int64_t, 25> kLengths = {1,   2,   31,  32,  33,   63,   64,   65,   127,  128,  255,   256,  257,
                                                   511, 512, 513, 777, 1023, 1024, 1025, 2048, 4096, 8192, 32768, 65537};
constexpr std::size_t kEverydayLengths = 22;
// Rows behind the last key of a head: none, fewer than are needed to complete a chunk, a whole tile.
constexpr std::array<std::int64_t, 3> kRooms = {0, 7, 64};

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
  const auto known = [&](FactorIndex factor) { return levels[factor] >= 0; };
  const auto of = [&](FactorIndex factor, const auto& table) { return table[static_cast<std::size_t>(levels[factor])]; };
  std::ranges::fill(values, kOpen);
  values[kKvBatches] = values[kKvLayout] = values[kFar] = 0;
  if (known(kFactorBatches)) values[kBatches] = of(kFactorBatches, kBatchCounts);
  if (known(kFactorHeads)) {
    values[kHeads] = of(kFactorHeads, kHeadCounts).first;
    values[kKvHeads] = of(kFactorHeads, kHeadCounts).second;
  }
  if (known(kFactorQueries)) values[kQueries] = of(kFactorQueries, kQueryCounts);
  if (known(kFactorLength)) values[kKvLen] = of(kFactorLength, kLengths);
  if (known(kFactorRoom)) values[kRoom] = of(kFactorRoom, kRooms);
  if (known(kFactorScale)) values[kScale] = levels[kFactorScale];
  const bool spread_known = known(kFactorSpread);
  if (spread_known && values[kBatches] != kOpen) values[kMaskBatches] = mask_batches_of(levels[kFactorSpread], values[kBatches]);
  if (spread_known && values[kHeads] != kOpen) values[kMaskHeads] = mask_heads_of(levels[kFactorSpread], values[kHeads]);
  if (!known(kFactorMask)) return true;

  const Mask& mask = kMasks[static_cast<std::size_t>(levels[kFactorMask])];
  values[kMaskType] = mask.type;
  values[kWindow] = mask.window;
  values[kHidesLowest] = mask.hides_lowest;
  if (mask.type == kNoMask && spread_known && levels[kFactorSpread] != 0) return false;
  // A row that sees nothing requires others that see keys. Queries are the newest of the keys.
  if (mask.type == kOneRow && values[kQueries] == 1) return false;
  const bool by_position = mask.type == kCausal || mask.type == kWindowed;
  return !by_position || values[kQueries] == kOpen || values[kKvLen] == kOpen || values[kQueries] <= values[kKvLen];
}

void draw_values(Draw& draw, std::span<std::int64_t> values) {
  const bool is_shared_by_batches = values[kMaskBatches] == 1;
  const bool is_shared_by_heads = values[kMaskHeads] == 1;
  values[kHeads] = draw.between(1, 64);
  values[kKvHeads] = draw.divisor_of(values[kHeads]);
  values[kBatches] = draw.between(1, draw.between(1, 4));
  // Many heads leave room for few queries and keys. There are two queries at least, for a mask with a row that sees nothing, and queries
  // are the newest of the keys.
  constexpr std::int64_t kPairs = 1 << 14;
  const std::int64_t pairs = kPairs / (values[kHeads] * values[kBatches]);
  const auto most = static_cast<std::int64_t>(std::sqrt(static_cast<double>(pairs)));
  values[kQueries] = draw.between(2, std::min<std::int64_t>(80, most));
  values[kKvLen] = draw.between(values[kQueries], std::min<std::int64_t>(1100, pairs / values[kQueries]));
  // bf16_prefill copies an incomplete tile of keys row by row, as if rows had no gaps; those of tokens have.
  constexpr std::int64_t kTile = 64;
  if (values[kKvLayout] == kTokensOfHeads) values[kKvLen] = (values[kKvLen] + kTile - 1) / kTile * kTile;
  values[kRoom] = draw.between(0, 80);
  if (values[kMaskType] == kWindowed) values[kWindow] = draw.between(1, values[kKvLen] + 1);
  values[kMaskBatches] = is_shared_by_batches ? 1 : values[kBatches];
  values[kMaskHeads] = is_shared_by_heads ? 1 : values[kHeads];
  if (values[kKvBatches] != 0) values[kKvBatches] = draw.divisor_of(values[kBatches]);
}

}  // namespace

std::int64_t at_least(Values values, AxisIndex axis, std::int64_t least) { return values[axis] == kOpen ? least : values[axis]; }

std::int64_t key_rows(Values v) {
  return at_least(v, kBatches, 1) * at_least(v, kKvHeads, 1) * (at_least(v, kKvLen, 1) + at_least(v, kRoom, 0));
}
std::int64_t query_rows(Values v) { return at_least(v, kBatches, 1) * at_least(v, kHeads, 1); }

// Long because it is one descriptor, member by member.
Family dense_family(const DenseKind& kind) {
  return {
      .contract = kind.contract,
      .description = kind.description,
      .axes =
          {
              {.name = "batches", .minimum = 0, .maximum = 64, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
              {.name = "n_heads", .minimum = 0, .maximum = 4096, .initial = 1, .brief = "h", .weight = Weight::factor},
              {.name = "n_kv_heads", .minimum = 0, .maximum = 4096, .initial = 1, .brief = "g", .weight = Weight::extent},
              {.name = "queries", .minimum = 0, .maximum = 1 << 17, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
              {.name = "kv_len", .minimum = 0, .maximum = 1 << 20, .initial = 1, .brief = "n", .weight = Weight::factor, .is_length = true},
              {.name = "kv_room", .minimum = 0, .maximum = 1 << 20, .initial = 0, .weight = Weight::extent, .tried = Tried::simplest},
              {.name = "mask_type",
               .minimum = kNoMask,
               .maximum = kTiles,
               .initial = kNoMask,
               .weight = Weight::choice,
               .tried = Tried::simplest},
              {.name = "sliding_window",
               .minimum = 0,
               .maximum = 1 << 20,
               .initial = 0,
               .brief = "window",
               .weight = Weight::start,
               .tried = Tried::simplest},
              {.name = "mask_batches", .minimum = 1, .maximum = 64, .initial = 1, .weight = Weight::repeat, .tried = Tried::counts},
              {.name = "mask_heads", .minimum = 1, .maximum = 4096, .initial = 1, .weight = Weight::repeat, .tried = Tried::counts},
              {.name = "hides_lowest", .minimum = 0, .maximum = 1, .initial = 0, .weight = Weight::choice, .tried = Tried::simplest},
              float_axis("scale", kScaleInverseRoot, kScaleOne),
              {.name = "kv_batches",
               .minimum = 0,
               .maximum = 64,
               .initial = 0,
               .may_be_absent = true,
               .weight = Weight::choice,
               .tried = Tried::simplest},
              {.name = "kv_layout",
               .minimum = 0,
               .maximum = kTokensOfHeads,
               .initial = 0,
               .may_be_absent = true,
               .weight = Weight::choice,
               .tried = Tried::simplest},
              {.name = "far",
               .minimum = 0,
               .maximum = 1,
               .initial = 0,
               .may_be_absent = true,
               .weight = Weight::choice,
               .tried = Tried::simplest},
          },
      .words =
          {
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
                {"single{mask_batches}x{mask_heads}", {{"mask_type", kSingle}, {"sliding_window", 0}}},
                {"tiles{mask_batches}x{mask_heads}", {{"mask_type", kTiles}, {"sliding_window", 0}}}}},
              {{{"low", {{"hides_lowest", 1}}}}, true},
              {{{"scale{scale}", {}}}, true},
              {{{"kvb{kv_batches}", {}}}, true},
              {{{"tokens", {{"kv_layout", kTokensOfHeads}}}}, true},
              {{{"far", {{"far", 1}}}}, true},
          },
      .factors =
          {
              {"batches", labels(kBatchCounts, number_label), kBatchCounts.size(), equal_to(kBatches, kBatchCounts)},
              {"heads", labels(kHeadCounts, [](const auto& heads) { return fmt::format("{}x{}", heads.first, heads.second); }),
               kHeadCounts.size(),
               [](std::size_t level, std::span<const std::int64_t> v) { return std::pair(v[kHeads], v[kKvHeads]) == kHeadCounts[level]; }},
              {"queries", labels(kQueryCounts, number_label), kQueryCounts.size(), equal_to(kQueries, kQueryCounts)},
              {"n", labels(kLengths, number_label), kEverydayLengths, equal_to(kKvLen, kLengths)},
              {"room", labels(kRooms, number_label), kRooms.size(), equal_to(kRoom, kRooms)},
              {"mask", labels(kMasks, [](const Mask& mask) { return std::string(mask.label); }), kMasks.size(),
               [](std::size_t level, std::span<const std::int64_t> v) {
                 const Mask& mask = kMasks[level];
                 return v[kMaskType] == mask.type && v[kWindow] == mask.window && v[kHidesLowest] == mask.hides_lowest;
               }},
              {"planes", labels(kSpreads, text_label), kSpreads.size(),
               [](std::size_t level, std::span<const std::int64_t> v) {
                 const int spread = static_cast<int>(level);
                 return v[kMaskBatches] == mask_batches_of(spread, v[kBatches]) && v[kMaskHeads] == mask_heads_of(spread, v[kHeads]);
               }},
              {"scale",
               {"1/sqrt(D)", "1"},
               2,
               [](std::size_t level, std::span<const std::int64_t> v) {
                 return v[kScale] == (level == 0 ? kScaleInverseRoot : kScaleOne);
               }},
          },
      .realise = realise,
      .draw = draw_values,
      .work = kind.work,
      .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.dense != nullptr; },
      .launch = &launch_of_family(kind.contract.name),
      .expression_names = [values = kind.launch_values](const Case& test_case, const kernels::Variant&)
          -> std::shared_ptr<const kernels::Names> { return std::make_shared<FieldNames>(values(test_case), test_case); },
      .validate = kind.validate,
      .misfit = [](const Case& test_case, const kernels::BoundKernel& kernel) -> std::optional<Misfit> {
        if (test_case.beyond != kSoftcapOmission || kernel.has_field("logit_softcap")) return std::nullopt;
        return Misfit{"logit_softcap", "the kernel has no field logit_softcap, so no host can ask for one"};
      },
      .simdgroups = kind.simdgroups,
      .files = dense_files(),
      .job = kind.job,
      .minimum = dense_minimum,
      .quantities = {{"last_seen", last_seen}, {"most_seen", most_seen}},
      .triage = dense_triage(kind.model),
      .bounds_weaker_storage = true};
}

}  // namespace assay::families::dense
