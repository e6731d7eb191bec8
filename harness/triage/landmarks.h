// Finds the first line of a kernel that holds something else than every right kernel would: for kernels in a style of their own, to which
// no right source can be compared.
//
// The family says what a right kernel holds at some point (families/landmarks.h): landmarks. A trace has every number that the kernel
// computed, with its line (metal/execute/value_trace.h). A landmark is reached if some line holds all of its values. The first that no
// line reaches parts right from wrong. The trace is that of the values, not of their shadows: landmarks are told apart by more than
// rounding, a trace exists for the policy `native` alone, and it also works where shadows are lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/landmarks.h"
#include "harness/triage/laboratory.h"
#include "metal/execute/value_trace.h"

namespace assay::harness {

struct LandmarkFinding {
  std::string file;
  std::uint32_t line = 0;  // 0: no line holds a part of the landmark; the fault is behind the `right` lines
  std::string sentence;    // "the score of key 5 is 0.731, expected 0.524; those of keys 0..4 are right"
  double confidence = 0;   // 0 .. 1: how well the line is known
  bool is_sure = false;    // whether what is said of the line, or of the values between the right lines and the wrong one, is certain
  std::string_view landmark;
  std::string_view mistake;              // Landmark::mistake
  std::size_t first_wrong = 0, all = 0;  // the first landmark that the kernel must reach and does not, and how many there are
  bool has_factor = false;               // a factor explains all wrong values of the line
  bool is_left_out = false;              // of a factor: families::LandmarkFactor::is_missing
  bool is_start = false;                 // a maximum has the same wrong value whatever the scores are: the one with which it started
  // Whether values are missing rather than wrong: conditions around the line decide, not what it computes.
  bool is_missing = false;
  bool is_inside = false;  // they are missing between others: no loop ends too early
  // Whether whole rows of an input, or the output, are in a wrong place.
  bool is_place = false;
  bool is_load = false;                   // whether pointers and indices of the line are wrong, and not what it computes
  bool is_shared = false;                 // whether the line also reads another input, rightly
  std::vector<std::uint32_t> also_wrong;  // lines that load another input wrongly
  // Lines of `file`, without `line`: the first that holds each landmark that is computed rightly, and each that is read rightly.
  std::vector<std::uint32_t> right, right_loads;
  std::vector<std::uint32_t> settled;  // lines of `file` that only compute what is right, so that they are not the wrong one
  // All lines that hold what the wrong landmark is computed from, a list for each such landmark.
  std::vector<std::vector<std::uint32_t>> needed;
  std::vector<std::uint32_t> executed;  // lines of `file` that computed, read or stored some number

  // The class of mistakes of which such a landmark is usually wrong; empty: many.
  [[nodiscard]] std::string_view kind() const;
};

// How values and landmarks are compared.
struct LandmarkTolerance {
  double relative = 2e-5;  // for numbers in float; half and bfloat have their own
};

// Matches a trace. `file`: the kernel's own, as places name it; lines of other files are not reported. `row_names`: one per described row.
// nullopt if no landmark says anything, or if the trace holds none at all.
[[nodiscard]] std::optional<LandmarkFinding> match_landmarks(const metal::ValueTrace& trace, const families::Landmarks& landmarks,
                                                             const std::string& file, const std::vector<std::string>& row_names,
                                                             const LandmarkTolerance& tolerance = {});

// Runs the observation's case once more, traced, in the kernels' process, and matches its faulty rows. nullopt if the family has no
// landmarks, if the trace is cut, or if the case cannot be executed.
[[nodiscard]] std::optional<LandmarkFinding> find_landmarks(Laboratory& laboratory, const Observation& observation);

}  // namespace assay::harness
