// Factors by which the values of a landmark are wrong. Internal to harness/triage.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "harness/triage/landmark_reader.h"
#include "harness/triage/landmarks.h"

namespace assay::harness {

class LandmarkFactors : public LandmarkReader {
 public:
  using LandmarkReader::LandmarkReader;

 protected:
  // All values are wrong by one factor.
  [[nodiscard]] bool describe_factor(std::size_t wrong, LandmarkFinding& finding) const;
  // All exponentials are 0, and so is what is stored: the maximum is much higher than the scores.
  [[nodiscard]] bool describe_vanished(std::size_t wrong, LandmarkFinding& finding) const;

 private:
  using Factors = std::vector<std::pair<std::size_t, double>>;  // by row

  void take_factor(LandmarkFinding& finding, std::size_t place) const;
  [[nodiscard]] bool describe_any_factor(std::size_t wrong, LandmarkFinding& finding) const;
  // A whole number, its inverse, or a constant with a name.
  [[nodiscard]] static bool is_usual(double factor);
  // Without that factor of the kernel's own formulation that leaves least.
  [[nodiscard]] static double without_own(const Landmark& landmark, double factor);
  // What a value is computed from may be this value times a number, as weighted sums are outputs times the sum of weights.
  [[nodiscard]] bool holds_needed(std::size_t wrong, std::size_t place) const;
  // Whether a number is read for each key, such as a mask's, that is added behind the wrong one.
  [[nodiscard]] bool is_added_to(std::size_t wrong) const;
  // Exponentials of right scores, less a wrong maximum.
  [[nodiscard]] bool describe_maximum(std::size_t wrong, std::size_t place, const Factors& factors, LandmarkFinding& finding) const;
};

}  // namespace assay::harness
