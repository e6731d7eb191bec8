// Draws error/bound over the coordinates of an output, as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "harness/judge/judge.h"

namespace assay::reports {

// The characters that the plot may consist of.
enum class PlotCharacters { plain, blocks };  // ASCII; U+2581 to U+2588, with eight times the resolution

// The largest error/bound of all rows at each coordinate, several coordinates to a column if there are more than 64, on a logarithmic
// scale, with a line at 1, the bound. Of an output with rows of one element, over its elements. A column with `!` has an element that is
// missing, NaN or infinite. `elements` are those with the largest ratio, of `judged` in all; those left out are drawn as nothing. Empty if
// there are fewer than two positions.
[[nodiscard]] std::string error_plot(std::span<const harness::WorstElement> elements, std::size_t judged, std::size_t row_length,
                                     PlotCharacters characters);

}  // namespace assay::reports
