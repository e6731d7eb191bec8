#include "harness/run/execute.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <stdexcept>

#include "harness/run/executors.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

struct Executor {
  std::string_view family;
  void (*validate)(const Case&);
  void (*execute)(Execution&);
};

constexpr Executor kExecutors[] = {
    {"tq4", validate_tq4, execute_tq4},
    {"reduce", validate_reduce, execute_reduce},
    {"fwht", validate_fwht, execute_fwht},
};

const Executor& executor_of(const Family& family) {
  for (const Executor& executor : kExecutors) {
    if (executor.family == family.name()) return executor;
  }
  throw std::logic_error(fmt::format("family {} has no executor", family.name()));
}

// The sentence that says what is wrong with a comparison, worst first.
std::string describe_failure(const Judgement& judgement) {
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  };
  add(judgement.above_bound, "elements above their bound");
  add(judgement.not_written, "never written");
  add(judgement.nans, "NaN");
  add(judgement.infs, "infinite");
  add(judgement.guard_violations, "words written outside of the output");
  return text;
}

void conclude(Verdict& verdict) {
  const std::string failure = describe_failure(verdict.judgement);
  if (!verdict.hazards.empty()) {
    const metal::Hazard& hazard = verdict.hazards.front();
    verdict.status = Status::hazard;
    verdict.reason = fmt::format("{}: {}", metal::to_string(hazard.kind), hazard.message);
  } else if (!verdict.reason.empty()) {
    verdict.status = Status::failed;  // an executor already knows
  } else if (!failure.empty()) {
    verdict.status = Status::failed;
    verdict.reason = failure;
  } else if (!verdict.judgement.passed()) {
    verdict.status = Status::mistrusted;
    verdict.reason = verdict.judgement.mistrusted;
  } else {
    verdict.status = Status::passed;
  }
}

}  // namespace

void add_to_digest(std::uint64_t& digest, std::span<const std::byte> bytes) {
  for (const std::byte byte : bytes) digest = (digest ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
}

void check_unchanged(Verdict& verdict, std::string_view argument, const metal::Buffer& buffer, std::span<const std::byte> original) {
  if (std::memcmp(buffer.bytes().data(), original.data(), original.size()) != 0) {
    verdict.reason = fmt::format("the kernel wrote to its input {}", argument);
  }
}

Verdict execute_case(const PreparedVariant& prepared, const Case& about, const metal::SimulatorOptions& options) {
  Verdict verdict;
  verdict.about = about;
  verdict.digest = 0xcbf29ce484222325U;
  try {
    const Executor& executor = executor_of(*about.family);
    try {
      executor.validate(about);
    } catch (const std::invalid_argument& refusal) {
      verdict.status = Status::rejected;
      verdict.reason = refusal.what();
      return verdict;
    }
    const std::string key = about.family->entry_key(about.values);
    const kernels::BoundKernel* kernel = prepared.kernel(key);
    if (kernel == nullptr) {
      const auto absent = prepared.absent.find(key);
      verdict.status = Status::skipped;
      verdict.reason = absent == prepared.absent.end() ? fmt::format("no function for {}", key) : absent->second;
      return verdict;
    }

    metal::Simulator simulator(prepared.libraries, options);
    Execution execution{prepared, *kernel, about, simulator, verdict};
    executor.execute(execution);
    verdict.hazards = simulator.hazards();
    verdict.counters = simulator.counters();
    conclude(verdict);
  } catch (const metal::Error& refusal) {
    verdict.status = Status::rejected;
    verdict.reason = refusal.what();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    verdict.status = Status::mistrusted;
    verdict.is_internal = true;
    verdict.reason = fmt::format("the harness failed: {}", error.what());
  }
  return verdict;
}

}  // namespace assay::harness
