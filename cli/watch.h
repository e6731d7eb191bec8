// Looks after a run while it goes on: shows its progress, names the cases that take long, and knows what to tell when it is
// ended at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "harness/run/runner.h"

namespace assay::cli {

// A case without a verdict after 10 s is named on stderr, and again whenever its time has doubled: there is no time limit, so this
// is all that tells an endless loop from a long case. On the second Ctrl-C the summary of the finished cases is printed,
// the running ones are named, everything is flushed and the process ends.
class RunWatch final : public harness::RunListener {
 public:
  RunWatch(const Options& options, std::size_t selected, const InterruptGuard& interrupt);
  ~RunWatch() override;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void started(const harness::Case& about) override;
  void finished(const harness::Verdict& verdict, const harness::Summary& so_far) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    std::string name;
    Clock::time_point start;
    Clock::duration next_note;
  };

  void watch(const std::stop_token& token, int last_call);
  void name_long_cases();
  [[noreturn]] void end_at_once();

  const Options& options_;
  const InterruptGuard& interrupt_;
  Clock::time_point start_ = Clock::now();
  std::mutex mutex_;  // of everything below
  Progress progress_;
  std::vector<Running> running_;
  harness::Summary so_far_;
  std::jthread thread_;  // last, so that it ends before what it looks at
};

// kExitInternal, kExitFailed, or kExitPassed if nothing of the kind is in the summary.
[[nodiscard]] int exit_status(const harness::Summary& summary);

}  // namespace assay::cli
