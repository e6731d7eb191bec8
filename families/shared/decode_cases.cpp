// The axes and cases of decode attention.
#include "families/shared/decode_cases.h"

#include <algorithm>
#include <array>
#include <bit>

#include "families/described_launch.h"
#include "families/shared/decode_job.h"
#include "families/shared/levels.h"

namespace assay::families::decode {
namespace {

constexpr std::int64_t kChunk = 32;  // slots that a workgroup processes together

constexpr std::array<std::pair<std::int64_t, std::int64_t>, 11> kHeadCounts = {
    {{1, 1}, {2, 1}, {4, 4}, {8, 8}, {8, 2}, {8, 1}, {16, 2}, {32, 4}, {32, 8}, {6, 3}, {5, 1}}};
// Both sides of every edge: one key, one chunk, two chunks, powers of two, and a length without structure. Then the lengths of long
// conversations, in which sums of many terms lose accuracy; a few heads are enough for those.
constexpr std::array<std::int64_t, 25> kLengths = {1,   2,   31,  32,  33,   63,   64,   65,   127,  128,  255,   256,  257,
                                                   511, 512, 513, 777, 1023, 1024, 1025, 2048, 4096, 8192, 32768, 65537};
constexpr std::size_t kEverydayLengths = 22;
constexpr std::int64_t kLongLength = 8192;
constexpr std::int64_t kHeadsOfLongLengths = 2;
constexpr std::array<std::int64_t, 8> kWorkgroups = {1, 2, 3, 4, 8, 16, 31, 32};

constexpr std::array<std::string_view, 4> kCapacities = {"n", "n+1", "pow2", "4n"};
constexpr std::array<std::string_view, 6> kRings = {"0", "1", "31", "32", "cap/2", "cap-1"};

struct Mask {
  std::string_view label;
  std::int64_t mask_type;
  std::int64_t of_length;  // 1: the window is n + offset
  std::int64_t offset;
};
// A window with another mask type, and a window of 0, must have no effect.
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

// Sets the axes up to kNormFactor.
bool realise(std::span<const Norms> norms, std::span<const int> levels, std::span<std::int64_t> values) {
  const auto level = [&](FactorIndex factor) { return levels[factor]; };
  const auto known = [&](FactorIndex factor) { return levels[factor] >= 0; };
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
  if (known(kFactorNorm)) values[kNormFactor] = of(kFactorNorm, norms).factor;
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
  // A ring turns only when it is full; the launch code rejects anything else.
  if (ring_turns && capacity != n) return false;
  return values[kRingStart] < capacity;
}

void draw_values(Draw& draw, std::span<std::int64_t> values) {
  const bool is_full = values[kKvCapacity] == values[kKvLen];
  const bool ring_turns = values[kRingStart] != 0;
  values[kHeads] = draw.between(1, 64);
  values[kKvHeads] = draw.divisor_of(values[kHeads]);
  const std::int64_t n = values[kKvLen] = draw.between(1, 1100);
  values[kKvCapacity] = is_full ? n : draw.between(n, 4 * n);
  values[kRingStart] = is_full && ring_turns ? draw.between(0, n - 1) : 0;
  if (values[kWindow] != 0) values[kWindow] = draw.between(1, n + 1);
  values[kNwg] = draw.between(1, 32);
}

// Generating a coordinate of the cache, whether the kernel reads it or not, takes about as long as two products of a dot product.
std::int64_t work(std::span<const std::int64_t> values) {
  const auto at_least = [&](AxisIndex axis, std::int64_t least) { return values[axis] == kOpen ? least : values[axis]; };
  const std::int64_t n = at_least(kKvLen, 1);
  const std::int64_t row = at_least(kHeadDim, kHeadDims.front());
  return std::max(at_least(kHeads, 1) * n * row, 2 * at_least(kKvHeads, 1) * at_least(kKvCapacity, n) * row);
}

std::vector<Classifier> structural_classifiers(const std::function<std::int64_t(std::span<const std::int64_t>)>& simdgroups) {
  const auto banks = [simdgroups](Values v) { return v[kNwg] * simdgroups(v); };
  const auto chunks = [](Values v) { return (v[kKvLen] + kChunk - 1) / kChunk; };
  return {
      {"n mod 32",
       {"0", "1", "31", "other"},
       [](Values v) {
         const std::int64_t rest = v[kKvLen] % kChunk;
         return rest == 0 ? 0 : rest == 1 ? 1 : rest == 31 ? 2 : 3;
       }},
      {"chunks against simdgroups",
       {"fewer", "equal", "more"},
       [chunks, banks](Values v) { return chunks(v) < banks(v)    ? 0
                                          : chunks(v) == banks(v) ? 1
                                                                  : 2; }},
      {"ring_start",
       {"0", "inside a chunk", "on a chunk edge"},
       [](Values v) { return v[kRingStart] == 0            ? 0
                             : v[kRingStart] % kChunk != 0 ? 1
                                                           : 2; }},
      {"window",
       {"off", "inside a chunk", "crossing chunks", ">= n"},
       [](Values v) {
         if (v[kMaskType] != 2 || v[kWindow] == 0) return 0;
         if (v[kWindow] >= v[kKvLen]) return 3;
         // The oldest and the newest visible slot, in memory.
         const std::int64_t oldest = (v[kRingStart] + v[kKvLen] - v[kWindow]) % v[kKvCapacity];
         const std::int64_t newest = (v[kRingStart] + v[kKvLen] - 1) % v[kKvCapacity];
         return v[kWindow] <= kChunk && oldest / kChunk == newest / kChunk ? 1 : 2;
       }},
  };
}

}  // namespace

Classifier class_of(std::size_t axis, std::string_view name, std::span<const std::int64_t> table) {
  return {name, labels(table, [](std::int64_t value) { return fmt::format("{}", value); }), [axis, table](Values v) {
            const auto found = std::ranges::find(table, v[axis]);
            return found == table.end() ? -1 : static_cast<int>(found - table.begin());
          }};
}

// Long because it is one descriptor, member by member.
Family decode_family(const DecodeKind& kind) {
  const std::span<const Norms> norms = kind.norms;
  std::vector<Classifier> classifiers = structural_classifiers(kind.banks);
  const std::size_t structural = classifiers.size();
  classifiers.push_back(class_of(kNwg, "nwg", kWorkgroups));
  return {
      .contract = kind.contract,
      .description = kind.description,
      .axes =
          {
              head_dim_axis(),
              {.name = "n_heads", .minimum = 0, .maximum = 4096, .initial = 1, .brief = "h", .weight = Weight::factor},
              {.name = "n_kv_heads", .minimum = 0, .maximum = 4096, .initial = 1, .brief = "g", .weight = Weight::extent},
              {.name = "kv_len", .minimum = 0, .maximum = 1 << 20, .initial = 1, .brief = "n", .weight = Weight::factor, .is_length = true},
              {.name = "kv_capacity",
               .minimum = 0,
               .maximum = 1 << 26,
               .initial = 1,
               .brief = "cap",
               .weight = Weight::choice,
               .tried = Tried::simplest,
               .simplest_as = "kv_len",
               .is_length = true},
              {.name = "ring_start", .minimum = 0, .maximum = 1 << 20, .initial = 0, .weight = Weight::start, .tried = Tried::simplest},
              {.name = "mask_type", .minimum = 0, .maximum = 2, .initial = 0, .weight = Weight::choice, .tried = Tried::simplest},
              {.name = "sliding_window",
               .minimum = 0,
               .maximum = 1 << 21,
               .initial = 0,
               .brief = "window",
               .weight = Weight::start,
               .tried = Tried::simplest},
              {.name = "nwg",
               .minimum = 0,
               .maximum = 1024,
               .initial = 16,
               .is_launch_choice = true,
               .weight = Weight::repeat,
               .tried = Tried::counts},
              float_axis("scale", kScaleInverseRoot, kScaleOne),
              scale_factor_axis(),
          },
      .words =
          {
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
          },
      .factors =
          {
              {"head_dim", labels(kHeadDims, number_label), kHeadDims.size(), equal_to(kHeadDim, kHeadDims)},
              {"heads", labels(kHeadCounts, [](const auto& heads) { return fmt::format("{}x{}", heads.first, heads.second); }),
               kHeadCounts.size(), [](std::size_t level, Values v) { return std::pair(v[kHeads], v[kKvHeads]) == kHeadCounts[level]; }},
              {"n", labels(kLengths, number_label), kEverydayLengths, equal_to(kKvLen, kLengths)},
              {"cap", labels(kCapacities, text_label), kCapacities.size(),
               [](std::size_t level, Values v) { return v[kKvCapacity] == capacity_of(static_cast<int>(level), v[kKvLen]); }},
              {"ring_start", labels(kRings, text_label), kRings.size(),
               [](std::size_t level, Values v) { return v[kRingStart] == ring_of(static_cast<int>(level), v[kKvCapacity]); }},
              {"mask", labels(kMasks, [](const Mask& mask) { return std::string(mask.label); }), kMasks.size(),
               [](std::size_t level, Values v) {
                 return v[kMaskType] == kMasks[level].mask_type && v[kWindow] == window_of(kMasks[level], v[kKvLen]);
               }},
              {"nwg", labels(kWorkgroups, number_label), kWorkgroups.size(), equal_to(kNwg, kWorkgroups)},
              {"scale",
               {"1/sqrt(D)", "1"},
               2,
               [](std::size_t level, Values v) { return v[kScale] == (level == 0 ? kScaleInverseRoot : kScaleOne); }},
              {"norms", labels(norms, [](const Norms& norm) { return std::string(norm.label); }), norms.size(),
               [norms, has_norms = kind.has_norms](std::size_t level, Values v) {
                 return v[kNormFactor] == norms[level].factor && (!has_norms || has_norms(norms[level], v));
               }},
          },
      .realise =
          [norms, realise_rest = kind.realise_rest](std::span<const int> levels, std::span<std::int64_t> values) {
            const bool is_sensible = realise(norms, levels, values);
            realise_rest(levels, values);
            return is_sensible;
          },
      .draw = draw_values,
      .work = work,
      .class_factors = {kFactorLength, kFactorCapacity, kFactorRing, kFactorMask, kFactorNwg},
      .classifiers = std::move(classifiers),
      .structural_classifiers = structural,
      .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.decode != nullptr; },
      .launch = &launch_of_family(kind.contract.name),
      .expression_names = [format_of = kind.format_of](const Case& test_case,
                                                       const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
        const DecodeParameters parameters = decode_parameters(test_case, format_of(test_case));
        const DecodeSplit split{parameters.nwg.value_or(1), parameters.nsg.value_or(1)};
        return std::make_shared<FieldNames>(decode_values(parameters, split), test_case);
      },
      .validate = kind.validate,
      .misfit =
          [format_of = kind.format_of](const Case& test_case, const kernels::BoundKernel& kernel) {
            return decode_misfit(kernel, decode_parameters(test_case, format_of(test_case)));
          },
      .simdgroups = kind.simdgroups,
      .files = decode_files(kind.format_of),
      .job = kind.job,
      .minimum = kind.minimum,
      .promises = decode_promises(),
      .triage = decode_triage(kind.format_of, kind.is_4bit),
      .bounds_weaker_storage = true};
}

}  // namespace assay::families::decode
