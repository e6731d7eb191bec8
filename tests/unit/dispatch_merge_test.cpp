// The verdict on an executed trace: what its own dispatches leave in the output decides, not partial results merged by us.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "harness/findings/fault_text.h"
#include "tests/unit/dispatch_bench.h"

namespace assay::tests::dispatch_merge_test {
namespace {

using harness::Status;
using harness::Trace;
using harness::Verdict;
using namespace ::testing;

Verdict edited(const std::string& family, const std::function<void(Trace&)>& apply) {
  Trace trace = recorded(family);
  apply(trace);
  return executed(family, trace);
}

const harness::StageVerdict* stage(const Verdict& verdict, std::string_view name) {
  const auto found = std::ranges::find_if(verdict.stages, [&](const harness::StageVerdict& one) { return one.name.starts_with(name); });
  return found == verdict.stages.end() ? nullptr : &*found;
}

TEST(DispatchMerge, ARightOneHasNothingToExplain) {
  const Verdict verdict = edited("tq4", [](Trace&) {});
  EXPECT_EQ(verdict.status, Status::passed) << reason_of(verdict);
  EXPECT_THAT(verdict.stages, IsEmpty());
  EXPECT_EQ(verdict.judgement.compared, 8 * 256U);
}

TEST(DispatchMerge, AWrongOneFailsAndTheRightPartialsAreMentioned) {
  const Verdict verdict = edited("tq4", [](Trace& t) { set_word(t, 1, 3, 0, 1); });  // merges one of two
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_GT(verdict.judgement.above_bound, 0U);
  ASSERT_NE(stage(verdict, "partials, merged exactly"), nullptr);
  EXPECT_TRUE(stage(verdict, "partials, merged exactly")->passed);
  ASSERT_NE(stage(verdict, "reduce of "), nullptr);
  EXPECT_FALSE(stage(verdict, "reduce of ")->passed);
}

TEST(DispatchMerge, WrongPartialsAreMentionedToo) {
  const Verdict verdict = edited("tq4", [](Trace& t) { set_word(t, 0, 0, 40, 29); });
  EXPECT_EQ(verdict.status, Status::failed);
  ASSERT_NE(stage(verdict, "partials, merged exactly"), nullptr);
  EXPECT_FALSE(stage(verdict, "partials, merged exactly")->passed);
  ASSERT_NE(stage(verdict, "reduce of "), nullptr);
  EXPECT_TRUE(stage(verdict, "reduce of ")->passed);
}

TEST(DispatchMerge, AnAbsentOneWritesNothing) {
  for (const char* family : {"tq4", "tqhb"}) {
    const Verdict verdict = edited(family, [](Trace& t) { t.dispatches.pop_back(); });
    EXPECT_EQ(verdict.status, Status::failed) << family;
    EXPECT_EQ(verdict.judgement.not_written, 8 * (family == std::string("tq4") ? 256U : 512U)) << family;
    EXPECT_EQ(verdict.judgement.compared, 0U) << family;
  }
}

TEST(DispatchMerge, OneBeforeTheAttentionMergesNothing) {
  const Verdict verdict = edited("tq4", [](Trace& t) {
    std::swap(t.dispatches[0], t.dispatches[1]);
    std::swap(t.dispatches[0].after_barrier, t.dispatches[1].after_barrier);
  });
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_GT(verdict.judgement.not_written, 0U);
}

TEST(DispatchMerge, OneOfHalfTheRowsLeavesTheOthers) {
  const Verdict verdict = edited("tq4", [](Trace& t) { t.dispatches[1].grid.x = 4; });
  EXPECT_EQ(verdict.status, Status::failed);
  EXPECT_EQ(verdict.judgement.not_written, 4 * 256U);
}

// One workgroup for all keys writes the output itself. It differs from the contract, and is right.
TEST(DispatchMerge, AKernelThatNeedsNoneIsRight) {
  const auto fused = [](Trace& t) {
    set_word(t, 0, 0, 36, 1);  // nwg
    t.dispatches[0].grid.z = 1;
    t.dispatches[0].bindings.at(6).buffer = harness::TraceBuffer{"dst", 8192, 0};
    t.dispatches.pop_back();
  };
  const Verdict verdict = edited("tq4", fused);
  EXPECT_EQ(verdict.status, Status::passed) << reason_of(verdict);
  EXPECT_THAT(verdict.stages, IsEmpty());
  const Verdict wrong = edited("tq4", [&](Trace& t) {
    fused(t);
    set_word(t, 0, 0, 40, 29);
  });
  EXPECT_EQ(wrong.status, Status::failed);
}

// The helpers of bf16_prefill write what the main kernel reads; the output decides here too.
TEST(DispatchMerge, AMissingHelperFailsByTheOutput) {
  const Verdict verdict = edited("bf16_prefill", [](Trace& t) { t.dispatches.erase(t.dispatches.begin()); });
  EXPECT_FALSE(verdict.is_internal);
  EXPECT_EQ(verdict.status == Status::passed, verdict.judgement.passed());
}

}  // namespace
}  // namespace assay::tests::dispatch_merge_test
