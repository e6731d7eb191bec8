// Family `fwht`: the fast Walsh-Hadamard transform of rows in place.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/described_launch.h"
#include "families/fwht/contract.h"
#include "families/fwht/inputs.h"
#include "families/fwht/omissions.h"
#include "families/shared/contract_tables.h"
#include "families/shared/levels.h"

namespace assay::families {
namespace {

constexpr std::array<std::int64_t, 8> kRotatedHeads = {1, 2, 3, 5, 8, 33, 64, 257};
constexpr std::size_t kEverydayRotatedHeads = 6;
constexpr std::array<std::string_view, 3> kModes = {"standalone", "premult", "undo"};

}  // namespace

Family fwht_family() {
  return {
      .contract = kFwhtContract,
      .description = "fast Walsh-Hadamard transform of every head's row in place, with the rotation's signs before, after or not at all",
      .axes = {head_dim_axis(),
               {.name = "num_heads", .minimum = 0, .maximum = 1 << 17, .initial = 1, .weight = Weight::factor, .tried = Tried::counts},
               {.name = "mode",
                .minimum = 0,
                .maximum = 2,
                .initial = 0,
                .is_capability = true,
                .weight = Weight::choice,
                .tried = Tried::simplest}},
      .words = {{{{"d{head_dim}", {}}}},
                {{{"h{num_heads}", {}}}},
                {{{"standalone", {{"mode", 0}}}, {"premult", {{"mode", 1}}}, {"undo", {{"mode", 2}}}}}},
      .factors = {factor_of("head_dim", 0, kHeadDims),
                  factor_of("num_heads", 1, kRotatedHeads, kEverydayRotatedHeads),
                  {"mode",
                   {kModes.begin(), kModes.end()},
                   kModes.size(),
                   [](std::size_t level, std::span<const std::int64_t> values) { return values[2] == static_cast<std::int64_t>(level); }}},
      .gate_strength = 3,
      .realise =
          [](std::span<const int> levels, std::span<std::int64_t> values) {
            set(values[0], kHeadDims, levels[0]);
            set(values[1], kRotatedHeads, levels[1]);
            values[2] = levels[2] < 0 ? kOpen : levels[2];
            return true;
          },
      .draw = [](Draw& draw, std::span<std::int64_t> values) { values[1] = draw.between(1, 150); },
      // Rows beyond 16 bits.
      .long_cases = {"d256/h65540/standalone/gauss/s1", "d512/h65540/premult/gauss/s2"},
      .work = no_work,
      .has_fixture = [](const fixtures::Fixture& fixture) { return fixture.fwht != nullptr; },
      .launch = &launch_of_family("fwht"),
      .expression_names = [](const Case& test_case, const kernels::Variant&) -> std::shared_ptr<const kernels::Names> {
        return std::make_shared<FieldNames>(fwht_values(fwht_parameters(test_case)), test_case);
      },
      .validate = [](const Case& test_case) { families::validate(fwht_parameters(test_case)); },
      .simdgroups = [](const Case&) { return std::int64_t{1}; },
      .files = fwht_files(),
      .job = fwht_job,
      .minimum = fwht_minimum,
      .promises = fwht_promises(),
      .tables =
          [](const Case& test_case) {
            std::vector<ContractTable> tables;
            add_signs(tables, test_case.at("head_dim"));
            return tables;
          },
      .triage = fwht_triage(),
      .omissions = fwht_omissions()};
}

}  // namespace assay::families
