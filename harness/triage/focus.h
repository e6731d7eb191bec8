// Where triage looks first in a kernel without a right source: what landmarks say about several failing cases, together.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/triage/classify.h"
#include "harness/triage/laboratory.h"
#include "harness/triage/slices.h"
#include "harness/triage/suspects.h"
#include "harness/triage/triage.h"

namespace assay::harness {

struct Focus {
  std::vector<Suspect> suspects;                // of focus_on(): at most one, the line that parts right from wrong; empty: nothing is known
  LineSuspicion suspicion;                      // of all lines
  std::optional<WrongLandmark> landmarks = {};  // of the case that says most
  bool is_sure = false;  // whether what is said of the suspect is certain, though its line may depend on the wrong one
  // The first landmark that is computed wrongly, and the class of such mistakes; empty where values are missing or read elsewhere.
  std::string_view landmark = {}, kind = {};
  bool is_left_out = false;  // LandmarkFinding::is_left_out
  bool is_missing = false;   // LandmarkFinding::is_missing
};

// "the sum of weights is the first value that no line holds as a right kernel does"
[[nodiscard]] std::string says_first_wrong(std::string_view landmark);

// How far a case is from one that tells most about landmarks, by size_of(): in a tiny case many have few or equal values, and in a large
// one some number fits by chance. At least 1.
[[nodiscard]] double distance_from_telling(double size);

// Matches the landmarks of a few of these failing cases, in their order.
[[nodiscard]] Focus focus_on(Laboratory& laboratory, std::span<const Observation> failing);

// Adds what the class is about, as the kernel of the laboratory names it. Returns whether it does.
[[nodiscard]] bool focus_on_subject(const Laboratory& laboratory, const Classification& classification, Focus& focus);

}  // namespace assay::harness
