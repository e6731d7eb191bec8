// What a run under one order of the simdgroups cannot see: each case with several of them is executed under more orders, and a
// difference between these fails it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/command.h"

namespace assay::tests::schedules_test {
namespace {

using namespace ::testing;

class CliSchedules : public Cli {
 protected:
  static std::string read(const std::string& path) { return read_file(kRoot / path); }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    if (place != std::string::npos) text.replace(place, from.size(), to);
    return text;
  }
};

TEST_F(CliSchedules, AReduceWithoutItsBarrierFailsTheGate) {
  const std::string kernel = write(read("tests/kernels/reduce_without_barrier.metal"));
  const Outcome outcome = run_assay("gate --family reduce --fail-fast --jobs 1 --kernel " + kernel);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* text : {"failed kernel/d", "depends on the order of simdgroups", "forward and reverse differ at element",
                           "a barrier is missing", "--family reduce --schedule forward,reverse\n"}) {
    EXPECT_THAT(outcome.output, HasSubstr(text));
  }
  const std::string start = "replay: assay ";
  const std::size_t replay = outcome.output.find(start);
  ASSERT_NE(replay, std::string::npos);
  const std::size_t first = replay + start.size();
  const Outcome again = run_assay(outcome.output.substr(first, outcome.output.find('\n', first) - first));
  EXPECT_EQ(again.status, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr("forward and reverse differ at element"));
}

// Why one order is not enough.
TEST_F(CliSchedules, ItsMistakeDoesNotShowInForwardOrder) {
  const std::string kernel = write(read("tests/kernels/reduce_without_barrier.metal"));
  const Outcome outcome = run_assay("run smoke --family reduce --schedule forward --kernel " + kernel);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

TEST_F(CliSchedules, WithItsBarrierItPassesTheGate) {
  const std::string kernel =
      write(replaced(read("tests/kernels/reduce_without_barrier.metal"), "// BARRIER", "threadgroup_barrier(mem_flags::mem_threadgroup);"));
  const Outcome outcome = run_assay("gate --family reduce --kernel " + kernel);
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("also run in reverse, and a quarter of them at random; expensive cases run forward only"));
}

TEST_F(CliSchedules, TheRepositorysReducePasses) {
  const Outcome outcome = run_assay("run smoke --family reduce");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}

// The distance between variables of two lanes is no property of the kernel: lanes of fibers have stacks of their own.
TEST_F(CliSchedules, EnginesThatGiveOtherBitsFailTheCase) {
  const std::string text = replaced(read("kernels/variants/dequantize_v1/kernel.metal"), "dst[head * params.head_dim + coordinate] =",
                                    "thread float own[2] = {1.0f, 1.0f};\n"
                                    "const uint at = uint(reinterpret_cast<ulong>(&own[coordinate % 2]) / 8);\n"
                                    "const bool is_near = abs(int(at - simd_shuffle_xor(at, 2u))) < 4000;\n"
                                    "dst[head * params.head_dim + coordinate] = (is_near ? own[0] : 2 * own[1]) *");
  const std::string selection = "run kernel/d256/b4/g2/pos0c1/gauss/s1 --family dequantize --kernel " + write(text) + " --engine ";
  const Outcome alone = run_assay(selection + "vector");
  EXPECT_EQ(alone.status, 0) << alone.output;
  const Outcome both = run_assay(selection + "both");
  EXPECT_EQ(both.status, 1) << both.output;
  EXPECT_THAT(both.output, HasSubstr("output depends on the engine: vector and fibers differ at element 0"));
  EXPECT_THAT(both.output, ContainsRegex("replay: .* --engine both\n"));
  const Outcome right = run_assay("run smoke --family dequantize --engine both");
  EXPECT_EQ(right.status, 0) << right.output;
}

TEST_F(CliSchedules, EnginesFuseTheSameProductsIntoSums) {
  const std::string selection = "show tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7";
  const auto digest = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return outcome.output.substr(outcome.output.find("output digest"), 34);
  };
  const std::string fused = digest(run_assay(selection + " --fp-contract fast --engine both"));
  EXPECT_EQ(digest(run_assay(selection + " --fp-contract fast --engine fibers")), fused);
  EXPECT_NE(digest(run_assay(selection)), fused);
}

// One unit in the last place, well within the bound, when simdgroup 0 has not come first.
TEST_F(CliSchedules, BitsThatDifferWithinTheBoundFailAsWell) {
  std::string text = replaced(read("kernels/variants/reduce_v1/kernel.metal"), "const uint nwg = nwg_param;",
                              "const uint nwg = nwg_param; threadgroup uint seen[1]; if (sg == 0) seen[0] = 1;");
  text = replaced(text, "dst4[i] = sum * inv;", "dst4[i] = seen[0] == 1 ? sum * inv : as_type<float4>(as_type<uint4>(sum * inv) ^ 1u);");
  const std::string selection = " kernel/d256/rows2/nwg4/gauss/s1 --family reduce --kernel " + write(text);
  for (const char* order : {"forward", "reverse"}) {
    const Outcome alone = run_assay("run" + selection + " --schedule " + order);
    EXPECT_EQ(alone.status, 0) << alone.output;
  }
  const Outcome outcome = run_assay("run" + selection);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  for (const char* word : {"forward and reverse differ at element", "--schedule forward,reverse", "0 faulty"})
    EXPECT_THAT(outcome.output, HasSubstr(word));
  EXPECT_THAT(outcome.output, Not(HasSubstr("under schedule reverse:")));
}

// Fuzzing: one random order after the other, each against forward.
TEST_F(CliSchedules, ARandomOrderIsComparedWithForwardAndNamesWhatDiffers) {
  const std::string kernel = write(read("tests/kernels/reduce_without_barrier.metal"));
  const std::string selection = "run kernel/d256/rows2/nwg32/gauss/s1 --family reduce --kernel " + kernel;
  std::string seen;
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Outcome outcome = run_assay(selection + " --schedule random:" + seed);
    if (outcome.status == 1) seen = outcome.output;
  }
  EXPECT_THAT(seen, ::testing::ContainsRegex("output depends on the order of simdgroups: forward and random:[1-4] differ at element "
                                             "[0-9]+ \\(row [01], coordinate [0-9]+: [^ ]+ and [^ ]+\\), element [0-9]+ .*at [0-9]+ of 512 "
                                             "elements in total; either a barrier is missing"));
  EXPECT_THAT(seen, ::testing::ContainsRegex("replay: assay run .* --schedule random:[1-4]\n"));

  const std::string mended =
      write(replaced(read("tests/kernels/reduce_without_barrier.metal"), "// BARRIER", "threadgroup_barrier(mem_flags::mem_threadgroup);"));
  for (const char* seed : {"1", "2", "3", "4"}) {
    const Outcome outcome =
        run_assay("run kernel/d256/rows2/nwg32/gauss/s1 --family reduce --kernel " + mended + " --schedule random:" + seed);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
  }
}

TEST_F(CliSchedules, AnEmptyNameInAListIsRefused) {
  const Outcome outcome = run_assay("run smoke --family reduce --schedule forward,");
  EXPECT_EQ(outcome.status, 2) << outcome.output;
}

}  // namespace
}  // namespace assay::tests::schedules_test
