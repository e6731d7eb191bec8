// Numbers that an input has for each key, such as norms: whether a line reads those of other keys, or none at all. Internal to
// harness/triage.
#pragma once

#include <cstddef>
#include <set>

#include "harness/triage/landmark_factors.h"

namespace assay::harness {

class LandmarkNumbers : public LandmarkFactors {
 public:
  using LandmarkFactors::LandmarkFactors;

 protected:
  // One number for each key, such as a norm.
  [[nodiscard]] static bool is_number_of_key(const Landmark& landmark);
  // Whether no number is held that some key has, neither of this landmark nor of another: then all keys are left out.
  [[nodiscard]] bool is_keyless(std::size_t wrong) const;
  // A place that reads numbers of this input, one for each key, and nothing else, though hardly any of those that the row needs.
  [[nodiscard]] bool describe_few(std::size_t wrong, LandmarkFinding& finding) const;
  // Keys of which nothing is held; empty if a part of some key is.
  [[nodiscard]] static std::set<std::size_t> lost_keys(const Landmark& landmark, std::size_t row, const ElementList& missing);
  // Whether these are the last keys of a row: then a loop ends too early.
  [[nodiscard]] static bool are_last(const Landmark& landmark, std::size_t row, const std::set<std::size_t>& keys);
  // Whether nothing else is held of these keys either, so that a loop or a condition leaves them out.
  [[nodiscard]] bool are_skipped(std::size_t wrong, const std::set<std::size_t>& lost) const;

 private:
  [[nodiscard]] bool is_computed(double number) const;
};

}  // namespace assay::harness
