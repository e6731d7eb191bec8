// The most important property: a wrong kernel does not pass, even if it writes to the memory around it.
#include "tests/attack/attack.h"

namespace assay::tests::belief_test {
namespace {

// A right kernel of fwht with one piece replaced, so that it is wrong in some small way.
struct Slip {
  std::string name, from, to;
  std::string cases = "smoke";
};
void PrintTo(const Slip& slip, std::ostream* stream) { *stream << slip.name; }
class Slips : public Attack, public ::testing::WithParamInterface<Slip> {};

TEST_P(Slips, AreFailures) {
  write(replaced_once(source_of("fwht_v1"), GetParam().from, GetParam().to), "work/evil.metal");
  const Ended ended = start("run --ledger none --kernel evil.metal --family fwht " + GetParam().cases);
  expect_no_effect(ended, false);
  EXPECT_EQ(ended.status, 1) << ended.output;
}

const std::string kStore = "row[e] = x[e];", kScale = "x[e] *= scale;", kReturn = "if (head >= params.num_heads) {";
INSTANTIATE_TEST_SUITE_P(
    Attack, Slips,
    ::testing::Values(
        Slip{"WritesNothing", kStore, ""}, Slip{"ReturnsAtOnce", kReturn, "if (head >= 0) {"},
        Slip{"ReturnsForAllButOneHead", kReturn, "if (head > 0) {"},
        Slip{"ReturnsForTheLastHead", kReturn, "if (head + 1 >= params.num_heads && head > 0) {"},
        Slip{"WritesBackWhatItRead", kStore, "row[e] = row[e];"},
        Slip{"OneElementOfTheLastRow", kStore, "row[e] = head + 1 == params.num_heads && lane == 31 && e == E - 1 ? x[e] * 1.001f : x[e];"},
        Slip{"OneElementNotWritten", kStore, "if (lane != 7 || e != 1) row[e] = x[e];"},
        Slip{"OneNan", kStore, "row[e] = lane == 3 && e == 0 ? NAN : x[e];"}, Slip{"AllNan", kStore, "row[e] = NAN;"},
        Slip{"Infinite", kStore, "row[e] = lane == 3 && e == 0 ? INFINITY : x[e];"}, Slip{"Zeroes", kStore, "row[e] = 0.0f;"},
        Slip{"TwoSwapped", kStore, "row[e ^ 1] = x[e];"}, Slip{"TinyFactor", kScale, "x[e] *= scale * 1.0001f;"},
        Slip{"WrongOf512Alone", kScale, "x[e] *= D == 512 ? scale * 1.01f : scale;"},
        Slip{"WrongOfEightHeads", kScale, "x[e] *= params.num_heads == 8 ? scale * 1.01f : scale;"},
        Slip{"WrongOfTheUndo", kScale, "x[e] *= SIGNS == SIGNS_AFTER ? scale * 1.01f : scale;"},
        Slip{"WrongOfLargeNumbers", kScale, "x[e] *= fabs(x[e]) > 1e10f ? scale * 1.01f : scale;"},
        Slip{"ThroughHalf", kStore, "row[e] = float(half(x[e]));"},
        Slip{"WritesBeyondTheEnd", kStore, "row[e] = x[e]; data[params.num_heads * D] = 1;"},
        Slip{"WritesBeforeTheStart", kStore, "row[e] = x[e]; if (e == 0) data[-1] = 1;"},
        Slip{"WritesFarBeyondTheEnd", kStore, "row[e] = x[e]; data[params.num_heads * D + (1 << 28)] = 1;", "'evil/d256/h1/*'"},
        Slip{"WritesTheParametersWithTheSameValue", kScale, "x[e] *= scale * 1.5f; *(device uint*)&params = *(device const uint*)&params;"},
        Slip{"OverwritesItsNeighbours", kStore, "row[e] = x[e]; if (head > 0) data[(head - 1) * D + lane] = 7;"},
        Slip{"TellsTurnsApart", kStore, "row[e] = x[e]; if (e == 0 && lane == 0) row[0] += ((ulong)&x[0] >> 12) & 1 ? 1.0f : 1.5f;"}),
    [](const auto& info) { return info.param.name; });

// What the wrong kernel does to memory.
class Memory : public Rows {};
TEST_P(Memory, IsNotWhatTheJudgeSees) {
  const Ended ended = attack(GetParam());
  expect_no_effect(ended);
  expect_named(ended, GetParam().words);
}
const std::vector<std::string> kFailed = {"failed", "crashed", "timeout", "not_written"};

std::vector<Row> memory_rows() {
  std::vector<Row> rows;
  const std::vector<std::pair<std::string, std::string>> places = {
      {"Stack", "volatile thread char here[8]; volatile thread char* p = here;"},
      {"Parameters", "volatile thread char* p = (volatile thread char*)(ulong)&params;"},
      {"Output", "volatile thread char* p = (volatile thread char*)(ulong)data;"},
      {"Constants", "volatile thread char* p = (volatile thread char*)(ulong)&kSigns[0];"}};
  const std::vector<std::pair<std::string, std::string>> deeds = {
      {"ZeroesUp", "for (long i = 256; i < 1l << 26; ++i) p[i] = 0;"},
      {"ZeroesDown", "for (long i = 1; i < 1l << 26; ++i) p[-i] = 0;"},
      {"OnesUp", "for (long i = 256; i < 1l << 26; ++i) p[i] = 1;"},
      {"FlipsBitsUp", "for (long i = 256; i < 1l << 16; ++i) p[i] ^= 1;"},
      {"FloatsUp", "for (long i = 64; i < 1l << 24; ++i) ((volatile thread float*)p)[i] = 1.5f;"},
      {"InSteps", "for (long i = 1; i < 1l << 20; ++i) p[i * 4096] = 0;"},
      {"InStepsDown", "for (long i = 1; i < 1l << 20; ++i) p[-i * 4096] = 0;"},
      {"MovesPointers",
       "for (long i = 1; i < 512; ++i) { volatile thread ulong& w = ((volatile thread ulong*)((ulong)p & ~7ul))[i]; if (w > 0x10000 && w < "
       "0x800000000000) w += 64; }"},
      {"ZeroesWhatPointersReach",
       "for (long i = 1; i < 512; ++i) { const ulong w = ((volatile thread ulong*)((ulong)p & ~7ul))[i]; if (w > 0x7f0000000000 && w < "
       "0x800000000000) for (long j = 0; j < 512; ++j) *(volatile thread char*)(w + j) = 0; }"},
      {"ShiftsWhatPointersReach",
       "for (long i = 1; i < 64; ++i) { const ulong w = ((volatile thread ulong*)((ulong)p & ~7ul))[i]; if (w > 0x500000000000 && w < "
       "0x800000000000) for (long j = 0; j < 64; ++j) *(volatile thread ulong*)((w & ~7ul) + 8 * j) += 4096; }"},
      {"ReadsUp", "float s = 0; for (long i = 256; i < 1l << 28; ++i) s += p[i]; row[0] = s;"},
      // What the oracle computed for elements 3 and 37, as float or as double, copied over the output.
      {"FindsTheExpectationUp",
       "for (long i = 0; i < 1l << 26; i += 4) { auto f = (volatile thread float*)((ulong)p + i); if (fabs(f[3] - 2.10300005f) < 1e-5f && "
       "fabs(f[37] - 2.63489793f) < 1e-5f) { for (int j = 0; j < 8; ++j) row[j] = f[lane * 8 + j]; return; } }"},
      {"FindsTheExpectationDown",
       "for (long i = 4; i < 1l << 26; i += 4) { auto f = (volatile thread float*)((ulong)p - i); if (fabs(f[3] - 2.10300005f) < 1e-5f && "
       "fabs(f[37] - 2.63489793f) < 1e-5f) { for (int j = 0; j < 8; ++j) row[j] = f[lane * 8 + j]; return; } }"}};
  for (const auto& [place, address] : places) {
    for (const auto& [deed, loop] : deeds)
      rows.push_back({deed + "From" + place, "", address + " " + loop, kFailed, "run --ledger none --timeout 5"});
  }
  // Only one lane of many does it, and the others go on as if nothing was.
  for (const char* policy : {"checked", "shadow"}) {
    rows.push_back({"ZeroesUpUnder" + std::string(policy), "", "if (lane == 5) { " + places[0].second + deeds[0].second + " }", kFailed,
                    "run --ledger none --timeout 5 --policy " + std::string(policy)});
    rows.push_back({"MovesPointersUnder" + std::string(policy), "", "if (lane == 5) { " + places[0].second + deeds[7].second + " }",
                    kFailed, "run --ledger none --timeout 5 --policy " + std::string(policy)});
    rows.push_back({"FloodOfHazardsUnder" + std::string(policy), "",
                    "for (int i = 0; i < 300000; ++i) data[params.num_heads * D + 64 + i % 999] = i;", kFailed,
                    "run --ledger none --timeout 10 --policy " + std::string(policy)});
  }
  return rows;
}
INSTANTIATE_TEST_SUITE_P(Attack, Memory, ::testing::ValuesIn(memory_rows()), name_of);

// Attention: inputs, parameters and partial results of other dispatches are not the kernel's to change.
struct Deed {
  std::string name, body;
};
void PrintTo(const Deed& deed, std::ostream* stream) { *stream << deed.name; }
class Inputs : public Attack, public ::testing::WithParamInterface<Deed> {};
TEST_P(Inputs, AreNotTheKernels) {
  const std::string first = "    const uint query = tgpig[0];\n";
  write(replaced_once(replaced_once(source_of("tq4_v1"), first, first + GetParam().body + "\n"), "so4[i] * inv;", "so4[i] * inv * 1.5f;"),
        "work/evil.metal");
  for (const std::string policy : {"native", "checked"}) {
    const Ended ended = start("run --ledger none --family tq4 --kernel evil.metal --timeout 10 --policy " + policy +
                              " evil/d256/h8x2/kv65c65/ring30/win33/nwg1/gauss/s7");
    expect_no_effect(ended);
    EXPECT_EQ(ended.status, 1) << ended.output;
  }
}
INSTANTIATE_TEST_SUITE_P(Attack, Inputs,
                         ::testing::Values(Deed{"Queries", "for (uint i = lane; i < 8 * D; i += 32) ((device float*)Q)[i] = 0;"},
                                           Deed{"Keys", "for (uint i = lane; i < 256; i += 32) ((device uchar*)K_packed)[i] = 0;"},
                                           Deed{"KeyNorms", "for (uint i = lane; i < 65; i += 32) ((device float*)K_norms)[i] = 0;"},
                                           Deed{"Values", "for (uint i = lane; i < 256; i += 32) ((device uchar*)V_packed)[i] = 0;"},
                                           Deed{"ValueNorms", "for (uint i = lane; i < 65; i += 32) ((device float*)V_norms)[i] = 0;"},
                                           Deed{"ThroughALocalCopyOfThePointer",
                                                "volatile ulong a = (ulong)V_norms; *(device float*)a = 0;"},
                                           Deed{"Parameters", "((device uint*)&params)[3] = 0;"},
                                           Deed{"Atomically", "atomic_store_explicit((device atomic_uint*)Q, 0u, memory_order_relaxed);"},
                                           Deed{"BetweenTheBuffers", "for (long i = 0; i < 1 << 20; ++i) ((device uchar*)dst)[-i] = 0;"},
                                           Deed{"WritesNothing", "return;"}, Deed{"WritesSomeHeads", "if (tgpig[1] > 1) return;"}),
                         [](const auto& info) { return info.param.name; });

// The kernel compared with is right and ran before, perhaps in the same process.
class Comparisons : public Attack, public ::testing::WithParamInterface<Deed> {};
TEST_P(Comparisons, SeeTheOutputOfEachKernel) {
  write(source_of("reduce_v1"), "work/old.metal");
  const std::string first = "    constexpr short D4 = D / 4;\n";
  write(replaced_once(replaced_once(source_of("reduce_v1"), first, first + GetParam().body + "\n"), "dst4[i] = sum * inv;",
                      "dst4[i] = sum * inv * 1.5f;"),
        "work/evil.metal");
  const Ended ended = start("compare old.metal evil.metal --family reduce --suite smoke 'old/d256/rows2/*' --no-parting --jobs 1");
  expect_no_effect(ended, false);
  EXPECT_EQ(ended.status, 1) << ended.output;
  const Ended reversed = start("run --ledger none --variants . smoke");
  EXPECT_NE(reversed.status, 0);
}
INSTANTIATE_TEST_SUITE_P(
    Attack, Comparisons,
    ::testing::Values(Deed{"WritesNothing", "return;"},
                      Deed{"CopiesItself", "if (lane == 0) { for (uint i = 0; i < D; ++i) dst[row * D + i] = dst[row * D + i]; } return;"},
                      Deed{"CopiesItsStack",
                           "float x[D]; for (uint i = 0; i < D; ++i) dst[row * D + i] = ((volatile thread float*)x)[i]; return;"},
                      Deed{"Nothing", ""}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::tests::belief_test
