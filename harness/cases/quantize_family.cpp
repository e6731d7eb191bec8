// The families that write and read one position of a cache: quantize and dequantize.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/registry.h"
#include "harness/cases/family_rows.h"

namespace assay::harness {
namespace {

constexpr std::array<std::int64_t, 2> kHeadDims = {256, 512};
constexpr std::array<std::int64_t, 4> kBits = {4, 5, 6, 8};
constexpr std::array<std::int64_t, 7> kHeads = {1, 2, 4, 8, 3, 16, 33};
constexpr std::size_t kEverydayHeads = 4;
constexpr std::array<std::int64_t, 7> kCapacities = {1, 2, 32, 33, 100, 31, 1024};
constexpr std::size_t kEverydayCapacities = 5;
constexpr std::array<std::int64_t, 3> kScaleFactors = {1, 16, kScaleFactorRoot};

struct Position {
  std::string_view label;
  std::int64_t of_capacity;  // the position is of_capacity * cap + offset
  std::int64_t offset;
  bool is_sliding;
};
// A position below the capacity is its own slot, sliding or not; one above is only there with a ring.
constexpr std::array<Position, 10> kWrites = {{{"0", 0, 0, false},
                                               {"1", 0, 1, false},
                                               {"31", 0, 31, false},
                                               {"32", 0, 32, false},
                                               {"cap-1", 1, -1, false},
                                               {"sliding 0", 0, 0, true},
                                               {"sliding cap-1", 1, -1, true},
                                               {"sliding cap", 1, 0, true},
                                               {"sliding cap+1", 1, 1, true},
                                               {"sliding 3cap+7", 3, 7, true}}};
constexpr std::span<const Position> kReads = std::span(kWrites).first(5);

std::int64_t position_of(const Position& position, std::int64_t capacity) { return position.of_capacity * capacity + position.offset; }

std::string scale_factor_label(std::int64_t value) { return value == kScaleFactorRoot ? "sqrt(512)" : fmt::format("{}", value); }

template <typename Table, typename Label>
std::vector<std::string> labels(const Table& table, const Label& label) {
  std::vector<std::string> result;
  for (const auto& row : table) result.push_back(label(row));
  return result;
}

// A factor that is one axis, with a table of its values.
template <std::size_t N>
Factor factor_of(std::string_view name, std::size_t axis, const std::array<std::int64_t, N>& table, std::size_t everyday = N) {
  return {name, labels(table, [](std::int64_t value) { return fmt::format("{}", value); }), everyday,
          [axis, &table](std::size_t level, std::span<const std::int64_t> values) { return values[axis] == table[level]; }};
}

Factor scale_factor_factor(std::size_t axis) {
  Factor factor = factor_of("scale_factor_d512", axis, kScaleFactors);
  factor.levels = labels(kScaleFactors, scale_factor_label);
  return factor;
}

template <std::size_t N>
void set(std::int64_t& value, const std::array<std::int64_t, N>& table, int level) {
  value = level < 0 ? kOpen : table[static_cast<std::size_t>(level)];
}

Word scale_factor_word() { return {{{"sfroot512", {{"scale_factor_d512", kScaleFactorRoot}}}, {"sf{scale_factor_d512}", {}}}, true}; }

// The dearest case takes milliseconds.
std::int64_t no_work(std::span<const std::int64_t>) { return 0; }

namespace writing {
enum AxisIndex : std::size_t { kHeadDim, kBitsAxis, kKvHeads, kWritePos, kCapacity, kIsSliding, kScaleFactor, kProbe };
enum FactorIndex : std::size_t { kFactorD, kFactorBits, kFactorHeads, kFactorCapacity, kFactorPosition, kFactorScale, kFactorProbe };

bool realise(std::span<const int> levels, std::span<std::int64_t> values) {
  set(values[kHeadDim], kHeadDims, levels[kFactorD]);
  set(values[kBitsAxis], kBits, levels[kFactorBits]);
  set(values[kKvHeads], kHeads, levels[kFactorHeads]);
  set(values[kCapacity], kCapacities, levels[kFactorCapacity]);
  set(values[kScaleFactor], kScaleFactors, levels[kFactorScale]);
  values[kProbe] = levels[kFactorProbe] < 0 ? kOpen : levels[kFactorProbe];
  values[kWritePos] = values[kIsSliding] = kOpen;
  if (values[kProbe] == 1 && values[kBitsAxis] != kOpen && values[kBitsAxis] != 4) return false;
  if (levels[kFactorPosition] < 0) return true;
  const Position& position = kWrites[static_cast<std::size_t>(levels[kFactorPosition])];
  values[kIsSliding] = position.is_sliding ? 1 : 0;
  if (values[kCapacity] == kOpen) return true;
  values[kWritePos] = position_of(position, values[kCapacity]);
  return position.is_sliding || values[kWritePos] < values[kCapacity];
}
}  // namespace writing

namespace reading {
enum AxisIndex : std::size_t { kHeadDim, kBitsAxis, kKvHeads, kReadPos, kCapacity, kScaleFactor };
enum FactorIndex : std::size_t { kFactorD, kFactorBits, kFactorHeads, kFactorCapacity, kFactorPosition, kFactorScale };

bool realise(std::span<const int> levels, std::span<std::int64_t> values) {
  set(values[kHeadDim], kHeadDims, levels[kFactorD]);
  set(values[kBitsAxis], kBits, levels[kFactorBits]);
  set(values[kKvHeads], kHeads, levels[kFactorHeads]);
  set(values[kCapacity], kCapacities, levels[kFactorCapacity]);
  set(values[kScaleFactor], kScaleFactors, levels[kFactorScale]);
  values[kReadPos] = kOpen;
  if (levels[kFactorPosition] < 0 || values[kCapacity] == kOpen) return true;
  values[kReadPos] = position_of(kReads[static_cast<std::size_t>(levels[kFactorPosition])], values[kCapacity]);
  return values[kReadPos] < values[kCapacity];
}
}  // namespace reading

std::string position_label(const Position& position) { return std::string(position.label); }

}  // namespace

Family quantize_family() {
  using namespace writing;
  Family family;
  family.contract = &families::contract("quantize");
  family.about = "one token per key/value head, rotated, normalised, quantised and written into a cache";
  family.axes = {{.name = "head_dim", .minimum = 256, .maximum = 512, .initial = 256, .is_capability = true},
                 {.name = "bits", .minimum = 4, .maximum = 8, .initial = 4, .is_capability = true},
                 {"num_kv_heads", 0, 65536, 1},
                 {"write_pos", 0, 0xffffffff, 0},
                 {"cache_capacity", 0, 1 << 26, 1},
                 {"is_sliding", 0, 1, 0},
                 float_axis("scale_factor_d512", 1, kScaleFactorWhole),
                 {"rms_probe", 0, 1, 0}};
  family.words = {{{{"d{head_dim}", {}}}},
                  {{{"b{bits}", {}}}},
                  {{{"g{num_kv_heads}", {}}}},
                  {{{"pos{write_pos}c{cache_capacity}", {}}}},
                  {{{"linear", {{"is_sliding", 0}}}, {"sliding", {{"is_sliding", 1}}}}, true},
                  scale_factor_word(),
                  {{{"noprobe", {{"rms_probe", 0}}}, {"probe", {{"rms_probe", 1}}}}, true}};
  family.factors = {factor_of("head_dim", kHeadDim, kHeadDims),
                    factor_of("bits", kBitsAxis, kBits),
                    factor_of("num_kv_heads", kKvHeads, kHeads, kEverydayHeads),
                    factor_of("cache_capacity", kCapacity, kCapacities, kEverydayCapacities),
                    {"write_pos", labels(kWrites, position_label), kWrites.size(),
                     [](std::size_t level, std::span<const std::int64_t> v) {
                       return v[kWritePos] == position_of(kWrites[level], v[kCapacity]) &&
                              v[kIsSliding] == (kWrites[level].is_sliding ? 1 : 0);
                     }},
                    scale_factor_factor(kScaleFactor),
                    {"rms_probe", {"off", "on"}, 2, [](std::size_t level, std::span<const std::int64_t> v) {
                       return v[kProbe] == static_cast<std::int64_t>(level);
                     }}};
  family.realise = writing::realise;
  // Slots and positions that 16 bits do not hold, and heads on both sides of byte 2^31.
  family.own_cases = {
      "d256/b4/g1/pos65541c65600/gauss/s1", "d512/b4/g2/pos70000c70001/probe/gauss/s2", "d256/b4/g1/pos4000000007c100/sliding/gauss/s3",
      "d256/b8/g1/pos65541c65600/gauss/s4", "d512/b5/g2/pos70000c70001/sf16/gauss/s5", "d512/b6/g1/pos4000000007c100/sliding/gauss/s6",
      // Rows on both sides of every boundary, and of the smallest norm.
      "d256/b4/g12/pos0c1/edges/s7", "d512/b4/g12/pos0c1/edges/s8", "d256/b5/g12/pos0c1/edges/s9", "d512/b5/g12/pos0c1/edges/s10",
      "d256/b6/g12/pos0c1/edges/s11", "d512/b6/g12/pos0c1/edges/s12", "d256/b8/g12/pos0c1/edges/s13", "d512/b8/g12/pos0c1/edges/s14"};
  family.work = no_work;
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.quantize != nullptr; };
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey {
    return {fmt::format("{}_d{}", values[kBitsAxis] == 4 ? "fast" : "hb", values[kHeadDim])};
  };
  return family;
}

Family dequantize_family() {
  using namespace reading;
  Family family;
  family.contract = &families::contract("dequantize");
  family.about = "one position of a cache per key/value head as float, still rotated";
  family.axes = {{"head_dim", 256, 512, 256},       {.name = "bits", .minimum = 4, .maximum = 8, .initial = 4, .is_capability = true},
                 {"num_kv_heads", 0, 65536, 1},     {"read_pos", 0, 0xffffffff, 0},
                 {"cache_capacity", 0, 1 << 26, 1}, float_axis("scale_factor_d512", 1, kScaleFactorWhole)};
  family.words = {{{{"d{head_dim}", {}}}},
                  {{{"b{bits}", {}}}},
                  {{{"g{num_kv_heads}", {}}}},
                  {{{"pos{read_pos}c{cache_capacity}", {}}}},
                  scale_factor_word()};
  family.factors = {
      factor_of("head_dim", kHeadDim, kHeadDims),
      factor_of("bits", kBitsAxis, kBits),
      factor_of("num_kv_heads", kKvHeads, kHeads, kEverydayHeads),
      factor_of("cache_capacity", kCapacity, kCapacities, kEverydayCapacities),
      {"read_pos", labels(kReads, position_label), kReads.size(),
       [](std::size_t level, std::span<const std::int64_t> v) { return v[kReadPos] == position_of(kReads[level], v[kCapacity]); }},
      scale_factor_factor(kScaleFactor)};
  family.realise = reading::realise;
  // Caches of exactly 2^32 bytes and of just under, with the slot of the last head behind byte 2^31.
  family.own_cases = {"d256/b4/g2/pos5c16777216/huge/s1", "d512/b8/g5/pos3c1677721/sf16/huge/s2", "d256/b5/g32/pos40c524288/huge/s3",
                      // Slots that 16 bits do not hold.
                      "d256/b4/g1/pos65541c65600/gauss/s4", "d512/b6/g2/pos70000c70001/gauss/s5"};
  family.work = no_work;
  family.has_fixture = [](const fixtures::Fixture& fixture) { return fixture.dequantize != nullptr; };
  family.function_key = [](std::span<const std::int64_t> values) -> kernels::FunctionKey {
    return {values[kBitsAxis] == 4 ? "4bit" : "hb"};
  };
  return family;
}

}  // namespace assay::harness
