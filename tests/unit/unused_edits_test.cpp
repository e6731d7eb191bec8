// Edits that use arguments which no line uses, and what is known of such arguments.
#include "harness/triage/unused_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/given_names.h"
#include "harness/triage/unused_names.h"
#include "kernels/expression.h"
#include "tests/support/edits.h"

namespace assay::tests::unused_edits_test {
namespace {

using harness::Edit;
using harness::Source;
using namespace ::testing;

TEST(UnusedNames, AreArgumentsThatOnlyTheirDeclarationNames) {
  const Source source(std::string(kEditedKernel), "mine.metal");
  EXPECT_THAT(harness::unused_names(source), UnorderedElementsAre("high", "mask_head_stride"));
}

TEST(UnusedNames, OfAStructThatServesOtherKernelsTooSayNothing) {
  const Source source(
      "struct Params { int a; int b; int c; int d; int e; int used; };\n"
      "kernel void mine(device int * out [[buffer(0)]], constant Params & params [[buffer(1)]]) { out[0] = params.used; }\n",
      "mine.metal");
  EXPECT_THAT(harness::unused_names(source), IsEmpty());
}

TEST(UnusedNames, ALineWithTheMostSimilarArgumentIsFound) {
  const Source source(std::string(kEditedKernel), "mine.metal");
  const auto lines = harness::lines_like_unused(source);
  ASSERT_TRUE(lines.contains(6));
  EXPECT_EQ(lines.at(6).unused, "mask_head_stride");
  EXPECT_EQ(lines.at(6).used, "mask_query_stride");
  EXPECT_FALSE(lines.contains(8));
}

TEST(UnusedEdits, AddAnUnusedStrideWithAFactor) {
  const Source source(std::string(kEditedKernel), "mine.metal");
  const std::vector<Edit> edits = unused_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "query * mask_query_stride;", "query * mask_query_stride + head * mask_head_stride;"));
  EXPECT_TRUE(makes(edits, source, "query + params.queries)", "mask_head_stride)"));
  EXPECT_TRUE(makes(edits, source, "= params.low", "= ((query > 3) ? params.low : params.high)"));
}

TEST(UnusedEdits, AFlagAndANumberThatNoLineUsesShiftWhatTheyAreFor) {
  const Source source(R"(struct Shape { int longest; int from_end; int shift; int pitch; };
kernel void mine(device int * out [[buffer(0)]], constant Shape & shape [[buffer(1)]], device const int * lengths [[buffer(2)]], int b) {
  const int n = lengths[b];
  const int first = shape.shift;
  out[b * ((n + 15) / 16)] = first + n;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = unused_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "= shape.shift;", "= (shape.shift - (shape.from_end ? shape.longest - n : 0));"));
  EXPECT_TRUE(makes(edits, source, "b * ((n + 15) / 16)", "b * shape.pitch"));
  EXPECT_FALSE(makes(edits, source, "= shape.shift;", "= (shape.shift - (shape.longest ? shape.longest - n : 0));"));
}

TEST(UnusedNames, WhatTheLaunchGivesCountsMoreThanHowItIsCalled) {
  const Source source(
      "kernel void mine(device int * out [[buffer(0)]], constant int & kh [[buffer(1)]], constant int & mb [[buffer(2)]],\n"
      "                 constant int & mh [[buffer(3)]]) {\n"
      "  out[kh] = 1;\n"
      "  out[mb] = 2;\n"
      "}\n",
      "mine.metal");
  const kernels::Expression keys("stride(k, 'head')", "kh");
  const kernels::Expression masks("stride(mask, 'batch')", "mb");
  const kernels::Expression own("stride(mask, 'head')", "mh");
  const std::vector<harness::GivenName> given = {{"kh", &keys}, {"mb", &masks}, {"mh", &own}};
  const auto lines = harness::lines_like_unused(source, given);
  EXPECT_FALSE(lines.contains(3));
  ASSERT_TRUE(lines.contains(4));
  EXPECT_EQ(lines.at(4).unused, "mh");
  EXPECT_EQ(lines.at(4).used, "mb");
}

TEST(UnusedEdits, ANumberThatNoLineUsesDividesWhatIsDivided) {
  const Source source(
      "kernel void mine(device float * out [[buffer(0)]], constant int & heads [[buffer(1)]], constant int & queries [[buffer(2)]],\n"
      "                 constant float & cap [[buffer(3)]], constant float & factor [[buffer(4)]], int row, float dot) {\n"
      "  const int head = row % heads;\n"
      "  const float score = dot * factor;\n"
      "  out[head] = score;\n"
      "}\n",
      "mine.metal");
  const std::vector<Edit> edits = unused_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "= row % heads", "= row / queries % heads"));
  EXPECT_TRUE(makes(edits, source, "= row % heads", "= (row + queries) % heads"));
  EXPECT_TRUE(makes(edits, source, "= dot * factor;", "= (cap > 0.0f ? cap * precise::tanh((dot * factor) / cap) : (dot * factor));"));
}

TEST(UnusedEdits, WhatAMistakeIsAboutIsAddedWhereALineLacksIt) {
  const Source source(
      "kernel void mine(device float * out [[buffer(0)]], device const char * mask [[buffer(1)]], constant int & by_head [[buffer(2)]],\n"
      "                 constant int & by_query [[buffer(3)]], constant int & start [[buffer(4)]], int head, int query, int rows) {\n"
      "  const int slot = (head + start) % rows;\n"
      "  const int other = query % rows;\n"
      "  if (by_query > 0) out[slot + other] = mask[head * by_head];\n"
      "}\n",
      "mine.metal");
  const std::vector<std::string> strides = {"by_head", "by_query"}, ring = {"start"};
  EXPECT_TRUE(makes(unused_edits(source, all_lines(source), strides), source, "head * by_head", "head * by_head + query * by_query"));
  EXPECT_TRUE(makes(unused_edits(source, all_lines(source), ring), source, "= query % rows", "= (query + start) % rows"));
  EXPECT_FALSE(makes(unused_edits(source, all_lines(source)), source, "= query % rows", "= (query + start) % rows"));
}

}  // namespace
}  // namespace assay::tests::unused_edits_test
