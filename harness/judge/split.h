// Splits the error of every output element in two: rounding, and logic errors in what the kernel computes.
//
// A kernel's shadow is the result that it would compute without any rounding. The exact result is known twice: `expected` with the
// conversions that the contract makes on purpose (q to half, for example), and `exact` without them, because a shadow does not
// make them. Then
//
//     value - expected  =  ((value - shadow) - (expected - exact))  +  (shadow - exact)
//                       =                rounding                  +      logic
//
// The two parts add up to the error that the judge tests. A conversion that belongs to the contract is in neither part.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "oracles/expected.h"

namespace assay::harness {

// An output, its shadow and the exact result for both, element by element.
struct ShadowedOutput {
  std::vector<double> values;          // as judged; unwritten elements: the poison NaN, widened
  std::vector<double> shadows;         // the values without rounding
  oracles::Expected expected;          // the expectation by which the values are judged
  oracles::Expected exact;             // the same without conversions, with the bound of float: the limit of logic
  std::vector<bool> is_discrete = {};  // elements that are not rounded numbers (indices) and have no split; empty: none
};

struct SplitElement {
  std::size_t index = 0;
  double actual = 0, shadow = 0;
  double expected = 0, bound = 0;
  double exact = 0, exact_bound = 0;

  [[nodiscard]] double rounding() const { return (actual - shadow) - conversions(); }
  [[nodiscard]] double logic() const { return shadow - exact; }
  // The effect of the contract's own conversions on the exact result: part of value - shadow, but not an error.
  [[nodiscard]] double conversions() const { return expected - exact; }
  // In units of the respective bound. Infinite if a value or a shadow is not finite.
  [[nodiscard]] double rounding_ratio() const;
  [[nodiscard]] double logic_ratio() const;
  // Whether more of the error is logic than rounding.
  [[nodiscard]] bool is_mostly_logic() const;
};

struct ErrorSplit {
  std::size_t elements = 0;     // number of elements that were split
  std::size_t discrete = 0;     // number of elements without a split, because they are not rounded numbers
  std::size_t above_bound = 0;  // whose logic exceeds the bound of the exact result
  double max_rounding_ratio = 0, max_logic_ratio = 0;
  std::size_t max_rounding_index = 0, max_logic_index = 0;
  std::vector<SplitElement> worst;  // the judgement's worst elements that were split, in its order; then those of the two indices,
                                    // if not included

  // The element of `worst` with this index; nullptr if there is none.
  [[nodiscard]] const SplitElement* find(std::size_t index) const;
};

// Unwritten elements have no split either. Throws std::invalid_argument if sizes differ.
[[nodiscard]] ErrorSplit split_errors(const ShadowedOutput& output, const Judgement& judgement);

}  // namespace assay::harness
