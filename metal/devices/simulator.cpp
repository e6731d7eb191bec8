// Encodes dispatches as Metal does, executes them, and collects hazards and cost.
#include "metal/devices/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "base/processors.h"
#include "metal/compile/pipeline.h"
#include "metal/devices/bindings.h"
#include "metal/devices/grid.h"
#include "metal/devices/pipelines.h"
#include "metal/devices/unordered_dispatches.h"
#include "metal/errors.h"
#include "metal/execute/checker.h"
#include "metal/execute/connect.h"
#include "metal/execute/dispatch.h"
#include "metal/execute/shadow_buffers.h"
#include "metal/execute/shadow_cells.h"
#include "metal/execute/shadow_watch.h"
#include "metal/execute/value_recorder.h"
#include "metal/limits.h"

namespace assay::metal {

struct Simulator::Impl {
  // The objects that execute::Dispatch points to while it runs.
  struct Arguments {
    std::array<std::uint32_t, abi::kMaxBuffers> offsets{}, lengths{};
    std::array<void*, abi::kMaxBuffers> buffers{};
    std::array<std::size_t, abi::kMaxBuffers> sizes{};
  };

  execute::Dispatch prepare(const devices::Grid& grid, Arguments& arguments) {
    if (pipeline == nullptr) throw EncodeError("dispatch without a pipeline: set_pipeline was not called");
    const ArgumentLayout& layout = pipeline->layout();
    devices::check_grid(layout, grid);
    bindings.choose(layout);
    execute::Dispatch work;
    work.launch.threadgroup_bytes = bindings.place_threadgroup_arguments(layout, arguments.offsets);
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      const devices::Binding& binding = bindings.all()[index];
      if (!binding.bound) continue;
      arguments.buffers[index] = binding.data();
      arguments.sizes[index] = binding.size();
    }
    std::ranges::copy(bindings.threadgroup_lengths(), arguments.lengths.begin());
    const abi::Module& module = pipeline->impl().code(execute::connect);
    work.launch.module = &module;
    work.launch.grid = grid.threadgroups;
    work.launch.dispatch_threads = grid.threads;
    work.launch.total_threads = grid.total;
    work.launch.buffers = &arguments.buffers;
    work.launch.buffer_sizes = &arguments.sizes;
    work.launch.layout = &layout;
    work.launch.threadgroup_offsets = &arguments.offsets;
    work.launch.threadgroup_lengths = &arguments.lengths;
    work.launch.kept_buffers = bindings.kept_buffers(module);
    work.launch.schedule = options.schedule;
    work.launch.choice = options.choice;
    work.engine = options.engine;
    // Atomics on device memory return values that other threadgroups wrote, so threadgroups run in order to make results repeatable.
    // Checkers, logs and recorders cannot be shared between CPU threads.
    const bool on_one_thread = module.has_device_atomics != 0 || options.concurrent || options.policy != Policy::native || recorder;
    work.threads = on_one_thread ? 1 : options.threads == 0 ? base::usable_processors() : options.threads;
    return work;
  }

  void dispatch(const devices::Grid& grid) {
    Arguments arguments;
    execute::Dispatch work = prepare(grid, arguments);
    const abi::Module& module = *work.launch.module;
    const ArgumentLayout& layout = pipeline->layout();
    execute::AccessLog log;
    if (options.concurrent) {
      for (const auto& binding : bindings.all()) {
        if (const Buffer* buffer = binding.buffer()) log.watch(*buffer);
      }
      work.launch.observer = &log;
    }
    std::optional<execute::Checker> checker;
    const auto check = [&] {
      work.launch.observer = &checker.emplace(module, layout, checked_bindings(), written_bytes, options.concurrent ? &log : nullptr);
    };
    if (options.policy == Policy::checked) {
      check();
      if (options.concurrent) work.engine = Engine::fibers;  // an attempt cannot be taken back from the log
      if (work.engine == Engine::vector && module.vector_entry != nullptr) {
        checker->be_brief();
        work.start_again = [&, before = written_bytes] {
          written_bytes = before;
          check();
        };
      }
    }
    if (options.policy == Policy::shadow) {
      work.launch.shadowed_buffers = shadow_buffers.begin(module, bound_buffers());
      if (watch) watch->begin(module, layout.function);
      work.launch.observer = watch ? &*watch : nullptr;
    }
    if (recorder) {
      recorder->begin(module, layout.function, followed_bytes());
      work.launch.observer = &*recorder;
    }

    std::vector<Hazard> found;
    if (!checker) found = bindings.misaligned(module, layout);
    std::ranges::move(execute::run(work, counters), std::back_inserter(found));
    std::ranges::move(bindings.take_stray_writes(layout), std::back_inserter(found));
    if (checker) {
      for (Hazard& hazard : checker->findings()) merge(found, std::move(hazard));
      KernelCost& kernel = cost_of(layout.function);
      checker->add_cost(kernel);
      kernel.lane_by_lane =
          layout.vector_refusal.empty() ? std::string(execute::size_refusal(module, grid.threads)) : layout.vector_refusal;
    }
    for (Hazard& hazard : found) report(std::move(hazard));
    ++dispatches;
    if (options.concurrent) {
      for (Hazard& hazard : unordered.add(dispatches, layout, std::move(log))) merge(hazards, std::move(hazard));
    }
  }

  // A hazard without a place gets the place of the kernel, which only the message of an access that lacks its line does not name.
  void report(Hazard hazard) {
    const ArgumentLayout& layout = pipeline->layout();
    hazard.function = layout.function;
    if (hazard.first.line == 0) {
      hazard.first = {layout.file, layout.line};
      if (!hazard.lacks_line) hazard.message = fmt::format("{}:{}: {}", layout.file, layout.line, hazard.message);
    }
    merge(hazards, std::move(hazard));
  }

  KernelCost& cost_of(const std::string& function) {
    const auto found = std::ranges::find(costs, function, &KernelCost::function);
    return found != costs.end() ? *found : costs.emplace_back(KernelCost{function, 0, {}, {}, {}});
  }

  [[nodiscard]] std::array<const Buffer*, abi::kMaxBuffers> bound_buffers() const {
    std::array<const Buffer*, abi::kMaxBuffers> result{};
    std::ranges::transform(bindings.all(), result.begin(), &devices::Binding::buffer);
    return result;
  }

  // The bytes whose reads a trace follows; empty if no buffer of that label is bound.
  [[nodiscard]] std::span<const std::byte> followed_bytes() const {
    const devices::Binding* followed = options.trace->followed.empty() ? nullptr : bindings.labelled(options.trace->followed);
    if (followed == nullptr) return {};
    return std::as_const(*followed->buffer()).bytes().subspan(followed->view.offset);
  }

  [[nodiscard]] std::vector<execute::Checker::Binding> checked_bindings() const {
    std::vector<execute::Checker::Binding> result;
    for (const devices::Binding& binding : bindings.all()) {
      execute::Checker::Binding& checked = result.emplace_back();
      if (binding.bound) checked = {binding.data(), binding.is_placeholder() ? 0 : binding.size(), binding.buffer()};
    }
    return result;
  }

  std::vector<std::shared_ptr<Library>> libraries;
  SimulatorOptions options;
  std::shared_ptr<const Pipeline> pipeline;
  devices::Bindings bindings;
  std::vector<Hazard> hazards;
  execute::WrittenBytes written_bytes;  // under the policy `checked`
  execute::ShadowBuffers shadow_buffers;
  std::optional<execute::ShadowWatch> watch;       // with options.explain
  std::optional<execute::ValueRecorder> recorder;  // with options.trace
  ExecutionCounters counters;
  std::vector<KernelCost> costs;
  devices::UnorderedDispatches unordered;  // of a concurrent encoder
  std::uint64_t dispatches = 0;
};

Simulator::Simulator(std::vector<std::shared_ptr<Library>> libraries, SimulatorOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->libraries = std::move(libraries);
  impl_->options = options;
  if (options.trace != nullptr) {
    if (options.policy != Policy::native || options.concurrent)
      throw std::invalid_argument("values are traced under the policy native, by an encoder that is not concurrent");
    impl_->recorder.emplace(*options.trace);
  }
  if (options.policy == Policy::shadow && options.explain) impl_->watch.emplace(options.large_error, options.rounded_line);
}

Simulator::~Simulator() = default;

void Simulator::set_pipeline(const PipelineDescriptor& descriptor) {
  impl_->pipeline = find_pipeline(impl_->libraries, descriptor, impl_->options);
}

void Simulator::set_buffer(std::uint32_t index, BufferView view) { impl_->bindings.set_buffer(index, view); }

void Simulator::set_bytes(std::uint32_t index, std::span<const std::byte> bytes) { impl_->bindings.set_bytes(index, bytes); }

void Simulator::set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) {
  impl_->bindings.set_threadgroup_memory_length(index, bytes);
}

void Simulator::memory_barrier() { impl_->unordered.clear(); }

void Simulator::dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) {
  impl_->dispatch(devices::grid_of_threadgroups(threadgroups, threads_per_threadgroup));
}

void Simulator::dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) {
  impl_->dispatch(devices::grid_of_threads(threads, threads_per_threadgroup));
}

const std::vector<Hazard>& Simulator::hazards() const { return impl_->hazards; }
const ExecutionCounters& Simulator::counters() const { return impl_->counters; }
const std::vector<KernelCost>& Simulator::cost() const { return impl_->costs; }
const std::vector<SourceLocation>& Simulator::lost_shadows() const { return impl_->shadow_buffers.lost(); }

std::vector<LineRounding> Simulator::roundings() const { return impl_->watch ? impl_->watch->roundings() : std::vector<LineRounding>(); }

const std::optional<ErrorBirth>& Simulator::birth() const {
  static const std::optional<ErrorBirth> none;
  return impl_->watch ? impl_->watch->birth() : none;
}

std::vector<double> Simulator::shadows(const Buffer& buffer, std::size_t first, std::size_t count, FloatType type) const {
  const auto kind = static_cast<abi::FloatType>(type);
  const std::size_t bytes = execute::bytes_of(kind);
  if (first > buffer.size() || count > (buffer.size() - first) / bytes)
    throw std::invalid_argument(
        fmt::format("shadows: {} numbers of {} bytes from byte {} on are not in a buffer of {} bytes", count, bytes, first, buffer.size()));
  std::vector<double> result(count);
  const std::byte* data = buffer.bytes().data() + first;
  // Shadows of another buffer that had these addresses do not count.
  const bool is_known = impl_->shadow_buffers.knows(buffer);
  const auto& cells = execute::ShadowCells::instance();
  for (std::size_t index = 0; index < count; ++index) {
    const std::byte* number = data + index * bytes;
    result[index] = is_known ? cells.read(number, kind) : execute::number_at(number, kind);
  }
  return result;
}

}  // namespace assay::metal
