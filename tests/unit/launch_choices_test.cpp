// What a host chooses for its launch changes no expected value (families/family.h: is_launch_choice). Bounds may depend on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "harness/execute/execute_job.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"

namespace assay::tests::launch_choices_test {
namespace {

using namespace harness;

// The case, and those that differ from it in one launch choice, with its data: values that the suite has.
std::vector<Case> alike(const Case& test_case, const std::vector<Case>& suite) {
  std::vector<Case> cases = {test_case};
  for (std::size_t i = 0; i < test_case.values.size(); ++i) {
    if (!test_case.family->axes[i].is_launch_choice) continue;
    for (const Case& other : suite) {
      Case changed = test_case;
      changed.values[i] = other.values[i];
      if (is_valid(changed) && std::ranges::find(cases, changed) == cases.end()) cases.push_back(changed);
    }
  }
  return cases;
}

std::vector<std::uint64_t> bits_of(const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

oracles::Expected expected_of(const Workbench& workbench, const Case& test_case) {
  oracles::Expected expected;
  with_job(workbench.find(test_case.variant), test_case, {}, nullptr,
           [&](const families::Job& job, const JobMemory&) { expected = job.expect(); });
  return expected;
}

class LaunchChoices : public ::testing::TestWithParam<std::string> {};

TEST_P(LaunchChoices, ChangeNoExpectedValue) {
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  const std::vector<Case> suite = suite_cases(Suite::smoke, *std::ranges::find(catalogue, GetParam(), &kernels::Variant::name), 0);
  constexpr std::size_t kBases = 8;
  ASSERT_GT(suite.size(), kBases);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < kBases; ++i) {
    const std::vector<Case> cases = alike(suite[i * suite.size() / kBases], suite);
    const Workbench workbench(catalogue, cases, {});
    const oracles::Expected first = expected_of(workbench, cases.front());
    for (std::size_t other = 1; other < cases.size(); ++other) {
      SCOPED_TRACE(format_case(cases.front()) + " and " + format_case(cases[other]));
      if (!why_not_executed(workbench.find(GetParam()), cases[other]).empty()) continue;
      EXPECT_EQ(bits_of(expected_of(workbench, cases[other]).value), bits_of(first.value));
      ++compared;
    }
  }
  EXPECT_GE(compared, kBases);
}

// A variant of each family that has such axes.
INSTANTIATE_TEST_SUITE_P(Variants, LaunchChoices, ::testing::Values("tq4_v1", "tqhb_v1", "bf16_vec_v1", "attn_split_v1", "attn_nwg_v1"));

}  // namespace
}  // namespace assay::tests::launch_choices_test
