// Where the error of a case comes from: how much of it is rounding, which source lines it is made in, and where it gets large.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/execute/execute.h"
#include "harness/findings/verdict.h"
#include "harness/prepare/workbench.h"
#include "metal/execute/rounding.h"

namespace assay::harness {

// What one source line contributes to the rounding error of a case (harness/judge/split.h), as far as it does not make the contract's own
// conversions: of what elements move by if this line alone rounds, the part along these is taken out.
struct LineContribution {
  metal::LineRounding rounding;
  std::string text;  // of the line, without the blanks around it; empty if the file cannot be read
  // Root mean square over output elements of that, in units of their bounds.
  double contribution = 0;
  // Of the squared rounding error: with d that and e the rounding error, in units of the bounds, sum d e / sum e^2. To first order e is the
  // sum of all lines' d and of the conversions that no line makes, so that their shares add up to 1; a line that undoes what others did is
  // negative.
  double share = 0;
};

struct Explanation {
  Verdict verdict;  // under the policy `shadow`, with the split of its worst elements
  double large_error = 0;

  // Root mean squares over the elements that have a split, in units of their bounds.
  double rounding = 0;         // (value - shadow) - conversions
  double conversions = 0;      // what the contract's own conversions make of the exact result, which is no error
  double logic = 0;            // shadow - exact result
  std::size_t not_finite = 0;  // elements left out of these because value or shadow is not finite

  std::vector<LineContribution> lines;  // the largest share first
  // Of the squared rounding error, as a line's share: what no line that was tried does of the contract's own conversions.
  double missing_conversions_share = 0;
  std::size_t lines_left_out = 0;  // that round something too, and were not tried
  double share_left_out = 0;       // what these shares leave

  std::optional<metal::ErrorBirth> birth;
};

struct ExplainOptions {
  double large_error = metal::kLargeError;  // the relative error whose birth is looked for
  std::size_t most_lines = 12;              // how many lines are tried; each is a run
};

// The lines to try, at most `most`: by turns the one with the largest relative error of a single operation (a narrow store, a conversion)
// and the one with the largest sum of relative errors (an accumulator). A line that rounds nothing is never one of them.
[[nodiscard]] std::vector<metal::LineRounding> lines_to_try(std::vector<metal::LineRounding> roundings, std::size_t most);

// What a line does, element by element: where all is rounding in units of the bounds. Elements where anything is not finite, or no error is
// allowed, count as nothing.
struct Outputs {
  std::vector<double> plain;        // without any rounding
  std::vector<double> error;        // the rounding error
  std::vector<double> conversions;  // what the contract's own conversions do
  std::vector<double> bounds;
};

// Root mean square of what `moved` is away from `plain` and its share in `error`, both without what is along `conversions`, and how often
// these are in it: 1 for the line that makes them. A line that alone makes an infinity or a NaN of an element, by an overflow, has no
// finite mean.
struct Contribution {
  double root_mean_square = 0;
  double share = 0;
  double conversions = 0;
};
[[nodiscard]] Contribution contribution_of(const std::vector<double>& moved, const Outputs& outputs);

// The share in `error` of so many times the conversions.
[[nodiscard]] double share_of_conversions(double times, const Outputs& outputs);

// Runs the case under the policy `shadow`, under the first of options.schedules (forward if there is none), and again for each line
// that is tried. In this process: have the case run in one of its own first (run_cases), where a kernel can do no harm. Whatever goes wrong
// becomes the verdict, and then the rest is empty.
[[nodiscard]] Explanation explain_case(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options,
                                       const ExplainOptions& asked);

}  // namespace assay::harness
