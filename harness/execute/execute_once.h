// One run of a case under one schedule, of which execute_case() makes several; and the output beside the verdict, which is for other rooms
// too.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "harness/execute/execute.h"
#include "harness/execute/execute_job.h"
#include "harness/judge/split.h"
#include "metal/execute/rounding.h"
#include "metal/execute/schedule.h"

namespace assay::harness {

struct Outcome {
  Verdict verdict;
  std::vector<float> output;          // Execution::output
  std::string_view output_unit = {};  // Execution::output_unit
  JudgedOutput judged = {};           // with ExecutionOptions::keep_output

  // Of the policy `shadow`; the last two with ExecutionOptions::explain.
  std::optional<ShadowedOutput> shadowed = {};
  std::vector<metal::LineRounding> roundings = {};
  std::optional<metal::ErrorBirth> birth = {};
};

// Options::schedules are left to the caller. As execute_case() does, makes a verdict of whatever goes wrong.
[[nodiscard]] Outcome execute_once(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options,
                                   const metal::Schedule& schedule, Kept& kept);

// execute_case() with the output under the first schedule.
[[nodiscard]] Outcome execute_with_output(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options);

}  // namespace assay::harness
