#include "metal/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <thread>

#include "metal/errors.h"
#include "metal/execute/checker.h"
#include "metal/execute/dispatch.h"
#include "metal/execute/shadow_buffers.h"
#include "metal/execute/shadow_cells.h"
#include "metal/execute/shadow_watch.h"
#include "metal/execute/value_recorder.h"
#include "metal/guarded_memory.h"
#include "metal/limits.h"
#include "metal/pipeline.h"

namespace assay::metal {

Schedule Schedule::parse(std::string_view text) {
  if (text == "forward") return {Kind::forward, 0};
  if (text == "reverse") return {Kind::reverse, 0};
  constexpr std::string_view kRandom = "random:";
  if (text.starts_with(kRandom)) {
    const auto digits = text.substr(kRandom.size());
    Schedule schedule{Kind::random, 0};
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), schedule.seed);
    if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && !digits.empty()) return schedule;
  }
  throw std::invalid_argument(fmt::format("schedule '{}' is none of forward, reverse, random:<seed>", text));
}

std::string Schedule::to_string() const {
  switch (kind) {
    case Kind::forward:
      return "forward";
    case Kind::reverse:
      return "reverse";
    case Kind::random:
      break;
  }
  return fmt::format("random:{}", seed);
}

Policy parse_policy(std::string_view text) {
  if (text == "native") return Policy::native;
  if (text == "checked") return Policy::checked;
  if (text == "shadow") return Policy::shadow;
  throw std::invalid_argument(fmt::format("'{}' is no policy: accepted are native, checked and shadow", text));
}

std::string_view to_string(HazardKind kind) {
  switch (kind) {
    case HazardKind::barrier_divergence:
      return "barrier divergence";
    case HazardKind::dispatch_hazard:
      return "dispatch hazard";
    case HazardKind::invalid_access:
      return "invalid access";
    case HazardKind::out_of_bounds:
      return "out of bounds";
    case HazardKind::uninitialised_read:
      return "uninitialised read";
    case HazardKind::misaligned_access:
      return "misaligned access";
    case HazardKind::threadgroup_race:
      return "race between simdgroups";
    case HazardKind::unfenced_barrier:
      return "barrier that fences nothing";
    case HazardKind::device_race:
      return "race between threadgroups";
    case HazardKind::simdgroup_race:
      return "race within a simdgroup";
    case HazardKind::identical_writes:
      return "identical writes";
    case HazardKind::nonfinite_result:
      return "non-finite result";
  }
  return "hazard";
}

bool is_defect(HazardKind kind) {
  return kind != HazardKind::simdgroup_race && kind != HazardKind::identical_writes && kind != HazardKind::nonfinite_result;
}

struct Simulator::Impl {
  struct Binding {
    BufferView view;
    std::uint64_t buffer_id = 0;
    std::unique_ptr<GuardedMemory> bytes;  // of set_bytes: between guards, so that nothing else of this process is taken for them
    bool is_set = false;
    bool bound = false;  // set, and taken by the present dispatch's kernel
    bool is_bytes = false;

    [[nodiscard]] std::byte* data() { return is_bytes ? bytes->data() : view.buffer->device_address() + view.offset; }
    [[nodiscard]] std::size_t size() const { return is_bytes ? bytes->size() : view.size(); }
  };

  [[nodiscard]] std::string name_of(const BoundArgument& argument) const {
    return fmt::format("'{}': argument '{}' ({} index {}, {}:{})", pipeline->layout().function, argument.name,
                       argument.space == AddressSpace::threadgroup ? "threadgroup" : "buffer", argument.index, pipeline->layout().file,
                       pipeline->layout().line);
  }

  // Only what the kernel takes is looked at: a buffer that is still set for earlier dispatches may be gone.
  void choose_bindings() {
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      const BoundArgument* argument = pipeline->layout().find(AddressSpace::device, index);
      if (argument == nullptr) argument = pipeline->layout().find(AddressSpace::constant, index);
      Binding& binding = bindings[index];
      binding.bound = binding.is_set && argument != nullptr;
      if (binding.bound && !binding.is_bytes && !Buffer::exists(binding.buffer_id))
        throw EncodeError(fmt::format("{}: the buffer that was bound there does not exist any more", name_of(*argument)));
    }
  }

  void check_bindings() {
    for (const auto& argument : pipeline->layout().arguments) {
      if (argument.space == AddressSpace::threadgroup) {
        if (threadgroup_lengths[argument.index] == 0)
          throw EncodeError(fmt::format("{} has no threadgroup memory: set_threadgroup_memory_length was not called", name_of(argument)));
        continue;
      }
      const Binding& binding = bindings[argument.index];
      if (!binding.bound) throw EncodeError(fmt::format("{} is not bound", name_of(argument)));
      if (binding.is_bytes && !argument.is_const) {
        throw EncodeError(fmt::format("{} is a writable device {}, which set_bytes cannot feed; use set_buffer", name_of(argument),
                                      argument.is_reference ? "reference" : "pointer"));
      }
      if (argument.is_reference && binding.size() < argument.size) {
        throw EncodeError(fmt::format("{} is a {} of {} bytes, but only {} are bound", name_of(argument), argument.type_name, argument.size,
                                      binding.size()));
      }
    }
  }

  // Where the threadgroup arguments lie behind the static variables. Unused indices take no room.
  std::uint32_t place_threadgroup_arguments(std::array<std::uint32_t, abi::kMaxBuffers>& offsets) const {
    const ArgumentLayout& layout = pipeline->layout();
    std::size_t used = layout.static_threadgroup_bytes;
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      if (layout.find(AddressSpace::threadgroup, index) == nullptr) continue;
      offsets[index] = static_cast<std::uint32_t>(std::min(used, kMaxThreadgroupBytes));
      used += threadgroup_lengths[index];
    }
    if (used > kMaxThreadgroupBytes) {
      throw EncodeError(fmt::format(
          "'{}' ({}:{}) needs {} bytes of threadgroup memory ({} declared in the kernel, {} set by the encoder), and Metal allows {}",
          layout.function, layout.file, layout.line, used, layout.static_threadgroup_bytes, used - layout.static_threadgroup_bytes,
          kMaxThreadgroupBytes));
    }
    return static_cast<std::uint32_t>(used);
  }

  void check_size(const Size3& grid, const Size3& threads) const {
    const ArgumentLayout& layout = pipeline->layout();
    for (const auto& [size, what] : {std::pair{grid, "grid"}, std::pair{threads, "threadgroup"}}) {
      if (size.x == 0 || size.y == 0 || size.z == 0)
        throw EncodeError(fmt::format("'{}': a {} of {} x {} x {} is empty", layout.function, what, size.x, size.y, size.z));
    }
    if (threads.count() > layout.max_total_threads) {
      throw EncodeError(
          fmt::format("'{}': {} x {} x {} = {} threads per threadgroup are more than the {} that {} allows", layout.function, threads.x,
                      threads.y, threads.z, threads.count(), layout.max_total_threads,
                      layout.max_total_threads == kMaxThreadsPerThreadgroup ? "Metal" : "the kernel's max_total_threads_per_threadgroup"));
    }
  }

  // The buffers whose stores must wait for the other lanes of a SIMD-group: what they write, the same dispatch may read.
  std::uint32_t ordered_buffers(const abi::Module& module) {
    std::uint32_t result = 0;
    for (std::uint32_t written = 0; written < abi::kMaxBuffers; ++written) {
      if ((module.written_buffers >> written & 1u) == 0 || !bindings[written].bound) continue;
      for (std::uint32_t read = 0; read < abi::kMaxBuffers; ++read) {
        if ((module.read_buffers & module.present_buffers) >> read & 1u && overlap(bindings[written], bindings[read]))
          result |= 1u << written;
      }
    }
    return result;
  }

  static bool overlap(Binding& a, Binding& b) {
    return a.bound && b.bound && a.data() < b.data() + b.size() && b.data() < a.data() + a.size();
  }

  void dispatch(Size3 grid, Size3 threads, Size3 total) {
    if (pipeline == nullptr) throw EncodeError("dispatch without a pipeline: set_pipeline was not called");
    check_size(grid, threads);
    choose_bindings();
    check_bindings();
    std::array<std::uint32_t, abi::kMaxBuffers> offsets{};
    std::array<void*, abi::kMaxBuffers> buffers{};
    std::array<std::size_t, abi::kMaxBuffers> buffer_sizes{};
    execute::Dispatch work;
    work.launch.threadgroup_bytes = place_threadgroup_arguments(offsets);
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      if (!bindings[index].bound) continue;
      buffers[index] = bindings[index].data();
      buffer_sizes[index] = bindings[index].size();
    }
    const abi::Module& module = pipeline->impl().loaded.module();
    work.launch.module = &module;
    work.launch.grid = grid;
    work.launch.dispatch_threads = threads;
    work.launch.total_threads = total;
    work.launch.buffers = &buffers;
    work.launch.buffer_sizes = &buffer_sizes;
    work.launch.layout = &pipeline->layout();
    work.launch.threadgroup_offsets = &offsets;
    work.launch.ordered_buffers = ordered_buffers(module);
    work.launch.schedule = options.schedule;
    // Atomics on device memory return what other threadgroups left there: in order, so that results repeat.
    work.threads = module.has_device_atomics != 0 ? 1
                   : options.threads == 0         ? std::max(1u, std::thread::hardware_concurrency())
                                                  : options.threads;
    std::array<std::uint32_t, abi::kMaxBuffers> lengths{};
    std::ranges::copy(threadgroup_lengths, lengths.begin());
    work.launch.threadgroup_lengths = &lengths;
    execute::AccessLog log;
    if (options.concurrent) {
      for (const auto& binding : bindings) {
        if (binding.bound && !binding.is_bytes) log.watch(*binding.view.buffer);
      }
      work.launch.log = &log;
      work.threads = 1;
    }
    std::optional<execute::Checker> checker;
    if (options.policy == Policy::checked) {
      work.launch.checker = &checker.emplace(module, pipeline->layout(), checked_bindings(), written_bytes, work.launch.log);
      work.threads = 1;
    }
    if (options.policy == Policy::shadow) {
      std::array<const Buffer*, abi::kMaxBuffers> bound{};
      for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
        if (bindings[index].bound && !bindings[index].is_bytes) bound[index] = bindings[index].view.buffer;
      }
      work.launch.shadowed_buffers = shadow_buffers.begin(module, bound);
      work.threads = 1;
      if (watch) {
        watch->begin(module, pipeline->layout().function);
        work.launch.watch = &*watch;
      }
    }
    if (recorder) {
      const Binding* followed = followed_binding();
      recorder->begin(module, pipeline->layout().function,
                      followed == nullptr ? std::span<const std::byte>()
                                          : std::as_const(*followed->view.buffer).bytes().subspan(followed->view.offset));
      work.launch.recorder = &*recorder;
      work.threads = 1;
    }
    std::vector<Hazard> found;
    if (!checker) find_misaligned_bindings(module, found);
    std::ranges::move(execute::run(work, counters), std::back_inserter(found));
    find_stray_writes(found);
    if (checker) {
      for (Hazard& hazard : checker->findings()) execute::merge(found, std::move(hazard));
      checker->add_cost(cost_of(pipeline->layout().function));
    }
    for (auto& hazard : found) {
      hazard.function = pipeline->layout().function;
      if (hazard.first.line == 0) {
        hazard.first = {pipeline->layout().file, pipeline->layout().line};
        hazard.message = fmt::format("{}:{}: {}", hazard.first.file, hazard.first.line, hazard.message);
      }
      execute::merge(hazards, std::move(hazard));
    }
    ++dispatches;
    if (options.concurrent) check_overlap(std::move(log));
  }

  KernelCost& cost_of(const std::string& function) {
    const auto found = std::ranges::find(costs, function, &KernelCost::function);
    return found != costs.end() ? *found : costs.emplace_back(KernelCost{function, 0, {}, {}});
  }

  // The buffer whose reads a trace follows; nullptr if none of that label is bound.
  [[nodiscard]] const Binding* followed_binding() const {
    const auto found = std::ranges::find_if(bindings, [&](const Binding& binding) {
      return binding.bound && !binding.is_bytes && !options.trace->followed.empty() &&
             binding.view.buffer->label() == options.trace->followed;
    });
    return found == bindings.end() ? nullptr : &*found;
  }

  // What is bound only because Metal wants every argument bound is nothing that a kernel may touch.
  std::vector<execute::Checker::Binding> checked_bindings() {
    std::vector<execute::Checker::Binding> result(bindings.size());
    for (std::size_t index = 0; index < bindings.size(); ++index) {
      Binding& binding = bindings[index];
      if (!binding.bound) continue;
      const bool is_stand_in = !binding.is_bytes && binding.view.needed == std::size_t{0};
      result[index] = {binding.data(), is_stand_in ? 0 : binding.size(), binding.is_bytes ? nullptr : binding.view.buffer};
    }
    return result;
  }

  // What a kernel does at multiples of an argument's alignment from its start is not looked at one by one.
  void find_misaligned_bindings(const abi::Module& module, std::vector<Hazard>& found) {
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      const std::uint32_t wanted = module.alignments[index];
      if (wanted <= 1 || !bindings[index].bound || bindings[index].is_bytes ||
          reinterpret_cast<std::uintptr_t>(bindings[index].data()) % wanted == 0)
        continue;
      const auto* argument = pipeline->layout().find(AddressSpace::device, index);
      if (argument == nullptr) argument = pipeline->layout().find(AddressSpace::constant, index);
      Hazard hazard;
      hazard.kind = HazardKind::misaligned_access;
      hazard.message = fmt::format(
          "misaligned access: buffer {} ('{}') is bound from byte {} of '{}' on, and its type wants a multiple of {}", index,
          argument == nullptr ? "?" : argument->name, bindings[index].view.offset, bindings[index].view.buffer->label(), wanted);
      found.push_back(std::move(hazard));
    }
  }

  // Writes that missed a buffer by less than the distance to its guards, where they would have been faults.
  void find_stray_writes(std::vector<Hazard>& found) const {
    for (std::uint32_t index = 0; index < abi::kMaxBuffers; ++index) {
      if (!bindings[index].bound || bindings[index].is_bytes) continue;
      const auto side = bindings[index].view.buffer->take_stray_write();
      if (!side) continue;
      const auto* argument = pipeline->layout().find(AddressSpace::device, index);
      Hazard hazard;
      hazard.kind = HazardKind::invalid_access;
      hazard.message =
          fmt::format("invalid access: a thread wrote {} the {} bytes of buffer {} ('{}')", *side, bindings[index].view.buffer->size(),
                      index, argument == nullptr ? bindings[index].view.buffer->label() : argument->name);
      found.push_back(std::move(hazard));
    }
  }

  // Dispatches since the last memory_barrier() may run at the same time as this one.
  void check_overlap(execute::AccessLog log) {
    const ArgumentLayout& layout = pipeline->layout();
    for (const auto& earlier : unordered) {
      const auto conflict = execute::AccessLog::conflict(earlier.log, log);
      if (!conflict) continue;
      Hazard hazard;
      hazard.kind = HazardKind::dispatch_hazard;
      hazard.function = layout.function;
      hazard.first = {layout.file, layout.line};
      hazard.second = SourceLocation{earlier.layout.file, earlier.layout.line};
      hazard.message = fmt::format(
          "{}:{}: dispatch hazard: dispatch {} ('{}') {} bytes {}..{} of buffer '{}', which dispatch {} ('{}') {}, and no memory_barrier() "
          "stands between them",
          layout.file, layout.line, dispatches, layout.function, conflict->later_writes ? "writes" : "reads", conflict->first_byte,
          conflict->last_byte, conflict->buffer, earlier.number, earlier.layout.function, conflict->earlier_writes ? "writes" : "reads");
      execute::merge(hazards, std::move(hazard));
    }
    unordered.push_back({dispatches, layout, std::move(log)});
  }

  std::vector<std::shared_ptr<Library>> libraries;
  SimulatorOptions options;
  std::shared_ptr<const Pipeline> pipeline;
  std::array<Binding, abi::kMaxBuffers> bindings;
  std::array<std::size_t, abi::kMaxBuffers> threadgroup_lengths{};
  std::vector<Hazard> hazards;
  execute::WrittenBytes written_bytes;  // under the policy `checked`
  execute::ShadowBuffers shadow_buffers;
  std::optional<execute::ShadowWatch> watch;       // with options.explain
  std::optional<execute::ValueRecorder> recorder;  // with options.trace
  ExecutionCounters counters;
  std::vector<KernelCost> costs;
  struct Unordered {
    std::uint64_t number;
    ArgumentLayout layout;
    execute::AccessLog log;
  };
  std::vector<Unordered> unordered;  // of a concurrent encoder: the dispatches since the last memory_barrier()
  std::uint64_t dispatches = 0;
};

namespace {

void check_index(std::uint32_t index, std::string_view call) {
  if (index > kMaxBufferIndex) throw EncodeError(fmt::format("{}: index {} is not in 0..{}", call, index, kMaxBufferIndex));
}

std::uint32_t threads_along(std::uint32_t threadgroups, std::uint32_t threads, std::string_view axis) {
  const std::uint64_t total = std::uint64_t{threadgroups} * threads;
  if (total > std::numeric_limits<std::uint32_t>::max())
    throw EncodeError(fmt::format("{} x {} threads along {} exceed 32 bits", threadgroups, threads, axis));
  return static_cast<std::uint32_t>(total);
}

Instrumentation instrumentation_of(const SimulatorOptions& options) {
  if (options.policy == Policy::checked) return Instrumentation::checked;
  if (options.policy == Policy::shadow) return options.explain ? Instrumentation::explained : Instrumentation::shadowed;
  if (options.trace != nullptr) return Instrumentation::recorded;
  return options.concurrent ? Instrumentation::traced : Instrumentation::none;
}

}  // namespace

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
  for (const auto& library : impl_->libraries) {
    if (library->offers(descriptor)) {
      impl_->pipeline = library->pipeline(descriptor, instrumentation_of(impl_->options));
      return;
    }
  }
  for (const auto& library : impl_->libraries) {
    for (const auto& refused : library->refused()) {
      if (refused.name == descriptor.function) throw CompileError(refused.reason);
    }
  }
  std::string names;
  for (const auto& library : impl_->libraries) names += (names.empty() ? "" : ", ") + library->name();
  throw PipelineError(fmt::format("no kernel function '{}' in {}", descriptor.function, names.empty() ? "no library at all" : names));
}

void Simulator::set_buffer(std::uint32_t index, BufferView view) {
  check_index(index, "set_buffer");
  if (view.buffer == nullptr) throw EncodeError(fmt::format("set_buffer: no buffer given for index {}", index));
  if (view.offset > view.buffer->size())
    throw EncodeError(
        fmt::format("set_buffer: offset {} is behind the {} bytes of the buffer for index {}", view.offset, view.buffer->size(), index));
  Impl::Binding& binding = impl_->bindings[index];
  binding = {};
  binding.view = view;
  binding.buffer_id = view.buffer->id();
  binding.is_set = true;
}

void Simulator::set_bytes(std::uint32_t index, std::span<const std::byte> bytes) {
  check_index(index, "set_bytes");
  if (bytes.empty() || bytes.size() > kMaxSetBytes)
    throw EncodeError(fmt::format("set_bytes: {} bytes for index {}; Metal takes 1 to {}", bytes.size(), index, kMaxSetBytes));
  Impl::Binding& binding = impl_->bindings[index];
  auto memory = binding.bytes != nullptr && binding.bytes->size() == bytes.size() ? std::move(binding.bytes)
                                                                                  : std::make_unique<GuardedMemory>(bytes.size());
  std::ranges::copy(bytes, memory->data());
  binding = {};
  binding.bytes = std::move(memory);
  binding.is_set = true;
  binding.is_bytes = true;
}

void Simulator::set_threadgroup_memory_length(std::uint32_t index, std::size_t bytes) {
  check_index(index, "set_threadgroup_memory_length");
  if (bytes % kThreadgroupLengthMultiple != 0) {
    throw EncodeError(fmt::format("set_threadgroup_memory_length: {} bytes for index {} are not a multiple of {}", bytes, index,
                                  kThreadgroupLengthMultiple));
  }
  impl_->threadgroup_lengths[index] = bytes;
}

void Simulator::memory_barrier() { impl_->unordered.clear(); }

void Simulator::dispatch_threadgroups(Size3 threadgroups, Size3 threads_per_threadgroup) {
  const Size3 total{threads_along(threadgroups.x, threads_per_threadgroup.x, "x"),
                    threads_along(threadgroups.y, threads_per_threadgroup.y, "y"),
                    threads_along(threadgroups.z, threads_per_threadgroup.z, "z")};
  impl_->dispatch(threadgroups, threads_per_threadgroup, total);
}

void Simulator::dispatch_threads(Size3 threads, Size3 threads_per_threadgroup) {
  const auto groups = [](std::uint32_t count, std::uint32_t size) { return size == 0 ? 0 : count / size + (count % size != 0 ? 1 : 0); };
  impl_->dispatch({groups(threads.x, threads_per_threadgroup.x), groups(threads.y, threads_per_threadgroup.y),
                   groups(threads.z, threads_per_threadgroup.z)},
                  threads_per_threadgroup, threads);
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
  // What another buffer had at these addresses is not its own.
  const bool is_known = impl_->shadow_buffers.knows(buffer);
  const auto& cells = execute::ShadowCells::instance();
  for (std::size_t index = 0; index < count; ++index) {
    const std::byte* number = data + index * bytes;
    result[index] = is_known ? cells.read(number, kind) : execute::number_at(number, kind);
  }
  return result;
}

}  // namespace assay::metal
