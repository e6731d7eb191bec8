// Starts the process that has a GPU, sends it work, and takes its reports.
#include "harness/execute/gpu_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/archive.h"
#include "base/sandbox.h"
#include "base/turns.h"
#include "harness/findings/metal_fields.h"
#include "harness/prepare/gpu_driver.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/errors.h"

namespace assay::metal::cuda {

void fields(auto& archive, base::OneOf<Kernel> auto& value) {
  auto& [function, digest, text] = value;
  each(archive, function, digest, text);
}
void fields(auto& archive, base::OneOf<Argument> auto& value) {
  auto& [index, buffer, offset, bytes] = value;
  each(archive, index, buffer, offset, bytes);
}
void fields(auto& archive, base::OneOf<Dispatch> auto& value) {
  auto& [kernel, arguments, threadgroup_arguments, shared_bytes, threadgroups, threads, total] = value;
  each(archive, kernel, arguments, threadgroup_arguments, shared_bytes, threadgroups, threads, total);
}
void fields(auto& archive, base::OneOf<Work> auto& value) {
  auto& [kernels, dispatches] = value;
  each(archive, kernels, dispatches);
}
void fields(auto& archive, base::OneOf<WorkReport> auto& value) {
  auto& [hazards, seconds] = value;
  each(archive, hazards, seconds);
}
constexpr std::uint64_t largest(GpuError::Kind) { return static_cast<std::uint64_t>(GpuError::Kind::refused); }

}  // namespace assay::metal::cuda

namespace assay::harness {

namespace cuda = metal::cuda;

// Between this process and its child.
namespace on_gpu {
namespace {

constexpr std::uint64_t kLongestReport = std::uint64_t{1} << 24;
// Kernels that a child keeps. Each takes memory of the GPU and of the driver.
constexpr std::size_t kMostKernels = 512;
constexpr double kLongestWait = 20;  // seconds, for memory of the GPU
// Work with buffers of more than that waits for its turn: a GPU has room for one of a kind, and its copies take seconds.
constexpr std::uint64_t kLargeWork = std::uint64_t{1} << 30;
constexpr double kLongestTurn = 600;  // seconds, where work has no limit

// Made before workers are.
base::Turns& large_work() {
  static base::Turns turns;
  return turns;
}

// A buffer in the shared memory.
struct SharedBuffer {
  std::uint64_t place = 0;  // of its first byte
  std::uint64_t size = 0;
  std::string label;
  bool is_constant = false;  // HostBuffer::is_constant
};
struct Request {
  cuda::Work work;
  std::vector<SharedBuffer> buffers;
  double limit = 0;  // seconds
};
struct Failure {
  cuda::GpuError::Kind kind = cuda::GpuError::Kind::refused;
  std::string function, text;
};
using Ending = std::variant<cuda::WorkReport, Failure>;

void fields(auto& archive, base::OneOf<SharedBuffer> auto& value) {
  each(archive, value.place, value.size, value.label, value.is_constant);
}
void fields(auto& archive, base::OneOf<Request> auto& value) { each(archive, value.work, value.buffers, value.limit); }
void fields(auto& archive, base::OneOf<Failure> auto& value) { each(archive, value.kind, value.function, value.text); }

// Of the dispatches of a kernel, the largest threadgroup.
std::uint32_t most_threads(const cuda::Work& work, std::uint64_t kernel) {
  std::uint64_t most = 0;
  for (const cuda::Dispatch& dispatch : work.dispatches) {
    if (dispatch.kernel == kernel) most = std::max<std::uint64_t>(most, dispatch.threads.count());
  }
  return static_cast<std::uint32_t>(most);
}

// Throws KernelDied, or std::runtime_error if the harness is to blame.
[[noreturn]] void throw_failure(const Failure& failure, const metal::DeviceChoice& device) {
  switch (failure.kind) {
    case cuda::GpuError::Kind::kernel_fault:
      throw KernelDied(fault::DeviceFault{failure.function, failure.text});
    case cuda::GpuError::Kind::timeout:
      throw KernelDied(fault::Timeout{device.limit.count()});
    case cuda::GpuError::Kind::out_of_memory:
      throw KernelDied(fault::OutOfMemory{failure.text});
    case cuda::GpuError::Kind::refused:
      break;
  }
  throw std::runtime_error(failure.text);
}

}  // namespace
}  // namespace on_gpu

// What the child holds between requests.
struct GpuProcess::Bench {
  Bench(const LoadDriver& loader, const metal::SharedMemory& shared, unsigned of) : load(loader), memory(shared), number(of) {}

  on_gpu::Ending answer(const on_gpu::Request& request) {
    try {
      if (!gpu) prepare();
      std::vector<cuda::HostBuffer> buffers;
      for (const on_gpu::SharedBuffer& buffer : request.buffers)
        buffers.push_back({memory.begin() + buffer.place, buffer.size, buffer.label, buffer.is_constant});
      return run_when_there_is_room(request, buffers);
    } catch (const cuda::GpuError& error) {
      return on_gpu::Failure{error.kind, error.function, error.what()};
    } catch (const metal::Error& error) {
      return on_gpu::Failure{cuda::GpuError::Kind::refused, {}, error.what()};
    }
  }

  // Workers share the memory of a GPU. Those with caches of gigabytes wait for each other, and for the small ones of all others.
  cuda::WorkReport run_when_there_is_room(const on_gpu::Request& request, std::span<const cuda::HostBuffer> buffers) {
    constexpr std::chrono::milliseconds kPause{250};
    std::uint64_t bytes = 0;
    for (const cuda::HostBuffer& buffer : buffers) bytes += buffer.size;
    const bool is_large = bytes > on_gpu::kLargeWork;
    // Without a turn in time, the work takes its chance.
    const std::chrono::duration<double> longest(request.limit > 0 ? request.limit : on_gpu::kLongestTurn);
    const base::Turns::Turn turn = is_large ? on_gpu::large_work().take(longest) : base::Turns::Turn();
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(request.limit / 2, on_gpu::kLongestWait));
    while (true) {
      try {
        return gpu->run(request.work, buffers, std::chrono::duration<double>(request.limit));
      } catch (const cuda::GpuError& error) {
        if (error.kind != cuda::GpuError::Kind::out_of_memory || std::chrono::steady_clock::now() > end) throw;
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  void prepare() {
    become_driver_process();
    driver = load();
    gpu.emplace(*driver, number);
  }

  const LoadDriver& load;
  const metal::SharedMemory& memory;
  unsigned number;
  std::unique_ptr<cuda::Driver> driver;
  std::optional<cuda::Gpu> gpu;
};

GpuProcess& GpuProcess::own(const metal::DeviceChoice& device) {
  // A fork inherits its parent's object, whose child is not its own.
  thread_local std::unique_ptr<GpuProcess> process;
  thread_local pid_t owner = -1;
  if (owner != getpid()) static_cast<void>(process.release());
  if (process == nullptr || process->device() != device) process = std::make_unique<GpuProcess>(device, used_driver());
  owner = getpid();
  return *process;
}

void GpuProcess::replace_driver(LoadDriver load) { used_driver() = std::move(load); }

void GpuProcess::start() {
  known_.clear();
  const base::ChildSetup setup{.name = "GPU process", .interrupts = base::Interrupts::ignored};
  base::prepare_sandbox();
  const auto bench = std::make_shared<Bench>(load_, memory_, device_.number);
  try {
    server_.emplace(setup, on_gpu::kLongestReport, [bench](std::span<const std::byte> request) {
      return base::to_bytes(bench->answer(base::from_bytes<on_gpu::Request>(request)));
    });
  } catch (const base::ProcessRefused& refused) {
    throw metal::EnvironmentError(fmt::format("{}; run fewer cases at a time", refused.what()));
  }
}

base::Bytes GpuProcess::ask(const base::Bytes& request) {
  server_->ask(request);
  base::Reply reply = server_->wait();
  if (reply.kind != base::Reply::Kind::answer) throw KernelDied(fault_of(reply, *server_));
  return std::move(reply.bytes);
}

// Without linked code, the PTX stays, and the driver compiles it in the child, whose report then has the compiler's log.
void GpuProcess::take_linked(cuda::Kernel& kernel, const KernelRun& run, std::uint32_t threads) {
  if (device_.code_for.empty()) return;
  if (!linked_) linked_.emplace(device_, run.libraries.front()->options().cache_directory);
  unsigned registers = 0;
  const cuda::LinkedKernel* linked = linked_->find(kernel, registers);
  // A kernel that takes many registers has room for few threads, unless it is told to take fewer.
  if (linked != nullptr && threads > linked->most_threads) {
    registers = cuda::registers_for(threads);
    linked = linked_->find(kernel, registers);
  }
  if (linked == nullptr) return;
  kernel.digest += fmt::format(" linked {}", registers);
  kernel.text = known_.contains(kernel.digest) ? std::string() : linked->code;
}

void GpuProcess::run_pass(const KernelRun& run, std::size_t pass, KernelReport& report) {
  cuda::Encoder encoder(cuda::compile_from(run.libraries, metal::ptx_options(device_)));
  run.encode(pass, encoder);
  on_gpu::Request request{encoder.work(), {}, device_.limit.count()};
  for (metal::Buffer* buffer : encoder.buffers()) {
    const std::byte* first = buffer->device_address();
    if (first < memory_.begin() || first >= memory_.begin() + metal::SharedMemory::size())
      throw std::logic_error(fmt::format("buffer '{}' is not in the memory that the GPU's process has", buffer->label()));
    request.buffers.push_back(
        {static_cast<std::uint64_t>(first - memory_.begin()), buffer->size(), buffer->label(), encoder.is_constant(*buffer)});
  }
  if (!server_ || known_.size() > on_gpu::kMostKernels) {
    server_.reset();
    start();
  }
  for (std::uint64_t number = 0; number < request.work.kernels.size(); ++number) {
    cuda::Kernel& kernel = request.work.kernels[number];
    // Not "red." alone, which ends "shared.".
    report.has_atomics =
        report.has_atomics || kernel.text.find("atom.") != std::string::npos || kernel.text.find("\tred.") != std::string::npos;
    take_linked(kernel, run, on_gpu::most_threads(request.work, number));
    if (!known_.insert(kernel.digest).second) kernel.text.clear();
  }
  const auto ending = base::from_bytes<on_gpu::Ending>(ask(base::to_bytes(request)));
  if (const auto* failure = std::get_if<on_gpu::Failure>(&ending)) on_gpu::throw_failure(*failure, device_);
  const auto& finished = std::get<cuda::WorkReport>(ending);
  for (const metal::Hazard& hazard : finished.hazards) metal::merge(report.hazards, hazard);
  report.seconds += finished.seconds;
}

KernelReport GpuProcess::run(const KernelRun& run) {
  KernelReport report;
  report.shadows.resize(run.shadows.size());
  try {
    for (std::size_t pass = 0; pass < run.passes && run.may_run(pass); ++pass) run_pass(run, pass, report);
  } catch (const base::DamagedArchive& damaged) {
    const std::string words = server_->last_words();
    server_.reset();
    throw KernelDied(fault::MalformedVerdict{damaged.what(), words});
  } catch (...) {
    server_.reset();
    throw;
  }
  // A stray write may have reached the memory of that process.
  if (!report.hazards.empty()) server_.reset();
  return report;
}

FoundGpu find_gpu(const metal::DeviceChoice& device) {
  static_cast<void>(on_gpu::large_work());
  using Answer = std::vector<std::string>;
  base::IsolationLimits limits;
  limits.time = std::chrono::seconds(60);
  limits.answer_bytes = 4096;
  const auto answer = base::call_isolated<Answer>(limits, [&]() -> Answer {
    const std::unique_ptr<cuda::Driver> driver = used_driver()();
    const std::vector<cuda::GpuDescription> gpus = cuda::describe_gpus(*driver);
    if (device.number >= gpus.size())
      throw metal::EnvironmentError(fmt::format("there is no GPU {}: the CUDA driver finds {}", device.number, gpus.size()));
    const cuda::GpuDescription& gpu = gpus[device.number];
    // Code for sm_90 runs on every later GPU too.
    return {gpu.to_string(), gpu.major >= 9 ? "sm_90" : fmt::format("sm_{}{}", gpu.major, gpu.minor), gpu.code_for()};
  });
  if (answer.kind != base::IsolatedAnswer<Answer>::Kind::returned || answer.value.size() != 3) return {{}, {}, {}, answer.text};
  return {answer.value[0], answer.value[1], answer.value[2], {}};
}

}  // namespace assay::harness
