// Holds what the policies and engines may cost: as ratios to `native` on fibers on the same cases, measured in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case.h"
#include "harness/cases/selection.h"
#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "harness/prepare/workbench.h"
#include "kernels/variant.h"
#include "metal/devices/simulator.h"
#include "tests/bench/family_cases.h"
#include "tests/bench/interleaved.h"

namespace assay::tests::policy_speed_test {
namespace {

struct PolicyRow {
  std::string name;
  metal::Policy policy;
  metal::Engine engine;
  double at_most;  // times native on fibers, of any case
};
// Fibers look at each access of each lane: since races in device memory are found within threadgroups too, 8.3 times on tqhb (7.2 before).
const std::vector<PolicyRow> kPolicies = {{"checked on fibers", metal::Policy::checked, metal::Engine::fibers, 9.0},
                                          {"checked as vectors", metal::Policy::checked, metal::Engine::vector, 4.0},
                                          {"shadow", metal::Policy::shadow, metal::Engine::fibers, 8.0},
                                          {"vector", metal::Policy::native, metal::Engine::vector, 0.7}};

constexpr std::size_t kRounds = 5;

TEST(PolicySpeed, EveryPolicyKeepsItsShareOfNative) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "the simulator's runtime is built without optimisation";
#endif
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
  harness::SelectionRequest request;
  request.words = family_cases();
  const std::vector<harness::Case> cases = harness::select_cases(request, catalogue).cases;
  ASSERT_EQ(cases.size(), family_cases().size());
  const harness::Workbench workbench(catalogue, cases, {});
  for (const harness::Case& test_case : cases) {
    const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
    harness::ExecutionOptions options;
    options.schedules = {metal::Schedule{}};
    std::size_t executions = 0;
    options.launch = [&](metal::ComputeEncoder& judged, const harness::Encode& encode) {
      const auto under = [&](const std::string& name, metal::Policy policy, metal::Engine engine) -> Interleaved::Contender {
        return {name, [&, policy, engine] {
                  metal::Simulator simulator(prepared.libraries, {.policy = policy, .engine = engine});
                  encode(simulator);
                  ++executions;
                }};
      };
      std::vector<Interleaved::Contender> contenders = {under("native", metal::Policy::native, metal::Engine::fibers)};
      for (const PolicyRow& row : kPolicies) contenders.push_back(under(row.name, row.policy, row.engine));
      const Interleaved measured = measure_calmly(contenders, kRounds);
      for (const PolicyRow& row : kPolicies) {
        const double ratio = measured.ratio(row.name, "native");
        fmt::print("{}: {} / native = {:.2f} (at most {}), native {:.2f} ms\n", harness::format_case(test_case), row.name, ratio,
                   row.at_most, 1e3 * measured.timing("native").median);
        EXPECT_LE(ratio, row.at_most) << harness::format_case(test_case);
      }
      encode(judged);
    };
    // What was timed is the real thing.
    const harness::Verdict verdict = harness::execute_case(prepared, test_case, options);
    EXPECT_TRUE(harness::is_success(verdict.status)) << reason_of(verdict);
    EXPECT_GT(executions, kRounds * (1 + kPolicies.size()));
  }
}

}  // namespace
}  // namespace assay::tests::policy_speed_test
