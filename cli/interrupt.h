// Handles Ctrl-C and SIGTERM: the first Ctrl-C stops a run after the running cases, a second one or SIGTERM stops it at once.
#pragma once

#include <atomic>

namespace assay::cli {

// While it exists, the first SIGINT prints a message to stderr and sets stop(). The second SIGINT, or the first SIGTERM, also sets
// end_at_once() if a listener is registered. Without a listener, and on the third signal, the process exits at once with kExitInterrupted.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop() const;
  [[nodiscard]] bool end_at_once() const;
  // Registers a listener that polls end_at_once() several times a second, for the lifetime of the object.
  void start_listening() const;
  void stop_listening() const;
};

}  // namespace assay::cli
