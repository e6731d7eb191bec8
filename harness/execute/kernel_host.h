// Where the kernels of a case run: what it is asked for, and what it reports.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/server.h"
#include "harness/findings/fault.h"
#include "metal/compile/library.h"
#include "metal/cost.h"
#include "metal/devices/device.h"
#include "metal/devices/simulator.h"
#include "metal/execute/rounding.h"
#include "metal/float_type.h"
#include "metal/hazard.h"
#include "metal/shared_memory.h"
#include "metal/source_location.h"

namespace assay::harness {

// Encodes dispatches.
using Encode = std::function<void(metal::ComputeEncoder&)>;

// Numbers of a buffer whose shadows are wanted; a view without a buffer: none.
struct ShadowRequest {
  metal::BufferView view;
  std::size_t count = 0;
  metal::FloatType type = metal::FloatType::float32;
};

struct KernelRun {
  const std::vector<std::shared_ptr<metal::Library>>& libraries;
  metal::SimulatorOptions options;  // a trace is filled as by the simulator; a GPU looks at none of them
  std::size_t passes = 1;
  // Encodes a pass. Buffers must be in KernelHost::memory().
  std::function<void(std::size_t pass, metal::ComputeEncoder&)> encode;
  // Asked when all passes before have run. The first that may not run is the last.
  std::function<bool(std::size_t pass)> may_run = [](std::size_t) { return true; };
  std::vector<ShadowRequest> shadows = {};  // of the policy `shadow`
  // How long a pass may take on the simulator; 0: for ever. Whoever runs cases in workers has a limit for those.
  std::chrono::duration<double> longest{0};
  // Pipelines that further runs of these libraries are likely to need. They are compiled already; empty: none.
  std::function<std::vector<metal::PipelineDescriptor>()> likely = {};
};

// The results of the dispatches, as metal::Simulator has them. A hostile kernel may have forged every figure. Only ranges and sizes are
// checked.
struct KernelReport {
  std::vector<metal::Hazard> hazards;
  metal::ExecutionCounters counters;
  std::vector<metal::KernelCost> cost;
  std::vector<metal::SourceLocation> lost_shadows;
  std::vector<std::vector<double>> shadows;  // by request, each as long as was asked for
  std::vector<metal::LineRounding> roundings;
  std::optional<metal::ErrorBirth> birth;
  double seconds = 0;        // spent with executing
  bool has_atomics = false;  // of a GPU: whether the order of atomic operations may have affected results
};

// The process ended without a report.
class KernelDied : public std::exception {
 public:
  explicit KernelDied(Fault how) : fault(std::move(how)) {}
  [[nodiscard]] const char* what() const noexcept override { return "the process that ran the kernel died"; }

  Fault fault;
};

// How a process ended that sent no answer, as a fault of what it was doing.
[[nodiscard]] Fault fault_of(const base::Reply& reply, const base::Server& server);

// A process that has a device and runs kernels on it, for one thread.
class KernelHost {
 public:
  KernelHost() = default;
  KernelHost(const KernelHost&) = delete;
  KernelHost& operator=(const KernelHost&) = delete;
  virtual ~KernelHost() = default;

  // Where buffers must be.
  [[nodiscard]] virtual metal::SharedMemory& memory() = 0;

  // Runs dispatches one after the other, and ends the process if one of them went wrong. Throws what `encode` and the encoder throw, with
  // the same text: metal::Error, else std::runtime_error. Throws KernelDied, and metal::EnvironmentError if the system refuses a process.
  [[nodiscard]] virtual KernelReport run(const KernelRun& run) = 0;
};

// This thread's, for that device.
[[nodiscard]] KernelHost& kernel_host(const metal::DeviceChoice& device);

}  // namespace assay::harness
