// Carries one case from its fixture to its verdict.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "fixtures/shelf.h"
#include "harness/execute/kernel_host.h"
#include "harness/findings/verdict.h"
#include "harness/judge/judge.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/device.h"
#include "metal/devices/encoder.h"
#include "metal/execute/rounding.h"
#include "metal/execute/schedule.h"
#include "metal/policy.h"
#include "metal/source_location.h"

namespace assay::harness {

class ExpectationStore;
class JobMemory;

// Cases that cost more (Family::work) run under one order of simdgroups only. Half of the gate's cases have more than one simdgroup per
// threadgroup, and these would take most of its time.
inline constexpr std::int64_t kRepeatedWork = std::int64_t{1} << 21;

struct ExecutionOptions {
  // Where kernels are executed. On a GPU, every case runs once: it has no schedules and no policies.
  metal::DeviceChoice device = {};

  unsigned threads = 1;  // CPU threads of the simulator; 0: one per core

  // The orders in which the simdgroups of a threadgroup take turns; every case runs once under each.
  //
  // Empty: forward. If the judged dispatch has several simdgroups in a threadgroup and the case costs at most kRepeatedWork, also
  // reverse, and random:<seed> if the seed is divisible by four. One order alone cannot reveal a missing barrier, because forward runs
  // the simdgroup first for which others wait.
  std::vector<metal::Schedule> schedules;

  // How kernels are compiled. `checked` detects far more hazards, and `shadow` splits errors into rounding and logic; both are slower.
  metal::Policy policy = metal::Policy::native;
  metal::Engine engine = metal::Engine::vector;
  bool both_engines = false;  // runs the case on fibers too, and compares the outputs
  // For the policy `shadow`, as in metal::SimulatorOptions; used by explain_case().
  bool explain = false;
  double large_error = metal::kLargeError;
  std::optional<metal::SourceLocation> rounded_line = {};

  std::uint32_t choice = 0;  // metal::SimulatorOptions::choice

  bool keep_output = false;  // fills Outcome::judged, for comparing outputs
  bool keep_bits = false;    // fills Outcome::bits, for comparing devices

  std::size_t worst_elements = JudgeOptions{}.worst_count;  // number of worst elements that a verdict keeps

  fixtures::Shelf shelf;  // the folder of the files that cases name

  // What the bounds allow the device that computed the outputs.
  oracles::ArithmeticProfile profile = oracles::simulator_profile();
  // The variant with another [accuracy], by whose bounds the case is judged; nullptr: the prepared one. It must outlive the execution.
  const kernels::Variant* judged_as = nullptr;

  // Where expectations are kept between runs; nullptr: nowhere.
  std::shared_ptr<const ExpectationStore> expectations;

  // Executes other dispatches than the case's own, on the same buffers, for example those of a host's trace. `encode` would encode the
  // case's own. Then the final output alone is judged: of attention with several workgroups not their partial results, but what these
  // dispatches merged themselves. Empty: the case's own dispatches.
  std::function<void(metal::ComputeEncoder& simulator, const Encode& encode)> launch;
  // Instead of executing: puts into the buffers what a device elsewhere left there. Called in the process that judges. Throws metal::Error
  // if the device refused the case, and KernelDied if it failed. Schedules and policy are then without meaning.
  std::function<void(const Case& test_case, const JobMemory& memory)> returned;
  // Whether dispatches without a memory_barrier() between them may run at the same time. It is then a hazard if they share memory that
  // one of them writes.
  bool concurrent = false;
};

// Fixture -> oracle -> buffers -> launch code -> simulator -> judge. Under several schedules each run is judged, and the case fails if
// output bits differ between two of them, even if all values are within the bound. Every failure of a case becomes its verdict: a
// refusal by the launch code or the encoder is `rejected`, a failure of the harness itself is `mistrusted` with is_internal set.
// Throws only std::bad_alloc.
[[nodiscard]] Verdict execute_case(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options);

// Why execute_case() would skip a case that the variant's [limits] admit: the variant has no function for it, or one that is not made
// for it. Nothing if it would not skip the case.
[[nodiscard]] std::optional<Fault> why_skipped(const PreparedVariant& prepared, const Case& test_case);

// Lets the launch code encode a case once on the case's own buffers; oracle and judge are not used. Throws std::invalid_argument, with
// the reason, for a case that execute_case() would reject or skip, and what the encoder throws.
void encode_case(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, metal::ComputeEncoder& encoder);

// Executes these dispatches once, in this thread's KernelProcess, without oracle and judge, within a time (0: any). Throws what
// encode_case() and KernelProcess::run() throw.
[[nodiscard]] KernelReport run_case(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf,
                                    const metal::SimulatorOptions& options, std::chrono::duration<double> longest = {});

}  // namespace assay::harness
