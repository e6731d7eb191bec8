// Edits that add what a mistake left out: unused arguments, bounds, sizes.
#include "harness/triage/absent_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/triage/slices.h"
#include "harness/triage/unused_names.h"
#include "tests/support/edits.h"

namespace assay::tests::absent_edits_test {
namespace {

using harness::Edit;
using harness::LineSuspicion;
using harness::Source;
using namespace ::testing;

constexpr std::string_view kText = R"(#include <metal_stdlib>
constant int kTile = 16;
struct Params { int heads; int queries; float low; float high; int n; };
kernel void mine(device const float * mask [[buffer(0)]], device float * out [[buffer(1)]], constant Params & params [[buffer(2)]],
                 constant int & mask_head_stride [[buffer(3)]], constant int & mask_query_stride [[buffer(4)]], int head, int query) {
  const int mask_row = query * mask_query_stride;
  const float base = params.low;
  const int tiles = min(params.n, query + params.queries);
  for (int j = 0; j < tiles; ++j) {
    const bool hidden = query > 3 && j < params.heads;
    out[head % params.heads + j] = hidden ? 0.0f : base * mask[mask_row + j];
  }
}
)";

LineSuspicion all_lines(const Source& source) {
  LineSuspicion all;
  for (std::uint32_t line = 1; line <= source.line_count(); ++line) all.by_line[line] = 1;
  return all;
}

TEST(UnusedNames, AreArgumentsThatOnlyTheirDeclarationNames) {
  const Source source(std::string(kText), "mine.metal");
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
  const Source source(std::string(kText), "mine.metal");
  const auto lines = harness::lines_like_unused(source);
  ASSERT_TRUE(lines.contains(6));
  EXPECT_EQ(lines.at(6).unused, "mask_head_stride");
  EXPECT_EQ(lines.at(6).used, "mask_query_stride");
  EXPECT_FALSE(lines.contains(8));
}

TEST(AbsentEdits, AddAnUnusedStrideWithAFactor) {
  const Source source(std::string(kText), "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "query * mask_query_stride;", "query * mask_query_stride + head * mask_head_stride;"));
  EXPECT_TRUE(makes(edits, source, "query + params.queries)", "mask_head_stride)"));
  EXPECT_TRUE(makes(edits, source, "= params.low", "= ((query > 3) ? params.low : params.high)"));
}

TEST(AbsentEdits, CompareWithALimitOfAnotherLoop) {
  const Source source(std::string(kText), "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "query > 3 && j < params.heads", "(query > 3 && j < params.heads) && query < tiles"));
}

TEST(AbsentEdits, EnlargeALimitByAConstantOfTheFile) {
  const Source source(std::string(kText), "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "min(params.n, query", "min(params.n, (query + kTile)"));
}

TEST(AbsentEdits, AFlagAndANumberThatNoLineUsesShiftWhatTheyAreFor) {
  const Source source(R"(struct Shape { int longest; int from_end; int shift; int pitch; };
kernel void mine(device int * out [[buffer(0)]], constant Shape & shape [[buffer(1)]], device const int * lengths [[buffer(2)]], int b) {
  const int n = lengths[b];
  const int first = shape.shift;
  out[b * ((n + 15) / 16)] = first + n;
}
)",
                      "mine.metal");
  const std::vector<Edit> edits = harness::absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "= shape.shift;", "= (shape.shift - (shape.from_end ? shape.longest - n : 0));"));
  EXPECT_TRUE(makes(edits, source, "b * ((n + 15) / 16)", "b * shape.pitch"));
  EXPECT_FALSE(makes(edits, source, "= shape.shift;", "= (shape.shift - (shape.longest ? shape.longest - n : 0));"));
}

TEST(AbsentEdits, AreMadeOnSuspectLinesAlone) {
  const Source source(std::string(kText), "mine.metal");
  LineSuspicion one;
  one.by_line = {{6, 1.0}};
  const std::vector<Edit> edits = absent_edits(source, one);
  EXPECT_FALSE(edits.empty());
  for (const Edit& edit : edits) EXPECT_EQ(source.place(edit.offset).line, 6U) << edit.replacement;
}

TEST(AbsentEdits, WhatAllPartsDoOnlyOneDoes) {
  const Source source(
      "kernel void mine(device const float * sinks, device float * out, int parts, bool has_sink, int keys, uint3 group [[a]], uint lane "
      "[[b]]) {\n"
      "  const int head = group.x / parts;\n"
      "  float sum = keys;\n"
      "  if (has_sink) sum += sinks[head];\n"
      "  out[lane] = sum;\n"
      "}\n",
      "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "if (has_sink)", "if ((has_sink) && head == 0)"));
  EXPECT_TRUE(makes(edits, source, "if (has_sink)", "if ((has_sink) && lane == 0)"));
  EXPECT_TRUE(makes(edits, source, "if (has_sink)", "if ((has_sink) && group.z == 0)"));
  EXPECT_FALSE(makes(edits, source, "if (has_sink)", "if ((has_sink) && keys == 0)"));
}

}  // namespace
}  // namespace assay::tests::absent_edits_test
