// Holds what the policies may cost: as ratios to `native` on the same cases, measured in turn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/selection.h"
#include "harness/run/execute.h"
#include "harness/run/workbench.h"
#include "kernels/variant.h"
#include "tests/bench/interleaved.h"

namespace assay::bench {
namespace {

struct PolicyRow {
  std::string name;
  metal::Policy policy;
  double at_most;  // times native, of any case
};
const std::vector<PolicyRow> kPolicies = {{"checked", metal::Policy::checked, 8.0}, {"shadow", metal::Policy::shadow, 8.0}};

// One of each kind of kernel, and none that works in place: each is executed many times over.
const std::vector<std::string> kCases = {"tq4_v1/d256/h8x2/kv512c512/ring0/nomask/nwg4/gauss/s1",
                                         "tqhb_v2/d512/b8/h4x2/kv512c512/ring0/nomask/nwg2/nsg4/gauss/s1",
                                         "reduce_v1/d512/rows32/nwg16/gauss/s1",
                                         "quantize4_v1/d512/b4/g32/pos3c8/sf16/probe/gauss/s1",
                                         "dequantize_v1/d512/b8/g32/pos3c16/sf16/gauss/s1",
                                         "bf16_prefill_v2/b1/h2x1/q16/kv256r0/causal1x1/gauss/s1",
                                         "bf16_vec_v2/b1/h4x2/q1/kv256r0/nomask/nsg4/gauss/s1"};

constexpr std::size_t kRounds = 5;

TEST(PolicySpeed, EveryPolicyKeepsItsShareOfNative) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "the simulator's runtime is built without optimisation";
#endif
  const auto catalogue = kernels::find_variants(kernels::default_variants_directory());
  harness::SelectionRequest request;
  request.words = kCases;
  const std::vector<harness::Case> cases = harness::select_cases(request, catalogue).cases;
  ASSERT_EQ(cases.size(), kCases.size());
  const harness::Workbench workbench(catalogue, cases, {});
  for (const harness::Case& about : cases) {
    const harness::PreparedVariant& prepared = workbench.find(about.variant);
    harness::ExecutionOptions options;
    options.schedules = {metal::Schedule{}};
    std::size_t executions = 0;
    options.launch = [&](metal::ComputeEncoder& judged, const harness::Encode& encode) {
      const auto under = [&](const std::string& name, metal::Policy policy) -> Interleaved::Contender {
        return {name, [&, policy] {
                  metal::Simulator simulator(prepared.libraries, {.policy = policy});
                  encode(simulator);
                  ++executions;
                }};
      };
      std::vector<Interleaved::Contender> contenders = {under("native", metal::Policy::native)};
      for (const PolicyRow& row : kPolicies) contenders.push_back(under(row.name, row.policy));
      const Interleaved measured = measure_calmly(contenders, kRounds);
      for (const PolicyRow& row : kPolicies) {
        const double ratio = measured.ratio(row.name, "native");
        fmt::print("{}: {} / native = {:.2f} (at most {}), native {:.2f} ms\n", format_case(about), row.name, ratio, row.at_most,
                   1e3 * measured.timing("native").median);
        EXPECT_LE(ratio, row.at_most) << format_case(about);
      }
      encode(judged);
    };
    // What was timed is the real thing.
    const harness::Verdict verdict = harness::execute_case(prepared, about, options);
    EXPECT_TRUE(harness::is_success(verdict.status)) << verdict.reason;
    EXPECT_GT(executions, kRounds * (1 + kPolicies.size()));
  }
}

}  // namespace
}  // namespace assay::bench
