// Trying a mutant: policies one after the other, and a killer that is remembered from one judge to the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/suite.h"
#include "harness/mutate/killer.h"
#include "harness/mutate/trial.h"
#include "tests/support/files.h"
#include "tests/support/own_cache.h"

namespace assay::tests::mutate_trial_test {
namespace {

using namespace harness;

using namespace ::testing;

const std::chrono::seconds kTimeout(60);
constexpr std::size_t kCases = 24;

class Trials : public TestInFolder {
 protected:
  static Trial trial(const std::string& judge_version, std::vector<metal::Policy> policies = {metal::Policy::native},
                     const std::string& name = "reduce_v1", std::size_t cases = kCases) {
    TrialSubject subject;
    subject.catalogue = kernels::find_variants(kernels::default_variants_directory(), families::contracts());
    subject.variant = name;
    const auto variant = std::ranges::find(subject.catalogue, subject.variant, &kernels::Variant::name);
    subject.cases = suite_cases(Suite::smoke, *variant, 0);
    subject.cases.resize(cases);
    subject.policies = std::move(policies);
    subject.judge_version = judge_version;
    return Trial(std::move(subject));
  }

  const OwnCache cache_{folder_ / "cache"};
};

TEST_F(Trials, AnotherJudgeBeginsWithTheKiller) {
  const Trial first = trial("one");
  // Only cases with 32 workgroups notice.
  const std::string mutant = replaced(first.original(), "if (lane < nwg)", "if (lane < min(nwg, 31u))");
  const TrialResult before = first.run(mutant, kTimeout);
  ASSERT_EQ(before.fate, Fate::killed);
  ASSERT_GT(before.cases, 1U) << "the case that kills must not be the first anyway";
  EXPECT_FALSE(before.is_cached);
  EXPECT_TRUE(first.run(mutant, kTimeout).is_cached);

  const TrialResult after = trial("two").run(mutant, kTimeout);
  EXPECT_EQ(after.fate, Fate::killed);
  EXPECT_EQ(after.case_name, before.case_name);
  EXPECT_EQ(after.cases, 1U);
  EXPECT_FALSE(after.is_cached);
}

TEST_F(Trials, AWrongHintChangesNoFate) {
  const Trial judge = trial("one");
  const std::string mutant = replaced(judge.original(), "if (lane < nwg)", "if (lane < min(nwg, 31u))");
  const std::string twin = replaced(judge.original(), "exp(M - simd_max(M))", "exp(-(simd_max(M) - M))");
  const TrialResult honest = judge.run(mutant, kTimeout);
  const TrialResult spared = judge.run(twin, kTimeout);
  ASSERT_EQ(honest.fate, Fate::killed);
  ASSERT_THAT(spared.fate, AnyOf(Eq(Fate::survived), Eq(Fate::equivalent)));
  std::string innocent;
  for (const Case& test_case : suite_cases(Suite::smoke, judge.variant(), 0)) {
    if (test_case.at("nwg") == 1) innocent = format_case(test_case);
  }
  ASSERT_FALSE(innocent.empty());
  int version = 0;
  for (const Killer& hint : {Killer{metal::Policy::native, innocent}, Killer{metal::Policy::native, "reduce_v1/no/such/case"},
                             Killer{metal::Policy::shadow, honest.case_name}}) {
    remember_killer(mutant, hint);
    remember_killer(twin, hint);
    const Trial next = trial("wrong hint " + std::to_string(version++));
    EXPECT_EQ(next.run(mutant, kTimeout).fate, Fate::killed) << hint.case_name;
    const TrialResult again = next.run(twin, kTimeout);
    EXPECT_EQ(again.fate, spared.fate) << hint.case_name;
    EXPECT_FALSE(again.is_cached);
  }
}

// The judged function is the same; the one that goes before it and says which tiles are visible is not.
TEST_F(Trials, AMutantOfAFunctionThatGoesBeforeIsNotTakenForTheSameCode) {
  const Trial judge = trial("one", {metal::Policy::native}, "bf16_prefill_v2", 4);
  const std::string mutant = replaced(judge.original(), "half highest = -MAXHALF;", "half highest = -60000.0h;");
  ASSERT_NE(mutant, judge.original());
  EXPECT_EQ(judge.run(mutant, kTimeout).fate, Fate::survived);
}

TEST_F(Trials, WhatIsKeptOfAKillerIsReadOrIgnored) {
  EXPECT_FALSE(recall_killer("a mutant"));
  remember_killer("a mutant", {metal::Policy::checked, "reduce_v1/d256/rows1/nwg1/gauss/s1"});
  const auto killer = recall_killer("a mutant");
  ASSERT_TRUE(killer);
  EXPECT_EQ(killer->policy, metal::Policy::checked);
  EXPECT_EQ(killer->case_name, "reduce_v1/d256/rows1/nwg1/gauss/s1");
  EXPECT_FALSE(recall_killer("another mutant"));
  for (const char* damaged : {"", "native", "nobody reduce_v1/d256/rows1/nwg1/gauss/s1\n"}) {
    write_whole(mutant_folder("a mutant") / "killer", damaged);
    EXPECT_FALSE(recall_killer("a mutant")) << damaged;
  }
}

// Unwritten values change no number here.
TEST_F(Trials, AnUninitialisedReadIsKilledUnderCheckedAlone) {
  using metal::Policy;
  const Trial native = trial("one");
  const std::string behind = "const float inv = S == 0.0f ? 0.0f : 1.0f / S;";
  const std::string write = "spare[32 * sg + lane] = 0.0f;";
  const std::string before = replaced(native.original(), behind,
                                      "threadgroup float spare[1024];\n" + write + "\nsimdgroup_barrier(mem_flags::mem_threadgroup);\n" +
                                          "if (spare[32 * sg + 31 - lane] == 12345.0f) S = 0.0f;\n" + behind);
  const std::string after = replaced(before, write, ";");
  EXPECT_EQ(native.run(after, kTimeout).fate, Fate::survived);

  const Trial both = trial("one", {Policy::native, Policy::checked});
  EXPECT_THAT(both.run(before, kTimeout).fate, Ne(Fate::killed));
  const TrialResult result = both.run(after, kTimeout);
  EXPECT_EQ(result.fate, Fate::killed);
  EXPECT_EQ(result.policy, Policy::checked);
  EXPECT_EQ(result.verdict, Status::hazard);
  EXPECT_GT(result.cases, kCases) << "every native case has passed";

  // The next judge need not repeat them.
  const TrialResult again = trial("two", {Policy::native, Policy::checked}).run(after, kTimeout);
  EXPECT_EQ(again.fate, Fate::killed);
  EXPECT_EQ(again.policy, Policy::checked);
  EXPECT_EQ(again.cases, 1U);
}

}  // namespace
}  // namespace assay::tests::mutate_trial_test
