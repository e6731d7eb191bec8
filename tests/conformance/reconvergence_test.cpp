// Which lanes meet at a SIMD-group function, after every kind of control flow.
//
// Source of all expectations: the execution model (Metal Shading Language Specification, SIMD-group functions act on the
// active threads; lanes rejoin at the immediate post-dominator of the branch that parted them), counted by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/conformance/execute.h"

namespace assay::tests::reconvergence_test {
namespace {

// `body` computes `int r` from `int lane`; ONES counts the lanes that meet at its place.
struct FlowRow {
  std::string name;
  std::string body;
  int (*expected)(int lane);
};

int meeting_in_counted_loop(int lane) {  // in pass i the lanes > i are still there
  int sum = 0;
  for (int i = 0; i < lane; ++i) sum += 31 - i;
  return sum;
}

const std::vector<FlowRow>& rows() {
  static const std::vector<FlowRow> table = {
      {"if_without_else", "if (lane < 10) r = ONES;", [](int lane) { return lane < 10 ? 10 : 0; }},
      {"rejoined_behind_if", "if (lane < 16) r = ONES; r = r * 100 + ONES;", [](int lane) { return lane < 16 ? 1632 : 32; }},
      {"both_arms_of_if", "if (lane < 7) r = ONES; else r = simd_sum(100);", [](int lane) { return lane < 7 ? 7 : 2500; }},
      {"both_arms_of_conditional", "r = lane < 7 ? ONES : simd_sum(100);", [](int lane) { return lane < 7 ? 7 : 2500; }},
      {"else_if_chain", "if (lane < 4) r = ONES; else if (lane < 12) r = ONES * 10; else r = ONES * 100;",
       [](int lane) { return lane < 4    ? 4
                             : lane < 12 ? 80
                                         : 2000; }},
      {"trip_count_by_lane", "for (int i = 0; i < lane; ++i) r += ONES;", meeting_in_counted_loop},
      {"rejoined_behind_loop", "for (int i = 0; i < lane; ++i) r += ONES; r = ONES;", [](int) { return 32; }},
      {"break", "for (int i = 0; i < 32; ++i) { if (i == lane) break; r += ONES; }", meeting_in_counted_loop},
      {"function_before_break", "for (int i = 0; i < 32; ++i) { if (i == lane) { r = ONES; break; } }", [](int) { return 1; }},
      {"function_before_return_in_loop", "r = [&]() { for (int i = 0; ; ++i) { if (i == lane) { return ONES; } } }();",
       [](int) { return 1; }},
      {"continue", "for (int i = 0; i < 4; ++i) { if ((lane + i) % 2 == 1) continue; r += ONES; }", [](int) { return 32; }},
      {"function_before_continue", "for (int i = 0; i < 4; ++i) { if (lane % 4 == i) { r += ONES * 1000; continue; } r += ONES; }",
       [](int) { return 8000 + 3 * 24; }},
      {"early_return_of_helper", "r = early(lane) + 1000 * ONES;", [](int lane) { return 32000 + (lane < 5 ? 5 : 270); }},
      {"helper_called_twice", "if (lane < 8) r = helper(1); else r = helper(1);", [](int lane) { return lane < 8 ? 8 : 24; }},
      {"helper_in_helper", "if (lane % 2 == 0) r = outer(lane); r += ONES * 1000;",
       [](int lane) {
         return 32000 + (lane % 2 != 0 ? 0 : lane < 16 ? 8 : 80);
       }},
      {"nested_loops", "for (int i = 0; i < 3; ++i) { for (int j = 0; j <= lane % 3; ++j) r += ONES; }",
       [](int lane) {
         return 3 * (lane % 3 == 0 ? 32 : lane % 3 == 1 ? 32 + 21 : 32 + 21 + 10);
       }},
      {"break_of_inner_loop_only",
       "for (int i = 0; i < 2; ++i) { for (int j = 0; j < 4; ++j) { if (j == lane % 4) break; r += ONES; } r += 1000 * ONES; }",
       [](int lane) {
         return 64000 + 2 * (lane % 4 == 0 ? 0 : lane % 4 == 1 ? 24 : lane % 4 == 2 ? 40 : 48);
       }},
      {"return_out_of_two_loops", "r = leave_two(lane);", [](int lane) { return 100 + lane / 8; }},
      {"alternate_iterations", "for (int i = 0; i < 2; ++i) { if (lane % 2 == i) r = simd_sum(lane); }",
       [](int lane) { return lane % 2 == 0 ? 240 : 256; }},
      {"do_while", "int i = 0; do { r += ONES; ++i; } while (i <= lane % 3);",
       [](int lane) { return lane % 3 == 0   ? 32
                             : lane % 3 == 1 ? 32 + 21
                                             : 32 + 21 + 10; }},
      {"do_once", "do { if (lane % 2 == 1) break; r = ONES; } while (false); r += ONES * 100;",
       [](int lane) { return 3200 + (lane % 2 == 0 ? 16 : 0); }},
      {"while_condition_is_collective", "int k = 0; while (simd_max(k) < lane) ++k; r = k;", [](int lane) { return lane; }},
      {"body_without_braces", "for (int i = 0; i < 2; ++i) if (lane % 2 == i) r += ONES; else r += ONES * 100;", [](int) { return 1616; }},
      {"switch_falls_through",
       "switch (lane % 4) { case 0: r = ONES; case 1: r += ONES; break; case 2: r = ONES * 10; break; default: r = 5; }",
       [](int lane) {
         return lane % 4 == 0 ? 24 : lane % 4 == 1 ? 16 : lane % 4 == 2 ? 80 : 5;
       }},
      {"switch_in_loop",
       "for (int i = 0; i < 3; ++i) { switch (i) { case 0: if (lane < 3) continue; r += ONES; break; case 1: r += ONES; break; default: if "
       "(lane > 29) break; r += ONES; } }",
       [](int lane) { return (lane < 3 ? 0 : 29) + 32 + (lane > 29 ? 0 : 30); }},
      {"and", "r = lane < 12 && ONES == 12;", [](int lane) { return lane < 12 ? 1 : 0; }},
      {"or", "r = lane < 12 || ONES == 20;", [](int) { return 1; }},
      {"nested_conditional", "r = lane < 4 ? ONES : lane < 10 ? ONES * 10 : ONES * 100;",
       [](int lane) { return lane < 4    ? 4
                             : lane < 10 ? 60
                                         : 2200; }},
      {"return_in_one_arm", "r = half_return(lane);", [](int lane) { return lane < 8    ? -1
                                                                            : lane < 16 ? 800 + 24
                                                                                        : 24; }},
      {"unrolled", "_Pragma(\"clang loop unroll(full)\") for (int i = 0; i < 4; ++i) r += simd_sum(i);", [](int) { return 32 * 6; }},
      {"lambda", "auto count = [&](int x) { return simd_sum(x); }; if (lane < 9) r = count(1);", [](int lane) { return lane < 9 ? 9 : 0; }},
      {"flag_leaves_outer_loop",
       "bool done = false; for (int i = 0; i < 4 && !done; ++i) { for (int j = 0; j < 4; ++j) { if (4 * i + j == lane) { done = true; "
       "break; } } r += ONES; }",
       [](int lane) {
         return lane < 4 ? 32 : lane < 8 ? 32 + 28 : lane < 12 ? 32 + 28 + 24 : 32 + 28 + 24 + 20;
       }},
      {"inner_scope_first", "if (lane < 24) { if (lane < 8) r = ONES; r += 100 * ONES; } r += 10000 * ONES;",
       [](int lane) { return 320000 + (lane < 8 ? 8 : 0) + (lane < 24 ? 2400 : 0); }},
      {"lanes_far_ahead_wait", "if (lane == 31) { for (int i = 0; i < 100; ++i) r += ONES; } r += 1000 * ONES;",
       [](int lane) { return 32000 + (lane == 31 ? 100 : 0); }},
      {"ballot_in_branch",
       "if (lane >= 30) r = int(uint(ulong(simd_ballot(lane == 31)) >> 31)) + popcount(uint(ulong(simd_active_threads_mask()))) * 10;",
       [](int lane) { return lane >= 30 ? 21 : 0; }},
      {"shuffle_in_branch", "if (lane % 2 == 0) r = simd_shuffle_xor(lane, ushort(2));",
       [](int lane) { return lane % 2 == 0 ? lane ^ 2 : 0; }},
  };
  return table;
}

std::string source_of(const std::vector<FlowRow>& table) {
  std::string source = R"(#include <metal_stdlib>
using namespace metal;
#define ONES simd_sum(1)
static int helper(int x) { return simd_sum(x); }
static int early(int lane) { if (lane < 5) return ONES; return simd_sum(10); }
static int outer(int lane) { if (lane < 16) return helper(1); return helper(10); }
static int leave_two(int lane) { int s = 0; for (int i = 0; i < 8; i++) for (int j = 0; j < 8; j++) { if (i * 8 + j == lane) return ONES * 100 + i; s += simd_sum(1); } return s; }
static int half_return(int lane) { int a = 0; if (lane < 16) { if (lane < 8) return -1; a = ONES * 100; } return a + ONES; }
)";
  for (std::size_t row = 0; row < table.size(); ++row)
    source += fmt::format("static int row_{}(int lane) {{ int r = 0; {} return r; }}\n", row, table[row].body);
  source += "kernel void test(device int* out, ushort lane [[thread_index_in_simdgroup]]) {\n";
  for (std::size_t row = 0; row < table.size(); ++row) source += fmt::format("  out[{} + lane] = row_{}(lane);\n", 32 * row, row);
  return source + "}\n";
}

class Reconvergence : public testing::Test {
 protected:
  static const Outcome& outcome() {
    static const Outcome result = execute({.source = source_of(rows()), .output_words = 32 * rows().size()});
    return result;
  }
};

TEST_F(Reconvergence, EveryRowMeetsWithTheLanesThatTookTheSameWay) {
  ASSERT_TRUE(outcome().hazards.empty());
  for (std::size_t row = 0; row < rows().size(); ++row) {
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(static_cast<int>(outcome().output[32 * row + static_cast<std::size_t>(lane)]), rows()[row].expected(lane))
          << rows()[row].name << ", lane " << lane;
    }
  }
}

struct CountRow {
  std::string body;
  std::uint64_t collectives;
  std::uint64_t divergent;
};

// One SIMD-group; a call counts once for all the lanes that meet at it.
TEST(ReconvergenceCounters, CollectivesAndDivergentOnesAreCountedExactly) {
  const CountRow rows[] = {
      {"out[lane] = simd_sum(1);", 1, 0},
      {"int r = 0; for (int i = 0; i < 5; ++i) r += simd_sum(i); out[lane] = r;", 5, 0},
      {"if (out != nullptr) out[lane] = simd_sum(1);", 1, 0},  // a condition that is the same for all
      {"int r = 0; if (lane < 10) r = simd_sum(1); MEET; out[lane] = r;", 1, 1},
      {"int r = lane < 10 ? simd_sum(1) : simd_sum(2); out[lane] = r + simd_sum(3);", 3, 2},
      {"int r = 0; for (uint i = 0; i < 4; ++i) { if (lane % 4 == i) r = simd_sum(1); } MEET; out[lane] = r;", 4, 4},
      {"int r = 0; for (uint i = 0; i < lane; ++i) r += simd_sum(1); MEET; out[lane] = r;", 31, 31},  // lane 0 is in none of them
      {"int r = 0; uint i = 0; do { r += simd_sum(1); } while (++i < lane); MEET; out[lane] = r;", 31, 30},
      // The other lanes wait at the store; lanes that have returned are not missed.
      {"int r = 0; if (lane < 10) r = simd_sum(1); out[lane] = r;", 1, 1},
      {"if (lane < 10) out[lane] = simd_sum(1);", 1, 0},
      {"out[lane] = 0; if (lane >= 20) return; out[lane] = simd_sum(1);", 1, 0},
      {"out[lane] = 0; if (lane >= 20) return; int r = 0; if (lane < 4) r = simd_max(lane); out[lane] = r + simd_sum(1);", 2, 1},
      // Not a SIMD-group function: stores and barriers meet, too.
      {"threadgroup int t[32]; if (lane < 5) t[lane] = 1; simdgroup_barrier(mem_flags::mem_threadgroup); out[lane] = t[0];", 0, 0},
  };
  for (const auto& row : rows) {
    const std::string source = "#define MEET simdgroup_barrier(mem_flags::mem_none)\n" + kernel_of(row.body);
    const auto counters = execute({.source = source}).counters;
    EXPECT_EQ(counters.collectives, row.collectives) << row.body;
    EXPECT_EQ(counters.divergent_collectives, row.divergent) << row.body;
  }
}

TEST(ReconvergenceAtTheEnd, LanesThatReturnedFromTheKernelAreGone) {
  const auto outcome = execute({.source = kernel_of("out[lane] = -1; if (lane >= 20) return; out[lane] = simd_sum(1);")});
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(static_cast<int>(outcome.output[lane]), lane < 20 ? 20 : -1);
}

TEST(ReconvergenceAtTheEnd, ARaggedSimdGroupHasOnlyItsLanes) {
  const auto outcome = execute({.source = kernel_of("out[lane] = simd_sum(1);"), .output_words = 40, .threads = {40, 1, 1}});
  for (std::uint32_t thread = 0; thread < 40; ++thread) EXPECT_EQ(outcome.output[thread], thread < 32 ? 32u : 8u);
}

// The first statement behind the branch stores to what nobody reads.
TEST(ReconvergenceOfStores, StoresUnderAConditionAreSeenBehindAStoreThatNobodyReads) {
  const auto outcome = execute({.source = R"(#include <metal_stdlib>
using namespace metal;
kernel void test(device uint* out, device uint* other, uint lane [[thread_index_in_simdgroup]]) {
  threadgroup uint a[32];
  a[lane] = 0;
  if (lane & 1) a[lane ^ 1] = 3;
  other[lane] = 5;
  out[lane] = a[lane];
})",
                                .inputs = {std::vector<std::uint32_t>(32)}});
  for (std::uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(outcome.output[lane], lane % 2 == 0 ? 3U : 0U) << lane;
}

// Nobody reads what these store, and several statements or lanes store to one word.
TEST(ReconvergenceOfStores, TheLaterStatementAndThenTheLastLaneDecideWhatIsLeft) {
  const std::pair<const char*, std::uint32_t> rows[] = {
      {"out[0] = 1; if (lane == 0) out[0] = 2;", 2},
      {"if (lane == 31) out[0] = 1; out[0] = 2 + lane;", 33},
      {"if (lane < 8) out[0] = lane; else out[0] = 100 + lane; if (lane == 3) out[0] = 7;", 7},
      {"for (uint i = 0; i <= lane % 4; ++i) out[0] = 10 * i + lane;", 61},
      {"uint r = lane; if (lane < 5) r = simd_sum(100 + lane); out[0] = r;", 31},
      {"for (uint i = 0; i < 4; ++i) { if (lane != i) { out[0] = lane + 100 * i; } else { out[0] = 50 + i; break; } } out[1 + lane] = 0;",
       53},
      {"for (uint i = 0; i < lane; ++i) { if (i == 20) { out[0] = lane; break; } out[0] = 100 + i; }", 31},
      {"for (uint i = 0; i < 3; ++i) { if (lane % 3 == i) { out[0] = lane; continue; } if (lane == i + 1) out[0] = 40 + lane; }", 43},
      {"if (lane & 1) out[0] = simd_max(lane); else out[0] = 5; if (lane == 2) out[0] += 0;", 5},
      {"device int* place = lane < 16 ? out : out + 1; *place = lane; if (lane == 1) *place = 40;", 40},
      {"*(device uint2*)out = uint2(lane, 1); if (lane == 4) out[0] = 3;", 3},
  };
  for (const auto& [body, left] : rows) EXPECT_EQ(execute({.source = kernel_of(body)}).output[0], left) << body;
}

}  // namespace
}  // namespace assay::tests::reconvergence_test
