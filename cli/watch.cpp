#include "cli/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kFirstNote{10};
constexpr int kPollMilliseconds = 200;

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

RunWatch::RunWatch(const Options& options, std::size_t selected, const InterruptGuard& interrupt)
    : options_(options), interrupt_(interrupt), progress_(options, selected) {
  so_far_.selected = selected;
  thread_ = std::jthread([this, last_call = interrupt.last_call()](const std::stop_token& token) { watch(token, last_call); });
}

RunWatch::~RunWatch() {
  thread_.request_stop();
  thread_.join();
  interrupt_.stop_listening();
  progress_.finish();
}

void RunWatch::started(const harness::Case& about) {
  const std::lock_guard lock(mutex_);
  running_.push_back({harness::format_case(about), Clock::now(), kFirstNote});
}

void RunWatch::finished(const harness::Verdict& verdict, const harness::Summary& so_far) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(running_, harness::format_case(verdict.about), &Running::name);
  if (found != running_.end()) running_.erase(found);
  so_far_ = so_far;
  progress_.show(verdict);
  // One case is asked for by somebody who wants to know about it.
  if (so_far.selected == 1 && harness::is_success(verdict.status)) fmt::print("{}", describe_verdict(verdict, options_));
}

void RunWatch::watch(const std::stop_token& token, int last_call) {
  pollfd request = {last_call, POLLIN, 0};
  while (!token.stop_requested()) {
    if (poll(&request, 1, kPollMilliseconds) > 0) end_at_once();
    name_long_cases();
  }
}

void RunWatch::name_long_cases() {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (Running& running : running_) {
    if (now - running.start < running.next_note) continue;
    progress_.finish();
    fmt::print(stderr, "assay: {} has been running for {:.0f} s; there is no time limit, Ctrl-C twice stops it\n", running.name,
               seconds(now - running.start));
    running.next_note *= 2;
  }
}

void RunWatch::end_at_once() {
  const std::lock_guard lock(mutex_);
  progress_.finish();
  const Clock::time_point now = Clock::now();
  for (const Running& running : running_) {
    fmt::print("no verdict {}: it had been running for {:.1f} s\n", running.name, seconds(now - running.start));
  }
  so_far_.stopped = true;
  so_far_.seconds = seconds(now - start_);
  fmt::print("{}", describe_summary(so_far_, options_));
  std::fflush(nullptr);
  // Threads that run a kernel cannot be joined, so nothing is destroyed.
  const int status = exit_status(so_far_);
  _exit(status == kExitPassed ? kExitInterrupted : status);
}

int exit_status(const harness::Summary& summary) {
  if (summary.any_internal) return kExitInternal;
  return summary.failures() != 0 ? kExitFailed : kExitPassed;
}

}  // namespace assay::cli
