// Family `dequantize`: one position of a cache per key/value head as float.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/dequantize/contract.h"
#include "families/dequantize/inputs.h"
#include "families/dequantize/omissions.h"
#include "families/described_launch.h"
#include "families/shared/cache_slots.h"
#include "families/shared/codebook.h"
#include "families/shared/contract_tables.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace dequantize {
namespace {

using namespace slots;

constexpr std::size_t kScaleFactor = kCapacity + 1;

bool realise(std::span<const int> levels, std::span<std::int64_t> values) {
  set_slots(levels, values, kScaleFactor);
  if (levels[kFactorPosition] < 0 || values[kCapacity] == kOpen) return true;
  values[kPosition] = position_of(kReads[static_cast<std::size_t>(levels[kFactorPosition])], values[kCapacity]);
  return values[kPosition] < values[kCapacity];
}

}  // namespace
}  // namespace dequantize

Family dequantize_family() {
  using namespace dequantize;
  return {
      .contract = kDequantizeContract,
      .description = "one position of a cache per key/value head as float, still rotated",
      .axes = {head_dim_axis(false),
               {.name = "bits", .minimum = 4, .maximum = 8, .initial = 4, .is_capability = true, .received_by = kCodebookReception},
               {.name = "num_kv_heads", .minimum = 0, .maximum = 1 << 17, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
               {.name = "read_pos", .minimum = 0, .maximum = 0xffffffff, .initial = 0, .weight = Weight::extent},
               {.name = "cache_capacity", .minimum = 0, .maximum = 1 << 26, .initial = 1, .weight = Weight::extent},
               scale_factor_axis()},
      .words = {{{{"d{head_dim}", {}}}},
                {{{"b{bits}", {}}}},
                {{{"g{num_kv_heads}", {}}}},
                {{{"pos{read_pos}c{cache_capacity}", {}}}},
                scale_factor_word()},
      .factors = {factor_of("head_dim", kHeadDim, kHeadDims),
                  factor_of("bits", kBitsAxis, kBits),
                  factor_of("num_kv_heads", kKvHeads, kHeads, kEverydayHeads),
                  factor_of("cache_capacity", kCapacity, kCapacities, kEverydayCapacities),
                  {"read_pos", labels(kReads, position_label), kReads.size(),
                   [](std::size_t level, std::span<const std::int64_t> v) {
                     return v[kPosition] == position_of(kReads[level], v[kCapacity]);
                   }},
                  scale_factor_factor(kScaleFactor)},
      .realise = realise,
      .draw =
          [](Draw& draw, std::span<std::int64_t> values) {
            values[kKvHeads] = draw.between(1, 64);
            values[kCapacity] = draw.between(1, 1100);
            values[kPosition] = draw.between(0, values[kCapacity] - 1);
          },
      // Caches of exactly 2^32 bytes and slightly less, with the slot of the last head behind byte 2^31.
      .own_cases = {"d256/b4/g2/pos5c16777216/huge/s1", "d512/b8/g5/pos3c1677721/sf16/huge/s2", "d256/b5/g32/pos40c524288/huge/s3",
                    // Slots beyond the range of 16 bits.
                    "d256/b4/g1/pos65541c65600/gauss/s4", "d512/b6/g2/pos70000c70001/gauss/s5"},
      // Slots and rows beyond 16 bits, of every head size and width.
      .long_cases = {"d256/b5/g1/pos65541c65600/gauss/s6", "d256/b6/g1/pos65541c65600/gauss/s7", "d256/b8/g1/pos65541c65600/gauss/s8",
                     "d512/b4/g1/pos65541c65600/gauss/s9", "d512/b5/g1/pos65541c65600/gauss/s10", "d512/b8/g1/pos65541c65600/gauss/s11",
                     "d256/b4/g65540/pos0c1/gauss/s12", "d512/b8/g65540/pos0c1/gauss/s13"},
      .work = no_work,
      .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.dequantize != nullptr; },
      .launch = &launch_of_family("dequantize"),
      .expression_names = [](const Case& test_case, const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
        return std::make_shared<FieldNames>(dequantize_values(dequantize_parameters(test_case)), test_case);
      },
      .validate = [](const Case& test_case) { families::validate(dequantize_parameters(test_case)); },
      // Threads of a head are independent of each other, but several simdgroups take turns.
      .simdgroups = [](const Case& test_case) { return test_case.at("head_dim") / 32; },
      .files = dequantize_files(),
      .job = dequantize_job,
      .minimum = dequantize_minimum,
      .tables =
          [](const Case& test_case) {
            std::vector<ContractTable> tables;
            add_codebook(tables, test_case.at("bits"));
            return tables;
          },
      .triage = dequantize_triage(),
      .omissions = dequantize_omissions()};
}

}  // namespace assay::families
