// How well the predictions of known mistakes explain wrong outputs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/shelf.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

// How well one mistake explains several cases.
struct Fit {
  std::string_view kind;
  std::string says;
  // Mean of 1 - |actual - mistaken| / |actual - expected| over the faulty elements of the failing cases, with equal weight for each
  // row; at least 0.
  double goodness = 0;
  double exact = 0;  // share of the failing cases in which the mistake predicts every faulty element within its bound
  bool has_passing = false;
  double predicted = 1;       // share of the passing cases in which the mistake would have had no effect
  double score = 0;           // the key by which fits are sorted
  bool is_pair = false;       // two mistakes at once
  bool is_arbitrary = false;  // it has a factor that was searched for, and that is no constant a kernel would leave out
  bool varies = false;        // each case needs a factor of its own
  bool assumes_nan = false;   // Explained::assumes_nan, of a failing case
};

// How much of the error of an output a prediction explains. `exact`: whether the prediction equals the output within bounds.
struct Explained {
  double part = 0;
  double left = 1;  // remaining squared error, relative to the original one; above 1 if the prediction is worse than the exact result
  bool exact = false;
  bool assumes_nan = false;  // a NaN was taken for 0/0 where the prediction is zero
};
// Explains an output by a prediction. In a row where the prediction is zero, a NaN may come from 0/0 and counts as explained. Pass
// false for a mistake that is a factor of 0, which has no such NaNs.
[[nodiscard]] Explained explained_by(const Observation& observation, std::span<const double> prediction, bool zero_may_be_nan = true);

// Whether two mistakes at once are tried if no single one explains the failing cases, which may take seconds.
enum class Pairs { if_needed, never };
// The best fit of each class, the best first; at most three. `failing` and `passing` as for classify().
[[nodiscard]] std::vector<Fit> fits_of(std::span<const Observation> failing, std::span<const Observation> passing,
                                       const fixtures::Shelf& shelf, Pairs pairs = Pairs::if_needed);

// Whether the mistake of a fit would leave the output of a case right; false where that is not known: of pairs, and of fitted numbers.
[[nodiscard]] bool leaves_right(const Fit& fit, const Observation& observation, const fixtures::Shelf& shelf);

}  // namespace assay::harness
