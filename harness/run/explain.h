// Where the error of a case comes from: how much of it is rounding, which source lines it is made in, and where it gets large.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/run/execute.h"
#include "harness/run/verdict.h"
#include "harness/run/workbench.h"
#include "metal/simulator.h"

namespace assay::harness {

// What one source line contributes to value - shadow, which is all that rounding did.
struct LineContribution {
  metal::LineRounding rounding;
  std::string text;  // of the line, without the blanks around it; empty if the file cannot be read
  // Root mean square over output elements of what they move by if this line alone rounds, in units of their bounds.
  double contribution = 0;
  // Of the squared rounding error: with d what elements move by and e = value - shadow, in units of their bounds, sum d e / sum e^2. To
  // first order e is the sum of all lines' d, so that the shares of all lines add up to 1; a line that undoes what others did is negative.
  double share = 0;
};

struct Explanation {
  Verdict verdict;  // under the policy `shadow`, with the split of its worst elements
  double large_error = 0;

  // Root mean squares over the elements that have a split, in units of their bounds.
  double rounding = 0;         // value - shadow
  double conversions = 0;      // what the contract's own conversions make of the exact result: in `rounding`, and no error
  double logic = 0;            // shadow - exact result
  std::size_t not_finite = 0;  // elements left out of these because value or shadow is not finite

  std::vector<LineContribution> lines;  // the largest contribution first
  std::size_t lines_left_out = 0;       // that round something too, and were not tried
  double share_left_out = 0;            // what the shares of the lines that were tried leave

  std::optional<metal::ErrorBirth> birth;
};

struct ExplainOptions {
  double large_error = metal::SimulatorOptions{}.large_error;  // the relative error whose birth is looked for
  std::size_t most_lines = 12;                                 // how many lines are tried; each is a run
};

// The lines to try, at most `most`: by turns the one with the largest relative error of a single operation (a narrow store, a conversion)
// and the one with the largest sum of relative errors (an accumulator). A line that rounds nothing is never one of them.
[[nodiscard]] std::vector<metal::LineRounding> lines_to_try(std::vector<metal::LineRounding> roundings, std::size_t most);

// Root mean square of what `moved` is away from `plain`, and its share in `error`, all in units of `bounds`; elements where anything
// is not finite, or no error is allowed, count as nothing; but a line that alone makes an infinity or a NaN of an element, by an overflow,
// has no finite mean.
struct Contribution {
  double root_mean_square = 0;
  double share = 0;
};
[[nodiscard]] Contribution contribution_of(const std::vector<double>& moved, const std::vector<double>& plain,
                                           const std::vector<double>& error, const std::vector<double>& bounds);

// Runs the case under the policy `shadow`, under the first of options.schedules (forward if there is none), and again for each line
// that is tried. In this process: have the case run in one of its own first (run_cases), where a kernel can do no harm. Whatever goes wrong
// becomes the verdict, and then the rest is empty.
[[nodiscard]] Explanation explain_case(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options,
                                       const ExplainOptions& asked);

}  // namespace assay::harness
