// Ctrl-C and SIGTERM: the first asks a run to stop, the second ends it.
#pragma once

#include <atomic>

namespace assay::cli {

// While it lives, the first SIGINT or SIGTERM says so on stderr and sets stop(). The second makes last_call() readable, so that a
// thread can tell what is known before it ends the process; where nobody has announced that it listens, and with the
// third in any case, the process ends on the spot with kExitInterrupted.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  [[nodiscard]] const std::atomic<bool>& stop() const;
  // A file descriptor to poll; whoever asks for it promises to end the process once it is readable.
  [[nodiscard]] int last_call() const;
  // Takes that promise back.
  void stop_listening() const;
};

}  // namespace assay::cli
