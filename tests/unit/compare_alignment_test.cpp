// Which lines of two iterations of a source belong together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "harness/compare/line_alignment.h"

namespace assay::tests::compare_alignment_test {
namespace {

using namespace harness;

using namespace ::testing;

std::vector<std::string> lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

LineAlignment align(const std::string& before, const std::string& after) { return align_lines(lines(before), lines(after)); }

TEST(LineAlignment, PairsEveryLineOfACopy) {
  const LineAlignment alignment = align("a = 1;\nb = 2;\n", "a = 1;\nb = 2;\n");
  EXPECT_THAT(alignment.pairs, ElementsAre(LinePair{1, 1, true}, LinePair{2, 2, true}));
  EXPECT_THAT(alignment.hunks, IsEmpty());
}

TEST(LineAlignment, LooksThroughBlanksAndComments) {
  const LineAlignment alignment = align("a = 1;  // one\n\nb = 2;\n", "/* first\n   of two */\na=1;\nb  =  2;  // two\n");
  EXPECT_THAT(alignment.pairs, ElementsAre(LinePair{1, 3, true}, LinePair{3, 4, true}));
  EXPECT_THAT(alignment.hunks, IsEmpty());
}

TEST(LineAlignment, PairsAChangedLineWithWhatItResembles) {
  const LineAlignment alignment = align("x = y;\ns = s * m + sum(v);\nz = s;\n", "x = y;\nfloat t = 0;\ns = fma(s, m, sum(v));\nz = s;\n");
  EXPECT_THAT(alignment.pairs, ElementsAre(LinePair{1, 1, true}, LinePair{2, 3, false}, LinePair{3, 4, true}));
  EXPECT_THAT(alignment.hunks, ElementsAre(LineHunk{2, 1, 2, 2}));
}

TEST(LineAlignment, LeavesWhatOnlyOneSideHas) {
  const LineAlignment alignment = align("a = 1;\nc = 3;\n", "a = 1;\nunrelated(thing);\nc = 3;\n");
  EXPECT_THAT(alignment.pairs, ElementsAre(LinePair{1, 1, true}, LinePair{2, 3, true}));
  EXPECT_THAT(alignment.hunks, ElementsAre(LineHunk{2, 0, 2, 1}));
}

TEST(LineAlignment, SaysWhereLinesAreGoneFromTheEnd) {
  EXPECT_THAT(align("a = 1;\nb = 2;\n", "a = 1;\n").hunks, ElementsAre(LineHunk{2, 1, 2, 0}));
  EXPECT_THAT(align("", "a = 1;\n").hunks, ElementsAre(LineHunk{1, 0, 1, 1}));
}

// Of two lines that changed places one keeps its place.
TEST(LineAlignment, OfAnExchangeKeepsOneInPlace) {
  const LineAlignment alignment =
      align("p += shuffle(p, 8);\np += shuffle(p, 4);\nq = p;\n", "p += shuffle(p, 4);\np += shuffle(p, 8);\nq = p;\n");
  EXPECT_THAT(alignment.pairs, Contains(LinePair{3, 3, true}));
  EXPECT_EQ(alignment.hunks.size(), 2U);
}

}  // namespace
}  // namespace assay::tests::compare_alignment_test
