// One GPU with a context: loads kernels, carries out work, and says what went wrong.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "metal/devices/cuda/arena.h"
#include "metal/devices/cuda/driver.h"
#include "metal/devices/cuda/work.h"
#include "metal/hazard.h"

namespace assay::metal::cuda {

struct HostBuffer {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::string label;
  // No argument that it is bound to can be written through. If it is large too, it is not copied back, so that a kernel that casts const
  // away there is not noticed: copies of gigabytes take seconds.
  bool is_constant = false;
};

struct WorkReport {
  std::vector<Hazard> hazards;
  double seconds = 0;  // of the kernels, as the GPU measures it
};

// Work that could not be carried out.
class GpuError : public std::runtime_error {
 public:
  enum class Kind {
    kernel_fault,   // a bad address or a trap: the context is lost
    timeout,        // the kernel does not end: so is this one
    out_of_memory,  // the GPU has too little
    refused,        // anything else: the driver refuses the code or a call
  };
  GpuError(Kind of, std::string in, const std::string& text) : std::runtime_error(text), kind(of), function(std::move(in)) {}

  Kind kind;
  std::string function;  // the kernel; empty: none
};

struct GpuDescription {
  std::string name;
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int driver_version = 0;    // of CUDA: 13000 is 13.0

  std::string driver_file;  // of its library

  // For what compiled code is good: "9.0, CUDA 13.0, libcuda.so.580.95.05"; empty if the file is not known.
  [[nodiscard]] std::string code_for() const;
  // "NVIDIA H100 80GB HBM3, compute capability 9.0, 81089 MiB, driver for CUDA 13.0"
  [[nodiscard]] std::string to_string() const;
};

// All GPUs. Throws EnvironmentError if the driver finds none.
[[nodiscard]] std::vector<GpuDescription> describe_gpus(Driver& driver);

// A kernel as code for one GPU and driver.
struct LinkedKernel {
  std::string code;
  std::uint32_t most_threads = 0;  // of a threadgroup, by the registers that the code takes
};

// How many registers a thread may take in a threadgroup of so many threads.
[[nodiscard]] unsigned registers_for(unsigned threads);

class Gpu {
 public:
  // Makes a context. `driver` must outlive it. Throws EnvironmentError if there is no such GPU, GpuError if it has no memory left.
  Gpu(Driver& driver, unsigned number);
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  ~Gpu();

  // Carries out the dispatches one after the other and leaves the results in `buffers`, which the work refers to by number. The dispatches
  // together may take `limit`; 0: no limit. A write that misses a buffer is a hazard. Throws GpuError. After a fault or a timeout the
  // context is lost, and the driver may refuse this process a new one.
  [[nodiscard]] WorkReport run(const Work& work, std::span<const HostBuffer> buffers, std::chrono::duration<double> limit);

  // Compiles a kernel's PTX, with at most that many registers per thread (0: as many as it likes). Throws GpuError with the compiler's log.
  [[nodiscard]] LinkedKernel link(const Kernel& kernel, unsigned registers);

  // Gives back all memory and unloads all kernels, so that what comes next finds nothing of what was before. Throws GpuError.
  void clear();

  [[nodiscard]] bool is_lost() const { return is_lost_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Loaded {
    std::string text;
    Handle module = nullptr;
    Handle function = nullptr;
    int most_threads = 0;
  };

  void require(Status status, const std::string& what, const std::string& function = {});
  Loaded& loaded(const Kernel& kernel, unsigned threads);
  void load(Loaded& into, const Kernel& kernel, unsigned registers);
  void place(const Work& work, std::span<const HostBuffer> buffers);
  void launch(const Work& work, const Dispatch& dispatch, std::size_t first_bytes, Clock::time_point deadline);
  void wait(const std::string& function, Clock::time_point deadline);
  void find_stray_writes(const Work& work, std::span<const HostBuffer> buffers, std::vector<Hazard>& hazards);

  Driver& driver_;
  Handle context_ = nullptr;
  Handle begin_ = nullptr, end_ = nullptr;
  Arena arena_;
  std::map<std::string, Loaded> kernels_;  // by digest
  bool is_lost_ = false;
  bool may_still_run_ = false;
};

}  // namespace assay::metal::cuda
