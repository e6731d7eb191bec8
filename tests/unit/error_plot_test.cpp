// The plot of error/bound over coordinates.
#include "reports/error_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace assay::tests::error_plot_test {
namespace {

using reports::error_plot, reports::PlotCharacters;
using namespace ::testing;

harness::WorstElement element(std::size_t index, double ratio) { return {.index = index, .ratio = ratio}; }

TEST(ErrorPlot, ShowsWhichCoordinatesAreWrong) {
  // Two rows of four: coordinate 2 is wrong in the second row, by a factor of 10,000.
  const std::vector<harness::WorstElement> elements = {element(6, 1e4), element(1, 0.5), element(2, 0.5), element(4, 0.1)};
  EXPECT_EQ(error_plot(elements, 4, 4, PlotCharacters::plain),
            "  error/bound by coordinate, the largest of all rows, logarithmic\n"
            "        1e+04 |  # |\n"
            "              |  # |\n"
            "              |  # |\n"
            "              |  # |\n"
            "              |  # |\n"
            "              |  # |\n"
            "      bound 1 |--#-|\n"
            "          0.1 |### |\n"
            "               0  3\n");
}

TEST(ErrorPlot, PutsSeveralCoordinatesIntoAColumn) {
  std::vector<harness::WorstElement> elements;
  for (std::size_t i = 0; i < 256; ++i) elements.push_back(element(i, i == 255 ? 100 : 0.01));
  const std::string plot = error_plot(elements, elements.size(), 256, PlotCharacters::plain);
  EXPECT_THAT(plot, HasSubstr("          100 |" + std::string(63, ' ') + "#|\n"));
  EXPECT_THAT(plot, HasSubstr("         0.01 |" + std::string(64, '#') + "|\n"));
  EXPECT_THAT(plot, EndsWith("               0" + std::string(60, ' ') + "255\n"));
}

TEST(ErrorPlot, HasEighthsOfACharacterWhereBlocksAreShown) {
  const std::string plot = error_plot(std::vector{element(0, 1.0), element(1, 0.15)}, 2, 2, PlotCharacters::blocks);
  EXPECT_THAT(plot, HasSubstr("bound 1 |█-|\n"));
  EXPECT_THAT(plot, HasSubstr("|█▄|\n"));
}

TEST(ErrorPlot, MarksElementsThatAreNoNumbers) {
  const std::vector<harness::WorstElement> elements = {element(0, std::numeric_limits<double>::infinity()), element(1, 0.5)};
  const std::string plot = error_plot(elements, 2, 2, PlotCharacters::plain);
  EXPECT_THAT(plot, AllOf(HasSubstr("; !: missing, NaN, infinite"), HasSubstr("bound 1 |!-|")));
}

TEST(ErrorPlot, IsOverElementsWhereRowsHaveOne) {
  EXPECT_THAT(error_plot(std::vector{element(9, 2.0)}, 10, 1, PlotCharacters::plain),
              AllOf(HasSubstr("by element"), HasSubstr("; of the 1 worst elements"), HasSubstr(" 0        9\n")));
}

TEST(ErrorPlot, NeedsTwoPositions) {
  EXPECT_EQ(error_plot({}, 0, 256, PlotCharacters::plain), "");
  EXPECT_EQ(error_plot(std::vector{element(0, 1.0)}, 1, 1, PlotCharacters::plain), "");
}

}  // namespace
}  // namespace assay::tests::error_plot_test
