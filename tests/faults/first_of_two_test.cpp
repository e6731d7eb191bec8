// Two mistakes in a kernel of a foreign style: undoing one makes no case pass, but a landmark right.
#include "harness/triage/first_of_two.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/triage/landmarks.h"
#include "harness/triage/triage.h"
#include "tests/faults/twin_variant.h"
#include "tests/faults/twins.h"

namespace assay::tests::first_of_two_test {
namespace {

using harness::Edit;

constexpr Twin kNotScaled = {"neither_scaled_nor_normalised",
                             "the query is not scaled",
                             "params.scale * float(q_row",
                             "float(q_row",
                             {"float/d64x64/b1/h1x1/q1/k33/nomask/mask_half/gauss/s1"},
                             {}};

TEST(FirstOfTwo, AnEditThatMakesALandmarkRightIsOnlyAPlaceToLook) {
  const TwinVariant variant("attn_split_v1", kNotScaled);
  std::string text = variant.text();
  constexpr std::string_view normalised = "o / sum);";
  text.replace(text.find(normalised), normalised.size(), "o);");
  const harness::Laboratory one({.catalogue = variant.catalogue(), .variant = "attn_split_v1", .workbench = {}, .run = {}});
  harness::Laboratory laboratory = harness::with_text(one, text);
  const harness::Case test_case = variant.parse(kNotScaled.caught.case_words, "");
  const std::optional<harness::Observation> observation = laboratory.observe(test_case);
  ASSERT_TRUE(observation && observation->is_failure());
  const std::optional<harness::LandmarkFinding> found = harness::find_landmarks(laboratory, *observation);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->landmark, "scaled score");
  EXPECT_EQ(found->mistake, harness::mistake::kScale);
  const harness::WrongLandmark wrong = {test_case, found->first_wrong, found->all, found->landmark};

  const harness::Source source(text, laboratory.variant().source.string());
  constexpr std::string_view query = "float(q_row", start = "float top = -FLT_MAX / 2;";
  const std::array edits = {Edit{"start", text.find(start), start.size(), "float top = -INFINITY;"},
                            Edit{"more_factor", text.find(query), query.size(), "params.scale * float(q_row"}};
  const harness::EditSearch search = {.kind = harness::mistake::kUnknown,
                                      .failing = std::span(&test_case, 1),
                                      .passing = {},
                                      .given = std::span(&test_case, 1),
                                      .landmarks = &wrong};
  constexpr std::chrono::duration<double> patience = std::chrono::seconds(60);
  EXPECT_FALSE(blame_first_of_two(laboratory, source, std::span(edits).first(1), search, patience));
  const std::optional<harness::FirstOfTwo> first = blame_first_of_two(laboratory, source, edits, search, patience);
  ASSERT_TRUE(first);
  ASSERT_EQ(first->blame.suspects.size(), 1U);
  EXPECT_EQ(first->blame.suspects.front().line, source.place(edits[1].offset).line);
  EXPECT_THAT(first->blame.suspects.front().why, ::testing::StartsWith(std::string(harness::kPlaceToLook)));
  EXPECT_THAT(first->blame.suspects.front().why, ::testing::HasSubstr("two mistakes (0 of 1 failing cases"));
  EXPECT_TRUE(first->blame.is_guess);
}

}  // namespace
}  // namespace assay::tests::first_of_two_test
