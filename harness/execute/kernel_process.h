// Runs dispatches in a child process: what a kernel does to its memory stays there.
//
// The child shares with this process the bytes of buffers in KernelProcess::memory(), and nothing else. Only there is a kernel's code
// loaded and executed. This process compiles, encodes, and judges afterwards from its own copy of the inputs.
#pragma once

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
  metal::SimulatorOptions options;  // a trace is filled as by the simulator
  std::size_t passes = 1;
  // Encodes a pass. Buffers must be in KernelProcess::memory().
  std::function<void(std::size_t pass, metal::ComputeEncoder&)> encode;
  // Asked when all passes before have run. The first that may not run is the last.
  std::function<bool(std::size_t pass)> may_run = [](std::size_t) { return true; };
  std::vector<ShadowRequest> shadows = {};  // of the policy `shadow`
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
  double seconds = 0;  // spent with executing
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

// A process that runs kernels for this thread. It is started when it is needed, and again for a pipeline that it has not loaded, because it
// can open no file once it has loaded what it was started with.
class KernelProcess {
 public:
  // This thread's.
  static KernelProcess& own();

  KernelProcess() = default;
  KernelProcess(const KernelProcess&) = delete;
  KernelProcess& operator=(const KernelProcess&) = delete;
  ~KernelProcess() = default;

  // Where buffers must be.
  [[nodiscard]] metal::SharedMemory& memory() { return memory_; }

  // Runs dispatches one after the other, and ends the process if one of them went wrong. Throws what `encode` and the encoder throw, with
  // the same text: metal::Error, else std::runtime_error. Throws KernelDied, and metal::EnvironmentError if the system refuses a process.
  [[nodiscard]] KernelReport run(const KernelRun& run);

 private:
  struct Loaded {
    std::vector<std::shared_ptr<metal::Library>> libraries;
    metal::PipelineDescriptor descriptor;
    std::shared_ptr<const metal::Pipeline> compiled;
    friend bool operator==(const Loaded&, const Loaded&) = default;
  };
  struct Bench;

  [[nodiscard]] std::vector<std::uint64_t> load(const KernelRun& run, const std::vector<metal::PipelineDescriptor>& wanted);
  void start();
  [[nodiscard]] base::Bytes ask(const base::Bytes& request);

  metal::SharedMemory memory_;
  std::vector<Loaded> pipelines_;  // that the process has loaded, or will when it starts
  std::optional<base::Server> server_;
};

}  // namespace assay::harness
