// Matching of landmarks with traces: which line parts right from wrong, and what the sentence says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families/landmarks.h"
#include "harness/triage/landmarks.h"
#include "metal/execute/value_trace.h"

namespace assay::tests::landmarks_test {
namespace {

using families::Landmark;
using families::LandmarkElement;
using families::Landmarks;
using harness::LandmarkFinding;
using metal::TracedOperation;
using namespace ::testing;

constexpr const char* kFile = "mine.metal";
constexpr std::size_t kKeys = 8;

// A trace of one thread for each threadgroup, by line.
class Trace {
 public:
  Trace() {
    trace_.functions = {"kernel"};
    trace_.threads.push_back({.dispatch = 0, .threadgroup = {}, .thread = 0, .values = {}});
  }
  Trace& hold(std::uint32_t line, const std::vector<double>& numbers, TracedOperation::Kind kind = TracedOperation::Kind::arithmetic) {
    trace_.operations.push_back({kind, TracedOperation::Type::float32, {kFile, line}});
    for (const double number : numbers) {
      trace_.threads.back().values.push_back({.operation = static_cast<std::uint32_t>(trace_.operations.size() - 1),
                                              .bits = std::bit_cast<std::uint32_t>(static_cast<float>(number)),
                                              .read = 0});
    }
    return *this;
  }
  Trace& next_threadgroup() {
    trace_.threads.push_back({.dispatch = 0,
                              .threadgroup = {.x = static_cast<std::uint32_t>(trace_.threads.size()), .y = 0, .z = 0},
                              .thread = 0,
                              .values = {}});
    return *this;
  }
  [[nodiscard]] std::optional<LandmarkFinding> match(const Landmarks& landmarks) const {
    return harness::match_landmarks(trace_, landmarks, kFile, {"head 0", "head 1"});
  }

 private:
  metal::ValueTrace trace_;
};

std::vector<double> numbers(double first, double step) {
  std::vector<double> made;
  for (std::size_t i = 0; i < kKeys; ++i) made.push_back(first + step * static_cast<double>(i));
  return made;
}

// So many that every value between the two is met.
std::vector<double> dense(double first, double last) {
  constexpr std::size_t count = 200'000;
  std::vector<double> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(first + (last - first) * static_cast<double>(i) / count);
  return made;
}

const std::vector<double> kInputs = numbers(2.5, 0.37), kScores = numbers(-0.7, 0.231), kOutputs = numbers(11.3, 1.7);

// Inputs, scores from them, outputs from scores; a value for each key.
Landmarks three_landmarks() {
  Landmarks landmarks;
  landmarks.rows = {0};
  const auto add = [&](std::string_view name, const std::vector<double>& values, std::vector<std::size_t> needs) {
    Landmark landmark;
    landmark.name = name;
    landmark.needs = std::move(needs);
    for (std::size_t key = 0; key < values.size(); ++key) {
      LandmarkElement element;
      element.key = static_cast<std::int64_t>(key);
      element.values = {values[key]};
      landmark.elements.push_back(element);
    }
    landmarks.list.push_back(std::move(landmark));
  };
  add("input", kInputs, {});
  add("score", kScores, {0});
  add("output", kOutputs, {1});
  landmarks.list[0].is_loaded = true;
  landmarks.list[1].faults = {{8.0, "1 / scale"}};
  landmarks.list[1].factors = {{1.4426950408889634, "log2(e)"}};
  return landmarks;
}

std::vector<double> times(std::vector<double> values, double factor) {
  for (double& value : values) value *= factor;
  return values;
}

TEST(Landmarks, ALineThatHoldsThemTimesAKnownWrongFactorIsNamedWithTheFactor) {
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, times(kScores, 8)).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 20U);
  EXPECT_EQ(found->landmark, "score");
  EXPECT_THAT(found->sentence, HasSubstr("8 times what they should be (1 / scale)"));
  EXPECT_THAT(found->needed, ElementsAre(ElementsAre(10U)));
}

TEST(Landmarks, AFactorOfTheKernelsOwnFormulationIsRight) {
  const auto found =
      Trace().hold(10, kInputs).hold(20, times(kScores, 1.4426950408889634)).hold(30, numbers(0.3, 0.01)).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->landmark, "output");
  EXPECT_EQ(found->line, 0U);
  EXPECT_THAT(found->needed, ElementsAre(ElementsAre(20U)));
}

// A line with thousands of numbers meets every value, and what lies beside them as well.
TEST(Landmarks, WhatManyNumbersMeetByChanceIsNotHeld) {
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(15, dense(-1.0, 1.2)).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_NE(found->line, 15U) << found->sentence;
  EXPECT_THAT(found->right, Not(Contains(15U)));
  EXPECT_THAT(found->sentence, Not(HasSubstr("right are scores")));
}

// Scores of 1 say nothing, so the factor may come from them.
TEST(Landmarks, AFactorOfWhatIsComputedFromTheUnknownIsNotCertain) {
  Landmarks landmarks = three_landmarks();
  const auto factor = [&] {
    return Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, kScores).hold(30, times(kOutputs, 3)).match(landmarks);
  };
  const auto certain = factor();
  ASSERT_TRUE(certain);
  EXPECT_TRUE(certain->is_sure);
  for (LandmarkElement& element : landmarks.list[1].elements) element.values = {1.0};
  const auto found = factor();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 30U);
  EXPECT_FALSE(found->is_sure) << found->sentence;
}

TEST(Landmarks, AKeyThatALineNeverReadsIsMissing) {
  std::vector<double> some = kInputs;
  some.pop_back();
  const auto found = Trace().hold(10, some, TracedOperation::Kind::move).match(three_landmarks());
  // Nothing is right, so nothing can be said.
  EXPECT_FALSE(found);
  Landmarks landmarks = three_landmarks();
  landmarks.list.push_back(landmarks.list.front());
  landmarks.list.back().elements.resize(2);
  landmarks.list.back().is_loaded = false;
  const auto again = Trace().hold(10, some, TracedOperation::Kind::move).match(landmarks);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->line, 10U);
  EXPECT_TRUE(again->is_missing);
  EXPECT_THAT(again->sentence, HasSubstr("key 7 head 0"));
}

TEST(Landmarks, ALandmarkIsExcusedIfSomethingComputedFromItIsRight) {
  const auto found = Trace().hold(10, kInputs).hold(30, kOutputs).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->is_place) << found->sentence;
  EXPECT_EQ(found->line, 30U);
}

TEST(Landmarks, AWrongValueIsNamedWithItsExpectation) {
  std::vector<double> wrong = kScores;
  for (const std::size_t key : {1, 2, 5, 6}) wrong[key] += 0.05;
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, wrong).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 20U);
  EXPECT_THAT(found->sentence, HasSubstr("score"));
  EXPECT_THAT(found->right_loads, ElementsAre(10U));
}

TEST(Landmarks, AnyFactorOfAllValuesIsNamed) {
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, times(kScores, 0.7071)).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 20U);
  EXPECT_TRUE(found->has_factor && found->is_sure);
  EXPECT_THAT(found->sentence, HasSubstr("0.7071 = 1/sqrt(2) times what they should be"));
}

TEST(Landmarks, ExponentialsLessAWrongMaximumNameBoth) {
  Landmarks landmarks = three_landmarks();
  landmarks.list[1].maxima = {-1.5};
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, times(kScores, std::exp(-1.5))).match(landmarks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 20U);
  EXPECT_TRUE(found->is_start);
  EXPECT_THAT(found->sentence, HasSubstr("for a maximum of 0, but the highest score is -1.5"));
}

TEST(Landmarks, WithoutAFactorTheMistakeIsBehindTheRightLines) {
  const auto found = Trace().hold(10, kInputs, TracedOperation::Kind::move).hold(20, numbers(0.3, 0.01)).match(three_landmarks());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->landmark, "score");
  EXPECT_EQ(found->line, 0U);
  EXPECT_TRUE(found->is_sure);
  EXPECT_THAT(found->needed, ElementsAre(ElementsAre(10U)));
}

TEST(Landmarks, ALineThatReadsInputsMayAlsoComputeFromThem) {
  std::vector<double> both = numbers(100, 1);
  Landmarks landmarks = three_landmarks();
  for (std::size_t i = 0; i < 400; ++i) {
    LandmarkElement other;
    other.values = {1000.0 + static_cast<double>(i)};
    landmarks.list[0].others.push_back(other);
    both.push_back(other.values.front());
  }
  both.insert(both.end(), kInputs.begin(), kInputs.end());
  both.insert(both.end(), kScores.begin(), kScores.end());
  both.erase(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(kKeys));
  const auto found = Trace().hold(10, both, TracedOperation::Kind::move).match(landmarks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->landmark, "output") << found->sentence;
}

TEST(Landmarks, OneInputReadInPlaceOfTheOtherIsNamed) {
  Landmarks landmarks = three_landmarks();
  landmarks.list[2].is_loaded = true;
  landmarks.list[2].needs.clear();
  for (LandmarkElement& element : landmarks.list[0].elements) element.values = {static_cast<double>(static_cast<float>(element.values[0]))};
  const auto found = Trace()
                         .hold(10, kInputs, TracedOperation::Kind::move)
                         .hold(20, kScores)
                         .hold(30, kInputs, TracedOperation::Kind::move)
                         .match(landmarks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 30U);
  EXPECT_THAT(found->sentence, HasSubstr("this line reads inputs, and no line reads the outputs"));
}

TEST(Landmarks, ALineThatAThreadgroupNeverReachesHasNoNearestNumber) {
  Landmarks landmarks = three_landmarks();
  landmarks.rows = {0, 1};
  constexpr double other = 1.37;
  for (Landmark& landmark : landmarks.list) {
    const std::vector<LandmarkElement> of_first = landmark.elements;
    for (LandmarkElement element : of_first) {
      element.row = 1;
      element.values.front() *= other;
      landmark.elements.push_back(element);
    }
    for (LandmarkElement& element : landmark.elements) element.coordinate = std::exchange(element.key, -1);
  }
  std::vector<double> most = kOutputs;
  most.front() += 100;
  const auto found = Trace()
                         .hold(10, kInputs, TracedOperation::Kind::move)
                         .hold(20, kScores)
                         .next_threadgroup()
                         .hold(10, times(kInputs, other), TracedOperation::Kind::move)
                         .hold(20, times(kScores, other))
                         .hold(30, times(most, other))
                         .match(landmarks);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->line, 30U);
  EXPECT_THAT(found->sentence, EndsWith("and this line has no number"));
}

TEST(Landmarks, LinesOfOtherFilesAndCutRowsSayNothing) {
  EXPECT_FALSE(Trace().match(three_landmarks()));
  EXPECT_FALSE(Trace().hold(10, kInputs).match(Landmarks{}));
}

}  // namespace
}  // namespace assay::tests::landmarks_test
