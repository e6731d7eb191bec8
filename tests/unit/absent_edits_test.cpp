// Edits that add what a mistake left out: bounds, windows, sizes.
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

TEST(AbsentEdits, AConditionGetsTheWindowOfTheKeyThatItCompares) {
  const Source source(
      "kernel void mine(device int * out, constant int & window, int keys) {\n"
      "  for (int key = 0; key < keys; ++key) {\n"
      "    const int at = keys - 1;\n"
      "    if (key <= at) out[key] = 1;\n"
      "  }\n"
      "}\n",
      "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "if (key <= at)", "if ((key <= at) && key > at - window)"));
  EXPECT_TRUE(makes(edits, source, "if (key <= at)", "if ((key <= at) && (window <= 0 || key > at - window))"));
}

TEST(AbsentEdits, AreMadeOnSuspectLinesAlone) {
  const Source source(std::string(kText), "mine.metal");
  LineSuspicion one;
  one.by_line = {{9, 1.0}};
  const std::vector<Edit> edits = absent_edits(source, one);
  EXPECT_FALSE(edits.empty());
  for (const Edit& edit : edits) EXPECT_EQ(source.place(edit.offset).line, 9U) << edit.replacement;
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
