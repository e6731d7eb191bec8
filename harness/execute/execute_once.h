// One run of a case under one schedule; execute_case() makes several. Returns the output with the verdict, for other parts
// of the harness.
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
  FinishedBits finished = {};         // of a case about an omission
  JudgedOutput judged = {};           // with ExecutionOptions::keep_output
  std::vector<OutputBits> bits = {};  // with ExecutionOptions::keep_bits
  bool has_atomics = false;           // KernelReport::has_atomics

  // Under the policy `shadow`; the last two with ExecutionOptions::explain.
  std::optional<ShadowedOutput> shadowed = {};
  std::vector<metal::LineRounding> roundings = {};
  std::optional<metal::ErrorBirth> birth = {};
};

// Ignores Options::schedules. Like execute_case(), turns every failure into a verdict.
[[nodiscard]] Outcome execute_once(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options,
                                   const metal::Schedule& schedule, Kept& kept);

// execute_case(), with the output under the first schedule.
[[nodiscard]] Outcome execute_with_output(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options);

}  // namespace assay::harness
