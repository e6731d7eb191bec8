// Says in a sentence where a kernel parts from the landmarks of its family. Internal to harness/triage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/triage/landmark_match.h"
#include "harness/triage/landmarks.h"

namespace assay::harness {

// `file` and `row_names` as for match_landmarks(). nullopt if nothing is wrong, or if nothing is right.
[[nodiscard]] std::optional<LandmarkFinding> describe_landmarks(const LandmarkMatch& match, const std::string& file,
                                                                const std::vector<std::string>& row_names);

}  // namespace assay::harness
