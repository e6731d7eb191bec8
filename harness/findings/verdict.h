// The verdict on one case: its status, and every figure that a reader may need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/cases/case.h"
#include "harness/findings/fault.h"
#include "harness/judge/judge.h"
#include "harness/judge/split.h"
#include "metal/cost.h"
#include "metal/hazard.h"
#include "metal/source_location.h"

namespace assay::harness {

enum class Status {
  passed,
  failed,        // an element above its bound, missing, NaN or infinite; forbidden memory written
  hazard,        // the simulator detected what a correct kernel never does
  crashed,       // the process that executed the case ended
  timeout,       // no verdict in time
  rejected,      // the launch code or the encoder refused the parameters
  mistrusted,    // nothing was really compared, or the harness itself failed: proves nothing, counts as failure
  known,         // failed as a [[known_finding]] of its variant declares
  skipped,       // not run; a fault gives the reason
  not_required,  // did not pass, in a case about what the contract leaves out and the variant does not claim
};

[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] inline bool is_success(Status status) {
  return status == Status::passed || status == Status::known || status == Status::skipped || status == Status::not_required;
}
// Whether the output is wrong, and that is no failure.
[[nodiscard]] inline bool is_expected_failure(Status status) { return status == Status::known || status == Status::not_required; }

// A later stage of the same dispatches, judged on the bits that the previous stage stored. Does not affect the verdict.
struct StageVerdict {
  std::string name;       // "merge of VARIANT"
  bool is_judged = true;  // false: its oracle cannot judge its input
  bool passed = false;
  std::vector<Fault> faults;  // why it was not judged or did not pass
  Judgement judgement;        // empty if it was not judged
};

// Further information on a verdict, even on a pass. Text is made in harness/findings/fault_text.h.
namespace note {

// The element with the largest error, if row and coordinate do not describe it: "norm of block 1 of head 0".
struct WorstElement {
  std::string element;
};
// Under the policy `shadow`: elements whose value is right are wrong before anything is rounded.
struct RightNevertheless {
  fault::Logic logic;
};
// The same where the kernel cannot be blamed, because it lost shadows.
struct LostShadows {
  std::vector<metal::SourceLocation> places;
  fault::Logic logic;
};
// The case was repeated in a new process, because it did not pass in one that had executed other cases or was killed.
struct Repeated {
  std::uint64_t others = 0;  // cases that the first process had executed before
  Status status = Status::mistrusted;
  std::vector<Fault> faults;
};
// From a ledger.
struct Recorded {
  std::string text;
};

}  // namespace note
using Note = std::variant<note::WorstElement, note::RightNevertheless, note::LostShadows, note::Repeated, note::Recorded>;

struct Verdict {
  Case test_case;
  Status status = Status::mistrusted;
  std::vector<Fault> faults;   // why it did not pass; empty if passed
  std::vector<Note> notes;     // mostly empty
  std::string schedules;       // "forward", or those that were compared: "forward,reverse"; needed to repeat the verdict
  bool is_internal = false;    // the harness failed, not the kernel
  std::size_t row_length = 1;  // elements of one output row, to compute (row, coordinate) from an index
  Judgement judgement;
  std::optional<ErrorSplit> split;  // under the policy `shadow`
  // Under the policy `shadow`: the places where shadows were lost. Logic then cannot be distinguished from rounding, and does not count
  // against the kernel.
  std::vector<metal::SourceLocation> lost_shadows;
  std::vector<StageVerdict> stages;
  std::vector<metal::Hazard> hazards;
  std::vector<metal::Hazard> remarks;  // under the policy `checked`: hazards that are not defects
  std::vector<std::string> known;      // Status::known: `see` of the findings, or the places of their declarations
  metal::ExecutionCounters counters;
  std::optional<metal::Cost> cost;  // under the policy `checked`, of the first schedule
  std::uint64_t digest = 0;         // of all outputs (execute/output_digest.h) under the first schedule: equal for equal bits
  double oracle_seconds = 0;
  double simulator_seconds = 0;
};

}  // namespace assay::harness
