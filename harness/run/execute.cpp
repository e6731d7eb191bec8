#include "harness/run/execute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "base/digest.h"
#include "fixtures/hdf5_file.h"
#include "harness/cases/suite.h"
#include "harness/run/execute_once.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

struct Executor {
  std::string_view family;
  void (*validate)(const Case&);
  std::int64_t (*simdgroups)(const Case&);
  void (*execute)(Execution&);
  std::string (*misfit)(const Case&, const kernels::BoundKernel&) = nullptr;
};

constexpr Executor kExecutors[] = {
    {"tq4", validate_decode, simdgroups_of_decode, execute_decode, misfit_of_decode},
    {"tqhb", validate_decode, simdgroups_of_decode, execute_decode, misfit_of_decode},
    {"reduce", validate_reduce, simdgroups_of_reduce, execute_reduce},
    {"fwht", validate_fwht, simdgroups_of_fwht, execute_fwht},
    {"quantize", validate_quantize, simdgroups_of_quantize, execute_quantize},
    {"dequantize", validate_dequantize, simdgroups_of_dequantize, execute_dequantize},
    {"bf16_prefill", validate_bf16_prefill, simdgroups_of_bf16_prefill, execute_bf16_prefill},
    {"bf16_vec", validate_bf16_vec, simdgroups_of_bf16_vec, execute_bf16_vec},
};

const Executor& executor_of(const Family& family) {
  for (const Executor& executor : kExecutors) {
    if (executor.family == family.name()) return executor;
  }
  throw std::logic_error(fmt::format("family {} has no executor", family.name()));
}

void conclude(Verdict& verdict) {
  const std::string failure = describe_failure(verdict.judgement);
  const std::string logic = verdict.split && verdict.lost_shadows.empty() ? describe_logic(*verdict.split) : std::string();
  const auto add = [&](const std::string& reason) {
    if (!reason.empty()) verdict.reason += (verdict.reason.empty() ? "" : "; ") + reason;
  };
  if (!verdict.hazards.empty()) {
    const metal::Hazard& hazard = verdict.hazards.front();
    verdict.status = Status::hazard;
    const std::string known = std::exchange(verdict.reason, hazard_text(hazard));  // an executor may know already
    add(known);
    add(verdict.judgement.passed() ? "every value of the output is within its bound" : failure);
  } else if (!verdict.reason.empty() || !failure.empty()) {
    verdict.status = Status::failed;  // an executor may know already
    add(failure);
    add(logic);
  } else if (!verdict.judgement.passed()) {
    verdict.status = Status::mistrusted;
    verdict.reason = verdict.judgement.mistrusted;
    add(logic);
  } else {
    // Told, and no failure: the shadow may have been lost on a way that the simulator does not follow, and the values are right.
    if (!logic.empty())
      verdict.note += fmt::format("{}{}; yet every value is within its own bound", verdict.note.empty() ? "" : "; ", logic);
    verdict.status = Status::passed;
  }
}

std::string place_text(const metal::SourceLocation& place) { return fmt::format("{}:{}", place.file, place.line); }

// What a reader must know where logic is too large and cannot be held against the kernel.
void note_lost_shadows(Verdict& verdict) {
  if (!verdict.split || verdict.split->above_bound == 0 || verdict.lost_shadows.empty()) return;
  std::vector<std::string> places;
  for (const metal::SourceLocation& place : verdict.lost_shadows) places.push_back(place_text(place));
  verdict.note = fmt::format("{}{}logic cannot be told from rounding, because the kernel computes with the bits of numbers at {}: {}",
                             verdict.note, verdict.note.empty() ? "" : "; ", fmt::join(places, ", "), describe_logic(*verdict.split));
}

// The first limit set by the variant's author that a case lies outside of, as a sentence; empty if there is none.
std::string outside_of_limits(const kernels::Variant& variant, const Case& about) {
  const kernels::AxisLimit* limit = said_limit_against(variant, about);
  if (limit == nullptr) return {};
  const std::string place =
      variant.description.empty() ? "--limit" : fmt::format("{}:{}: [limits]", variant.description.string(), limit->line);
  return fmt::format("{} {} = {}, and the case has {}", place, limit->axis, limit->values, about.at(limit->axis));
}

// The function of a case; nullptr if there is none to be executed, and then the verdict says why.
const kernels::BoundKernel* find_kernel(const PreparedVariant& prepared, const Case& about, Verdict& verdict) {
  const auto settle = [&](Status status, std::string reason) {
    verdict.status = status;
    verdict.reason = std::move(reason);
    return nullptr;
  };
  try {
    executor_of(*about.family).validate(about);
  } catch (const std::invalid_argument& refusal) {
    return settle(Status::rejected, refusal.what());
  }
  if (std::string limit = outside_of_limits(prepared.variant, about); !limit.empty()) return settle(Status::skipped, std::move(limit));
  const kernels::FunctionKey key = about.family->function_key(about.values);
  const kernels::BoundKernel* kernel = prepared.kernel(key);
  if (kernel == nullptr) {
    const auto absent = prepared.absent.find(key.entry);
    return settle(Status::skipped,
                  absent == prepared.absent.end() ? fmt::format("no function for {}", kernels::to_string(key)) : absent->second);
  }
  if (std::string misfit = misfit_of(about, *kernel); !misfit.empty()) return settle(Status::skipped, std::move(misfit));
  return kernel;
}

// Those after the first.
std::vector<metal::Schedule> further_schedules(const Case& about, const ExecutionOptions& options) {
  if (!options.schedules.empty()) return {options.schedules.begin() + 1, options.schedules.end()};
  if (executor_of(*about.family).simdgroups(about) <= 1) return {};
  // A missing barrier shows in small cases as well.
  if (about.family->work(about.values) > kRepeatedWork) return {};
  // Of any two simdgroups each comes first once. What takes three of them in a particular order, a quarter of the cases looks for.
  if (about.seed % 4 != 0) return {{metal::Schedule::Kind::reverse}};
  return {{metal::Schedule::Kind::reverse}, {metal::Schedule::Kind::random, about.seed}};
}

// A run that was never made, or that a hazard broke off, has no output to hold against another.
bool can_be_compared(const Verdict& verdict) {
  return verdict.status == Status::passed || verdict.status == Status::failed ||
         (verdict.status == Status::mistrusted && !verdict.is_internal);
}

// "forward and reverse differ at element 3 (row 0, coordinate 3: 1.5 and 1.25), element 9 (...), at 38 of 512 elements in all"; empty
// if every bit is the same.
std::string describe_difference(const Outcome& first, const Outcome& other) {
  constexpr std::size_t kNamed = 3;
  const std::size_t size = std::min(first.output.size(), other.output.size());
  const std::size_t row_length = first.verdict.row_length;
  std::vector<std::string> named;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const float a = first.output[i];
    const float b = other.output[i];
    if (std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b)) continue;
    if (++count > kNamed) continue;
    named.push_back(first.output_unit.empty()
                        ? fmt::format("element {} (row {}, coordinate {}: {} and {})", i, i / row_length, i % row_length, a, b)
                        : fmt::format("{} {} ({} and {})", first.output_unit, i, a, b));
  }
  if (count == 0) return {};
  return fmt::format("{} and {} differ at {}, at {} of {} {}s in all", first.verdict.schedules, other.verdict.schedules,
                     fmt::join(named, ", "), count, size, first.output_unit.empty() ? "element" : first.output_unit);
}

// Lays what `other` adds over `verdict`, which is that of `first` so far.
void compare(const Outcome& first, const Outcome& other, Verdict& verdict) {
  const std::string& order = other.verdict.schedules;
  const bool other_failed = !is_success(other.verdict.status);
  const std::string difference = can_be_compared(other.verdict) ? describe_difference(first, other) : std::string();
  const bool differs = !difference.empty();
  if (!differs && !(other_failed && is_success(first.verdict.status))) return;

  const std::string under_other = other_failed ? fmt::format("under schedule {}: {}", order, other.verdict.reason) : std::string();
  if (other_failed) verdict = other.verdict;
  verdict.reason = under_other;
  verdict.schedules = order;
  if (differs) {
    verdict.status = Status::failed;
    verdict.schedules = fmt::format("{},{}", first.verdict.schedules, order);
    verdict.reason =
        fmt::format("output depends on the order of simdgroups: {}: a barrier is missing, or float atomics add in another order{}{}",
                    difference, other_failed ? "; " : "", under_other);
  }
}

}  // namespace

void keep_shadowed(Execution& execution, const metal::BufferView& view, std::span<const float> values, const oracles::Expected& expected) {
  if (!execution.shadows) return;
  execution.shadowed = {.values = {values.begin(), values.end()},
                        .shadows = execution.shadows(view, values.size(), metal::FloatType::float32),
                        .expected = expected,
                        .exact = expected};
}

std::string misfit_of(const Case& about, const kernels::BoundKernel& kernel) {
  const Executor& executor = executor_of(*about.family);
  return executor.misfit == nullptr ? std::string() : executor.misfit(about, kernel);
}

void check_unchanged(Verdict& verdict, std::string_view argument, const metal::Buffer& buffer, std::span<const std::byte> original) {
  note_change(verdict, argument, std::memcmp(buffer.bytes().data(), original.data(), original.size()) == 0);
}

void note_change(Verdict& verdict, std::string_view argument, bool is_unchanged) {
  if (!is_unchanged) {
    verdict.reason += fmt::format("{}the kernel wrote to its input {}", verdict.reason.empty() ? "" : "; ", argument);
  }
}

Outcome execute_once(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options, const metal::Schedule& schedule,
                     Kept& kept) {
  Outcome outcome;
  Verdict& verdict = outcome.verdict;
  verdict.about = about;
  verdict.schedules = schedule.to_string();
  verdict.digest = base::kEmptyDigest;
  try {
    const kernels::BoundKernel* kernel = find_kernel(prepared, about, verdict);
    if (kernel == nullptr) return outcome;

    metal::Simulator simulator(prepared.libraries, {.threads = options.threads,
                                                    .schedule = schedule,
                                                    .policy = options.policy,
                                                    .concurrent = options.concurrent,
                                                    .explain = options.explain,
                                                    .large_error = options.large_error,
                                                    .rounded_line = options.rounded_line});
    const std::function<bool(const Encode&)> launch = [&](const Encode& encode) {
      verdict.simulator_seconds += timed([&] { options.launch ? options.launch(simulator, encode) : encode(simulator); });
      return true;
    };
    Execution execution{prepared, *kernel, about, launch, options.shelf, {.worst_count = options.worst_elements}, kept, verdict, {}};
    if (options.keep_output) execution.judging.keep = &outcome.judged;
    if (options.policy == metal::Policy::shadow) {
      execution.shadows = [&](const metal::BufferView& view, std::size_t count, metal::FloatType type) {
        return simulator.shadows(*view.buffer, view.offset, count, type);
      };
    }
    executor_of(*about.family).execute(execution);
    outcome.output = std::move(execution.output);
    outcome.output_unit = execution.output_unit;
    if (execution.shadowed) {
      verdict.split = split_errors(*execution.shadowed, verdict.judgement);
      verdict.lost_shadows = simulator.lost_shadows();
      note_lost_shadows(verdict);
      outcome.shadowed = std::move(execution.shadowed);
    }
    if (options.explain) {
      outcome.roundings = simulator.roundings();
      outcome.birth = simulator.birth();
    }
    std::ranges::partition_copy(simulator.hazards(), std::back_inserter(verdict.hazards), std::back_inserter(verdict.remarks),
                                [](const metal::Hazard& hazard) { return metal::is_defect(hazard.kind); });
    verdict.counters = simulator.counters();
    if (options.policy == metal::Policy::checked) {
      verdict.cost.emplace();
      for (const metal::KernelCost& part : simulator.cost()) *verdict.cost += part.total;
    }
    conclude(verdict);
  } catch (const metal::Error& refusal) {
    verdict.status = Status::rejected;
    verdict.reason = refusal.what();
  } catch (const fixtures::FileError& unusable) {
    verdict.status = Status::mistrusted;
    verdict.reason = unusable.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    verdict.status = Status::mistrusted;
    verdict.is_internal = true;
    verdict.reason = fmt::format("the harness failed: {}", error.what());
  }
  return outcome;
}

Outcome execute_with_output(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options) {
  Kept kept;
  const metal::Schedule order = options.schedules.empty() ? metal::Schedule{} : options.schedules.front();
  Outcome first = execute_once(prepared, about, options, order, kept);
  Verdict verdict = first.verdict;
  if (!can_be_compared(verdict)) return first;
  for (const metal::Schedule& schedule : further_schedules(about, options)) {
    const Outcome other = execute_once(prepared, about, options, schedule, kept);
    const double oracle_seconds = verdict.oracle_seconds + other.verdict.oracle_seconds;
    const double simulator_seconds = verdict.simulator_seconds + other.verdict.simulator_seconds;
    compare(first, other, verdict);
    verdict.oracle_seconds = oracle_seconds;
    verdict.simulator_seconds = simulator_seconds;
    if (verdict.schedules != first.verdict.schedules) break;
  }
  verdict.digest = first.verdict.digest;
  first.verdict = std::move(verdict);
  return first;
}

std::string why_skipped(const PreparedVariant& prepared, const Case& about) {
  if (!outside_of_limits(prepared.variant, about).empty()) return {};
  Verdict verdict;
  return find_kernel(prepared, about, verdict) == nullptr && verdict.status == Status::skipped ? verdict.reason : std::string();
}

Verdict execute_case(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options) {
  return execute_with_output(prepared, about, options).verdict;
}

void encode_case(const PreparedVariant& prepared, const Case& about, const fixtures::Shelf& shelf, metal::ComputeEncoder& encoder) {
  Verdict verdict;
  const kernels::BoundKernel* kernel = find_kernel(prepared, about, verdict);
  if (kernel == nullptr)
    throw std::invalid_argument(
        fmt::format("{} has no dispatches: it is {}: {}", format_case(about), to_string(verdict.status), verdict.reason));
  Kept kept;
  const std::function<bool(const Encode&)> launch = [&](const Encode& encode) {
    encode(encoder);
    return false;
  };
  Execution execution{prepared, *kernel, about, launch, shelf, {}, kept, verdict, {}};
  executor_of(*about.family).execute(execution);
}

}  // namespace assay::harness
