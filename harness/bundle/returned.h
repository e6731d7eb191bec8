// What a runner returned for a bundle, checked against the bundle, and put into the buffers that the judge reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/bundle/bundle.h"
#include "harness/bundle/folder.h"
#include "harness/execute/job_memory.h"

namespace assay::harness {

// The bytes that a device left in a buffer of a bundle.
struct ReturnedBuffer {
  std::uint64_t buffer = 0;  // into BundleCase::buffers
  std::uint64_t digest = 0;  // base/digest.h, computed by the runner: finds files that were swapped or damaged on their way
};

// Why a device did not finish a case.
struct DeviceRefusal {
  std::string stage;  // one of kStages
  std::string text;   // of the device
};
// What a runner does with a case, in this order. In the last one the kernel runs, and what goes wrong there is its failure.
inline constexpr std::string_view kStages[] = {"source", "function", "buffers", "execute"};

struct ReturnedCase {
  std::string name;
  std::string id;  // BundleText::ids
  std::optional<DeviceRefusal> refusal = {};
  std::vector<ReturnedBuffer> buffers = {};  // all outputs and scratch buffers, and the inputs that were changed; nothing after a refusal
};

struct Returned {
  std::string executed_on;  // the device and its system, in the runner's words
  std::vector<ReturnedCase> cases;
};

// The file that a runner writes for a buffer of the bundle's case `number`: "outputs/0-3.bin".
[[nodiscard]] std::string returned_file(std::size_t number, std::size_t buffer);

// Throws BundleError unless `returned` is about these cases, in their order, and has every file that it must have, whole and unchanged.
void check_returned(const BundleFolder& folder, const Returned& returned, std::span<const BundleCase> cases,
                    std::span<const std::string> ids);

// For ExecutionOptions::returned. `returned` must have been checked.
[[nodiscard]] std::function<void(const Case&, const JobMemory&)> put_returned(const BundleFolder& folder,
                                                                              std::shared_ptr<const Returned> returned,
                                                                              std::shared_ptr<const std::vector<BundleCase>> cases);

}  // namespace assay::harness
