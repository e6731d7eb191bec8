// Which lines `assay explain` tries, what their contributions come to, and what it concludes: all of made-up numbers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/execute/explain.h"
#include "reports/explanation.h"

namespace assay::tests::explain_lines_test {
namespace {

using harness::Explanation;
using metal::LineRounding;
using reports::conclusion_of;
using reports::explanation_json;
using reports::explanation_text;
using namespace ::testing;

LineRounding line(std::uint32_t number, std::uint64_t operations, double largest, double mean) {
  return {{"kernel.metal", number}, "half add", operations, largest, mean};
}

TEST(LinesToTry, AreThoseOfLargeSingleErrorsAndThoseOfManyByTurns) {
  const std::vector<LineRounding> roundings = {line(1, 1'000'000, 1e-7, 1e-8), line(2, 10, 1e-3, 1e-4), line(3, 10, 1e-4, 1e-5),
                                               line(4, 100, 1e-7, 1e-8), line(5, 1'000'000, 0, 0)};
  const auto numbers = [&](std::size_t most) {
    std::vector<std::uint32_t> result;
    for (const LineRounding& one : harness::lines_to_try(roundings, most)) result.push_back(one.place.line);
    return result;
  };
  EXPECT_EQ(numbers(2), (std::vector<std::uint32_t>{2, 1}));
  EXPECT_EQ(numbers(12), (std::vector<std::uint32_t>{2, 1, 3, 4})) << "line 5 rounds nothing";
  EXPECT_TRUE(numbers(0).empty());
  EXPECT_EQ(harness::lines_to_try({line(1, 5, 0.5, 0.5), line(2, 5, std::numeric_limits<double>::infinity(), 0.1)}, 1).front().place.line,
            2U)
      << "an overflow";
}

TEST(ContributionOf, SharesOfLinesThatMakeTheErrorTogetherAddUp) {
  const std::vector<double> plain = {1, 2, 3};
  const std::vector<double> first = {1.5, 2, 2.75};  // by 0.5, 0, -0.25
  const std::vector<double> second = {1, 2.5, 3.5};  // by 0, 0.5, 0.5
  const harness::Outputs outputs{.plain = plain, .error = {0.5, 0.5, 0.25}, .conversions = {0, 0, 0}, .bounds = {0.5, 0.5, 0.25}};
  const harness::Contribution a = harness::contribution_of(first, outputs);
  const harness::Contribution b = harness::contribution_of(second, outputs);
  EXPECT_DOUBLE_EQ(a.root_mean_square, std::sqrt(2.0 / 3.0));
  EXPECT_DOUBLE_EQ(b.root_mean_square, std::sqrt(5.0 / 3.0));
  EXPECT_DOUBLE_EQ(a.share, 0.0) << "it moves one element as the error does and one against it";
  EXPECT_DOUBLE_EQ(a.share + b.share, 1.0);
}

TEST(ContributionOf, ElementsWithoutASplitOrABoundCountAsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const harness::Contribution part = harness::contribution_of(
      {1.5, nan, 5, 3}, {.plain = {1, nan, 2, 3}, .error = {0.5, 1, 1, nan}, .conversions = {0, 0, 0, 0}, .bounds = {0.5, 1, 0, 1}});
  EXPECT_DOUBLE_EQ(part.root_mean_square, 1.0);
  EXPECT_DOUBLE_EQ(part.share, 1.0);
  EXPECT_EQ(harness::contribution_of({1}, {.plain = {1}, .error = {0}, .conversions = {0}, .bounds = {1}}).share, 0.0)
      << "nothing is rounded at all";
}

TEST(ContributionOf, ALineThatMakesTheContractsConversionsHasOnlyWhatIsLeft) {
  // Two lines round: one as the contract does, by 8, and by 1 too much on the second element; the other by 0.5 on the first.
  const harness::Outputs outputs{.plain = {0, 0}, .error = {0.5, 1}, .conversions = {8, 0}, .bounds = {1, 1}};
  const harness::Contribution contract = harness::contribution_of({8, 1}, outputs);
  const harness::Contribution other = harness::contribution_of({0.5, 0}, outputs);
  EXPECT_DOUBLE_EQ(contract.conversions, 1.0);
  EXPECT_DOUBLE_EQ(contract.root_mean_square, std::sqrt(0.5)) << "1 on one of two elements";
  EXPECT_DOUBLE_EQ(contract.share, 0.8);
  EXPECT_DOUBLE_EQ(contract.share + other.share + harness::share_of_conversions(contract.conversions + other.conversions - 1, outputs),
                   1.0);
}

TEST(ContributionOf, AConversionThatNoLineMakesHasTheErrorToItself) {
  const harness::Outputs outputs{.plain = {0, 0}, .error = {-8, 4}, .conversions = {8, -4}, .bounds = {1, 1}};
  EXPECT_DOUBLE_EQ(harness::share_of_conversions(-1.0, outputs), 1.0);
}

TEST(ContributionOf, ALineThatOverflowsOutweighsEveryOther) {
  const double infinity = std::numeric_limits<double>::infinity();
  const harness::Contribution part =
      harness::contribution_of({infinity, 2.5}, {.plain = {1, 2}, .error = {infinity, 0.5}, .conversions = {0, 0}, .bounds = {1, 1}});
  EXPECT_EQ(part.root_mean_square, infinity);
  EXPECT_DOUBLE_EQ(part.share, 1.0) << "over the elements that are finite";
}

harness::SplitElement element(double rounding, double logic) {
  return {.index = 3, .actual = 1 + logic + rounding, .shadow = 1 + logic, .expected = 1, .bound = 0.25, .exact = 1, .exact_bound = 0.125};
}

Explanation explanation(double rounding, double logic) {
  Explanation result;
  result.verdict.test_case = harness::parse_case("reduce_v1/d256/rows2/nwg4/gauss/s1", families::find_family("reduce"));
  result.verdict.schedules = "forward";
  result.verdict.row_length = 2;
  const harness::SplitElement one = element(rounding, logic);
  result.verdict.split = harness::ErrorSplit{.elements = 512,
                                             .discrete = 0,
                                             .above_bound = one.logic_ratio() > 1 ? 1U : 0U,
                                             .max_rounding_ratio = one.rounding_ratio(),
                                             .max_logic_ratio = one.logic_ratio(),
                                             .max_rounding_index = 3,
                                             .max_logic_index = 3,
                                             .worst = {one}};
  result.verdict.judgement.above_bound = std::abs(rounding + logic) > 0.25 ? 1 : 0;
  return result;
}

TEST(ExplanationConclusion, SaysFirstThatTheMistakeIsInWhatIsComputed) {
  const std::string text = explanation_text(explanation(0.0, 4.0));
  EXPECT_TRUE(text.starts_with("the kernel computes the wrong thing")) << text;
  EXPECT_THAT(text, HasSubstr("  logic\n"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("rounds too much")), Not(HasSubstr("first relative error")), HasSubstr("no line is named")));
  EXPECT_THAT(conclusion_of(explanation(8.0, 4.0)), HasSubstr("it also rounds too much"));
}

TEST(ExplanationConclusion, DistinguishesTooMuchRoundingFromNoMistake) {
  EXPECT_THAT(conclusion_of(explanation(8.0, 0.0625)),
              HasSubstr("the formula is right, but the kernel rounds too much: the error of element 3 is 32"));
  EXPECT_THAT(conclusion_of(explanation(0.0625, 0.0625)), HasSubstr("all elements are within their bounds"));
}

TEST(ExplanationConclusion, SaysThatARoundingOfTheContractIsMissing) {
  Explanation exact = explanation(8.0, 0.0625);
  exact.missing_conversions_share = 0.97;
  EXPECT_THAT(conclusion_of(exact),
              HasSubstr("the kernel omits a rounding that the contract requires (docs/CONTRACTS.md): the error of element 3 is 32"));
  EXPECT_THAT(conclusion_of(exact), HasSubstr("97 % of the squared error"));
}

TEST(ExplanationConclusion, DoesNotTellLogicFromRoundingBehindLostShadows) {
  Explanation lost = explanation(0.0, 4.0);
  lost.verdict.lost_shadows = {{"kernel.metal", 41}};
  EXPECT_THAT(conclusion_of(lost), HasSubstr("logic and rounding cannot be separated"));
  EXPECT_THAT(conclusion_of(lost), HasSubstr("kernel.metal:41"));
}

TEST(ExplanationText, NamesLinesWithTheirTextSharesAndTheBirth) {
  Explanation full = explanation(8.0, 0.0);
  full.large_error = 0.01;
  full.lines = {{line(17, 4096, 4.9e-4, 1e-4), "acc += half(p * v);", 31.5, 0.987}};
  full.lines_left_out = 2;
  full.share_left_out = 0.013;
  full.birth = metal::ErrorBirth{{"kernel.metal", 17}, "attend", "kernel.metal:17: half add: 2048 where 2049 belongs"};
  const std::string text = explanation_text(full);
  for (const char* part : {"98.7%", "half add", "4096", "kernel.metal:17\n", "acc += half(p * v);", "2 more lines", "1.3 % remains",
                           "first relative error above 0.01", "in attend: kernel.metal:17: half add: 2048"})
    EXPECT_THAT(text, HasSubstr(part));
  const auto json = nlohmann::json::parse(explanation_json(full));
  EXPECT_EQ(json["lines"][0]["line"], 17);
  EXPECT_EQ(json["lines"][0]["text"], "acc += half(p * v);");
  EXPECT_EQ(json["birth"]["function"], "attend");
  EXPECT_EQ(json["split"]["worst"][0]["mostly"], "rounding");
  EXPECT_EQ(json["split"]["worst"][0]["row"], 1);
}

}  // namespace
}  // namespace assay::tests::explain_lines_test
