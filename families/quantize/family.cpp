// Family `quantize`: one token per key/value head, rotated, normalised, quantised and written into a cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/quantize/contract.h"
#include "families/quantize/inputs.h"
#include "families/shared/cache_slots.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace {

using namespace slots;

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

}  // namespace

Family quantize_family() {
  Family family;
  family.contract = &kQuantizeContract;
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
  family.realise = realise;
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
  family.validate = [](const Case& about) { families::validate(quantize_parameters(about)); };
  family.simdgroups = [](const Case&) { return std::int64_t{1}; };
  family.files = quantize_files();
  family.minimum = quantize_minimum;
  family.job = quantize_job;
  return family;
}

}  // namespace assay::families
