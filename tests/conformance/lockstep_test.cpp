// Stores to memory that lanes share: in a SIMD-group they take effect together, as on lockstep hardware, even where the
// kernel lacks a barrier.
//
// Source of all expectations: lockstep execution of one SIMD-group, traced by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/conformance/execute.h"

namespace assay::tests::lockstep_test {
namespace {

struct StoreRow {
  std::string name;
  std::string
      body;  // computes `int r` from `int lane` with `threadgroup int* sh` (64 ints) and `device int* dv` (64 ints), both zeroed before
  int (*expected)(int lane);
};

const std::vector<StoreRow>& rows() {
  static const std::vector<StoreRow> table = {
      {"neighbour", "sh[lane] = lane; r = sh[lane ^ 1];", [](int lane) { return lane ^ 1; }},
      {"next_iteration_overwrites", "for (int i = 0; i < 4; ++i) { sh[lane] = lane + i; for (int k = 0; k < 32; ++k) r += sh[k]; }",
       [](int) { return 4 * 496 + 32 * 6; }},
      {"load_before_later_store", "sh[lane] = lane; int a = sh[31 - lane]; sh[lane] = 100; r = a;", [](int lane) { return 31 - lane; }},
      {"shift_in_place", "sh[lane] = lane; sh[lane] = sh[(lane + 1) % 32]; r = sh[lane];", [](int lane) { return (lane + 1) % 32; }},
      {"reference", "threadgroup int& x = sh[lane]; x = lane; x += 5; r = sh[(lane + 1) % 32];",
       [](int lane) { return (lane + 1) % 32 + 5; }},
      {"struct_by_reference", "threadgroup Pair* p = (threadgroup Pair*)sh; fill(p[lane], lane); r = p[31 - lane].b;",
       [](int lane) { return 1000 + 31 - lane; }},
      {"struct_assignment", "threadgroup Pair* p = (threadgroup Pair*)sh; Pair mine = {lane, 2 * lane}; p[lane] = mine; r = p[lane ^ 3].b;",
       [](int lane) { return 2 * (lane ^ 3); }},
      {"struct_from_neighbour",
       "threadgroup Pair* p = (threadgroup Pair*)sh; p[lane].a = lane; p[lane].b = -lane; p[lane] = p[(lane + 1) % 32]; r = p[lane].b;",
       [](int lane) { return -((lane + 1) % 32); }},
      {"pointer_in_struct", "Holder h; h.p = sh + lane; *h.p = 7 * lane; r = sh[(lane + 2) % 32];",
       [](int lane) { return 7 * ((lane + 2) % 32); }},
      {"cast_to_other_type", "threadgroup ushort* s = (threadgroup ushort*)sh; s[lane] = ushort(lane); r = sh[lane / 2];",
       [](int lane) { return (lane / 2 * 2) | (lane / 2 * 2 + 1) << 16; }},
      {"array_parameter", "threadgroup int (&a)[64] = *(threadgroup int (*)[64])sh; put(a, lane); r = a[(lane + 9) % 32];",
       [](int lane) { return (lane + 9) % 32 * 3; }},
      {"swizzle_store",
       "threadgroup float2* v = (threadgroup float2*)sh; v[lane] = float2(0); v[lane].yx = float2(lane, 2 * lane); r = int(v[lane ^ 1].x);",
       [](int lane) { return 2 * (lane ^ 1); }},
      {"component_store", "threadgroup float2* v = (threadgroup float2*)sh; v[lane].y = lane; r = int(v[31 - lane].y);",
       [](int lane) { return 31 - lane; }},
      {"one_lane_stores", "if (lane == 3) sh[0] = 7; r = sh[0];", [](int) { return 7; }},
      {"one_lane_stores_in_loop", "for (int i = 0; i < 32; ++i) { if (lane == i) sh[0] = i; r += sh[0]; }", [](int) { return 496; }},
      // A loop with `continue` makes clang leave it through a choice whose default cannot happen.
      {"one_case_stores",
       "sh[lane] = 0; switch (lane % 4) { case 0: for (int i = lane % 3; i < 2; ++i) { if (lane > 7) continue; r += i - i; } break; "
       "case 2: if (lane > 9) sh[lane] = 5; break; } r += sh[lane ^ 3];",
       [](int lane) { return lane % 4 == 1 && lane > 8 ? 5 : 0; }},
      {"two_branches_store", "if (lane < 16) sh[lane] = 1; else sh[lane] = 2; r = sh[31 - lane];",
       [](int lane) { return lane < 16 ? 2 : 1; }},
      {"stored_behind_early_continue", "for (int i = 0; i < 2; ++i) { if (lane % 2 == i) continue; sh[lane] = 10 + i; } r = sh[lane ^ 1];",
       [](int lane) { return lane % 2 == 0 ? 10 : 11; }},
      {"device_buffer_that_is_read", "dv[lane] = lane; r = dv[lane ^ 1]; dv[lane] = 0;", [](int lane) { return lane ^ 1; }},
      {"device_shift_in_place", "dv[lane] = lane; dv[lane] = dv[(lane + 1) % 32]; r = dv[lane]; dv[lane] = 0;",
       [](int lane) { return (lane + 1) % 32; }},
      {"pointer_chosen_at_run_time",
       "threadgroup int* p = lane < 16 ? sh : sh + 32; p[lane % 16] = lane; r = sh[(lane + 1) % 16] + sh[32 + lane % 16];",
       [](int lane) { return (lane + 1) % 16 + 16 + lane % 16; }},
      {"private_array_by_pointer",
       "int mine[4] = {0, 0, 0, 0}; thread int* p = mine; for (int i = 0; i < 4; ++i) p[(lane + i) % 4] = i; r = mine[lane % 4];",
       [](int) { return 0; }},
      {"zeroed_block", "threadgroup Block* b = (threadgroup Block*)sh; if (lane == 0) *b = Block{}; r = b->v[lane % 8];",
       [](int) { return 0; }},
  };
  return table;
}

std::string source_of(const std::vector<StoreRow>& table) {
  std::string source = R"(#include <metal_stdlib>
using namespace metal;
struct Pair { int a; int b; };
struct Block { int v[8]; };
struct Holder { threadgroup int* p; };
static void fill(threadgroup Pair& p, int lane) { p.a = lane; p.b = 1000 + lane; }
static void put(threadgroup int (&a)[64], int lane) { a[lane] = 3 * lane; }
)";
  for (std::size_t row = 0; row < table.size(); ++row) {
    source += fmt::format("static int row_{}(int lane, threadgroup int* sh, device int* dv) {{ int r = 0; {} return r; }}\n", row,
                          table[row].body);
  }
  source += "kernel void test(device int* out, device int* dv, ushort lane [[thread_index_in_simdgroup]]) {\n  threadgroup int sh[64];\n";
  for (std::size_t row = 0; row < table.size(); ++row) {
    source += fmt::format(
        "  sh[lane] = 0; sh[lane + 32] = 0; simdgroup_barrier(mem_flags::mem_threadgroup);\n  out[{} + lane] = row_{}(lane, sh, dv);\n  "
        "simdgroup_barrier(mem_flags::mem_threadgroup);\n",
        32 * row, row);
  }
  return source + "}\n";
}

TEST(Lockstep, StoresOfOnePointTakeEffectTogether) {
  const auto outcome =
      execute({.source = source_of(rows()), .output_words = 32 * rows().size(), .inputs = {std::vector<std::uint32_t>(64)}});
  ASSERT_TRUE(outcome.hazards.empty());
  for (std::size_t row = 0; row < rows().size(); ++row) {
    for (int lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(static_cast<int>(outcome.output[32 * row + static_cast<std::size_t>(lane)]), rows()[row].expected(lane))
          << rows()[row].name << ", lane " << lane;
    }
  }
}

TEST(Lockstep, ThreadgroupMemoryStartsPoisonedInEveryThreadgroup) {
  const auto outcome = execute({.source = R"(#include <metal_stdlib>
using namespace metal;
kernel void test(device uint* out, uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup uint x[32];
  out[32 * g + t] = x[t];
  x[t] = 1;
})",
                                .output_words = 64,
                                .threadgroups = {2, 1, 1}});
  for (const auto word : outcome.output) EXPECT_EQ(word, metal::kReadPoisonWord);
}

TEST(Lockstep, VariablesInBlocksAndOfAllShapesAreSharedOncePerThreadgroup) {
  const auto outcome = execute({.source = R"(#include <metal_stdlib>
using namespace metal;
struct S { int a; float b; };
template <int N> kernel void shared(device int* out [[buffer(0)]], uint t [[thread_index_in_threadgroup]]) {
  threadgroup int total;
  threadgroup S rows[N], other;
  threadgroup float grid[N][4];
  alignas(64) threadgroup uchar bytes[N * 2];
  if (t == 0) { total = 5; other.a = 7; }
  for (int i = 0; i < 1; ++i) { threadgroup atomic_int count[2]; if (t < 2) atomic_store_explicit(&count[t], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup); atomic_fetch_add_explicit(&count[t % 2], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup); rows[t].a = atomic_load_explicit(&count[0], memory_order_relaxed); }
  grid[t][3] = float(t); bytes[t] = uchar(t);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[t] = total + other.a * 10 + rows[(t + 1) % N].a * 100 + int(grid[(t + 1) % N][3]) * 10000 + int((ulong)(&bytes[0]) % 64) * 1000000 + bytes[t] * 0;
}
template [[host_name("test")]] kernel void shared<64>(device int*, uint);
)",
                                .output_words = 64,
                                .threads = {64, 1, 1}});
  ASSERT_TRUE(outcome.hazards.empty());
  for (std::uint32_t t = 0; t < 64; ++t) EXPECT_EQ(outcome.output[t], 5 + 70 + 3200 + (t + 1) % 64 * 10000) << t;
}

}  // namespace
}  // namespace assay::tests::lockstep_test
