// Carries out what a process that has a GPU is asked.
#include "harness/execute/gpu_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "base/archive.h"
#include "base/sandbox.h"
#include "base/turns.h"
#include "harness/findings/metal_fields.h"
#include "metal/errors.h"
#include "metal/shared_memory.h"

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

namespace assay::harness::on_gpu {

namespace cuda = metal::cuda;

void fields(auto& archive, base::OneOf<SharedBuffer> auto& value) {
  each(archive, value.place, value.size, value.label, value.is_constant);
}
void fields(auto& archive, base::OneOf<Request> auto& value) { each(archive, value.number, value.work, value.buffers, value.limit); }
void fields(auto& archive, base::OneOf<Answer> auto& value) { each(archive, value.number, value.ending); }
void fields(auto& archive, base::OneOf<Failure> auto& value) { each(archive, value.kind, value.function, value.text); }

namespace {

constexpr double kLongestWait = 20;  // seconds, for memory of the GPU
// Work with buffers of more than that waits for its turn: a GPU has room for one of a kind, and its copies take seconds.
constexpr std::uint64_t kLargeWork = std::uint64_t{1} << 30;
constexpr double kLongestTurn = 600;  // seconds, where work has no limit

// Made before workers are.
base::Turns& large_work() {
  static base::Turns turns;
  return turns;
}

// What the process holds between requests.
class Bench {
 public:
  Bench(LoadDriver load, unsigned number) : load_(std::move(load)), number_(number) {}

  // The driver needs a while, so it starts before there is work. What goes wrong is the first answer.
  void begin() {
    try {
      become_driver_process();
      driver_ = load_();
      gpu_.emplace(*driver_, number_);
    } catch (const std::exception& error) {
      problem_ = error.what();
    }
  }

  void take_over(base::Descriptor file) {
    memory_.reset();
    memory_.emplace(std::move(file));
    if (!gpu_) return;
    try {
      gpu_->clear();
    } catch (const cuda::GpuError& error) {
      problem_ = error.what();
    }
  }

  Answer answer(const Request& request) {
    Answer answer{request.number, carry_out(request)};
    const auto* report = std::get_if<cuda::WorkReport>(&answer.ending);
    is_over_ = report == nullptr || !report->hazards.empty();
    return answer;
  }

  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  Ending carry_out(const Request& request) {
    if (!problem_.empty()) return Failure{cuda::GpuError::Kind::refused, {}, problem_};
    try {
      std::vector<cuda::HostBuffer> buffers;
      for (const SharedBuffer& buffer : request.buffers)
        buffers.push_back({memory_->begin() + buffer.place, buffer.size, buffer.label, buffer.is_constant});
      return run_when_there_is_room(request, buffers);
    } catch (const cuda::GpuError& error) {
      return Failure{error.kind, error.function, error.what()};
    } catch (const metal::Error& error) {
      return Failure{cuda::GpuError::Kind::refused, {}, error.what()};
    }
  }

  // Workers share the memory of a GPU. Those with caches of gigabytes wait for each other, and for the small ones of all others.
  cuda::WorkReport run_when_there_is_room(const Request& request, std::span<const cuda::HostBuffer> buffers) {
    constexpr std::chrono::milliseconds kPause{250};
    std::uint64_t bytes = 0;
    for (const cuda::HostBuffer& buffer : buffers) bytes += buffer.size;
    const bool is_large = bytes > kLargeWork;
    // Without a turn in time, the work takes its chance.
    const std::chrono::duration<double> longest(request.limit > 0 ? request.limit : kLongestTurn);
    const base::Turns::Turn turn = is_large ? large_work().take(longest) : base::Turns::Turn();
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(std::min(request.limit / 2, kLongestWait));
    while (true) {
      try {
        return gpu_->run(request.work, buffers, std::chrono::duration<double>(request.limit));
      } catch (const cuda::GpuError& error) {
        if (error.kind != cuda::GpuError::Kind::out_of_memory || std::chrono::steady_clock::now() > end) throw;
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  LoadDriver load_;
  unsigned number_;
  std::unique_ptr<cuda::Driver> driver_;
  std::optional<cuda::Gpu> gpu_;
  std::optional<metal::SharedMemory> memory_;
  std::string problem_;
  bool is_over_ = false;
};

}  // namespace

base::Bytes to_bytes(const Request& request) { return base::to_bytes(request); }

Answer answer_from(std::span<const std::byte> bytes) { return base::from_bytes<Answer>(bytes); }

std::uint32_t most_threads(const cuda::Work& work, std::uint64_t kernel) {
  std::uint64_t most = 0;
  for (const cuda::Dispatch& dispatch : work.dispatches) {
    if (dispatch.kernel == kernel) most = std::max<std::uint64_t>(most, dispatch.threads.count());
  }
  return static_cast<std::uint32_t>(most);
}

void prepare_turns() { static_cast<void>(large_work()); }

base::Server start(const LoadDriver& load, unsigned number) {
  const base::ChildSetup setup{.name = "GPU process", .interrupts = base::Interrupts::ignored};
  base::prepare_sandbox();
  const auto bench = std::make_shared<Bench>(load, number);
  const base::Service service{
      .answer = [bench](std::span<const std::byte> request) { return base::to_bytes(bench->answer(base::from_bytes<Request>(request))); },
      .begin = [bench] { bench->begin(); },
      .take_over = [bench](base::Descriptor file) { bench->take_over(std::move(file)); },
      .is_over = [bench] { return bench->is_over(); }};
  try {
    return {setup, kLongestReport, service};
  } catch (const base::ProcessRefused& refused) {
    throw metal::EnvironmentError(fmt::format("{}; run fewer cases at a time", refused.what()));
  }
}

}  // namespace assay::harness::on_gpu
