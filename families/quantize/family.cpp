// Family `quantize`: one token per key/value head, rotated, normalised, quantised and written into a cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/described_launch.h"
#include "families/quantize/contract.h"
#include "families/quantize/inputs.h"
#include "families/quantize/omissions.h"
#include "families/shared/cache_slots.h"
#include "families/shared/codebook.h"
#include "families/shared/contract_tables.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace quantize {
namespace {

using namespace slots;

enum OwnAxis : std::size_t { kIsSliding = kCapacity + 1, kScaleFactor, kProbe };
constexpr std::size_t kFactorProbe = kFactorScale + 1;

bool realise(std::span<const int> levels, std::span<std::int64_t> values) {
  set_slots(levels, values, kScaleFactor);
  values[kProbe] = levels[kFactorProbe] < 0 ? kOpen : levels[kFactorProbe];
  values[kIsSliding] = kOpen;
  if (values[kProbe] == 1 && values[kBitsAxis] != kOpen && values[kBitsAxis] != 4) return false;
  if (levels[kFactorPosition] < 0) return true;
  const Position& position = kWrites[static_cast<std::size_t>(levels[kFactorPosition])];
  values[kIsSliding] = position.is_sliding ? 1 : 0;
  if (values[kCapacity] == kOpen) return true;
  values[kPosition] = position_of(position, values[kCapacity]);
  return position.is_sliding || values[kPosition] < values[kCapacity];
}

}  // namespace
}  // namespace quantize

// Long because it is one descriptor, member by member.
Family quantize_family() {
  using namespace quantize;
  return {
      .contract = kQuantizeContract,
      .description = "one token per key/value head, rotated, normalised, quantised and written into a cache",
      .axes = {head_dim_axis(),
               {.name = "bits", .minimum = 4, .maximum = 8, .initial = 4, .is_capability = true, .received_by = kCodebookReception},
               {.name = "num_kv_heads", .minimum = 0, .maximum = 1 << 17, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
               {.name = "write_pos", .minimum = 0, .maximum = 0xffffffff, .initial = 0, .weight = Weight::extent},
               {.name = "cache_capacity", .minimum = 0, .maximum = 1 << 26, .initial = 1, .weight = Weight::extent},
               {.name = "is_sliding", .minimum = 0, .maximum = 1, .initial = 0, .weight = Weight::choice},
               scale_factor_axis(),
               {.name = "rms_probe",
                .minimum = 0,
                .maximum = 1,
                .initial = 0,
                .is_capability = true,
                .weight = Weight::choice,
                .tried = Tried::simplest}},
      .words = {{{{"d{head_dim}", {}}}},
                {{{"b{bits}", {}}}},
                {{{"g{num_kv_heads}", {}}}},
                {{{"pos{write_pos}c{cache_capacity}", {}}}},
                {{{"linear", {{"is_sliding", 0}}}, {"sliding", {{"is_sliding", 1}}}}, true},
                scale_factor_word(),
                {{{"noprobe", {{"rms_probe", 0}}}, {"probe", {{"rms_probe", 1}}}}, true}},
      .factors = {factor_of("head_dim", kHeadDim, kHeadDims),
                  factor_of("bits", kBitsAxis, kBits),
                  factor_of("num_kv_heads", kKvHeads, kHeads, kEverydayHeads),
                  factor_of("cache_capacity", kCapacity, kCapacities, kEverydayCapacities),
                  {"write_pos", labels(kWrites, position_label), kWrites.size(),
                   [](std::size_t level, std::span<const std::int64_t> v) {
                     return v[kPosition] == position_of(kWrites[level], v[kCapacity]) &&
                            v[kIsSliding] == (kWrites[level].is_sliding ? 1 : 0);
                   }},
                  scale_factor_factor(kScaleFactor),
                  {"rms_probe",
                   {"off", "on"},
                   2,
                   [](std::size_t level, std::span<const std::int64_t> v) { return v[kProbe] == static_cast<std::int64_t>(level); }}},
      .realise = realise,
      .draw =
          [](Draw& draw, std::span<std::int64_t> values) {
            values[kKvHeads] = draw.between(1, 64);
            values[kCapacity] = draw.between(1, 1100);
            values[kPosition] = draw.between(0, (values[kIsSliding] == 1 ? 4 : 1) * values[kCapacity] - 1);
          },
      // Slots and positions beyond the range of 16 bits.
      .own_cases = {"d256/b4/g1/pos65541c65600/gauss/s1", "d512/b4/g2/pos70000c70001/probe/gauss/s2",
                    "d256/b4/g1/pos4000000007c100/sliding/gauss/s3", "d256/b8/g1/pos65541c65600/gauss/s4",
                    "d512/b5/g2/pos70000c70001/sf16/gauss/s5", "d512/b6/g1/pos4000000007c100/sliding/gauss/s6",
                    // Rows on both sides of every decision boundary, and of the smallest norm.
                    "d256/b4/g12/pos0c1/edges/s7", "d512/b4/g12/pos0c1/edges/s8", "d256/b5/g12/pos0c1/edges/s9",
                    "d512/b5/g12/pos0c1/edges/s10", "d256/b6/g12/pos0c1/edges/s11", "d512/b6/g12/pos0c1/edges/s12",
                    "d256/b8/g12/pos0c1/edges/s13", "d512/b8/g12/pos0c1/edges/s14",
                    // Indices on both sides of byte 2^31: by the slot alone, and in the last head.
                    "d256/b4/g1/pos16777217c16777220/gauss/s1", "d256/b4/g2/pos16777215c16777216/gauss/s1",
                    "d512/b4/g2/pos8388607c8388608/probe/gauss/s2", "d256/b5/g1/pos8388609c8388610/gauss/s3",
                    "d512/b6/g2/pos4194303c4194304/gauss/s4", "d256/b8/g2/pos8388607c8388608/gauss/s5"},
      // Slots and rows beyond 16 bits, of every head size and width.
      .long_cases = {"d256/b5/g1/pos65541c65600/gauss/s15", "d256/b6/g1/pos65541c65600/gauss/s16", "d512/b6/g1/pos65541c65600/gauss/s17",
                     "d512/b8/g1/pos65541c65600/gauss/s18", "d256/b4/g65540/pos0c1/gauss/s19", "d512/b8/g65540/pos0c1/gauss/s20"},
      .work = no_work,
      .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.quantize != nullptr; },
      .launch = &launch_of_family("quantize"),
      .expression_names = [](const Case& test_case, const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
        return std::make_shared<FieldNames>(quantize_values(quantize_parameters(test_case)), test_case);
      },
      .validate = [](const Case& test_case) { families::validate(quantize_parameters(test_case)); },
      .misfit = [](const Case& test_case, const kernels::BoundKernel& kernel) -> std::optional<Misfit> {
        if (test_case.at("rms_probe") == 0 || kernel.has("rms_scratch")) return std::nullopt;
        return Misfit{"rms_scratch", "rms_probe = 1, but the kernel has no argument rms_scratch, so it does not write its inputs"};
      },
      .simdgroups = [](const Case&) { return std::int64_t{1}; },
      .files = quantize_files(),
      .job = quantize_job,
      .minimum = quantize_minimum,
      .promises = quantize_promises(),
      .tables =
          [](const Case& test_case) {
            std::vector<ContractTable> tables;
            add_codebook(tables, test_case.at("bits"));
            add_boundaries(tables, test_case.at("bits"));
            add_signs(tables, test_case.at("head_dim"));
            return tables;
          },
      .triage = quantize_triage(),
      .omissions = quantize_omissions()};
}

}  // namespace assay::families
