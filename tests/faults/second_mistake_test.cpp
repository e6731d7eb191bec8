// Two mistakes of which one is a missing barrier: it is repaired although the other one keeps cases failing, which is then looked for.
#include "harness/triage/second_mistake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/missing_barrier.h"
#include "tests/faults/twin_variant.h"
#include "tests/faults/twins.h"

namespace assay::tests::second_mistake_test {
namespace {

constexpr Twin kHalfSink = {"half_sink_without_barrier",
                            "the sink is halved, and simdgroups do not wait for each other",
                            "top = sinks[head % heads];",
                            "top = 0.5f * sinks[head % heads];",
                            {"float/d96x96/b1/h1x1/q1/k40/nomask/gauss/s1"},
                            {}};

// A variant with both mistakes, a case that shows one of them, and one that shows both.
struct BothMistakes {
  TwinVariant variant;
  harness::Laboratory laboratory;
  std::vector<harness::Case> given;
  std::ptrdiff_t barrier_line = 0, sink_line = 0;

  explicit BothMistakes(const std::string& text)
      : variant("attn_simd_v1", kHalfSink.name, text),
        laboratory({.catalogue = variant.catalogue(), .variant = "attn_simd_v1", .workbench = {}, .run = {}}),
        given({variant.parse(kHalfSink.caught.case_words, ""), variant.parse("float/d96x96/b1/h1x1/q1/k40/nomask/sinks/gauss/s1", "")}) {}

  static BothMistakes make() {
    std::string text = TwinVariant("attn_simd_v1", kHalfSink).text();
    constexpr std::string_view barrier = "    threadgroup_barrier(mem_flags::mem_threadgroup);\n";
    const std::size_t place = text.find(barrier);
    EXPECT_NE(place, std::string::npos);
    text.erase(place, barrier.size());
    const auto line_of = [&](std::size_t at) { return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'); };
    BothMistakes made(text);
    made.barrier_line = line_of(place);
    made.sink_line = line_of(text.find(kHalfSink.to));
    return made;
  }

  harness::Blame barrier() {
    const harness::Case& with_sinks = given[1];
    const std::vector<metal::Hazard> hazards = laboratory.verdict_under(with_sinks, metal::Policy::checked).hazards;
    const auto race = std::ranges::find_if(hazards, harness::needs_barrier);
    EXPECT_NE(race, hazards.end());
    return race == hazards.end() ? harness::Blame{} : blame_missing_barrier(laboratory, *race, std::span(&with_sinks, 1), given);
  }
};

constexpr double kNear = 3;

TEST(SecondMistake, ABarrierThatLeavesItIsAPartialRepair) {
  BothMistakes both = BothMistakes::make();
  const harness::Blame blamed = both.barrier();
  ASSERT_EQ(blamed.suspects.size(), 1U);
  EXPECT_TRUE(blamed.is_partial);
  EXPECT_NEAR(blamed.suspects.front().line, both.barrier_line, kNear);
}

// Not in CI: it compiles many edits.
TEST(SecondMistakeBehind, ABarrierIsRepairedToo) {
  BothMistakes both = BothMistakes::make();
  harness::Blame blamed = both.barrier();
  const harness::EditSearch search = {
      .kind = harness::mistake::kUnknown, .failing = both.given, .passing = {}, .given = both.given, .budget = std::chrono::seconds(60)};
  blame_second_mistake(both.laboratory, blamed, search);
  ASSERT_GT(blamed.suspects.size(), 1U);
  EXPECT_NEAR(blamed.suspects[1].line, both.sink_line, kNear) << blamed.suspects[1].why;
  EXPECT_FALSE(blamed.is_partial);
}

}  // namespace
}  // namespace assay::tests::second_mistake_test
