#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace assay::cli {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

void on_signal(int) {
  stop_requested = true;
  constexpr char message[] = "\nassay: stopping when the running cases are done; once more to end at once\n";
  // Nothing to be done if it fails, and stdio is not for signal handlers.
  [[maybe_unused]] const auto written = write(STDERR_FILENO, message, sizeof(message) - 1);
}

void listen(void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

// SA_RESETHAND: the second signal finds the default action, so that a kernel that never ends can still be stopped.
InterruptGuard::InterruptGuard() { listen(on_signal, static_cast<int>(SA_RESETHAND) | SA_RESTART); }

InterruptGuard::~InterruptGuard() { listen(SIG_DFL, 0); }

const std::atomic<bool>& InterruptGuard::stop() const { return stop_requested; }

}  // namespace assay::cli
