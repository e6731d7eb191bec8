// Executes the same cases on two devices and compares their outputs bit by bit. Where they differ, looks for the reason.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/execute/execute_job.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "metal/argument_layout.h"
#include "metal/devices/device.h"

namespace assay::harness {

// Why outputs differ; the first that fits.
enum class PartingReason {
  none,       // they do not
  race,       // the GPU itself gives other bits when the case is repeated
  lockstep,   // they agree when the lanes of a simdgroup wait for each other at every store, as on the simulator: a barrier is missing
  atomics,    // the kernel has atomic operations, whose order differs
  hazard,     // the simulator reports a hazard, at which the GPU ends: it refuses misaligned accesses
  no_output,  // a device has none
  unexplained,
};
[[nodiscard]] std::string_view to_string(PartingReason reason);

// An element of an output. Bits of its type, in the low bytes.
struct PartedElement {
  std::string argument;
  std::uint64_t index = 0;
  metal::ScalarType type = metal::ScalarType::float32;
  std::uint64_t first = 0, other = 0;
};

struct CaseAgreement {
  std::string name;  // of the case
  Status first_status = Status::mistrusted, other_status = Status::mistrusted;
  std::string first_words, other_words;  // why they did not pass
  std::uint64_t elements = 0;            // that either device wrote, in all outputs
  std::uint64_t equal = 0;               // of these: with equal bits, or both NaN
  std::optional<PartedElement> parted;   // the first that differs
  PartingReason reason = PartingReason::none;
  bool is_within_bounds = false;  // both passed

  [[nodiscard]] bool agrees() const { return reason == PartingReason::none; }
};

struct AgreementOptions {
  metal::DeviceChoice first, other;
  unsigned repetitions = 2;  // on the other device, to find a race
  RunOptions running;
};

struct AgreedCases {
  std::vector<CaseAgreement> cases;  // in the order of the cases; those with a verdict
  std::size_t skipped = 0;           // that neither device can execute
  bool stopped = false;
};

// Runs every case in a worker, on both devices. A case ends the worker where it fails on both, as in run_cases(). Throws what that throws.
[[nodiscard]] AgreedCases find_agreement(std::span<const Case> cases, const Workbench& workbench, const AgreementOptions& options,
                                         const std::atomic<bool>& stop, RunListener& listener);

// Compares outputs element by element into `into`. Both must be of the same case.
void compare_bits(std::span<const OutputBits> first, std::span<const OutputBits> other, CaseAgreement& into);

// "-0.25 (0xbe800000)"; integers without a second form.
[[nodiscard]] std::string element_text(metal::ScalarType type, std::uint64_t bits);

}  // namespace assay::harness
