// Ctrl-C and SIGTERM: the first Ctrl-C asks a run to stop, the second, or a SIGTERM, to end at once.
#pragma once

#include <atomic>

namespace assay::cli {

// While it lives, the first SIGINT says so on stderr and sets stop(). The second, and the first SIGTERM, sets end_at_once() as well,
// for whoever has announced that it listens; where nobody has, and with the third in any case, the process ends on the
// spot with kExitInterrupted.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop() const;
  [[nodiscard]] bool end_at_once() const;
  // A promise to look at end_at_once() several times a second, and its end.
  void start_listening() const;
  void stop_listening() const;
};

}  // namespace assay::cli
