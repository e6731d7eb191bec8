#include "harness/run/runner.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/run/execute.h"
#include "harness/run/executors.h"

namespace assay::harness {
namespace {

void add(Summary& summary, const Verdict& verdict) {
  ++summary.counts[verdict.status];
  const Judgement& judgement = verdict.judgement;
  summary.elements_compared += judgement.compared;
  summary.elements_faulty += judgement.above_bound + judgement.not_written + judgement.nans + judgement.infs;
  summary.any_internal = summary.any_internal || verdict.is_internal;
  summary.oracle_seconds += verdict.oracle_seconds;
  summary.simulator_seconds += verdict.simulator_seconds;
  if (verdict.status == Status::passed && std::ranges::any_of(verdict.stages, [](const StageVerdict& stage) { return !stage.passed; }))
    ++summary.stage_failures;
  const std::string name = format_case(verdict.about);
  const bool larger = judgement.max_ratio > summary.largest_ratio;
  // Ties go to the first name, so that the summary does not depend on which case finished first.
  if (larger || (judgement.max_ratio == summary.largest_ratio && judgement.compared > 0 &&
                 (summary.largest_ratio_case.empty() || name < summary.largest_ratio_case))) {
    summary.largest_ratio = judgement.max_ratio;
    summary.largest_ratio_case = name;
  }
  // A sum does not depend on order; hashing the name in keeps equal outputs of different cases apart.
  std::uint64_t digest = verdict.digest;
  add_to_digest(digest, std::as_bytes(std::span(name)));
  summary.digest += digest;
}

}  // namespace

std::size_t Summary::count(Status status) const {
  const auto found = counts.find(status);
  return found == counts.end() ? 0 : found->second;
}

std::size_t Summary::finished() const {
  std::size_t total = 0;
  for (const auto& [status, cases] : counts) total += cases;
  return total;
}

std::size_t Summary::executed() const {
  std::size_t total = 0;
  for (const auto& [status, cases] : counts) total += status == Status::skipped ? 0 : cases;
  return total;
}

std::size_t Summary::failures() const {
  std::size_t total = 0;
  for (const auto& [status, cases] : counts) total += is_success(status) ? 0 : cases;
  return total;
}

Summary run_cases(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options, const std::atomic<bool>& stop,
                  RunListener& listener) {
  Summary summary;
  summary.selected = cases.size();
  std::mutex mutex;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> halt = false;
  std::exception_ptr failure;

  const auto work = [&] {
    try {
      while (!stop && !halt) {
        const std::size_t index = next++;
        if (index >= cases.size()) return;
        const Case& about = cases[index];
        {
          const std::lock_guard lock(mutex);
          listener.started(about);
        }
        const Verdict verdict = execute_case(workbench.find(about.variant), about, options.execution);
        const std::lock_guard lock(mutex);
        add(summary, verdict);
        if (options.fail_fast && !is_success(verdict.status)) halt = true;
        listener.finished(verdict, summary);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      halt = true;
    }
  };

  summary.seconds = timed([&] {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(std::max(1U, options.jobs), cases.size()); ++i) threads.emplace_back(work);
    work();
  });
  if (failure) std::rethrow_exception(failure);
  summary.stopped = summary.finished() < cases.size();
  return summary;
}

}  // namespace assay::harness
