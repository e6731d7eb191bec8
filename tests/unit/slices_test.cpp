// Dependences between lines as they are read from tokens, and the edits that suspect lines get.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/plausible_edits.h"
#include "harness/triage/slices.h"
#include "tests/support/edits.h"

namespace assay::tests::slices_test {
namespace {

using harness::Dice;
using harness::Edit;
using harness::LineSuspicion;
using harness::Slices;
using harness::Source;
using namespace ::testing;

constexpr std::string_view kText = R"(#include <metal_stdlib>
struct Params { int heads; int nb1; int nb2; float scale; };
float twice(float x) {
  return 2.0f * x;
}
kernel void mine(device const float * q, device const float * k, device float * out, constant Params & params, uint lane) {
  const int head = lane / params.heads;
  const int kv = head / 2;
  device const float * row = k + kv * params.nb1;
  float sum = 0.0f;
  for (int j = 0; j < params.heads; ++j) {
    if (j == 3) {
      continue;
    }
    float score = q[head] * row[j * params.nb2];
    score = twice(score);
    sum += score;
  }
  out[lane] = sum;
}
)";
enum Line : std::uint32_t { kHelper = 4, kHead = 7, kKv, kRow, kSum, kLoop, kSkip, kLoad = 15, kCall, kAdd, kStore = 19 };

std::vector<std::uint32_t> lines_of(const std::map<std::uint32_t, double>& found) {
  std::vector<std::uint32_t> lines;
  for (const auto& [line, cost] : found) lines.push_back(line);
  return lines;
}

class SlicesTest : public Test {
 protected:
  Source source_{std::string(kText), "mine.metal"};
  Slices slices_{source_, {}};
};

TEST_F(SlicesTest, AValueDependsOnDefinitionsLoopsConditionsAndCalledFunctions) {
  const std::uint32_t store[] = {kStore};
  EXPECT_THAT(lines_of(slices_.behind(store, {})),
              IsSupersetOf({+kHelper, +kHead, +kKv, +kRow, +kSum, +kLoop, +kSkip, +kLoad, +kCall, +kAdd}));
  const std::uint32_t row[] = {kRow};
  EXPECT_THAT(lines_of(slices_.behind(row, {})), ElementsAre(kHead, kKv, kRow));
}

TEST_F(SlicesTest, OnlyPointersAndIndicesDecideWhereALineReads) {
  const std::uint32_t load[] = {kLoad};
  const auto places = slices_.behind(load, {.of_place = true});
  EXPECT_TRUE(places.contains(kRow));
  EXPECT_TRUE(places.contains(kLoop));
  EXPECT_FALSE(places.contains(kCall));
}

TEST_F(SlicesTest, WhereAMaximumIsWrongFromItsStartTheConstantIsMostSuspect) {
  EXPECT_TRUE(slices_.is_start(kSum));
  EXPECT_FALSE(slices_.is_start(kLoop) || slices_.is_start(kAdd) || slices_.is_start(kHead));
  Dice dice;
  dice.wrong = kStore;
  dice.is_start = true;
  const LineSuspicion suspicion = suspicion_of(slices_, dice);
  EXPECT_EQ(std::ranges::max_element(suspicion.by_line, {}, [](const auto& one) { return one.second; })->first, +kSum);
}

TEST_F(SlicesTest, LinesThatAreWrongByOneFactorAreNotTheCause) {
  Dice dice;
  dice.wrong = kLoad;
  dice.also_wrong = {kCall};
  dice.is_common = true;
  const LineSuspicion suspicion = suspicion_of(slices_, dice);
  EXPECT_LT(suspicion.of(kLoad), suspicion.of(kRow));
}

TEST_F(SlicesTest, WhatRightLinesDependOnIsLessSuspect) {
  Dice dice;
  dice.wrong = kLoad;
  dice.is_load = dice.is_place = true;
  const LineSuspicion alone = suspicion_of(slices_, dice);
  dice.right = {kHead};
  const LineSuspicion diced = suspicion_of(slices_, dice);
  EXPECT_LT(diced.of(kHead), alone.of(kHead));
  EXPECT_GT(diced.of(kKv), diced.of(kHead));
  EXPECT_EQ(diced.fault, LineSuspicion::Fault::place);
}

TEST_F(SlicesTest, ConditionsComeFirstIfValuesAreMissing) {
  Dice dice;
  dice.wrong = kLoad;
  dice.is_missing = true;
  const LineSuspicion suspicion = suspicion_of(slices_, dice);
  EXPECT_GT(suspicion.of(kLoop), suspicion.of(kRow));
  EXPECT_EQ(suspicion.fault, LineSuspicion::Fault::limit);
}

TEST_F(SlicesTest, WithoutAWrongLineTheFirstThatNeedsTheRightOnesIsSuspect) {
  Dice dice;
  dice.right = {kCall};
  dice.needed = {{kCall}};
  dice.executed = {kLoad, kCall, kAdd, kStore};
  const LineSuspicion suspicion = suspicion_of(slices_, dice);
  EXPECT_GT(suspicion.of(kAdd), suspicion.of(kStore));
  EXPECT_GT(suspicion.of(kAdd), suspicion.of(kLoad));
}

TEST(PlausibleEdits, NamesFactorsTermsLimitsAndStartsChangeOnSuspectLines) {
  const Source source(R"(struct Params { long nb1; long nb2; int n; float scale; };
kernel void mine(device const float * k, device float * out, constant Params & params, uint lane, uint group) {
  float top = 0.0f;
  float sum = 1.5f;
  float factor = 0.5f;
  device const float * row = k + group * params.nb1;
  for (int j = 0; j < params.n; ++j) {
    float score = row[j * params.nb2 + lane];
    sum = sum + exp(score);
    if (j > 3 && score > top) {
      sum = 0.5f;
    }
    if (score > top) {
      out[j] = sum;
    }
  }
}
)",
                      "mine.metal");
  LineSuspicion all;
  for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
  const std::vector<Edit> edits = plausible_edits(source, all);
  EXPECT_TRUE(makes(edits, source, "group * params.nb1", "group * params.nb2"));
  EXPECT_TRUE(makes(edits, source, "j * params.nb2 + lane", "j * params.nb2 + group"));
  EXPECT_TRUE(makes(edits, source, "sum = sum + exp", "sum = sum * factor + exp"));
  EXPECT_TRUE(makes(edits, source, "row[j * params.nb2 + lane];", "row[j * params.nb2 + lane] * params.scale;"));
  EXPECT_TRUE(makes(edits, source, "exp(score)", "exp(score - top)"));
  EXPECT_TRUE(makes(edits, source, "top = 0.0f", "top = -INFINITY"));
  EXPECT_TRUE(makes(edits, source, "j < params.n", "j < (params.n - 1)"));
  EXPECT_TRUE(makes(edits, source, "row[j * params.nb2 + lane]", "row[j * params.nb2 + lane + group * params.nb1]"));
  EXPECT_TRUE(makes(edits, source, "if (score > top) {\n      out", "if ((score > top) && (j > 3)) {\n      out"));
  all.by_line = {{5, 1.0}};
  for (const Edit& edit : plausible_edits(source, all)) EXPECT_TRUE(edit.op == "start" || source.place(edit.offset).line == 5U) << edit.op;
}

TEST(Slices, CallsMayHaveTemplateArgumentsAndMethodsChangeWhatTheyBelongTo) {
  const Source source(
      "template <int D>\n"
      "void fetch(threadgroup float * tile, device const float * from, int pitch) {\n"
      "  for (int c = 0; c < D; ++c) tile[c] = from[c * pitch];\n"
      "}\n"
      "struct State { float top; void rise(float to) thread { top = to; } };\n"
      "kernel void mine(device const float * k, device float * out, threadgroup float * shared, int steps, float seen) {\n"
      "  State state;\n"
      "  fetch<4>(shared, k, steps);\n"
      "  state.rise(seen);\n"
      "  out[0] = state.top;\n"
      "  out[1] = shared[0];\n"
      "}\n",
      "mine.metal");
  const Slices slices(source, {});
  const std::uint32_t load[] = {3}, top[] = {10}, tile[] = {11};
  EXPECT_THAT(lines_of(slices.behind(load, {})), Contains(8U));
  EXPECT_THAT(lines_of(slices.behind(tile, {})), IsSupersetOf({3U, 8U}));
  EXPECT_THAT(lines_of(slices.behind(top, {})), Contains(9U));
}

// A line that stores something in memory does not decide where a pointer to it points.
TEST(Slices, WhatIsStoredDoesNotDecideAPlace) {
  const Source source(
      "kernel void mine(device const float * k, device float * out, threadgroup float * shared, uint lane, uint n) {\n"
      "  uint at = lane / n;\n"
      "  shared[lane] = k[lane];\n"
      "  out[lane] = shared[at];\n"
      "}\n",
      "mine.metal");
  const Slices slices(source, {});
  const std::uint32_t wrong[] = {4};
  const auto places = slices.behind(wrong, {.of_place = true});
  EXPECT_TRUE(places.contains(2));
  EXPECT_FALSE(places.contains(3));
  EXPECT_TRUE(slices.behind(wrong, {}).contains(3));
}

}  // namespace
}  // namespace assay::tests::slices_test
