// `assay cost`: what it prints, that it prints the same twice, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::cost_test {
namespace {

using namespace ::testing;

const std::string kCase = "tq4_v1/d256/h2x1/kv65c65/ring30/win33/nwg2/gauss/s7";

TEST_F(Cli, CostReportsLinesAndTheMinimum) {
  const Outcome outcome = run_assay("cost " + kCase);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  // 33 visible positions: 2048 bytes of q and of the output, 2 * 33 * 132 of the cache; 2 * 33 * 1029 operations.
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("passed " + kCase), HasSubstr("flash_attn_vec_tq_dk256 (1 dispatch)"),
                                    HasSubstr("flash_attn_vec_reduce_dk256 (1 dispatch)"), HasSubstr("partial = simd_sum(partial);"),
                                    HasSubstr("12,808   "), HasSubstr("67,914   "), HasSubstr("operations per byte moved")));
}

// For a CI that holds two iterations against each other: nothing of the run, the machine or the checkout is in it.
TEST_F(Cli, CostPrintsTheSameJsonUnderEveryScheduleAndNumberOfThreads) {
  const Outcome first = run_assay("cost --json " + kCase);
  EXPECT_EQ(first.status, 0) << first.output;
  EXPECT_THAT(first.output,
              AllOf(HasSubstr(R"("verdict": "passed")"), HasSubstr(R"("file": "tq4_v1/kernel.metal")"),
                    HasSubstr(R"("minimum": {"distinct_bytes": 12808, "bytes_read": 10760, "bytes_written": 2048, "flops": 67914})"),
                    ::testing::Not(HasSubstr(ASSAY_SOURCE_DIR))));
  for (const std::string& options : {std::string(), std::string(" --schedule reverse"), std::string(" --schedule random:3 --threads 2")})
    EXPECT_EQ(run_assay("cost --json " + kCase + options).output, first.output) << options;
}

TEST_F(Cli, CostOfAWrongKernelIsPrintedAndFails) {
  const std::string kernel = with("float(half(Q[", "float(half(2.0f * Q[");
  const Outcome outcome = run_assay("cost --json --kernel " + kernel + " --family tq4 --set tile=32 --set temperature=1 " + kCase);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr(R"("verdict": "failed")"));
}

TEST_F(Cli, CostRefusesWhatHasNone) {
  const Outcome none = run_assay("cost tq4_v1/d256/h8x3/kv65c65/ring0/nomask/nwg2/gauss/s7");
  EXPECT_EQ(none.status, 1) << none.output;
  EXPECT_THAT(none.output, HasSubstr("n_heads = 8 is not a multiple of n_kv_heads = 3"));
  EXPECT_EQ(run_assay("cost smoke --family fwht").status, 2);
  EXPECT_EQ(run_assay("cost --policy native " + kCase).status, 2);
}

}  // namespace
}  // namespace assay::tests::cost_test
