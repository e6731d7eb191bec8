// The verdict on one case: what came of it, and every figure that a reader may want to see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  failed,      // an element above its bound, missing, NaN or infinite; memory written that no kernel may write
  hazard,      // the simulator saw what a right kernel never does
  crashed,     // the process that executed the case died of it
  timeout,     // no verdict in time
  rejected,    // the launch code or the encoder refused the parameters
  mistrusted,  // nothing was really compared, or the harness itself failed: proves nothing, counts as failure
  known,       // failed as a [[known_finding]] of its variant says it must
  skipped,     // not run, with a fault that says why
};

[[nodiscard]] std::string_view to_string(Status status);
[[nodiscard]] inline bool is_success(Status status) {
  return status == Status::passed || status == Status::known || status == Status::skipped;
}

// A later stage of the same dispatches, judged on the bits that the stage before it stored. Does not decide the verdict.
struct StageVerdict {
  std::string name;       // "merge of VARIANT"
  bool is_judged = true;  // false: what it got is outside of what its oracle can judge
  bool passed = false;
  std::vector<Fault> faults;  // why not judged or not passed
  Judgement judgement;        // empty if it could not be judged
};

struct Verdict {
  Case about;
  Status status = Status::mistrusted;
  std::vector<Fault> faults;   // why not passed, as it is told; empty if passed
  std::string note;            // what else a reader should know, even of a pass; mostly empty
  std::string schedules;       // "forward", or those that were compared: "forward,reverse"; what it takes to repeat the verdict
  bool is_internal = false;    // the harness failed, not the kernel
  std::size_t row_length = 1;  // elements of one output row, to tell (row, coordinate) from an index
  Judgement judgement;
  std::optional<ErrorSplit> split;  // of the policy `shadow`
  // Of the policy `shadow`: where shadows were lost, so that logic is no longer told from rounding, and is not held against the kernel.
  std::vector<metal::SourceLocation> lost_shadows;
  std::vector<StageVerdict> stages;
  std::vector<metal::Hazard> hazards;
  std::vector<metal::Hazard> remarks;  // of the policy `checked`: what is no defect of a kernel
  std::vector<std::string> known;      // Status::known: `see` of the findings, or where they are declared
  metal::ExecutionCounters counters;
  std::optional<metal::Cost> cost;  // of the policy `checked`, under the first schedule
  std::uint64_t digest = 0;         // of every output byte (base/digest.h) under the first schedule: equal for equal bits
  double oracle_seconds = 0;
  double simulator_seconds = 0;
};

}  // namespace assay::harness
