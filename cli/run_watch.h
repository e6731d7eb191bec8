// Monitors a run: shows progress, reports slow cases, and forwards the request to stop at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "harness/findings/remarks.h"
#include "harness/process/runner.h"

namespace assay::cli {

// A case without a verdict after 10 s is printed on stderr, and again each time its duration doubles, with its time limit.
class RunWatch final : public harness::RunListener {
 public:
  RunWatch(const Options& options, std::size_t selected, const InterruptGuard& interrupt);
  ~RunWatch() override;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void started(const harness::Case& test_case) override;
  void finished(const harness::Verdict& verdict, const harness::Summary& so_far) override;
  [[nodiscard]] bool tick() override;

  // The cases killed by stopping the run at once, one per line; empty otherwise.
  [[nodiscard]] std::string describe_unfinished() const;

  // Remarks of policy `checked`: one line for each group of similar ones, over all cases.
  [[nodiscard]] std::string describe_remarks() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Running {
    std::string name;
    Clock::time_point start;
    Clock::duration next_note;
  };

  const Options& options_;
  const InterruptGuard& interrupt_;
  Progress progress_;
  std::vector<Running> running_;
  harness::RemarkGroups remarks_;
};

// kExitInternal, kExitFailed or kExitPassed, by the worst verdict of the summary.
[[nodiscard]] int exit_status(const harness::Summary& summary);

// Whether no case passed although none failed, so that the run shows nothing; then says so.
[[nodiscard]] bool nothing_passed(const harness::Summary& summary);

}  // namespace assay::cli
