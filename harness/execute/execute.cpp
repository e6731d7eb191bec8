// Carries one case from its fixture to its verdict.
// Long because all ways of executing a case are here: once, in several orders, on both engines, and for those who look at its memory.
#include "harness/execute/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "base/digest.h"
#include "families/described_launch.h"
#include "fixtures/hdf5_file.h"
#include "harness/cases/suite.h"
#include "harness/execute/access_lines.h"
#include "harness/execute/constant_tables.h"
#include "harness/execute/execute_job.h"
#include "harness/execute/execute_once.h"
#include "harness/execute/job_memory.h"
#include "harness/findings/fault_text.h"
#include "harness/findings/remarks.h"
#include "kernels/axis_text.h"
#include "metal/devices/simulator.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

void conclude(Verdict& verdict) {
  const std::vector<Fault> wrong = faults_of(verdict.judgement);
  const std::optional<fault::Logic> logic =
      verdict.split && verdict.lost_shadows.empty() ? logic_of(*verdict.split) : std::optional<fault::Logic>();
  if (!verdict.hazards.empty()) {
    const metal::Hazard& first = verdict.hazards.front();
    verdict.status = Status::hazard;
    // Faults that were found during execution come after the hazard.
    verdict.faults.insert(verdict.faults.begin(), fault::Hazard{first.kind, first.function, first.message,
                                                                first.lacks_line ? metal::SourceLocation{first.first.file} : first.first,
                                                                verdict.judgement.passed()});
    verdict.faults.insert(verdict.faults.end(), wrong.begin(), wrong.end());
  } else if (!verdict.faults.empty() || !wrong.empty()) {
    verdict.status = Status::failed;
    verdict.faults.insert(verdict.faults.end(), wrong.begin(), wrong.end());
    if (logic) verdict.faults.emplace_back(*logic);
  } else if (!verdict.judgement.passed()) {
    verdict.status = Status::mistrusted;
    verdict.faults.emplace_back(fault_of(verdict.judgement.mistrusted.value()));
    if (logic) verdict.faults.emplace_back(*logic);
  } else {
    // Only a note, not a failure: all values are right, and the simulator may have lost the shadow without noticing.
    if (logic) verdict.notes.emplace_back(note::RightNevertheless{*logic});
    verdict.status = Status::passed;
  }
}

// Adds a note if the logic error is too large but the kernel cannot be blamed, because shadows were lost.
void note_lost_shadows(Verdict& verdict) {
  if (!verdict.split || verdict.split->above_bound == 0 || verdict.lost_shadows.empty()) return;
  verdict.notes.emplace_back(note::LostShadows{verdict.lost_shadows, *logic_of(*verdict.split)});
}

// The first limit set by the variant's author that excludes the case; nothing if there is none.
std::optional<fault::OutsideOfLimits> outside_of_limits(const kernels::Variant& variant, const Case& test_case) {
  const kernels::AxisLimit* limit = declared_limit_against(variant, test_case);
  if (limit == nullptr) return std::nullopt;
  // Where the limit names pairs: what it admits beside the case's value of the other axis.
  std::vector<std::int64_t> accepted = limit->values;
  if (!limit->pairs.empty())
    std::erase_if(accepted, [&](std::int64_t value) { return !limit->admits(value, test_case.at(limit->partner)); });
  fault::OutsideOfLimits outside{variant.description.string(), static_cast<std::uint64_t>(limit->line), limit->axis, std::move(accepted),
                                 test_case.at(limit->axis)};
  if (std::ranges::find(variant.contract->axis_words, limit->axis, &kernels::AxisWords::axis) != variant.contract->axis_words.end()) {
    for (const std::int64_t value : outside.accepted) outside.words.push_back(kernels::axis_text(*variant.contract, limit->axis, value));
    outside.words.push_back(kernels::axis_text(*variant.contract, limit->axis, outside.value));
  }
  return outside;
}

// The function of a case; nullptr if there is none to execute. The verdict then has the reason.
const kernels::BoundKernel* find_kernel(const PreparedVariant& prepared, const Case& test_case, Verdict& verdict) {
  const auto settle = [&](Status status, Fault fault) {
    verdict.status = status;
    verdict.faults = {std::move(fault)};
    return nullptr;
  };
  try {
    test_case.family->validate(test_case);
  } catch (const std::invalid_argument& refusal) {
    return settle(Status::rejected, fault::RefusedByLaunch{refusal.what()});
  }
  if (auto limit = outside_of_limits(prepared.variant, test_case)) return settle(Status::skipped, std::move(*limit));
  kernels::FunctionKey key;
  try {
    key = families::DescribedLaunch(test_case, prepared.variant).main_function();
  } catch (const kernels::ExpressionError& refusal) {
    return settle(Status::rejected, fault::RefusedByLaunch{refusal.what()});
  } catch (const std::invalid_argument& refusal) {
    return settle(Status::rejected, fault::RefusedByLaunch{refusal.what()});
  }
  const kernels::BoundKernel* kernel = prepared.kernel(key);
  if (kernel == nullptr) {
    const auto absent = prepared.absent.find(key.entry);
    fault::NoFunction nobody_looked;
    nobody_looked.entry = kernels::to_string(key);
    return settle(Status::skipped, absent == prepared.absent.end() ? nobody_looked : absent->second);
  }
  if (auto misfit = misfit_of(test_case, *kernel))
    return settle(Status::skipped, fault::Misfit{std::string(misfit->field), misfit->message});
  return kernel;
}

std::vector<metal::Schedule> schedules_of_claims() {
  constexpr std::uint64_t kRandom = 8;
  std::vector<metal::Schedule> schedules = {{metal::Schedule::Kind::reverse}};
  for (std::uint64_t seed = 1; seed <= kRandom; ++seed) schedules.push_back({metal::Schedule::Kind::random, seed});
  return schedules;
}

// The schedules after the first.
std::vector<metal::Schedule> further_schedules(const Case& test_case, const ExecutionOptions& options) {
  if (options.device.is_gpu()) return {};
  if (!options.schedules.empty()) return {options.schedules.begin() + 1, options.schedules.end()};
  if (const Omission* omission = omission_of(test_case); omission != nullptr && omission->same_bits && omission->same_bits->of_schedules())
    return schedules_of_claims();
  if (test_case.family->simdgroups(test_case) <= 1) return {};
  // Expensive cases are not repeated: a missing barrier also shows in cheap ones.
  if (test_case.family->work(test_case.values) > kRepeatedWork) return {};
  // Forward and reverse cover both orders of any two simdgroups. Some errors need a particular order of three; a quarter of the cases
  // searches for these.
  if (test_case.seed % 4 != 0) return {{metal::Schedule::Kind::reverse}};
  return {{metal::Schedule::Kind::reverse}, {metal::Schedule::Kind::random, test_case.seed}};
}

// Whether a run has an output to compare. A run that never started, or that a hazard ended early, has none.
bool can_be_compared(const Verdict& verdict) {
  return verdict.status == Status::passed || verdict.status == Status::failed ||
         (verdict.status == Status::mistrusted && !verdict.is_internal);
}

// Where the bits of two runs differ; nothing if all bits are equal.
std::optional<fault::OrderDependence> find_difference(const Outcome& first, const Outcome& other) {
  constexpr std::size_t kNamed = 3;
  const std::size_t size = std::min(first.output.size(), other.output.size());
  const std::size_t row_length = first.verdict.row_length;
  fault::OrderDependence difference{.first = first.verdict.schedules,
                                    .other = other.verdict.schedules,
                                    .places = {},
                                    .count = 0,
                                    .size = size,
                                    .unit = std::string(first.output_unit)};
  for (std::size_t i = 0; i < size; ++i) {
    const float a = first.output[i];
    const float b = other.output[i];
    if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) continue;
    if (++difference.count <= kNamed) difference.places.push_back({i, i / row_length, i % row_length, a, b});
  }
  if (difference.count == 0) return std::nullopt;
  return difference;
}

// Adds the findings of `other` to `verdict`, which is that of `first` so far.
void compare(const Outcome& first, const Outcome& other, Verdict& verdict) {
  const std::string& order = other.verdict.schedules;
  const bool other_failed = !is_success(other.verdict.status);
  const std::optional<fault::OrderDependence> difference =
      can_be_compared(other.verdict) ? find_difference(first, other) : std::optional<fault::OrderDependence>();
  if (!difference && !(other_failed && is_success(first.verdict.status))) return;

  verdict.faults.clear();
  if (other_failed) verdict = other.verdict;
  for (Fault& fault : verdict.faults) fault.schedule = order;
  verdict.schedules = order;
  if (difference) {
    verdict.status = Status::failed;
    verdict.schedules = fmt::format("{},{}", first.verdict.schedules, order);
    verdict.faults.insert(verdict.faults.begin(), *difference);
  }
}

// Where the finished outputs of a case differ from those with another value of an axis; nothing if all bits are equal.
std::optional<fault::OtherBits> find_other_bits(const Outcome& first, const Outcome& other, std::string_view axis) {
  fault::OtherBits found{.axis = std::string(axis),
                         .first = first.verdict.test_case.at(axis),
                         .other = other.verdict.test_case.at(axis),
                         .size = first.finished.bytes.size() / first.finished.element_bytes};
  const std::size_t width = first.finished.element_bytes;
  for (std::size_t i = 0; i < found.size; ++i) {
    const auto same = [&](std::size_t byte) { return first.finished.bytes[byte] == other.finished.bytes.at(byte); };
    bool is_same = true;
    for (std::size_t byte = i * width; byte < (i + 1) * width; ++byte) is_same = is_same && same(byte);
    if (is_same) continue;
    if (found.count++ != 0) continue;
    found.row = i / first.verdict.row_length;
    found.coordinate = i % first.verdict.row_length;
  }
  if (found.count == 0) return std::nullopt;
  return found;
}

// Executes the cases that must have the same bits, up to the first that has not, and adds it to `verdict`.
void compare_values(const PreparedVariant& prepared, const Outcome& first, const ExecutionOptions& options, const metal::Schedule& order,
                    Verdict& verdict) {
  std::size_t compared = 0;
  const std::vector<Case> others = cases_of_same_bits(prepared.variant, first.verdict.test_case);
  if (others.empty()) return;
  for (const Case& test_case : others) {
    Kept kept;
    const Outcome other = execute_once(prepared, test_case, options, order, kept);
    verdict.oracle_seconds += other.verdict.oracle_seconds;
    verdict.simulator_seconds += other.verdict.simulator_seconds;
    if (other.verdict.status == Status::skipped || other.verdict.status == Status::rejected) continue;
    ++compared;
    const std::string_view axis = omission_of(test_case)->same_bits->axis;
    if (other.verdict.status != Status::passed) {
      verdict.status = other.verdict.status;
      verdict.is_internal = other.verdict.is_internal;
      verdict.faults = other.verdict.faults;
      verdict.faults.insert(
          verdict.faults.begin(),
          fault::OtherBits{.axis = std::string(axis), .first = first.verdict.test_case.at(axis), .other = test_case.at(axis)});
      return;
    }
    if (auto found = find_other_bits(first, other, axis)) {
      verdict.status = Status::failed;
      verdict.faults.emplace_back(std::move(*found));
      return;
    }
  }
  if (compared != 0) return;
  const std::string axis(omission_of(others.front())->same_bits->axis);
  verdict.status = Status::skipped;
  verdict.faults = {fault::Misfit{axis, fmt::format("the kernel supports no other value of {}", axis)}};
}

// Some invalid accesses show without their line (docs/RUN.md): the case runs once more under the policy that knows lines. A case that
// is too expensive for several schedules is too expensive for that, which takes many times as long.
void find_lines(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options, const metal::Schedule& schedule,
                Verdict& verdict) {
  if (options.policy == metal::Policy::checked || options.device.is_gpu() || options.returned) return;
  const bool wrote_guards = verdict.judgement.guard_violations != 0 && verdict.hazards.empty();
  if (!wrote_guards && !any_lacks_line(verdict.hazards)) return;
  if (test_case.family->work(test_case.values) > kRepeatedWork) return;
  ExecutionOptions again = options;
  again.policy = metal::Policy::checked;
  again.explain = again.keep_output = again.keep_bits = false;
  again.rounded_line.reset();
  Kept kept;
  const std::vector<metal::Hazard> checked = execute_once(prepared, test_case, again, schedule, kept).verdict.hazards;
  if (wrote_guards) {
    if (const auto write = find_stray_write(checked))
      verdict.faults.emplace_back(fault::Hazard{write->kind, write->function, write->message, write->first, false});
  } else {
    take_lines(verdict.hazards, checked);
  }
}

}  // namespace

// Long because each kind of exception has a status of its own.
Outcome execute_once(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options,
                     const metal::Schedule& schedule, Kept& kept) {
  Outcome outcome;
  Verdict& verdict = outcome.verdict;
  verdict.test_case = test_case;
  verdict.schedules = schedule.to_string();
  verdict.digest = base::kEmptyDigest;
  try {
    const kernels::BoundKernel* kernel = find_kernel(prepared, test_case, verdict);
    if (kernel == nullptr) return outcome;

    Execution execution{prepared,
                        *kernel,
                        test_case,
                        options.shelf,
                        options.profile,
                        {.worst_count = options.worst_elements},
                        kept,
                        verdict,
                        {.threads = options.threads,
                         .schedule = schedule,
                         .policy = options.policy,
                         .engine = options.engine,
                         .concurrent = options.concurrent,
                         .explain = options.explain,
                         .large_error = options.large_error,
                         .rounded_line = options.rounded_line,
                         .choice = options.choice},
                        options.launch,
                        options.device,
                        options.keep_bits,
                        options.returned,
                        options.judged_as,
                        options.expectations.get()};
    if (options.keep_output) execution.judging.keep = &outcome.judged;
    execute_job(execution);
    for (fault::WrongTable& wrong : find_wrong_tables(kernel->entry().layout, test_case)) verdict.faults.emplace_back(std::move(wrong));
    KernelReport& report = execution.report;
    verdict.simulator_seconds = report.seconds;
    outcome.output = std::move(execution.output);
    outcome.output_unit = execution.output_unit;
    outcome.finished = std::move(execution.finished);
    outcome.bits = std::move(execution.bits);
    outcome.has_atomics = report.has_atomics;
    if (execution.shadowed) {
      verdict.split = split_errors(*execution.shadowed, verdict.judgement);
      verdict.lost_shadows = std::move(report.lost_shadows);
      note_lost_shadows(verdict);
      outcome.shadowed = std::move(execution.shadowed);
    }
    outcome.roundings = std::move(report.roundings);
    outcome.birth = std::move(report.birth);
    std::ranges::partition_copy(report.hazards, std::back_inserter(verdict.hazards), std::back_inserter(verdict.remarks),
                                [](const metal::Hazard& hazard) { return metal::is_defect(hazard.kind); });
    verdict.counters = report.counters;
    if (options.policy == metal::Policy::checked) {
      verdict.cost.emplace();
      for (const metal::KernelCost& part : report.cost) *verdict.cost += part.total;
    }
    find_lines(prepared, test_case, options, schedule, verdict);
    conclude(verdict);
  } catch (const KernelDied& death) {
    verdict.status = death.fault.kind() == FaultKind::timeout ? Status::timeout : Status::crashed;
    verdict.faults = {death.fault};
  } catch (const metal::Error& refusal) {
    verdict.status = Status::rejected;
    verdict.faults = {fault::RefusedByEncoder{refusal.what()}};
  } catch (const fixtures::FileError& unusable) {
    verdict.status = Status::mistrusted;
    verdict.faults = {fault::UnusableFile{unusable.what()}};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    verdict.status = Status::mistrusted;
    verdict.is_internal = true;
    verdict.faults = {fault::InternalFailure{error.what()}};
  }
  return outcome;
}

Outcome execute_with_output(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options) {
  Kept kept;
  const metal::Schedule order = options.schedules.empty() ? metal::Schedule{} : options.schedules.front();
  const std::vector<metal::Schedule> further = further_schedules(test_case, options);
  kept.has_more_runs = !further.empty() || options.both_engines;
  Outcome first = execute_once(prepared, test_case, options, order, kept);
  // What was returned is one run, on a device that has its own order.
  if (options.returned) {
    first.verdict.schedules.clear();
    return first;
  }
  Verdict verdict = first.verdict;
  if (!can_be_compared(verdict)) return first;
  for (const metal::Schedule& schedule : further) {
    const Outcome other = execute_once(prepared, test_case, options, schedule, kept);
    const double oracle_seconds = verdict.oracle_seconds + other.verdict.oracle_seconds;
    const double simulator_seconds = verdict.simulator_seconds + other.verdict.simulator_seconds;
    compare(first, other, verdict);
    take_remarks(verdict, first.verdict.remarks);
    take_remarks(verdict, other.verdict.remarks);
    verdict.oracle_seconds = oracle_seconds;
    verdict.simulator_seconds = simulator_seconds;
    if (verdict.schedules != first.verdict.schedules) break;
  }
  if (options.both_engines && verdict.schedules == first.verdict.schedules) {
    ExecutionOptions on_fibers = options;
    on_fibers.engine = metal::Engine::fibers;
    Outcome other = execute_once(prepared, test_case, on_fibers, order, kept);
    // A difference names the engines; the order is the same.
    const std::string schedule = std::exchange(first.verdict.schedules, std::string(metal::to_string(options.engine)));
    other.verdict.schedules = metal::to_string(on_fibers.engine);
    compare(first, other, verdict);
    first.verdict.schedules = verdict.schedules = schedule;
  }
  if (verdict.status == Status::passed) compare_values(prepared, first, options, order, verdict);
  verdict.digest = first.verdict.digest;
  first.verdict = std::move(verdict);
  return first;
}

std::optional<Fault> why_skipped(const PreparedVariant& prepared, const Case& test_case) {
  Verdict verdict;
  if (find_kernel(prepared, test_case, verdict) != nullptr || verdict.status != Status::skipped) return std::nullopt;
  Fault& why = verdict.faults.front();
  if (why.kind() == FaultKind::outside_of_limits) return std::nullopt;
  return std::move(why);
}

Verdict execute_case(const PreparedVariant& prepared, const Case& test_case, const ExecutionOptions& options) {
  return execute_with_output(prepared, test_case, options).verdict;
}

std::string why_not_executed(const PreparedVariant& prepared, const Case& test_case) {
  Verdict verdict;
  return find_kernel(prepared, test_case, verdict) != nullptr ? std::string()
                                                              : fmt::format("{}: {}", to_string(verdict.status), reason_of(verdict));
}

void with_job(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, metal::SharedMemory* shared,
              const std::function<void(const families::Job& job, const JobMemory& memory)>& use) {
  Verdict verdict;
  const kernels::BoundKernel* kernel = find_kernel(prepared, test_case, verdict);
  if (kernel == nullptr)
    throw std::invalid_argument(
        fmt::format("{} has no dispatches, because it was {}: {}", format_case(test_case), to_string(verdict.status), reason_of(verdict)));
  const CaseSource source(test_case, shelf);
  const families::Job job = make_job(prepared, prepared.variant, *kernel, test_case, source.get());
  use(job, JobMemory(job, shared));
}

namespace {

// The first pass of a case, whose buffers are in `shared` if there is one.
void with_first_pass(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, metal::SharedMemory* shared,
                     const std::function<void(const Encode& encode)>& use) {
  with_job(prepared, test_case, shelf, shared, [&](const families::Job& job, const JobMemory& memory) {
    use([&](metal::ComputeEncoder& encoder) { job.passes.front().encode(encoder, memory.views(0)); });
  });
}

}  // namespace

void encode_case(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf, metal::ComputeEncoder& encoder) {
  with_first_pass(prepared, test_case, shelf, nullptr, [&](const Encode& encode) { encode(encoder); });
}

KernelReport run_case(const PreparedVariant& prepared, const Case& test_case, const fixtures::Shelf& shelf,
                      const metal::SimulatorOptions& options, std::chrono::duration<double> longest) {
  KernelHost& process = kernel_host({});
  KernelReport report;
  with_first_pass(prepared, test_case, shelf, &process.memory(), [&](const Encode& encode) {
    const auto encode_pass = [&](std::size_t, metal::ComputeEncoder& encoder) { encode(encoder); };
    report = process.run({.libraries = prepared.libraries, .options = options, .encode = encode_pass, .longest = longest});
  });
  return report;
}

}  // namespace assay::harness
