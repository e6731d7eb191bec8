// Checks a kernel whenever it is saved.
#pragma once

#include <poll.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/check.h"
#include "cli/options.h"
#include "cli/watch_screen.h"
#include "cli/watched_files.h"

namespace assay::cli {

// Shows what happens.
class WatchView {
 public:
  virtual ~WatchView() = default;
  // A check was stopped before its end, because another one will start.
  virtual void stopped() = 0;
  // A check starts, or waits for the file.
  virtual void started(const WatchState& state) = 0;
  // `message` has arrived, and `state` knows it.
  virtual void told(const WatchState& state, const CheckMessage& message) = 0;
};

class KernelWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws metal::EnvironmentError, and harness::LedgerError.
  KernelWatch(const Options& options, WatchView& view);

  // Checks the file as it is now. A check that still runs is stopped.
  void start();

  // What to wait for before the next step(), and how long at most.
  void add_awaited(std::vector<pollfd>& awaited) const;
  [[nodiscard]] std::chrono::milliseconds longest_wait() const;
  // Looks at the files and at the check. Never waits.
  void step();

  [[nodiscard]] const WatchState& state() const { return state_; }

 private:
  [[nodiscard]] std::vector<std::string> first_cases() const;
  void begin_check();
  void take_changes();
  void take_messages();
  void remember(const CheckedCase& checked);

  const Options& options_;
  WatchView& view_;
  WatchedFiles files_;
  std::vector<std::string> failed_;  // cases that failed when they last ran
  std::string first_case_;           // the first that ever had a verdict
  std::optional<Check> check_;
  WatchState state_;
  Clock::time_point saved_ = Clock::now();
  std::optional<Clock::time_point> due_;  // when the next check starts
};

}  // namespace assay::cli
