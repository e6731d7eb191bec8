// Where the error of a case comes from: how much of it is rounding, which source lines cause it, and where it becomes large.
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

// The contribution of one source line to the rounding error of a case (harness/judge/split.h). It is the distance by which elements
// move if only this line rounds, without the part along the contract's own conversions.
struct LineContribution {
  metal::LineRounding rounding;
  std::string text;  // of the line, trimmed; empty if the file cannot be read
  // Root mean square of that distance over the output elements, in units of their bounds.
  double contribution = 0;
  // Share of the squared rounding error: sum d e / sum e^2, with that distance d and the rounding error e, in units of the bounds. To
  // first order e is the sum of all lines' d and of the conversions that no line makes, so the shares add up to 1. A line that undoes
  // errors of others has a negative share.
  double share = 0;
};

struct Explanation {
  Verdict verdict;  // under the policy `shadow`, with the split of its worst elements
  double large_error = 0;

  // Root mean squares over the elements that have a split, in units of their bounds.
  double rounding = 0;         // (value - shadow) - conversions
  double conversions = 0;      // effect of the contract's own conversions on the exact result, which is not an error
  double logic = 0;            // shadow - exact result
  std::size_t not_finite = 0;  // elements left out of these figures because value or shadow is not finite

  std::vector<LineContribution> lines;  // by descending share
  // Share of the squared rounding error, like that of a line: conversions of the contract that no tried line makes.
  double missing_conversions_share = 0;
  std::size_t lines_left_out = 0;  // lines that round something but were not tried
  double share_left_out = 0;       // 1 minus all these shares

  std::optional<metal::ErrorBirth> birth;
  // LineContribution::contribution of its line; nullopt if that is not known.
  std::optional<double> birth_contribution = {};

  // Whether the birth explains an error: the contract's own conversions, for one, are none.
  [[nodiscard]] bool has_telling_birth() const {
    return birth && (birth->is_overflow || !birth_contribution || *birth_contribution >= 1.0);
  }
};

struct ExplainOptions {
  double large_error = metal::kLargeError;  // the relative error whose origin is searched for
  std::size_t most_lines = 12;              // number of lines that are tried, with a run each
};

// The lines to try, at most `most`. Takes by turns the line with the largest relative error of a single operation (a narrow store, a
// conversion) and the line with the largest sum of relative errors (an accumulator). Lines that round nothing are never chosen.
[[nodiscard]] std::vector<metal::LineRounding> lines_to_try(std::vector<metal::LineRounding> roundings, std::size_t most);

// Data for the effect of a line, element by element, in units of the bounds. Elements in which anything is not finite, or no error is
// allowed, are 0.
struct Outputs {
  std::vector<double> plain;        // without any rounding
  std::vector<double> error;        // the rounding error
  std::vector<double> conversions;  // effect of the contract's own conversions
  std::vector<double> bounds;
};

// Root mean square of `moved` - `plain`, and the share of this distance in `error`, both without the part along `conversions`; also the
// factor of that part: 1 for the line that makes the conversions. The mean of a line that alone makes an element infinite or NaN, by an
// overflow, is not finite.
struct Contribution {
  double root_mean_square = 0;
  double share = 0;
  double conversions = 0;
};
[[nodiscard]] Contribution contribution_of(const std::vector<double>& moved, const Outputs& outputs);

// The share in `error` of `times` times the conversions.
[[nodiscard]] double share_of_conversions(double times, const Outputs& outputs);

// Runs the case under the policy `shadow`, under the first of options.schedules (forward if there is none), and again for each line
// that is tried. It runs in this process, so first run the case in a separate one (run_cases), where a kernel can do no harm. Every
// failure becomes the verdict; the rest is then empty.
[[nodiscard]] Explanation explain_case(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options,
                                       const ExplainOptions& asked);

}  // namespace assay::harness
