// Runs a job under one schedule and judges its results, in the same way for every family.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/job.h"
#include "fixtures/shelf.h"
#include "harness/cases/case_data.h"
#include "harness/execute/execute.h"
#include "harness/execute/expectation_store.h"
#include "harness/execute/kernel_host.h"
#include "harness/findings/verdict.h"
#include "harness/judge/judge.h"
#include "harness/judge/split.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/simulator.h"

namespace assay::harness {

// What the dispatches leave for others: the judged outputs, or those of the last stage behind them.
struct FinishedBits {
  std::vector<std::byte> bytes;
  std::size_t element_bytes = 1;
  friend bool operator==(const FinishedBits&, const FinishedBits&) = default;
};

// What was found in a run that left its inputs alone. Another run that leaves the same bytes is found to be the same.
struct JudgedRun {
  std::vector<std::byte> bytes;  // of all buffers but the inputs, with guard bands, in every pass
  Verdict verdict;
  std::vector<float> output;
  FinishedBits finished;
};

// Results that do not depend on the schedule: computed under the first one and kept for the others.
struct Kept {
  bool has_more_runs = false;  // what follows is worth keeping
  std::optional<families::Job> job;
  std::optional<StoredExpectation> stored;           // from the file of the inputs
  std::optional<oracles::Expected> expected, exact;  // with and without the contract's conversions
  std::optional<JudgedRun> judged;                   // the first run
};

// An output buffer, as the first pass left it.
struct OutputBits {
  std::string argument;
  metal::ScalarType element = metal::ScalarType::float32;
  std::vector<std::byte> bytes;
};

struct Execution {
  // By whose bounds the case is judged.
  [[nodiscard]] const kernels::Variant& variant() const { return judged_as == nullptr ? prepared.variant : *judged_as; }

  const PreparedVariant& prepared;
  const kernels::BoundKernel& kernel;  // the function of the case
  const Case& test_case;
  const fixtures::Shelf& shelf;
  const oracles::ArithmeticProfile& profile;
  JudgeOptions judging;
  Kept& kept;
  Verdict& verdict;                                                        // receives everything but its status
  metal::SimulatorOptions simulator;                                       // under the policy `shadow`, `shadowed` is filled
  std::function<void(metal::ComputeEncoder&, const Encode&)> launch = {};  // ExecutionOptions::launch
  metal::DeviceChoice device = {};
  bool keeps_bits = false;                                           // fills `bits`
  std::function<void(const Case&, const JobMemory&)> returned = {};  // ExecutionOptions::returned
  const kernels::Variant* judged_as = nullptr;                       // ExecutionOptions::judged_as
  const ExpectationStore* expectations = nullptr;                    // ExecutionOptions::expectations

  KernelReport report = {};
  std::vector<float> output = {};  // families::Reading::output
  FinishedBits finished = {};
  std::vector<OutputBits> bits = {};
  std::string_view output_unit = {};  // families::Job::output_unit
  std::optional<ShadowedOutput> shadowed = {};
};

// Throws what the job, the launch code, the encoder and the oracle throw; fixtures::FileError for files that cannot be used.
void execute_job(Execution& execution);

// The job of a case. Throws what execute_job() throws.
[[nodiscard]] families::Job make_job(const PreparedVariant& prepared, const kernels::Variant& variant, const kernels::BoundKernel& kernel,
                                     const Case& test_case, const families::Source& source,
                                     const oracles::ArithmeticProfile& profile = oracles::simulator_profile());

// Why a case has nothing to execute, as execute_case() would say it; empty if it has.
[[nodiscard]] std::string why_not_executed(const PreparedVariant& prepared, const Case& test_case);

// Makes the job of a case and its buffers, which are in `shared` if there is one, and does not execute it. Throws std::invalid_argument,
// with the reason, for a case that execute_case() would reject or skip, and what execute_job() throws.
void with_job(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, metal::SharedMemory* shared,
              const std::function<void(const families::Job& job, const JobMemory& memory)>& use);

// Runs `work` and returns the seconds it took.
template <typename Work>
double timed(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace assay::harness
