// Runs dispatches in a child process: what a kernel does to its memory stays there.
//
// The child shares with this process the bytes of buffers in KernelProcess::memory(), and nothing else. Only there is a kernel's code
// loaded and executed. This process compiles, encodes, and judges afterwards from its own copy of the inputs.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/server.h"
#include "harness/execute/kernel_host.h"

namespace assay::harness {

// A process that runs kernels for this thread. It is started when it is needed, and again for a pipeline that it has not loaded, because it
// can open no file once it has loaded what it was started with.
class KernelProcess final : public KernelHost {
 public:
  // This thread's.
  static KernelProcess& own();

  [[nodiscard]] metal::SharedMemory& memory() override { return memory_; }

  [[nodiscard]] KernelReport run(const KernelRun& run) override;

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
  // Throws KernelDied if there is no answer after so many seconds, unless these are 0.
  [[nodiscard]] base::Bytes ask(const base::Bytes& request, std::chrono::duration<double> longest);

  metal::SharedMemory memory_;
  std::vector<Loaded> pipelines_;  // that the process has loaded, or will when it starts
  std::optional<base::Server> server_;
};

}  // namespace assay::harness
