// The steps of triage that need no kernel: differences of sources, ranges, fits, smaller cases.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <span>
#include <string>
#include <vector>

#include "families/registry.h"
#include "harness/cases/case_size.h"
#include "harness/triage/classify.h"
#include "harness/triage/hunks.h"
#include "harness/triage/localise.h"
#include "harness/triage/minimise.h"
#include "harness/triage/named_factor.h"
#include "harness/triage/permutation.h"

namespace assay::tests::triage_steps_test {
namespace {

using namespace ::testing;

TEST(TriageHunks, IgnoreBlanksAndComments) {
  const auto hunks = harness::hunks_between("float a = 1; // one\nfloat b = a;", "float  a\n= 1;\n/* two */ float b = a;");
  ASSERT_TRUE(hunks);
  EXPECT_THAT(*hunks, IsEmpty());
}

TEST(TriageHunks, AreUndoneToTheOtherSource) {
  const std::string wrong = "int f() {\n  int s = 0;\n  s += 2;\n  return s + 1;\n}\n";
  const std::string right = "int f() {\n  int s = 0;\n  s += 1;\n  barrier();\n  return s + 1;\n}\n";
  const auto hunks = harness::hunks_between(wrong, right);
  ASSERT_TRUE(hunks);
  ASSERT_THAT(*hunks, SizeIs(2));
  EXPECT_EQ(hunks->front().line, 3U);
  EXPECT_EQ(hunks->front().other, "1");
  const auto same = harness::hunks_between(harness::undone(wrong, *hunks), right);
  ASSERT_TRUE(same);
  EXPECT_THAT(*same, IsEmpty());
}

TEST(TriageHunks, WhatIsUndoneReadsAsItWasWritten) {
  const std::string wrong = "if (on) { a = b * step + c; }\nint x = y- -z; return long_name;\n";
  const std::string right = "if (on && first) { a = b * row_step + c * 2; }\nint x = y - z; return;\n";
  const auto hunks = harness::hunks_between(wrong, right);
  ASSERT_TRUE(hunks);
  EXPECT_EQ(harness::undone(wrong, *hunks), "if (on && first) { a = b * row_step + c * 2; }\nint x = y- z; return;\n");
  const auto more = harness::hunks_between(right, wrong);
  ASSERT_TRUE(more);
  EXPECT_EQ(harness::undone(right, *more), "if (on) { a = b * step + c; }\nint x = y - - z; return long_name;\n");
}

TEST(TriageHunks, AMissingStatementIsMissedOnTheLineBelow) {
  const std::string right = "int f() {\n  int s = 0;\n  s += 1;\n  return s;\n}\n";
  const auto statement = harness::hunks_between("int f() {\n  int s = 0;\n  return s;\n}\n", right);
  ASSERT_TRUE(statement);
  ASSERT_THAT(*statement, SizeIs(1));
  EXPECT_EQ(statement->front().line, 3U);
  const auto operand = harness::hunks_between("int f() {\n  int s = 0\n;  s += 1;\n  return;\n}\n", right);
  ASSERT_TRUE(operand);
  ASSERT_THAT(*operand, SizeIs(1));
  EXPECT_EQ(operand->front().line, 4U);
}

TEST(TriageHunks, OnlyTheGuiltyOneIsBlamed) {
  const std::string wrong = "a 1 b 2 c 3 d 4 e f g h i j k";
  const std::string right = "a 5 b 6 c 7 d 8 e f g h i j k";
  const auto hunks = harness::hunks_between(wrong, right);
  ASSERT_TRUE(hunks);
  const auto is_right = [](const std::string& text) { return text.find('3') == std::string::npos; };
  const auto guilty = harness::blame(wrong, *hunks, is_right, [] { return true; });
  ASSERT_THAT(guilty, SizeIs(1));
  EXPECT_EQ(guilty.front().other, "7");
  EXPECT_THAT(harness::blame(wrong, *hunks, [](const std::string&) { return false; }, [] { return true; }), IsEmpty());
  EXPECT_THAT(harness::blame(wrong, *hunks, is_right, [] { return false; }), IsEmpty());
}

// Delta debugging alone ends with the first two, neither of which can be left out then.
TEST(TriageHunks, ASmallerSetIsNotOverlooked) {
  const std::string wrong = "a 1 b 2 c 3 d 4 e f g h i j k";
  const auto hunks = harness::hunks_between(wrong, "a 5 b 6 c 7 d 8 e f g h i j k");
  const auto has = [](const std::string& text, const char* word) { return text.find(word) != std::string::npos; };
  const auto is_right = [&](const std::string& text) { return (has(text, "5") && has(text, "6")) || (has(text, "8") && !has(text, "5")); };
  const auto all = [&](const std::string& text) { return is_right(text) || (has(text, "5") && has(text, "8")); };
  const auto guilty = harness::blame(wrong, *hunks, all, [] { return true; });
  ASSERT_THAT(guilty, SizeIs(1));
  EXPECT_EQ(guilty.front().other, "8");
}

TEST(Hunks, TheSmallestSetIsFoundAmongHarmlessDifferences) {
  std::string wrong, right;
  for (int i = 0; i < 12; ++i) {
    wrong += fmt::format("a{0} = {0};\n", i);
    right += fmt::format("a{0} = {0} + 1;\n", i);
  }
  const auto hunks = harness::hunks_between(wrong, right, true);
  ASSERT_TRUE(hunks);
  ASSERT_EQ(hunks->size(), 12U);
  const auto has = [](std::string text, int i) {
    std::erase(text, ' ');
    return text.find(fmt::format("a{0}={0}+1;", i)) != std::string::npos;
  };
  // Three are needed, or five others.
  const auto is_right = [&](const std::string& text) {
    const bool are_five = has(text, 0) && has(text, 1) && has(text, 2) && has(text, 3) && has(text, 4);
    return has(text, 6) && (are_five || (has(text, 9) && has(text, 10)));
  };
  const auto guilty = harness::blame(wrong, *hunks, is_right, [] { return true; });
  EXPECT_EQ(guilty.size(), 3U);
}

// Half of the one statement and half of the other are right in neither source.
TEST(Hunks, PartsOfAStatementAreUndoneTogether) {
  const std::string wrong = "a = 1;\nb = s > 0 ? 1 / s : 0;\nc = 3;\nd = 4;\n";
  const std::string right = "a = 2;\nb = s == 0 ? 0 : 1 / s;\nc = 5;\nd = 4;\n";
  const auto hunks = harness::hunks_between(wrong, right, true);
  ASSERT_TRUE(hunks);
  ASSERT_GT(hunks->size(), 3U);
  const auto is_right = [&](std::string text) {
    std::erase(text, ' ');
    const bool is_whole = text.find("b=s>0?1/s:0;") != std::string::npos || text.find("b=s==0?0:1/s;") != std::string::npos;
    return is_whole && text.find("c=5") != std::string::npos;
  };
  const auto guilty = harness::blame(wrong, *hunks, is_right, [] { return true; });
  ASSERT_THAT(guilty, SizeIs(1));
  EXPECT_EQ(guilty.front().line, 3U);
}

TEST(Hunks, NamesAloneAreNoDifference) {
  const std::string own = "float all = 0; all += weight * w2; f(all);";
  EXPECT_EQ(harness::with_names_of(own, "float sum = 0; sum += weight * w1; f(sum);"), "float all = 0; all += weight * w2; f(all);");
  // `b` is a name of both: it is not renamed.
  EXPECT_EQ(harness::with_names_of("a = b; c = b;", "a = b; b = b;"), "a = b; b = b;");
}

TEST(TriageHunks, StrangersAreNotCompared) { EXPECT_FALSE(harness::hunks_between("a b c d e f g", "h i j k l m n o p q r s t")); }

TEST(TriageLocalise, NamesRanges) {
  EXPECT_EQ(harness::ranges_text({}), "");
  EXPECT_EQ(harness::ranges_text({4, 5, 6, 7, 9}), "4..7, 9");
}

harness::Observation observation_of(std::vector<double> actual) {
  harness::Observation observation;
  observation.actual = std::move(actual);
  observation.expected.value.assign(observation.actual.size(), 1.0);
  observation.expected.bound.assign(observation.actual.size(), 1e-3);
  observation.verdict.row_length = observation.actual.size();
  return observation;
}

TEST(TriageFit, IsOneForWhatHappenedAndZeroForTheTruth) {
  const harness::Observation observation = observation_of({2.0, 3.0, 1.0, 5.0});
  EXPECT_DOUBLE_EQ(harness::explained_by(observation, std::vector<double>{2.0, 3.0, 7.0, 5.0}).part, 1.0);
  EXPECT_TRUE(harness::explained_by(observation, std::vector<double>{2.0, 3.0, 7.0, 5.0}).exact);
  EXPECT_DOUBLE_EQ(harness::explained_by(observation, observation.expected.value).part, 0.0);
  EXPECT_FALSE(harness::explained_by(observation, observation.expected.value).exact);
  EXPECT_DOUBLE_EQ(harness::explained_by(observation, std::vector<double>{1.5, 2.0, 1.0, 3.0}).part, 0.5);
}

TEST(TriageFit, NamesConstantsThatKernelsLeaveOut) {
  const std::vector<double> sizes = {512.0, 128.0};
  for (const auto& [factor, words] : {std::pair{1 / std::sqrt(512.0), "0.0441942 = 1/sqrt(512)"},
                                      {std::sqrt(512.0), "22.6274 = sqrt(512)"},
                                      {-std::numbers::log2e, "-1.4427 = -log2(e)"},
                                      {std::numbers::ln2 * 1.0002, "0.693286 = ln(2) = 1/log2(e)"},
                                      {1.0 / 128, "0.0078125 = 1/128"},
                                      {0.3, "0.3"}}) {
    EXPECT_EQ(harness::named_factor(factor, sizes), words);
  }
  EXPECT_EQ(harness::named_factor(std::sqrt(512.0), {}), "22.6274 = sqrt(512)");
  EXPECT_EQ(harness::named_factor(std::sqrt(500.0), {}), "22.3607");
}

// Two heads and three queries; each row is different.
harness::Observation permuted(const std::function<std::size_t(std::size_t)>& row_at) {
  constexpr std::size_t length = 4;
  harness::Observation observation;
  observation.test_case = harness::parse_case("x/float/d4x4/b1/h2x2/q3/k3/nomask/gauss/s1", families::find_family("attention"));
  observation.verdict.row_length = length;
  for (std::size_t i = 0; i < 6 * length; ++i) {
    observation.expected.value.push_back(static_cast<double>(i * i + 1));
    observation.expected.bound.push_back(1e-3);
  }
  for (std::size_t row = 0; row < 6; ++row) {
    for (std::size_t j = 0; j < length; ++j) observation.actual.push_back(observation.expected.value[row_at(row) * length + j]);
  }
  return observation;
}

TEST(TriagePermutation, FindsRowsInAnotherOrder) {
  // Row (query, head) of a kernel that writes queries outside of heads.
  const harness::Observation exchanged = permuted([](std::size_t row) { return row % 2 * 3 + row / 2; });
  EXPECT_THAT(harness::find_permutation(std::span(&exchanged, 1)),
              Optional(HasSubstr("rows are written in the order batches, queries, heads, not batches, heads, queries")));
  const harness::Observation turned = permuted([](std::size_t row) { return (row + 1) % 6; });
  EXPECT_THAT(harness::find_permutation(std::span(&turned, 1)), Optional(HasSubstr("6 of 6 rows hold what belongs to other rows")));
}

TEST(TriagePermutation, OtherNumbersAreNoOrder) {
  harness::Observation observation = permuted([](std::size_t row) { return (row + 1) % 6; });
  observation.actual[5] = 3.5;
  EXPECT_EQ(harness::find_permutation(std::span(&observation, 1)), std::nullopt);
  const harness::Observation right = permuted([](std::size_t row) { return row; });
  EXPECT_EQ(harness::find_permutation(std::span(&right, 1)), std::nullopt);
}

TEST(TriageMinimise, OffersOnlySmallerCases) {
  for (const auto& [name, words] : {std::pair{"tqhb", "x/d512/b8/h8x2/kv300c300/ring37/win100/nwg4/nsg2/needle/s7"},
                                    {"bf16_vec", "x/b2/h4x2/q3/kv257r7/random2x4/low/nsg4/gauss/s7"}}) {
    const families::Family& family = families::find_family(name);
    const harness::Case test_case = harness::parse_case(words, family);
    for (const harness::Smaller how : {harness::Smaller::in_one_axis, harness::Smaller::in_length, harness::Smaller::in_several}) {
      const std::vector<harness::Case> smaller = harness::smaller_cases(test_case, how);
      EXPECT_FALSE(smaller.empty());
      for (std::size_t i = 0; i < smaller.size(); ++i) {
        EXPECT_LT(harness::size_of(smaller[i]), harness::size_of(test_case));
        if (i > 0) EXPECT_LE(harness::size_of(smaller[i - 1]), harness::size_of(smaller[i]));
        EXPECT_EQ(harness::parse_case(harness::format_case(smaller[i]), family), smaller[i]);
      }
    }
  }
}

}  // namespace
}  // namespace assay::tests::triage_steps_test
