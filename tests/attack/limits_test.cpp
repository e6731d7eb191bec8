// Kernels that ask for more time, stack, memory or code than there is: a limit ends them, and the message names it.
#include "tests/attack/attack.h"

namespace assay::tests::limits_test {
namespace {

struct Limit {
  std::string name, top, body, options;
  std::vector<std::string> words;
};
void PrintTo(const Limit& limit, std::ostream* stream) { *stream << limit.name; }
class Limits : public Attack, public ::testing::WithParamInterface<Limit> {};
TEST_P(Limits, Hold) {
  write(hostile(GetParam().top, GetParam().body), "work/evil.metal");
  const auto begin = std::chrono::steady_clock::now();
  const Ended ended = start("run --ledger none --kernel evil.metal --family fwht " + std::string(kCase) + GetParam().options);
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}
INSTANTIATE_TEST_SUITE_P(
    Attack, Limits,
    ::testing::Values(
        Limit{"Loop", "", "volatile int go = 1; while (go) {}", " --timeout 2", {"timeout"}},
        Limit{"LoopOfOneLane", "", "volatile int go = 1; if (lane == 3) while (go) {}", " --timeout 2", {"timeout"}},
        Limit{"LoopOfOneHead",
              "",
              "volatile int go = 1; if (head == 0 && lane == 31) while (go) {} ",
              " --timeout 2 --policy checked",
              {"timeout"}},
        Limit{"LoopWithBarriers",
              "",
              "volatile int go = 1; while (go) threadgroup_barrier(mem_flags::mem_device);",
              " --timeout 2",
              {"timeout"}},
        Limit{"LoopWithShuffles", "", "volatile float s = 1; while (s != 0) s = simd_shuffle_xor(1.0f, 1);", " --timeout 2", {"timeout"}},
        Limit{"LanesThatWaitForEachOther",
              "",
              "volatile threadgroup int go[1]; go[0] = 1; if (lane == 0) { while (go[0] == 1) {} } else { go[0] = 2; }",
              " --timeout 2",
              {"timeout", "evil.metal:", "failed"}},
        Limit{"BarrierOfSome", "", "if (lane < 7) threadgroup_barrier(mem_flags::mem_device);", " --timeout 3", {"barrier", "diverge"}},
        Limit{"StackOfGigabytes",
              "",
              "volatile char big[1l << 31]; for (long i = 0; i < 1l << 31; i += 4096) big[i] = 1; row[0] = big[lane];",
              " --timeout 8 --memory 1",
              {"crash", "stack", "memory", "large"}},
        Limit{"RecursionWithFrames",
              "__attribute__((noinline)) float f(volatile thread float* p, int n) { volatile float x[4096]; x[n & 4095] = *p; return n == "
              "0 ? 0 "
              ": f(x, n - 1) + x[7]; }",
              "volatile float big = 1; row[0] = f(&big, 100000000);",
              " --timeout 8 --memory 1",
              {"crash", "stack", "recurs", "memory"}},
        Limit{"ThreadgroupMemoryOfGigabytes",
              "",
              "threadgroup float big[1 << 29]; big[lane] = 1; row[0] = big[31 - lane];",
              " --memory 1",
              {"threadgroup", "memory", "large"}},
        Limit{"ConstantsOfGigabytes",
              "constant uchar kBig[1l << 33] = {};",
              "row[0] = kBig[ulong(data) & 0xffffffff];",
              " --memory 1",
              {"evil.metal", "kBig", "large", "memory", "linker", "size"}},
        Limit{"CodeOfMegabytes",
              "#define A(x) x x x x x x x x\n#define B(x) A(A(A(A(x))))\n",
              "float y = row[0]; B(y = y * 1.1f + sin(y);) row[0] = y;",
              " --timeout 3",
              {"evil.metal", "time", "memory", "failed"}},
        Limit{"UnrolledLoops",
              "",
              "float y = row[0];\n#pragma unroll\nfor (int i = 0; i < 4096; ++i)\n#pragma unroll\nfor (int j = 0; j < 4096; ++j) y = "
              "sin(y) + "
              "i * j;\nrow[0] = y;",
              " --timeout 3",
              {"evil.metal", "time", "memory", "failed"}},
        Limit{"ManyFunctions",
              "#define F(n) static float n##0(float x) { return x; } static float n##1(float x) { return n##0(x); }\n#define G(n) F(n##a) "
              "F(n##b) "
              "F(n##c) F(n##d)\n#define H(n) G(n##a) G(n##b) G(n##c) G(n##d)\n#define I(n) H(n##a) H(n##b) H(n##c) H(n##d)\n#define J(n) "
              "I(n##a) "
              "I(n##b) I(n##c) I(n##d)\nJ(a) J(b) J(c) J(d)",
              "row[0] = aaaaaa1(1);",
              " --timeout 3",
              {"evil.metal", "failed", "time"}},
        Limit{"TimeoutOfNoneIsTheUsers",
              "",
              "*(volatile device int*)8 = 1; volatile int go = 1; while (go) {}",
              " --timeout 0",
              {"crash", "invalid access"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::tests::limits_test
