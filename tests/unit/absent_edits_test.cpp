// Edits that add what a mistake left out: bounds, windows, sizes.
#include "harness/triage/absent_edits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(AbsentEdits, CompareWithALimitOfAnotherLoop) {
  const Source source(std::string(kEditedKernel), "mine.metal");
  const std::vector<Edit> edits = absent_edits(source, all_lines(source));
  EXPECT_TRUE(makes(edits, source, "query > 3 && j < params.heads", "(query > 3 && j < params.heads) && query < tiles"));
}

TEST(AbsentEdits, EnlargeALimitByAConstantOfTheFile) {
  const Source source(std::string(kEditedKernel), "mine.metal");
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
  const Source source(std::string(kEditedKernel), "mine.metal");
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
