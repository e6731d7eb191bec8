// Signal handlers for Ctrl-C and SIGTERM.
#include "cli/interrupt.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "cli/options.h"

namespace assay::cli {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<bool> is_listening = false;
std::atomic<int> signals = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free, "set from a signal handler");

void on_signal(int signal) {
  const int before = errno;
  int count = ++signals;
  if (signal == SIGTERM && count == 1) {
    // SIGTERM (from timeout, a CI runner or a container) is usually followed by SIGKILL, so stop at once with the results so far.
    stop_requested = true;
    signals = count = 2;
  }
  if (count == 1) {
    stop_requested = true;
    constexpr char message[] = "\nassay: stopping after the running cases; press Ctrl-C again to stop at once\n";
    // A failed write is ignored; stdio is not safe in signal handlers.
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, sizeof(message) - 1);
  } else if (count > 2 || !is_listening) {
    constexpr char message[] = "\nassay: stopped at once by a signal; cases without a verdict above were not judged\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message, sizeof(message) - 1);
    _exit(kExitInterrupted);
  }
  errno = before;
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

InterruptGuard::InterruptGuard() { listen(on_signal, SA_RESTART); }

InterruptGuard::~InterruptGuard() {
  listen(SIG_DFL, 0);
  is_listening = false;
}

const std::atomic<bool>& InterruptGuard::stop() const { return stop_requested; }

bool InterruptGuard::end_at_once() const { return signals > 1; }

void InterruptGuard::start_listening() const { is_listening = true; }

void InterruptGuard::stop_listening() const { is_listening = false; }

}  // namespace assay::cli
