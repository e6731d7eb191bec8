// The error of every output element split in two: what rounding did, and what is wrong with what the kernel computes.
//
// A kernel's shadow is what it would compute without any rounding. With the truth twice, `expected` with the conversions that the contract
// makes on purpose (q to half, say) and `exact` without, because a shadow does not make them,
//
//     value - expected  =  ((value - shadow) - (expected - exact))  +  (shadow - exact)
//                       =                rounding                  +      logic
//
// so that the two parts add up to the error that the judge tests, and a conversion that belongs to the contract is neither.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "oracles/expected.h"

namespace assay::harness {

// An output, its shadow and the truth about both, element by element.
struct ShadowedOutput {
  std::vector<double> values;          // as the judge had them; never written: the poison NaN, widened
  std::vector<double> shadows;         // what they would be without rounding
  oracles::Expected expected;          // what the values are judged by
  oracles::Expected exact;             // the same without conversions, with the bound of float: the limit of logic
  std::vector<bool> is_discrete = {};  // elements that are no rounded numbers (indices) and have no split; empty: none
};

struct SplitElement {
  std::size_t index = 0;
  double actual = 0, shadow = 0;
  double expected = 0, bound = 0;
  double exact = 0, exact_bound = 0;

  [[nodiscard]] double rounding() const { return (actual - shadow) - conversions(); }
  [[nodiscard]] double logic() const { return shadow - exact; }
  // What the contract's own conversions make of the exact result: part of value - shadow, and no error.
  [[nodiscard]] double conversions() const { return expected - exact; }
  // In units of what each may be. Infinite where a value, or a shadow, is no finite number.
  [[nodiscard]] double rounding_ratio() const;
  [[nodiscard]] double logic_ratio() const;
  // Whether more of the error is logic.
  [[nodiscard]] bool is_mostly_logic() const;
};

struct ErrorSplit {
  std::size_t elements = 0;     // that were split
  std::size_t discrete = 0;     // that have no split, being no rounded numbers
  std::size_t above_bound = 0;  // whose logic is not within the bound of the exact result
  double max_rounding_ratio = 0, max_logic_ratio = 0;
  std::size_t max_rounding_index = 0, max_logic_index = 0;
  std::vector<SplitElement> worst;  // the judgement's worst that were split, in its order; then those of the two indices, if others

  // The one of `worst` with this index; nullptr if there is none.
  [[nodiscard]] const SplitElement* find(std::size_t index) const;
};

// Elements never written have no split either. Throws std::invalid_argument if sizes differ.
[[nodiscard]] ErrorSplit split_errors(const ShadowedOutput& output, const Judgement& judgement);

}  // namespace assay::harness
