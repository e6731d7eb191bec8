// Pragmas: macros in them are expanded, and none of them is a reason to refuse a kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/execute.h"

namespace assay::tests::pragmas_test {
namespace {

TEST(Pragmas, OnLoopsTakeMacrosConstantsAndParameters) {
  const auto outcome = execute({.source = R"MSL(#include <metal_stdlib>
using namespace metal;
#define N 4
#define TIMES(x) (2 * x)
#define TEXT(x) #x
#define UNROLL(n) _Pragma(TEXT(unroll n))
#define UNROLL_ALL _Pragma("clang loop unroll(full)")
#define UNROLL_BY_N _Pragma("unroll N")
constant constexpr int kThree = 3;
    template <int B>
    void add(thread int& s) {
#pragma unroll(B)
      for (int k = 0; k < B; ++k) s += 1;
#pragma clang loop unroll_count(B)
      for (int k = 0; k < B; ++k) s += 1;
    }
    kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
      int s = 0;
#pragma unroll(N)
      for (int k = 0; k < N; ++k) s += 1;
#pragma unroll N
      for (int k = 0; k < N; ++k) s += 1;
#pragma unroll(TIMES(2))
      for (int k = 0; k < N; ++k) s += 1;
#pragma clang loop unroll_count(N)
      for (int k = 0; k < N; ++k) s += 1;
#pragma GCC unroll N
      for (int k = 0; k < N; ++k) s += 1;
#pragma unroll kThree
      for (int k = 0; k < kThree; ++k) s += 1;
      UNROLL(N)
      for (int k = 0; k < N; ++k) s += 1;
      UNROLL_ALL
      for (int k = 0; k < N; ++k) s += 1;
      UNROLL_BY_N
      for (int k = 0; k < N; ++k) s += 1;
#undef N
#define N 2
#pragma unroll(N)
      for (int k = 0; k < N; ++k) s += 1;
      add<5>(s);
      out[lane] = s;
    })MSL"});
  EXPECT_THAT(outcome.output, testing::Each(4U * 8 + 3 + 2 + 10));
}

TEST(Pragmas, ThatClangTakesElsewhereOnlyAreNoErrors) {
  const auto outcome = execute({.source = R"MSL(#include <metal_stdlib>
#pragma METAL internals : enable
using namespace metal;
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  int s = 1;
#pragma METAL fp math_mode(safe)
#pragma clang fp contract(off)
#pragma mark - sums
  s += 1;
#pragma unroll
  s += 1;
#pragma unroll(0)
  for (int k = 0; k < 2; ++k) s += 1;
#pragma clang loop unroll(enable) interleave(sometimes)
  for (int k = 0; k < 2; ++k) s += 1;
  out[lane] = s;
})MSL"});
  EXPECT_THAT(outcome.output, testing::Each(7U));
}

// Unlike the others it decides what a kernel computes.
TEST(Pragmas, ThatPackStructsCount) {
  const auto outcome = execute({.source = R"MSL(#include <metal_stdlib>
using namespace metal;
#define TIGHT 1
#define PACK(x) _Pragma(#x)
#pragma pack(push, 1)
struct Block { char tag; half d; uchar qs[16]; float m; };
#pragma pack(pop)
#pragma pack(TIGHT)
struct Tight { char c; int n; };
#pragma pack()
PACK(pack(push, 2))
struct Even { char c; int n; };
_Pragma("pack(pop)")
struct Natural { char c; int n; };
int broken() { return nothing_there; }
kernel void test(device int* out) {
  out[0] = sizeof(Block);
  out[1] = sizeof(Tight);
  out[2] = sizeof(Even);
  out[3] = sizeof(Natural);
})MSL",
                                .threads = {1, 1, 1}});
  const std::vector<std::uint32_t> sizes(outcome.output.begin(), outcome.output.begin() + 4);
  EXPECT_EQ(sizes, (std::vector<std::uint32_t>{23, 5, 6, 8}));
}

}  // namespace
}  // namespace assay::tests::pragmas_test
