// Sends work to the process that has a GPU, and takes its reports.
#include "harness/execute/gpu_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "base/archive.h"
#include "harness/execute/gpu_pool.h"
#include "harness/execute/gpu_service.h"
#include "harness/prepare/gpu_driver.h"
#include "metal/devices/cuda/gpu.h"
#include "metal/errors.h"

namespace assay::harness {

namespace cuda = metal::cuda;

namespace {

// Kernels that a GPU keeps. Each takes memory of it and of the driver.
constexpr std::size_t kMostKernels = 512;

// Throws KernelDied, or std::runtime_error if the harness is to blame.
[[noreturn]] void throw_failure(const on_gpu::Failure& failure, const metal::DeviceChoice& device) {
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

struct Inherited {
  unsigned gpu = 0;
  base::Client client;
};
// The channel of a process that another process of assay has started for this one.
std::optional<Inherited>& inherited() {
  static std::optional<Inherited> channel;
  return channel;
}

// Processes that ask the same one differ in their number.
std::uint64_t next_number() {
  static std::uint32_t count = 0;
  return (static_cast<std::uint64_t>(getpid()) << 32U) + ++count;
}

}  // namespace

GpuProcess& GpuProcess::own(const metal::DeviceChoice& device) {
  // A fork inherits its parent's object, whose child is not its own.
  thread_local std::unique_ptr<GpuProcess> process;
  thread_local pid_t owner = -1;
  if (owner != getpid()) static_cast<void>(process.release());
  if (process == nullptr || process->device() != device) process = std::make_unique<GpuProcess>(device, used_driver());
  owner = getpid();
  return *process;
}

void GpuProcess::replace_driver(LoadDriver load) {
  GpuPool::end_all();
  used_driver() = std::move(load);
}

void GpuProcess::inherit(base::Descriptor channel, unsigned gpu) {
  inherited().emplace(Inherited{gpu, base::Client(std::move(channel), on_gpu::kLongestReport)});
}

bool GpuProcess::has_inherited() const { return inherited() && inherited()->gpu == device_.number; }

void GpuProcess::forget() {
  is_known_ = false;
  known_.clear();
}

void GpuProcess::end() {
  forget();
  server_.reset();
  if (has_inherited()) inherited().reset();
}

base::Bytes GpuProcess::receive() {
  if (server_) {
    base::Reply reply = server_->wait();
    if (reply.kind != base::Reply::Kind::answer) throw KernelDied(fault_of(reply, *server_));
    return std::move(reply.bytes);
  }
  base::Client::Message message = inherited()->client.wait();
  if (message.kind != base::Client::Message::Kind::answer) throw KernelDied(fault::Vanished{});
  return std::move(message.bytes);
}

on_gpu::Ending GpuProcess::ask(const on_gpu::Request& request) {
  const int file = std::exchange(is_known_, true) ? -1 : memory_.file();
  server_ ? server_->ask(on_gpu::to_bytes(request), file) : inherited()->client.ask(on_gpu::to_bytes(request), file);
  while (true) {
    on_gpu::Answer answer = on_gpu::answer_from(receive());
    if (answer.number == request.number) return std::move(answer.ending);
  }
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
  on_gpu::Request request{next_number(), encoder.work(), {}, device_.limit.count()};
  for (metal::Buffer* buffer : encoder.buffers()) {
    const std::byte* first = buffer->device_address();
    if (first < memory_.begin() || first >= memory_.begin() + metal::SharedMemory::size())
      throw std::logic_error(fmt::format("buffer '{}' is not in the memory that the GPU's process has", buffer->label()));
    request.buffers.push_back(
        {static_cast<std::uint64_t>(first - memory_.begin()), buffer->size(), buffer->label(), encoder.is_constant(*buffer)});
  }
  if (!server_ && !has_inherited()) {
    forget();
    server_.emplace(on_gpu::start(load_, device_.number));
  }
  if (known_.size() > kMostKernels) forget();
  for (std::uint64_t number = 0; number < request.work.kernels.size(); ++number) {
    cuda::Kernel& kernel = request.work.kernels[number];
    // Not "red." alone, which ends "shared.".
    report.has_atomics =
        report.has_atomics || kernel.text.find("atom.") != std::string::npos || kernel.text.find("\tred.") != std::string::npos;
    take_linked(kernel, run, on_gpu::most_threads(request.work, number));
    if (!known_.insert(kernel.digest).second) kernel.text.clear();
  }
  try {
    const on_gpu::Ending ending = ask(request);
    if (const auto* failure = std::get_if<on_gpu::Failure>(&ending)) throw_failure(*failure, device_);
    const auto& finished = std::get<cuda::WorkReport>(ending);
    for (const metal::Hazard& hazard : finished.hazards) metal::merge(report.hazards, hazard);
    report.seconds += finished.seconds;
    // That process has ended, because a stray write may have reached its memory.
    if (!finished.hazards.empty()) end();
  } catch (const base::DamagedArchive& damaged) {
    const std::string words = server_ ? server_->last_words() : std::string();
    end();
    throw KernelDied(fault::MalformedVerdict{damaged.what(), words});
  } catch (...) {
    end();
    throw;
  }
}

KernelReport GpuProcess::run(const KernelRun& run) {
  if (memory_.file() < 0) throw metal::EnvironmentError("a GPU needs memory files of any size; is there a limit (ulimit -f)?");
  KernelReport report;
  report.shadows.resize(run.shadows.size());
  for (std::size_t pass = 0; pass < run.passes && run.may_run(pass); ++pass) run_pass(run, pass, report);
  return report;
}

FoundGpu find_gpu(const metal::DeviceChoice& device) {
  on_gpu::prepare_turns();
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
