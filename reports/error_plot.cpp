// A bar chart of error/bound in rows of characters.
#include "reports/error_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

namespace assay::reports {
namespace {

constexpr std::size_t kWidth = 64;
constexpr std::size_t kHeight = 8;
constexpr double kFoot = 1e-6;  // of the largest ratio; smaller ones look like nothing
constexpr std::array<std::string_view, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct Column {
  double ratio = 0;  // the largest
  bool is_broken = false;
};

// The logarithm to base 2, by straight lines between powers of two: as exact as a plot needs, and the same on every machine.
double octave(double ratio) {
  int exponent = 0;
  const double fraction = std::frexp(ratio, &exponent);
  return exponent - 2 + 2 * fraction;
}

struct Scale {
  double lowest = 0, highest = 0;  // the ratios at the foot and at the top

  // In eighths of a character, from 0 to 8 * kHeight. Whatever is above 0 is seen.
  [[nodiscard]] std::size_t eighths(double ratio) const {
    if (!(ratio > 0)) return 0;
    const double part = (octave(ratio) - octave(lowest)) / (octave(highest) - octave(lowest));
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::ceil(std::max(part, 0.0) * 8 * kHeight)), 1, 8 * kHeight);
  }
  [[nodiscard]] std::size_t row_of(double ratio) const { return (eighths(ratio) - 1) / 8; }
};

Scale scale_of(const std::vector<Column>& columns) {
  Scale scale{0.1, 1};
  for (const Column& column : columns) scale.highest = std::max(scale.highest, column.ratio);
  for (const Column& column : columns) {
    while (column.ratio > 0 && scale.lowest > column.ratio && scale.lowest > kFoot * scale.highest) scale.lowest /= 10;
  }
  return scale;
}

std::string_view cell_of(const Column& column, const Scale& scale, std::size_t row, PlotCharacters characters) {
  if (column.is_broken) return "!";
  const std::size_t eighths = scale.eighths(column.ratio);
  const std::size_t filled = eighths <= 8 * row ? 0 : std::min<std::size_t>(eighths - 8 * row, 8);
  const bool is_bound = row == scale.row_of(1);
  if (characters == PlotCharacters::plain) return filled >= 4 || (row == 0 && filled > 0) ? "#" : (is_bound ? "-" : " ");
  return filled == 0 && is_bound ? "-" : kBlocks.at(filled);
}

}  // namespace

std::string error_plot(std::span<const harness::WorstElement> elements, std::size_t judged, std::size_t row_length,
                       PlotCharacters characters) {
  std::size_t last = 0;
  for (const harness::WorstElement& element : elements) last = std::max(last, element.index);
  const bool has_rows = row_length > 1;
  const std::size_t positions = has_rows ? row_length : last + 1;
  if (positions < 2 || elements.empty()) return {};
  std::vector<Column> columns(std::min(kWidth, positions));
  for (const harness::WorstElement& element : elements) {
    const std::size_t position = has_rows ? element.index % row_length : element.index;
    Column& column = columns[static_cast<std::size_t>(static_cast<double>(position) / static_cast<double>(positions) *
                                                      static_cast<double>(columns.size()))];
    if (std::isfinite(element.ratio))
      column.ratio = std::max(column.ratio, element.ratio);
    else
      column.is_broken = true;
  }
  const Scale scale = scale_of(columns);
  std::string text = fmt::format("  error/bound by {}, logarithmic{}{}\n", has_rows ? "coordinate, the largest of all rows" : "element",
                                 std::ranges::any_of(columns, &Column::is_broken) ? "; !: missing, NaN, infinite, or no error allowed" : "",
                                 elements.size() < judged ? fmt::format("; of the {} worst elements", elements.size()) : "");
  for (std::size_t row = kHeight; row-- > 0;) {
    const std::string label = row == scale.row_of(1) ? "bound 1"
                              : row == kHeight - 1   ? fmt::format("{:.3g}", scale.highest)
                              : row == 0             ? fmt::format("{:.1g}", scale.lowest)
                                                     : "";
    text += fmt::format("    {:>9} |", label);
    for (const Column& column : columns) text += cell_of(column, scale, row, characters);
    text += "|\n";
  }
  const std::string end = fmt::format("{}", positions - 1);
  return text + fmt::format("    {:>9}  0{:>{}}\n", "", end, columns.size() - 1);
}

}  // namespace assay::reports
