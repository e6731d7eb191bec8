// Runs cases, several at a time and each in a process of its own, and sums up what came of them.
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

// More than eleven days: what lies above is a slip, and in nanoseconds not far from what a clock can count.
inline constexpr std::chrono::duration<double> kLongestTimeout{1e6};

struct RunOptions {
  ExecutionOptions execution;
  unsigned jobs = 1;       // cases at a time, >= 1
  bool fail_fast = false;  // start no further case after the first that did not pass
  std::chrono::duration<double> timeout =
      std::chrono::seconds(60);  // per case, 0 (none) .. kLongestTimeout; without waiting for a processor
  std::uint64_t memory = 0;      // bytes that a worker may have resident, looked at several times a second; 0: no limit
};

// Output elements of some cases.
struct ElementCount {
  std::size_t compared = 0;  // a NaN with the number that it should be, too
  std::size_t faulty = 0;    // of these above the bound, never written, NaN or infinite

  void add(const Judgement& judgement);
};

// What a reader of a whole run needs. Figures cover the cases that were carried out.
struct Summary {
  std::size_t selected = 0;
  std::map<Status, std::size_t> counts;
  ElementCount elements;                              // of cases that did not fail as declared
  ElementCount known_elements;                        // of those that did
  std::map<std::string, std::size_t> known_findings;  // cases that failed as declared, by the declaration's `see` or place
  double largest_ratio = 0;                           // largest error / bound of an output, of cases that did not fail as declared
  std::string largest_ratio_case;
  std::size_t stage_failures = 0;  // cases that passed, but with a later stage that is wrong
  bool any_internal = false;
  std::uint64_t digest = 0;  // of all outputs, independent of the order in which cases finished
  double oracle_seconds = 0;
  double simulator_seconds = 0;
  double seconds = 0;
  bool stopped = false;  // by `stop` or fail_fast, before every case had run

  // One more case with its verdict; `name` is the case's, so that a verdict may come from where no Case is at hand.
  void add(const std::string& name, const Verdict& verdict);

  [[nodiscard]] std::size_t count(Status status) const;
  [[nodiscard]] std::size_t finished() const;  // cases with a verdict
  [[nodiscard]] std::size_t executed() const;  // cases with a verdict other than `skipped`
  [[nodiscard]] std::size_t failures() const;  // cases that count as failure
};

// What a run tells while it goes on, and what it asks. All calls come from run_cases() and its thread.
class RunListener {
 public:
  virtual ~RunListener() = default;
  virtual void started(const Case& about) = 0;
  // `so_far` covers the finished cases, this one included; its seconds are not known yet.
  virtual void finished(const Verdict& verdict, const Summary& so_far) = 0;
  // Called several times a second. False ends the run at once: cases that run are killed and get no verdict.
  [[nodiscard]] virtual bool tick() { return true; }
};

// When `stop` becomes true, running cases are finished, no other is started, and the summary covers what was done.
//
// A case that ends its process, or has it grow beyond its memory, is `crashed`, one that takes longer than the timeout is `timeout`;
// neither touches the others. What somebody else killed (SIGKILL, which the system sends when memory is short) is repeated, three times at
// most. A process serves one case after the other while all of them pass. Any other verdict ends it, and counts only from a process in
// which no case was before, where it is repeated if need be (a timeout is not): what a kernel did unseen to the memory of its process is
// never told of another case. Where the repetition came out otherwise, the verdict has a note.
//
// Must be called where no other thread runs (a fork takes none of them along), else throws std::logic_error. Throws
// metal::EnvironmentError if the system does not let a single worker start, and std::invalid_argument for a
// variant that was not prepared and for a timeout that is negative or not a number.
[[nodiscard]] Summary run_cases(std::span<const Case> cases, const Workbench& workbench, const RunOptions& options,
                                const std::atomic<bool>& stop, RunListener& listener);

// As above, with something else to do for each case in place of execute_case(); `options.execution` is left to it.
[[nodiscard]] Summary run_cases(std::span<const Case> cases, const CaseFunction& execute, const RunOptions& options,
                                const std::atomic<bool>& stop, RunListener& listener);

}  // namespace assay::harness
