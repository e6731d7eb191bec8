// Family `reduce`: the merge of the partial attention results of NWG workgroups.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/described_launch.h"
#include "families/reduce/contract.h"
#include "families/reduce/inputs.h"
#include "families/reduce/omissions.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace {

constexpr std::array<std::int64_t, 6> kRows = {1, 2, 5, 8, 32, 33};
constexpr std::size_t kEverydayRows = 5;
// First small numbers, powers of two and their neighbours; then all others up to the largest that 1,024 threads can merge.
constexpr std::array<std::int64_t, 32> kWorkgroups = {1,  2,  3,  4,  7,  8,  15, 16, 31, 32, 5,  6,  9,  10, 11, 12,
                                                      13, 14, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};
constexpr std::size_t kEverydayWorkgroups = 10;

}  // namespace

Family reduce_family() {
  return {.contract = kReduceContract,
          .description = "merge of the partial attention results of NWG workgroups",
          .axes = {head_dim_axis(),
                   {.name = "nrows", .minimum = 0, .maximum = 1 << 17, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
                   {.name = "nwg", .minimum = 0, .maximum = 1024, .initial = 16, .weight = Weight::repeat, .tried = Tried::counts}},
          .words = {{{{"d{head_dim}", {}}}}, {{{"rows{nrows}", {}}}}, {{{"nwg{nwg}", {}}}}},
          .factors = {factor_of("head_dim", 0, kHeadDims), factor_of("nrows", 1, kRows, kEverydayRows),
                      factor_of("nwg", 2, kWorkgroups, kEverydayWorkgroups)},
          .gate_strength = 3,
          .realise =
              [](std::span<const int> levels, std::span<std::int64_t> values) {
                set(values[0], kHeadDims, levels[0]);
                set(values[1], kRows, levels[1]);
                set(values[2], kWorkgroups, levels[2]);
                return true;
              },
          .draw =
              [](Draw& draw, std::span<std::int64_t> values) {
                values[1] = draw.between(1, 128);
                values[2] = draw.between(1, 32);
              },
          // Rows beyond 16 bits.
          .long_cases = {"d256/rows65540/nwg2/gauss/s1", "d512/rows65540/nwg3/gauss/s2"},
          .work = no_work,
          .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.reduce != nullptr; },
          .launch = &launch_of_family("reduce"),
          .expression_names = [](const Case& test_case, const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
            return std::make_shared<FieldNames>(reduce_values(reduce_parameters(test_case)), test_case);
          },
          .validate = [](const Case& test_case) { families::validate(reduce_parameters(test_case)); },
          .simdgroups = [](const Case& test_case) { return test_case.at("nwg"); },
          .files = reduce_files(),
          .job = reduce_job,
          .minimum = reduce_minimum,
          .triage = reduce_triage(),
          .omissions = reduce_omissions()};
}

}  // namespace assay::families
