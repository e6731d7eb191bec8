// Runs cases, several at a time and each in a separate process, and sums up their outcomes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "harness/execute/execute.h"
#include "harness/findings/verdict.h"
#include "harness/prepare/workbench.h"
#include "harness/process/worker.h"

namespace assay::harness {

// More than eleven days. Larger values are mistakes, and in nanoseconds close to the limit of a clock.
inline constexpr std::chrono::duration<double> kLongestTimeout{1e6};

struct RunOptions {
  ExecutionOptions execution;
  unsigned jobs = 1;          // cases at a time, >= 1
  bool fail_fast = false;     // start no further case after the first failure
  bool remarks_fail = false;  // under the policy `checked`: a case with remarks does not pass (harness/findings/remarks.h)
  std::chrono::duration<double> timeout =
      std::chrono::seconds(60);  // per case, 0 (none) .. kLongestTimeout; excludes waiting for a processor
  std::uint64_t memory = 0;      // resident bytes that a worker may have, checked several times a second; 0: no limit
};

// Numbers of output elements of some cases.
struct ElementCount {
  std::size_t compared = 0;  // includes a NaN where a number is expected
  std::size_t faulty = 0;    // of these: above the bound, never written, NaN or infinite

  void add(const Judgement& judgement);
};

// The summary of a whole run. Figures cover the cases that were executed.
struct Summary {
  std::size_t selected = 0;
  std::map<Status, std::size_t> counts;
  ElementCount elements;                              // of cases without a known finding
  ElementCount known_elements;                        // of cases with a known finding
  std::map<std::string, std::size_t> known_findings;  // number of cases that failed as declared, by the declaration's `see` or place
  double largest_ratio = 0;                           // largest error / bound of an output, of cases without a known finding
  std::string largest_ratio_case;
  std::size_t stage_failures = 0;  // cases that passed although a later stage is wrong
  bool any_internal = false;
  std::uint64_t digest = 0;  // of all outputs, independent of the order in which cases finished
  double oracle_seconds = 0;
  double simulator_seconds = 0;
  double seconds = 0;
  bool stopped = false;  // by `stop` or fail_fast, before all cases had run

  // Adds one case with its verdict. `name` is that of the case, so that callers without a Case can add verdicts.
  void add(const std::string& name, const Verdict& verdict);

  [[nodiscard]] std::size_t count(Status status) const;
  [[nodiscard]] std::size_t finished() const;  // cases with a verdict
  [[nodiscard]] std::size_t executed() const;  // cases with a verdict other than `skipped`
  [[nodiscard]] std::size_t failures() const;  // cases that count as failure
};

// Receives progress, and decides whether the run continues. run_cases() makes all calls, on its own thread.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void started(const Case& test_case) = 0;
  // `so_far` covers the finished cases, including this one; its seconds are not known yet.
  virtual void finished(const Verdict& verdict, const Summary& so_far) = 0;
  // Called several times a second. Returning false ends the run at once: running cases are killed and get no verdict.
  [[nodiscard]] virtual bool tick() { return true; }
};

// When `stop` becomes true, running cases are finished, no other is started, and the summary covers the finished cases.
//
// A case that ends its process, or exceeds its memory, is `crashed`; one that takes longer than the timeout is `timeout`. Neither
// affects other cases. A process that somebody else killed (SIGKILL, which the system sends when memory is short) is repeated, at
// most three times.
//
// A process executes case after case while all of them pass. Any other verdict ends the process. Such a verdict counts only if the
// process executed no case before; otherwise the case is repeated in a new process, except after a timeout. So hidden damage to the
// memory of a process is never attributed to another case. If the repetition has another outcome, the verdict has a note.
//
// Must be called while no other thread runs, because a fork copies only the calling thread; otherwise throws std::logic_error. Throws
// metal::EnvironmentError if the system does not let a single worker start. Throws std::invalid_argument for a variant that was not
// prepared, and for a timeout that is negative or not a number.
[[nodiscard]] Summary run_cases(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options,
                                const std::atomic<bool>& stop, RunListener& listener);

// The same with another function in place of execute_case(). Of `options.execution` it looks only at the device, whose processes the
// workers get.
[[nodiscard]] Summary run_cases(std::span<const Case> cases, const CaseFunction& execute, const RunOptions& options,
                                const std::atomic<bool>& stop, RunListener& listener);

}  // namespace assay::harness
