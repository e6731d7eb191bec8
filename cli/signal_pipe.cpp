// Handlers that write the number of a signal into a pipe.
#include "cli/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace assay::cli {
namespace {

constexpr std::array kNoted = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

std::atomic<int> pipe_of_signals = -1;
static_assert(std::atomic<int>::is_always_lock_free, "read in a signal handler");

void note_signal(int number) {
  const int before = errno;
  const char byte = static_cast<char>(number);
  // A full pipe has more than enough of them.
  [[maybe_unused]] const auto written = ::write(pipe_of_signals, &byte, 1);
  errno = before;
}

void handle_with(void (*handler)(int)) {
  for (const int number : kNoted) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

SignalPipe::SignalPipe() : ends_(base::make_pipe("signal", O_NONBLOCK)) {
  pipe_of_signals = ends_.theirs.number();
  handle_with(note_signal);
}

SignalPipe::~SignalPipe() {
  handle_with(SIG_DFL);
  pipe_of_signals = -1;
}

SignalPipe::Arrived SignalPipe::take() {
  Arrived arrived;
  std::array<char, 64> numbers{};
  ssize_t count = 0;
  while ((count = read(descriptor(), numbers.data(), numbers.size())) > 0) {
    for (ssize_t i = 0; i < count; ++i) {
      const int number = numbers.at(static_cast<std::size_t>(i));
      arrived.interrupt |= number == SIGINT;
      arrived.end |= number == SIGTERM || number == SIGHUP;
      arrived.resize |= number == SIGWINCH;
    }
  }
  return arrived;
}

}  // namespace assay::cli
