// Starts the process of a kernel, takes its report, and rejects numbers that are out of range.
#include "harness/execute/kernel_process.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <variant>

#include "base/archive.h"
#include "base/sandbox.h"
#include "harness/findings/metal_fields.h"
#include "metal/devices/commands.h"
#include "metal/devices/pipelines.h"
#include "metal/errors.h"
#include "metal/execute/value_trace.h"

namespace assay::metal {

constexpr std::uint64_t largest(TracedOperation::Kind) { return static_cast<std::uint64_t>(TracedOperation::Kind::store); }
constexpr std::uint64_t largest(TracedOperation::Type) { return static_cast<std::uint64_t>(TracedOperation::Type::integer); }

void fields(auto& archive, base::OneOf<LineCost> auto& value) {
  auto& [place, cost] = value;
  each(archive, place, cost);
}

void fields(auto& archive, base::OneOf<KernelCost> auto& value) {
  auto& [function, dispatches, total, lines, lane_by_lane] = value;
  each(archive, function, dispatches, total, lines, lane_by_lane);
}

void fields(auto& archive, base::OneOf<LineRounding> auto& value) {
  auto& [place, what, operations, largest_relative, mean_relative] = value;
  each(archive, place, what, operations, largest_relative, mean_relative);
}

void fields(auto& archive, base::OneOf<ErrorBirth> auto& value) {
  auto& [place, function, message, is_overflow] = value;
  each(archive, place, function, message, is_overflow);
}

void fields(auto& archive, base::OneOf<TracedValue> auto& value) {
  auto& [operation, bits, read] = value;
  each(archive, operation, bits, read);
}

void fields(auto& archive, base::OneOf<TracedOperation> auto& value) {
  auto& [kind, type, place] = value;
  each(archive, kind, type, place);
}

void fields(auto& archive, base::OneOf<TracedThread> auto& value) {
  auto& [dispatch, threadgroup, thread, values] = value;
  each(archive, dispatch, threadgroup, thread, values);
}

constexpr std::uint64_t largest(Schedule::Kind) { return static_cast<std::uint64_t>(Schedule::Kind::random); }
constexpr std::uint64_t largest(FloatType) { return static_cast<std::uint64_t>(FloatType::bfloat); }

void fields(auto& archive, base::OneOf<Schedule> auto& value) {
  auto& [kind, seed] = value;
  each(archive, kind, seed);
}

namespace command {

void fields(auto& archive, base::OneOf<SetPipeline> auto& value) { each(archive, value.number); }
void fields(auto& archive, base::OneOf<SetBuffer> auto& value) {
  auto& [index, number, offset, needed, limit] = value;
  each(archive, index, number, offset, needed, limit);
}
void fields(auto& archive, base::OneOf<SetBytes> auto& value) { each(archive, value.index, value.bytes); }
void fields(auto& archive, base::OneOf<SetThreadgroupMemory> auto& value) { each(archive, value.index, value.bytes); }
void fields(auto&, base::OneOf<MemoryBarrier> auto&) {}
void fields(auto& archive, base::OneOf<DispatchThreadgroups> auto& value) {
  each(archive, value.threadgroups, value.threads_per_threadgroup);
}
void fields(auto& archive, base::OneOf<DispatchThreads> auto& value) { each(archive, value.threads, value.threads_per_threadgroup); }

}  // namespace command

void fields(auto& archive, base::OneOf<ValueTrace> auto& value) {
  auto& [followed, most_values, functions, operations, threads, size, is_cut] = value;
  each(archive, followed, most_values, functions, operations, threads, size, is_cut);
}

}  // namespace assay::metal

namespace assay::harness {

void fields(auto& archive, base::OneOf<KernelReport> auto& value) {
  auto& [hazards, counters, cost, lost_shadows, shadows, roundings, birth, seconds, has_atomics] = value;
  each(archive, hazards, counters, cost, lost_shadows, shadows, roundings, birth, seconds, has_atomics);
}

namespace {

// A trace that is full takes 400 MB.
constexpr std::uint64_t kLongestReport = std::uint64_t{1} << 30;

struct Finished {
  KernelReport report;
  std::optional<metal::ValueTrace> trace;
};
// The encoder or the launch code refused.
struct Refused {
  std::string text;
};
struct Failed {
  std::string text;
};
using Ending = std::variant<Finished, Refused, Failed>;

void fields(auto& archive, base::OneOf<Finished> auto& value) { each(archive, value.report, value.trace); }
void fields(auto& archive, base::OneOf<Refused> auto& value) { each(archive, value.text); }
void fields(auto& archive, base::OneOf<Failed> auto& value) { each(archive, value.text); }

// A buffer in the shared memory.
struct SharedBuffer {
  std::uint64_t place = 0;  // of its first byte
  std::uint64_t size = 0;
  std::string label;
  bool host_has_written = false;
  friend bool operator==(const SharedBuffer&, const SharedBuffer&) = default;
};
struct Traced {
  std::string followed;
  std::uint64_t most_values = 0;
};
// A simulator for the commands of this and the following requests.
struct Begin {
  metal::SimulatorOptions options;  // but for `trace`
  std::optional<Traced> trace;
  std::vector<std::uint64_t> pipelines;  // by their number in commands: into the loaded ones
  std::vector<SharedBuffer> buffers;
};
struct Wish {
  std::optional<std::uint64_t> buffer;
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  metal::FloatType type = metal::FloatType::float32;
};
struct Request {
  std::optional<Begin> begin;
  std::vector<metal::Command> commands;
  std::optional<std::vector<Wish>> end;  // the report is wanted
};

void fields(auto& archive, base::OneOf<SharedBuffer> auto& value) {
  each(archive, value.place, value.size, value.label, value.host_has_written);
}
void fields(auto& archive, base::OneOf<Traced> auto& value) { each(archive, value.followed, value.most_values); }
void fields(auto& archive, base::OneOf<Begin> auto& value) {
  auto& [threads, schedule, policy, engine, concurrent, explain, large_error, rounded_line, choice, trace] = value.options;
  static_cast<void>(trace);
  each(archive, threads, schedule, policy, engine, concurrent, explain, large_error, rounded_line, choice, value.trace, value.pipelines,
       value.buffers);
}
void fields(auto& archive, base::OneOf<Wish> auto& value) { each(archive, value.buffer, value.offset, value.count, value.type); }
void fields(auto& archive, base::OneOf<Request> auto& value) { each(archive, value.begin, value.commands, value.end); }

Begin begin_of(const KernelRun& run, std::vector<std::uint64_t> pipelines, std::span<metal::Buffer* const> buffers,
               const metal::SharedMemory& memory) {
  Begin begin;
  begin.options = run.options;
  if (const metal::ValueTrace* trace = run.options.trace) begin.trace = {trace->followed, trace->most_values};
  begin.pipelines = std::move(pipelines);
  for (metal::Buffer* buffer : buffers) {
    const std::byte* first = buffer->device_address();
    if (first < memory.begin() || first >= memory.begin() + metal::SharedMemory::size())
      throw std::logic_error(fmt::format("buffer '{}' is not in the memory that the kernel's process has", buffer->label()));
    begin.buffers.push_back(
        {static_cast<std::uint64_t>(first - memory.begin()), buffer->size(), buffer->label(), buffer->host_has_written()});
  }
  return begin;
}

// Throws base::DamagedArchive for a report that contradicts itself.
void require_consistent(const KernelRun& run, const Finished& finished) {
  const auto require = [](bool condition, const char* what) {
    if (!condition) throw base::DamagedArchive(what);
  };
  require(finished.report.shadows.size() == run.shadows.size(), "the number of shadowed buffers is wrong");
  for (std::size_t i = 0; i < run.shadows.size(); ++i)
    require(finished.report.shadows[i].size() == (run.shadows[i].view.buffer == nullptr ? 0 : run.shadows[i].count),
            "the number of shadows is wrong");
  require(finished.trace.has_value() == (run.options.trace != nullptr), "a trace is there or missing");
  if (!finished.trace) return;
  for (const metal::TracedThread& thread : finished.trace->threads) {
    require(thread.dispatch < finished.trace->functions.size(), "a traced thread belongs to no dispatch");
    require(std::ranges::all_of(thread.values,
                                [&](const metal::TracedValue& value) { return value.operation < finished.trace->operations.size(); }),
            "a traced value belongs to no operation");
  }
}

}  // namespace

// What the child holds between requests.
struct KernelProcess::Bench {
  Bench(const std::vector<Loaded>& of, const metal::SharedMemory& shared) : pipelines(of), memory(shared) {}

  // Everything that needs files or system calls which the kernel must not have.
  void prepare() {
    if (is_ready) return;
    metal::GuardedMemory::guard_range(memory.begin(), metal::SharedMemory::size());
    for (const Loaded& pipeline : pipelines) metal::load_code(*pipeline.compiled);
    base::forget_environment();
    base::confine_kernel();
    is_ready = true;
  }

  void begin(const Begin& request) {
    simulator.reset();
    descriptors.clear();
    trace.reset();
    // A case in another order has the same buffers. To close their memory and open it again takes system calls for each.
    if (request.buffers != described) {
      buffers.clear();
      described = request.buffers;
      for (const SharedBuffer& buffer : described)
        buffers.push_back(
            std::make_unique<metal::Buffer>(memory.begin() + buffer.place, buffer.size, buffer.label, buffer.host_has_written));
    }
    for (const std::uint64_t number : request.pipelines) descriptors.push_back(pipelines[number].descriptor);
    metal::SimulatorOptions options = request.options;
    if (request.trace) {
      trace.emplace().followed = request.trace->followed;
      trace->most_values = request.trace->most_values;
      options.trace = &*trace;
    }
    simulator.emplace(request.pipelines.empty() ? decltype(Loaded::libraries)() : pipelines[request.pipelines.front()].libraries, options);
    seconds = 0;
  }

  Finished finish(std::span<const Wish> wishes) {
    Finished result;
    KernelReport& report = result.report;
    report.hazards = simulator->hazards();
    report.counters = simulator->counters();
    report.cost = simulator->cost();
    report.lost_shadows = simulator->lost_shadows();
    for (const Wish& wish : wishes)
      report.shadows.push_back(wish.buffer ? simulator->shadows(*buffers[*wish.buffer], wish.offset, wish.count, wish.type)
                                           : std::vector<double>());
    report.roundings = simulator->roundings();
    report.birth = simulator->birth();
    report.seconds = seconds;
    result.trace = std::move(trace);
    return result;
  }

  Ending answer(const Request& request) {
    try {
      prepare();
      if (request.begin) begin(*request.begin);
      const auto start = std::chrono::steady_clock::now();
      metal::replay(request.commands, descriptors, buffers, *simulator);
      seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      return request.end ? finish(*request.end) : Finished();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const metal::Error& refusal) {
      return Refused{refusal.what()};
    } catch (const std::exception& error) {
      return Failed{error.what()};
    }
  }

  const std::vector<Loaded>& pipelines;
  const metal::SharedMemory& memory;
  bool is_ready = false;
  std::vector<SharedBuffer> described;
  std::vector<std::unique_ptr<metal::Buffer>> buffers;  // as described
  std::vector<metal::PipelineDescriptor> descriptors;
  std::optional<metal::ValueTrace> trace;
  std::optional<metal::Simulator> simulator;
  double seconds = 0;
};

KernelProcess& KernelProcess::own() {
  // A fork inherits its parent's object, whose child is not its own.
  thread_local std::unique_ptr<KernelProcess> process;
  thread_local pid_t owner = -1;
  if (process == nullptr || owner != getpid()) {
    static_cast<void>(process.release());
    process = std::make_unique<KernelProcess>();
    owner = getpid();
  }
  return *process;
}

// The numbers of these pipelines among the loaded ones. The process ends if it lacks one.
std::vector<std::uint64_t> KernelProcess::load(const KernelRun& run, const std::vector<metal::PipelineDescriptor>& wanted) {
  std::vector<Loaded> needed;
  for (const metal::PipelineDescriptor& descriptor : wanted)
    needed.push_back({run.libraries, descriptor, metal::find_pipeline(run.libraries, descriptor, run.options)});
  const auto is_loaded = [&](const Loaded& one) { return std::ranges::find(pipelines_, one) != pipelines_.end(); };
  if (!std::ranges::all_of(needed, is_loaded)) {
    server_.reset();
    // Others of the same file are likely to be needed again.
    constexpr std::size_t kMost = 256;
    std::erase_if(pipelines_, [&](const Loaded& one) { return one.libraries != run.libraries || pipelines_.size() > kMost; });
    // To start a process takes as long as to load a dozen pipelines. As many more as it had halve the rest with each start.
    std::size_t more = run.likely ? pipelines_.size() : 0;
    for (const Loaded& one : needed) {
      if (!is_loaded(one)) pipelines_.push_back(one);
    }
    for (const metal::PipelineDescriptor& descriptor : more == 0 ? std::vector<metal::PipelineDescriptor>() : run.likely()) {
      if (more == 0) break;
      Loaded one{run.libraries, descriptor, metal::find_pipeline(run.libraries, descriptor, run.options)};
      if (is_loaded(one)) continue;
      pipelines_.push_back(std::move(one));
      --more;
    }
  }
  std::vector<std::uint64_t> numbers;
  for (const Loaded& one : needed) numbers.push_back(static_cast<std::uint64_t>(std::ranges::find(pipelines_, one) - pipelines_.begin()));
  return numbers;
}

void KernelProcess::start() {
  const base::ChildSetup setup{.name = "kernel process", .interrupts = base::Interrupts::ignored, .keeps_fault_handlers = true};
  base::prepare_sandbox();
  const auto bench = std::make_shared<Bench>(pipelines_, memory_);
  try {
    server_.emplace(setup, kLongestReport, [bench](std::span<const std::byte> request) {
      return base::to_bytes(bench->answer(base::from_bytes<Request>(request)));
    });
  } catch (const base::ProcessRefused& refused) {
    throw metal::EnvironmentError(fmt::format("{}; run fewer cases at a time", refused.what()));
  }
}

base::Bytes KernelProcess::ask(const base::Bytes& request, std::chrono::duration<double> longest) {
  if (!server_) start();
  server_->ask(request);
  using Clock = std::chrono::steady_clock;
  std::optional<base::Reply> reply =
      longest.count() > 0 ? server_->receive_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(longest)) : server_->wait();
  if (!reply) throw KernelDied(fault::Timeout{longest.count()});
  if (reply->kind != base::Reply::Kind::answer) throw KernelDied(fault_of(*reply, *server_));
  return std::move(reply->bytes);
}

KernelReport KernelProcess::run(const KernelRun& run) {
  metal::CommandRecorder recorder;
  std::vector<std::size_t> ends;  // of passes, among the commands
  for (std::size_t pass = 0; pass < run.passes; ++pass) {
    run.encode(pass, recorder);
    ends.push_back(recorder.commands().size());
  }
  std::vector<Wish> wishes;
  for (const ShadowRequest& wanted : run.shadows) {
    Wish& wish = wishes.emplace_back(Wish{{}, wanted.view.offset, wanted.count, wanted.type});
    if (wanted.view.buffer != nullptr) wish.buffer = recorder.number_of(*wanted.view.buffer);
  }
  Request request{begin_of(run, load(run, recorder.pipelines()), recorder.buffers(), memory_), {}, {}};
  try {
    for (std::size_t pass = 0;; ++pass) {
      const bool is_last = pass + 1 >= run.passes;
      const auto at = [&](std::size_t number) { return recorder.commands().begin() + static_cast<std::ptrdiff_t>(number); };
      if (pass < run.passes && run.may_run(pass))
        request.commands.assign(at(pass == 0 ? 0 : ends[pass - 1]), at(ends[pass]));
      else
        pass = run.passes;
      if (is_last || pass == run.passes) request.end = wishes;
      auto outcome = base::from_bytes<Ending>(ask(base::to_bytes(request), run.longest));
      if (const auto* refused = std::get_if<Refused>(&outcome)) throw metal::EncodeError(refused->text);
      if (const auto* failed = std::get_if<Failed>(&outcome)) throw std::runtime_error(failed->text);
      if (!request.end) {
        request = {};
        continue;
      }
      Finished& finished = std::get<Finished>(outcome);
      require_consistent(run, finished);
      if (finished.trace) *run.options.trace = *std::move(finished.trace);
      // Stray accesses may have replaced pages of the shared memory there.
      if (!finished.report.hazards.empty()) server_.reset();
      return std::move(finished.report);
    }
  } catch (const base::DamagedArchive& damaged) {
    const std::string words = server_->last_words();
    server_.reset();
    throw KernelDied(fault::MalformedVerdict{damaged.what(), words});
  } catch (...) {
    server_.reset();
    throw;
  }
}

}  // namespace assay::harness
