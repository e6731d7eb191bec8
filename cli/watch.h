// Looks after a run while it goes on: shows its progress, names the cases that take long, and passes on that it is to end at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "harness/run/runner.h"

namespace assay::cli {

// A case without a verdict after 10 s is named on stderr, and again whenever its time has doubled: whoever waits learns for
// what, and whether a time limit will end it.
class RunWatch final : public harness::RunListener {
 public:
  RunWatch(const Options& options, std::size_t selected, const InterruptGuard& interrupt);
  ~RunWatch() override;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void started(const harness::Case& about) override;
  void finished(const harness::Verdict& verdict, const harness::Summary& so_far) override;
  [[nodiscard]] bool tick() override;

  // The cases that were killed because the run was ended at once, a line each; empty after any other end.
  [[nodiscard]] std::string describe_unfinished() const;

  // What the policy `checked` saw that is no defect: a line for each place, over all cases.
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
  struct Remark {
    metal::Hazard what;
    std::size_t cases = 0;
  };
  using Place = std::pair<std::string, std::uint32_t>;
  std::map<std::tuple<std::string, metal::HazardKind, Place, Place>, Remark> remarks_;  // by function, kind and places
};

// kExitInternal, kExitFailed, or kExitPassed if nothing of the kind is in the summary.
[[nodiscard]] int exit_status(const harness::Summary& summary);

}  // namespace assay::cli
