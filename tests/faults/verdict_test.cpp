// What a verdict says beside the numbers: accesses next to an output, and the stages behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "harness/execute/execute.h"
#include "harness/findings/fault_text.h"
#include "tests/faults/twin_variant.h"

namespace assay::tests::verdict_test {
namespace {

using harness::Status;
using harness::Verdict;
using namespace ::testing;

Verdict verdict_of(std::string_view variant_name, const Twin& twin, std::string_view words, metal::Policy policy) {
  const TwinVariant variant(variant_name, twin);
  const harness::Case test_case = variant.parse(words, {});
  const harness::Workbench workbench = variant.prepare({test_case});
  harness::ExecutionOptions options;
  options.policy = policy;
  return execute_case(workbench.find(test_case.variant), test_case, options);
}

// The harness keeps words of its own there, which no kernel may so much as read.
TEST(Checked, AnAccessBehindAnOutputIsOutOfBounds) {
  const std::string_view row = "device float * row = data + head * D + lane * E;";
  const Twin reads = {"reads_behind",
                      "reads behind the data",
                      row,
                      "device float * row = data + head * D + lane * E; if (data[params.num_heads * D] == 42.0f) { row[0] = 1.0f; }",
                      {},
                      {}};
  const Twin writes = {"writes_behind",
                       "writes behind the data",
                       row,
                       "device float * row = data + head * D + lane * E; data[params.num_heads * D] = 42.0f;",
                       {},
                       {}};
  for (const Twin& twin : {reads, writes}) {
    const Verdict verdict = verdict_of("fwht_v1", twin, "d256/h1/standalone/gauss/s1", metal::Policy::checked);
    EXPECT_EQ(to_string(verdict.status), "hazard") << reason_of(verdict);
    ASSERT_FALSE(verdict.hazards.empty());
    EXPECT_EQ(verdict.hazards.front().kind, metal::HazardKind::out_of_bounds);
    EXPECT_THAT(verdict.hazards.front().message, HasSubstr("bytes 1024..1027 of 'data' (buffer 0, 1024 bytes)"));
  }
}

TEST(Stage, AMergeOfIdlePartialsIsNotBlamed) {
  const Twin idle = {"all_idle", "no chunk is attended", "if (simd_max(mask) <= kMasked) {", "if (simd_max(mask) <= 1e30f) {", {}, {}};
  const Verdict verdict = verdict_of("tq4_v1", idle, "d256/h1x1/kv33c33/ring0/nomask/nwg2/gauss/s1", metal::Policy::native);
  EXPECT_EQ(to_string(verdict.status), "failed");
  ASSERT_THAT(verdict.stages, SizeIs(1));
  EXPECT_FALSE(verdict.stages.front().is_judged) << reason_of(verdict.stages.front());
  EXPECT_FALSE(verdict.stages.front().faults.empty());
}

}  // namespace
}  // namespace assay::tests::verdict_test
