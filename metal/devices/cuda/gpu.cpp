// Makes a context, loads kernels into it, and carries out work.
#include "metal/devices/cuda/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "metal/errors.h"

namespace assay::metal::cuda {
namespace {

// More needs the consent of the driver.
constexpr std::uint32_t kOrdinarySharedBytes = 48 * 1024;
// Of a multiprocessor, for the threads of a block.
constexpr unsigned kRegisters = 65536;

std::vector<std::size_t> sizes_of(const Work& work, std::span<const HostBuffer> buffers) {
  std::vector<std::size_t> sizes;
  for (const HostBuffer& buffer : buffers) sizes.push_back(buffer.size);
  for (const Dispatch& dispatch : work.dispatches) {
    for (const Argument& argument : dispatch.arguments) {
      if (!argument.buffer) sizes.push_back(argument.bytes.size());
    }
  }
  return sizes;
}

// The first kernel that a buffer was bound to, and where.
std::pair<std::string, std::uint32_t> user_of(const Work& work, std::uint64_t buffer) {
  for (const Dispatch& dispatch : work.dispatches) {
    for (const Argument& argument : dispatch.arguments) {
      if (argument.buffer == buffer) return {work.kernels[dispatch.kernel].function, argument.index};
    }
  }
  return {};
}

}  // namespace

std::string GpuDescription::to_string() const {
  return fmt::format("{}, compute capability {}.{}, {} MiB, driver for CUDA {}.{}", name, major, minor, memory >> 20U,
                     driver_version / 1000, driver_version % 1000 / 10);
}

std::string GpuDescription::code_for() const {
  if (driver_file.empty()) return {};
  return fmt::format("{}.{}, CUDA {}.{}, {}", major, minor, driver_version / 1000, driver_version % 1000 / 10, driver_file);
}

unsigned registers_for(unsigned threads) { return std::max(16U, kRegisters / threads / 8 * 8); }

std::vector<GpuDescription> describe_gpus(Driver& driver) {
  const auto require = [&](Status status, const char* what) {
    if (status != Status::success) throw EnvironmentError(fmt::format("{}: {}", what, driver.describe(status)));
  };
  require(driver.initialise(), "the CUDA driver does not start");
  int count = 0;
  int version = 0;
  require(driver.count_devices(count), "the CUDA driver does not count its GPUs");
  require(driver.version(version), "the CUDA driver has no version");
  std::vector<GpuDescription> gpus;
  for (int number = 0; number < count; ++number) {
    GpuDescription& gpu = gpus.emplace_back();
    gpu.driver_version = version;
    gpu.driver_file = driver.file();
    int device = 0;
    require(driver.find_device(number, device), "a GPU is gone");
    require(driver.device_name(device, gpu.name), "a GPU has no name");
    require(driver.device_memory(device, gpu.memory), "a GPU has no memory");
    require(driver.device_attribute(device, DeviceAttribute::major, gpu.major), "a GPU has no compute capability");
    require(driver.device_attribute(device, DeviceAttribute::minor, gpu.minor), "a GPU has no compute capability");
  }
  if (gpus.empty()) throw EnvironmentError("the CUDA driver finds no GPU");
  return gpus;
}

Gpu::Gpu(Driver& driver, unsigned number) : driver_(driver), arena_(driver) {
  const std::vector<GpuDescription> gpus = describe_gpus(driver);
  if (number >= gpus.size()) throw EnvironmentError(fmt::format("there is no GPU {}: the CUDA driver finds {}", number, gpus.size()));
  int device = 0;
  require(driver_.find_device(static_cast<int>(number), device), "the GPU is gone");
  require(driver_.create_context(device, context_), "the GPU gives no context");
  require(driver_.create_event(begin_), "the GPU gives no event");
  require(driver_.create_event(end_), "the GPU gives no event");
}

Gpu::~Gpu() {
  // The driver would wait for a kernel that does not end. The end of the process ends it.
  if (may_still_run_) return;
  if (!is_lost_) arena_.release();
  if (context_ != nullptr) static_cast<void>(driver_.destroy_context(context_));
}

void Gpu::require(Status status, const std::string& what, const std::string& function) {
  if (status == Status::success) return;
  const std::string text = fmt::format("{}: {}", what, driver_.describe(status));
  if (is_kernel_fault(status)) {
    is_lost_ = true;
    throw GpuError(GpuError::Kind::kernel_fault, function, driver_.describe(status));
  }
  throw GpuError(status == Status::out_of_memory ? GpuError::Kind::out_of_memory : GpuError::Kind::refused, function, text);
}

void Gpu::load(Loaded& into, const Kernel& kernel, unsigned registers) {
  std::string log;
  const Status status = driver_.load_module(into.text, registers, into.module, log);
  require(status, fmt::format("the driver does not load '{}'{}{}", kernel.function, log.empty() ? "" : ": ", log), kernel.function);
  require(driver_.find_function(into.module, cuda_abi::kEntry, into.function), "the code has no kernel", kernel.function);
  require(driver_.function_attribute(into.function, FunctionAttribute::most_threads, into.most_threads), "the kernel has no limit",
          kernel.function);
}

LinkedKernel Gpu::link(const Kernel& kernel, unsigned registers) {
  LinkedKernel linked;
  std::string log;
  const Status status = driver_.link(kernel.text, registers, linked.code, log);
  require(status, fmt::format("the driver does not compile '{}'{}{}", kernel.function, log.empty() ? "" : ": ", log), kernel.function);
  // Loaded once, for the number of threads.
  Loaded loaded;
  loaded.text = linked.code;
  load(loaded, kernel, 0);
  linked.most_threads = static_cast<std::uint32_t>(std::max(0, loaded.most_threads));
  require(driver_.unload_module(loaded.module), "the driver does not unload a kernel", kernel.function);
  return linked;
}

void Gpu::clear() {
  arena_.release();
  for (const auto& [digest, kernel] : std::exchange(kernels_, {}))
    require(driver_.unload_module(kernel.module), "the driver does not unload a kernel");
}

Gpu::Loaded& Gpu::loaded(const Kernel& kernel, unsigned threads) {
  const auto [found, is_new] = kernels_.try_emplace(kernel.digest);
  Loaded& one = found->second;
  try {
    if (is_new) {
      one.text = kernel.text;
      load(one, kernel, 0);
    }
    // A kernel that takes many registers has room for few threads, unless it is told to take fewer.
    if (threads > static_cast<unsigned>(one.most_threads)) {
      require(driver_.unload_module(one.module), "the driver does not unload a kernel", kernel.function);
      load(one, kernel, registers_for(threads));
    }
  } catch (...) {
    kernels_.erase(found);
    throw;
  }
  return one;
}

// Bytes of set_bytes lie behind the buffers, in the order of dispatches and arguments.
void Gpu::place(const Work& work, std::span<const HostBuffer> buffers) {
  require(arena_.lay_out(sizes_of(work, buffers)), "the GPU has no room for the buffers");
  std::size_t block = 0;
  for (const HostBuffer& buffer : buffers)
    require(arena_.copy_in(block++, {buffer.data, buffer.size}), fmt::format("buffer '{}' cannot be copied to the GPU", buffer.label));
  for (const Dispatch& dispatch : work.dispatches) {
    for (const Argument& argument : dispatch.arguments) {
      if (!argument.buffer) require(arena_.copy_in(block++, std::as_bytes(std::span(argument.bytes))), "bytes cannot be copied to the GPU");
    }
  }
  require(arena_.send(), "the buffers cannot be copied to the GPU");
}

void Gpu::wait(const std::string& function, Clock::time_point deadline) {
  constexpr int kSpins = 2000;
  for (int turn = 0;; ++turn) {
    const Status status = driver_.query_event(end_);
    if (status != Status::not_ready) return require(status, "the kernel failed", function);
    if (Clock::now() > deadline) {
      is_lost_ = may_still_run_ = true;
      throw GpuError(GpuError::Kind::timeout, function, fmt::format("'{}' does not end", function));
    }
    // Most kernels take some microseconds.
    if (turn < kSpins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Gpu::launch(const Work& work, const Dispatch& dispatch, std::size_t first_bytes, Clock::time_point deadline) {
  const Kernel& kernel = work.kernels[dispatch.kernel];
  const auto threads = static_cast<std::uint32_t>(dispatch.threads.count());
  const Loaded& code = loaded(kernel, threads);
  if (dispatch.shared_bytes > kOrdinarySharedBytes)
    require(driver_.set_function_attribute(code.function, FunctionAttribute::dynamic_memory, static_cast<int>(dispatch.shared_bytes)),
            "the GPU has too little shared memory", kernel.function);
  cuda_abi::Launch parameter{};
  for (const Argument& argument : dispatch.arguments)
    parameter.buffers[argument.index] = arena_.address(argument.buffer ? *argument.buffer : first_bytes++) + argument.offset;
  std::ranges::copy(dispatch.threadgroup_arguments, parameter.threadgroup_arguments);
  const auto put = [](const Size3& size, std::uint32_t* into) {
    into[0] = size.x;
    into[1] = size.y;
    into[2] = size.z;
  };
  put(dispatch.threadgroups, parameter.grid);
  put(dispatch.threads, parameter.threads);
  put(dispatch.total, parameter.total);
  const LaunchShape shape{static_cast<std::uint32_t>(dispatch.threadgroups.count()), threads, dispatch.shared_bytes};
  const auto checked = [&](Status status) { require(status, fmt::format("'{}' cannot be launched", kernel.function), kernel.function); };
  checked(driver_.record_event(begin_));
  checked(driver_.launch(code.function, shape, &parameter));
  checked(driver_.record_event(end_));
  wait(kernel.function, deadline);
}

void Gpu::find_stray_writes(const Work& work, std::span<const HostBuffer> buffers, std::vector<Hazard>& hazards) {
  for (std::size_t number = 0; number < buffers.size(); ++number) {
    std::optional<std::string_view> side;
    require(arena_.find_stray_write(number, side), "a guard cannot be read");
    if (!side) continue;
    const auto [function, index] = user_of(work, number);
    Hazard& hazard = hazards.emplace_back();
    hazard.kind = HazardKind::invalid_access;
    hazard.lacks_line = true;
    hazard.function = function;
    hazard.message = fmt::format("invalid access: a thread wrote {} the {} bytes of buffer {} ('{}')", *side, buffers[number].size, index,
                                 buffers[number].label);
  }
}

WorkReport Gpu::run(const Work& work, std::span<const HostBuffer> buffers, std::chrono::duration<double> limit) {
  WorkReport report;
  for (const Dispatch& dispatch : work.dispatches)
    static_cast<void>(loaded(work.kernels[dispatch.kernel], static_cast<unsigned>(dispatch.threads.count())));
  place(work, buffers);
  const Clock::time_point deadline =
      limit.count() > 0 ? Clock::now() + std::chrono::ceil<Clock::duration>(limit) : Clock::time_point::max();
  std::size_t first_bytes = buffers.size();
  for (const Dispatch& dispatch : work.dispatches) {
    launch(work, dispatch, first_bytes, deadline);
    first_bytes += static_cast<std::size_t>(std::ranges::count_if(dispatch.arguments, [](const Argument& one) { return !one.buffer; }));
    float milliseconds = 0;
    require(driver_.elapsed(begin_, end_, milliseconds), "the GPU has no clock", work.kernels[dispatch.kernel].function);
    report.seconds += static_cast<double>(milliseconds) / 1000;
  }
  require(arena_.fetch(), "the buffers cannot be copied from the GPU");
  for (std::size_t number = 0; number < buffers.size(); ++number) {
    const HostBuffer& buffer = buffers[number];
    if (buffer.is_constant && buffer.size >= Arena::kLarge) continue;
    require(arena_.copy_out(number, {buffer.data, buffer.size}), fmt::format("buffer '{}' cannot be copied from the GPU", buffer.label));
  }
  find_stray_writes(work, buffers, report.hazards);
  arena_.trim();
  return report;
}

}  // namespace assay::metal::cuda
