// Runs dispatches on a GPU, in another process that holds its context (gpu_service.h).
//
// That process shares with this one the bytes of buffers in GpuProcess::memory(). This process compiles, encodes and checks; the other one
// carries out finished work. A GPU may reach the memory of the process that uses it, so that process has nothing that a kernel may not
// have, and its report is checked like that of any process of a kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/server.h"
#include "harness/execute/gpu_service.h"
#include "harness/execute/kernel_host.h"
#include "harness/prepare/gpu_driver.h"
#include "harness/prepare/linked_code.h"
#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/encoder.h"

namespace assay::harness {

class GpuProcess final : public KernelHost {
 public:
  using LoadDriver = harness::LoadDriver;

  // This thread's, for that GPU and those options.
  static GpuProcess& own(const metal::DeviceChoice& device);
  // What processes of a GPU load from now on; those of before are ended. For tests without a GPU.
  static void replace_driver(LoadDriver load);
  // From now on, that GPU's process is the one at the other end of `channel` (GpuPool), as long as it lives.
  static void inherit(base::Descriptor channel, unsigned gpu);

  GpuProcess(metal::DeviceChoice device, LoadDriver load) : device_(std::move(device)), load_(std::move(load)) {}

  [[nodiscard]] metal::SharedMemory& memory() override { return memory_; }
  // Each pass is encoded when those before it have run. After a fault, a timeout or a stray write, the process ends, and this process
  // starts one of its own. A fault of a kernel, a kernel that does not end, and a GPU without memory are KernelDied.
  [[nodiscard]] KernelReport run(const KernelRun& run) override;

  [[nodiscard]] const metal::DeviceChoice& device() const { return device_; }

 private:
  [[nodiscard]] bool has_inherited() const;
  void forget();
  void end();
  void run_pass(const KernelRun& run, std::size_t pass, KernelReport& report);
  // Replaces the PTX of a kernel by code that all processes share. `threads`: of its largest threadgroup.
  void take_linked(metal::cuda::Kernel& kernel, const KernelRun& run, std::uint32_t threads);
  [[nodiscard]] on_gpu::Ending ask(const on_gpu::Request& request);
  [[nodiscard]] base::Bytes receive();

  metal::DeviceChoice device_;
  LoadDriver load_;
  metal::SharedMemory memory_;
  std::optional<base::Server> server_;
  std::optional<LinkedCode> linked_;
  bool is_known_ = false;        // whether that process has the file of memory_
  std::set<std::string> known_;  // digests of the kernels that it has
};

// What a GPU is, or why there is none.
struct FoundGpu {
  std::string description;   // empty: none
  std::string architecture;  // that kernels are compiled for
  std::string code_for;      // DeviceChoice::code_for
  std::string problem;
};
// Asks the driver in a process of its own, because a process that has started the driver cannot be forked.
[[nodiscard]] FoundGpu find_gpu(const metal::DeviceChoice& device);

}  // namespace assay::harness
