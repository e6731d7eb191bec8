// Distributes cases over worker processes, enforces limits of time and memory, and sums up the verdicts.
#include "harness/process/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/process.h"
#include "base/processors.h"
#include "harness/execute/execute.h"
#include "harness/execute/execute_job.h"
#include "harness/execute/gpu_pool.h"
#include "harness/findings/beyond.h"
#include "harness/findings/known_finding.h"
#include "harness/findings/remarks.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

using Clock = std::chrono::steady_clock;

// Completes a verdict once it is final, with the known findings that its variant declares.
using Settle = std::function<void(Verdict&)>;
// Whether a case fails if its variant's declarations are right.
using ExpectsFailure = std::function<bool(const Case&)>;

// The longest time between two calls of the listener, and until a stop is noticed.
constexpr std::chrono::milliseconds kTick{100};
// A process that sleeps this much longer than requested was itself stopped (Ctrl-Z, a suspended machine), together with its workers.
constexpr std::chrono::seconds kOverslept{2};

// The number of times that a case is repeated after somebody else killed its process.
constexpr int kPatienceWithKills = 3;

// Assigns cases, waits for verdicts, and ends workers that are late or can no longer be trusted.
class Supervisor {
 public:
  Supervisor(std::span<const Case> cases, const CaseFunction& execute, const Settle& settle, const ExpectsFailure& expects_failure,
             const RunOptions& options, const std::atomic<bool>& stop, RunListener& listener)
      : cases_(cases),
        execute_(execute),
        settle_(settle),
        expects_failure_(expects_failure),
        options_(options),
        stop_(stop),
        listener_(listener) {}

  Summary run() {
    summary_.selected = cases_.size();
    while (true) {
      hand_out();
      if (at_work() == 0 || !listener_.tick()) break;
      wait();
      take_verdicts();
    }
    for (Employed& employed : workers_) {
      // Its answer would be taken for that of the next work.
      if (employed.worker.is_at_work()) employed.gpu.spoil();
    }
    workers_.clear();
    summary_.stopped = summary_.finished() < cases_.size();
    return summary_;
  }

 private:
  // The outcome of a case in a worker that had executed others before, so that it does not count.
  struct Doubted {
    std::size_t index;
    std::size_t others;
    Status status;
    std::vector<Fault> faults;
    int kills = 0;               // times that another process killed a worker that executed the case
    bool needs_new_gpu = false;  // whether it may have harmed the process of the GPU
  };
  struct Employed {
    Worker worker;
    GpuPool::Loan gpu = {};                // what the worker uses of it
    Clock::time_point start = {};          // of the current case, adjusted for waiting times
    std::chrono::nanoseconds waited = {};  // time that the worker has waited for a processor, as of the last adjustment
    std::chrono::nanoseconds used = {};    // processor time before the current case
    Clock::time_point timed = {};          // when these two were read
    std::optional<Doubted> repeated = {};  // the outcome that the current case repeats
    Clock::time_point weighed = {};        // when its memory was last measured
    bool is_for_one_case = false;
  };

  [[nodiscard]] std::size_t at_work() const {
    return static_cast<std::size_t>(std::ranges::count_if(workers_, [](const Employed& employed) { return employed.worker.is_at_work(); }));
  }

  void hand_out() {
    const std::size_t jobs = std::max(1U, options_.jobs);
    while (at_work() < jobs) {
      if (!doubted_.empty()) {
        Employed* employed = employ(doubted_.back().needs_new_gpu);
        if (employed == nullptr) return;
        assign(*employed, doubted_.back().index);
        employed->repeated = std::move(doubted_.back());
        doubted_.pop_back();
      } else if (!stop_ && !halt_ && next_ < cases_.size()) {
        // A failure counts only in a worker of its own, and ends it. So the others are spared what is likely to be one.
        const bool alone = expects_failure_(cases_[next_]);
        const auto idle = std::ranges::find_if(workers_, [](const Employed& employed) { return !employed.worker.is_at_work(); });
        Employed* employed = alone || idle == workers_.end() ? employ(false) : &*idle;
        if (employed == nullptr) return;
        employed->is_for_one_case = alone;
        assign(*employed, next_);
        listener_.started(cases_[next_++]);
      } else {
        return;
      }
    }
  }

  // nullptr if the system refuses a process now but may grant one after another worker has ended.
  Employed* employ(bool with_unused_gpu) {
    try {
      const metal::DeviceChoice& device = options_.execution.device;
      GpuPool::Loan gpu;
      if (device.is_gpu()) gpu = GpuPool::of(device).lend(with_unused_gpu);
      Worker worker(cases_, execute_, {gpu.channel(), device.number});
      workers_.push_back({std::move(worker), std::move(gpu)});
      return &workers_.back();
    } catch (const metal::EnvironmentError&) {
      if (at_work() == 0) throw;
      return nullptr;
    }
  }

  // Wrong values are no sign of it, and the next worker's GPU forgets all memory.
  static bool may_have_harmed_gpu(const Verdict& verdict) {
    return verdict.is_internal || verdict.status == Status::hazard || verdict.status == Status::crashed ||
           verdict.status == Status::timeout;
  }

  void assign(Employed& employed, std::size_t index) const {
    employed.start = employed.weighed = Clock::now();
    // To read them takes six files, so those of a moment ago will do.
    if (const auto moment = std::min<std::chrono::duration<double>>(kTick, options_.timeout / 50);
        employed.start - employed.timed > moment) {
      employed.waited = employed.worker.process().waited();
      employed.used = employed.worker.process().processor_time();
      employed.timed = employed.start;
    }
    employed.worker.assign(index);
    employed.gpu.count_case();
  }

  [[nodiscard]] bool is_limited() const { return options_.timeout.count() > 0; }

  // Waits until a worker reports, the first of them is late, or a tick is due.
  void wait() {
    const Clock::time_point before = Clock::now();
    Clock::duration longest = kTick;
    std::vector<int> descriptors;
    for (const Employed& employed : workers_) {
      if (!employed.worker.is_at_work()) continue;
      descriptors.push_back(employed.worker.descriptor());
      if (is_limited()) {
        const auto left = std::chrono::ceil<Clock::duration>(employed.start + options_.timeout - before);
        longest = std::clamp(left, Clock::duration::zero(), longest);
      }
    }
    // A signal ends the wait early; the listener then decides what the signal means.
    base::wait_for_any(descriptors, std::chrono::ceil<std::chrono::milliseconds>(longest));
    const Clock::duration slept = Clock::now() - before;
    if (slept < longest + kOverslept) return;
    for (Employed& employed : workers_) employed.start += slept - longest;
  }

  void take_verdicts() {
    for (auto employed = workers_.begin(); employed != workers_.end();) {
      const auto current = employed++;
      if (!current->worker.is_at_work()) continue;
      std::optional<Verdict> verdict = current->worker.receive();
      if (!verdict && is_limited() && is_late(*current)) verdict = late(cases_[current->worker.index()]);
      if (!verdict && options_.memory != 0) verdict = grown(*current);
      if (verdict) take(*verdict, current);
    }
  }

  // A worker that reports a failure is not used again. The failure counts only if the worker executed no other case before: an earlier
  // kernel, even one that passed, may have written to the memory of the next case's inputs unnoticed. It does not count either if
  // another process killed the worker. A timeout counts at once, because a repetition would take as long again.
  void take(Verdict& verdict, std::list<Employed>::iterator from) {
    std::size_t others = from->worker.cases_before();
    const bool has_harmed = may_have_harmed_gpu(verdict);
    if (has_harmed) {
      others = std::max(others, from->gpu.cases_before());
      from->gpu.spoil();
    }
    const int kills = (from->repeated ? from->repeated->kills : 0) + (from->worker.was_killed() ? 1 : 0);
    const bool was_disturbed = from->worker.was_killed() && kills <= kPatienceWithKills;
    if (!is_success(verdict.status) && (others != 0 || was_disturbed) && verdict.status != Status::timeout) {
      doubted_.push_back({from->worker.index(), others, verdict.status, std::move(verdict.faults), kills, has_harmed});
      workers_.erase(from);
      return;
    }
    if (const auto before = std::exchange(from->repeated, std::nullopt);
        before && (before->status != verdict.status || before->faults != verdict.faults)) {
      verdict.notes = {note::Repeated{before->others, before->status, before->faults}};
    }
    if (!is_success(verdict.status) || from->is_for_one_case) workers_.erase(from);
    settle_(verdict);
    summary_.add(format_case(verdict.test_case), verdict);
    if (options_.fail_fast && !is_success(verdict.status)) halt_ = true;
    listener_.finished(verdict, summary_);
  }

  // On a busy machine a correct kernel takes longer, so time spent waiting for a processor does not count. A hostile one may have started
  // threads for which it waits, so what all threads compute is limited too.
  [[nodiscard]] bool is_late(Employed& employed) const {
    if (Clock::now() - employed.start <= options_.timeout) return false;
    const unsigned threads = options_.execution.threads == 0 ? base::usable_processors() : options_.execution.threads;
    if (employed.worker.process().processor_time() - employed.used > std::max(1U, threads) * options_.timeout) return true;
    const std::chrono::nanoseconds waited = employed.worker.process().waited();
    // Less than before: the process of its kernels is another one.
    employed.start += std::chrono::duration_cast<Clock::duration>(std::max(waited - employed.waited, std::chrono::nanoseconds::zero()));
    employed.waited = waited;
    return Clock::now() - employed.start > options_.timeout;
  }

  [[nodiscard]] Verdict late(const Case& test_case) const {
    Verdict verdict;
    verdict.test_case = test_case;
    verdict.status = Status::timeout;
    verdict.schedules = metal::Schedule{}.to_string();
    verdict.faults = {fault::Timeout{options_.timeout.count()}};
    return verdict;
  }

  // Ends the worker before the system runs out of memory and chooses a process to kill. To measure takes dozens of system calls, so it is
  // not done whenever another worker has a verdict.
  [[nodiscard]] std::optional<Verdict> grown(Employed& employed) const {
    const Clock::time_point now = Clock::now();
    if (now - employed.weighed < kTick) return std::nullopt;
    employed.weighed = now;
    const Worker& worker = employed.worker;
    const std::uint64_t resident = worker.process().resident_bytes();
    if (resident <= options_.memory) return std::nullopt;
    Verdict verdict = late(cases_[worker.index()]);
    verdict.status = Status::crashed;
    verdict.faults = {fault::MemoryLimit{resident, options_.memory}};
    return verdict;
  }

  std::span<const Case> cases_;
  const CaseFunction& execute_;
  const Settle& settle_;
  const ExpectsFailure& expects_failure_;
  const RunOptions& options_;
  const std::atomic<bool>& stop_;
  RunListener& listener_;
  Summary summary_;
  std::list<Employed> workers_;
  std::vector<Doubted> doubted_;
  std::size_t next_ = 0;
  bool halt_ = false;
};

void expect_one_thread() {
  if (const std::size_t threads = base::count_threads(); threads > 1) {
    throw std::logic_error(
        fmt::format("run_cases() forks a process per case, but this process has {} threads; end the others first", threads));
  }
}

Summary run_settled(std::span<const Case> cases, const CaseFunction& execute, const Settle& settle, const ExpectsFailure& expects_failure,
                    const RunOptions& options, const std::atomic<bool>& stop, RunListener& listener) {
  if (!(options.timeout.count() >= 0 && options.timeout <= kLongestTimeout)) {
    throw std::invalid_argument(
        fmt::format("the time limit is {:g} s; it must be from 0 (no limit) to {:g}", options.timeout.count(), kLongestTimeout.count()));
  }
  expect_one_thread();
  Supervisor supervisor(cases, execute, settle, expects_failure, options, stop, listener);
  Summary summary;
  const double seconds = timed([&] { summary = supervisor.run(); });
  summary.seconds = seconds;
  return summary;
}

}  // namespace

void ElementCount::add(const Judgement& judgement) {
  const std::size_t not_finite = judgement.not_written + judgement.nans + judgement.infs;
  compared += judgement.compared + not_finite;
  faulty += judgement.above_bound + not_finite;
}

void Summary::add(const std::string& name, const Verdict& verdict) {
  ++counts[verdict.status];
  const Judgement& judgement = verdict.judgement;
  (is_expected_failure(verdict.status) ? known_elements : elements).add(judgement);
  for (const std::string& finding : verdict.known) ++known_findings[finding];
  any_internal = any_internal || verdict.is_internal;
  oracle_seconds += verdict.oracle_seconds;
  simulator_seconds += verdict.simulator_seconds;
  if (verdict.status == Status::passed && std::ranges::any_of(verdict.stages, [](const StageVerdict& stage) { return !stage.passed; }))
    ++stage_failures;
  const bool larger = judgement.max_ratio > largest_ratio;
  // Ties go to the first name, so that the summary does not depend on which case finished first.
  const bool first_of_equals =
      judgement.max_ratio == largest_ratio && judgement.compared > 0 && (largest_ratio_case.empty() || name < largest_ratio_case);
  if (!is_expected_failure(verdict.status) && (larger || first_of_equals)) {
    largest_ratio = judgement.max_ratio;
    largest_ratio_case = name;
  }
  // The sum does not depend on the order of cases. Hashing the name too distinguishes equal outputs of different cases.
  digest += base::digest_of(name, verdict.digest);
}

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
  std::map<const Family*, std::vector<Case>> asking;
  for (const Case& test_case : cases) {
    static_cast<void>(workbench.find(test_case.variant));
    if (test_case.family->ask_ahead) asking[test_case.family].push_back(test_case);
  }
  for (const auto& [family, of_family] : asking) family->ask_ahead(of_family);
  const CaseFunction execute = [&](const Case& test_case) {
    return execute_case(workbench.find(test_case.variant), test_case, options.execution);
  };
  const Settle settle = [&](Verdict& verdict) {
    const PreparedVariant& prepared = workbench.find(verdict.test_case.variant);
    // A known finding is about the contract.
    if (verdict.test_case.beyond.empty()) {
      const bool sees_hazards = !options.execution.returned && !options.execution.device.is_gpu();
      settle_known_findings(prepared.known_findings, verdict, options.execution.policy, sees_hazards);
    }
    if (options.remarks_fail) settle_remarks(verdict);
    settle_beyond(prepared.variant, verdict);
  };
  // Of a GPU, processes are dear, and hazards do not show.
  const ExpectsFailure expects_failure = [&](const Case& test_case) {
    const bool is_of_contract = test_case.beyond.empty() && !options.execution.returned && !options.execution.device.is_gpu();
    return is_of_contract && std::ranges::any_of(workbench.find(test_case.variant).known_findings, [&](const KnownFinding& finding) {
             return (options.execution.policy == metal::Policy::checked || !finding.needs_checked()) && finding.matches(test_case);
           });
  };
  return run_settled(cases, execute, settle, expects_failure, options, stop, listener);
}

Summary run_cases(std::span<const Case> cases, const CaseFunction& execute, const RunOptions& options, const std::atomic<bool>& stop,
                  RunListener& listener) {
  return run_settled(cases, execute, [](Verdict&) {}, [](const Case&) { return false; }, options, stop, listener);
}

}  // namespace assay::harness
