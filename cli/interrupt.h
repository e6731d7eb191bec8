// Ctrl-C and SIGTERM as a flag that a run polls.
#pragma once

#include <atomic>

namespace assay::cli {

// While it lives, the first SIGINT or SIGTERM sets stop(), and a second one ends the process as if nobody had listened.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop() const;
};

}  // namespace assay::cli
