// Waits until a save is complete, and starts a check for the newest source.
#include "cli/kernel_watch.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/kernel_files.h"
#include "cli/last_failed.h"

namespace assay::cli {
namespace {

using std::chrono::milliseconds;

// Editors save in several steps, with less than this between them.
constexpr milliseconds kSettling{25};
// What is gone may come back: some editors, and git, delete a file first.
constexpr milliseconds kReturning{250};
// More cases that failed would keep the others waiting.
constexpr std::size_t kMostFirst = 100;
constexpr milliseconds kNothingDue{3'600'000};

}  // namespace

KernelWatch::KernelWatch(const Options& options, WatchView& view) : options_(options), view_(view) {
  // Those of the ledger may be others than the user asks for.
  if (options.words.empty()) failed_ = recent_failures(options);
}

void KernelWatch::start() {
  saved_ = Clock::now();
  begin_check();
}

void KernelWatch::begin_check() {
  due_.reset();
  if (check_) view_.stopped();
  check_.reset();
  state_ = {};
  // Before the check reads the files: what changes from now on starts another one.
  files_.follow(kernel_files(options_));
  std::error_code unknown;
  if (std::filesystem::exists(options_.kernel, unknown))
    check_.emplace(options_, CheckRequest{first_cases()});
  else
    state_.phase = WatchState::Phase::waiting;
  view_.started(state_);
}

void KernelWatch::add_awaited(std::vector<pollfd>& awaited) const {
  awaited.push_back({files_.descriptor(), POLLIN, 0});
  if (check_) awaited.push_back({check_->descriptor(), POLLIN, 0});
}

milliseconds KernelWatch::longest_wait() const {
  if (!due_) return kNothingDue;
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*due_ - Clock::now()));
}

void KernelWatch::step() {
  take_changes();
  take_messages();
  if (due_ && Clock::now() >= *due_) begin_check();
}

void KernelWatch::take_changes() {
  const WatchedFiles::Change change = files_.take_changes();
  if (change == WatchedFiles::Change::none) return;
  saved_ = Clock::now();
  due_ = saved_ + (change == WatchedFiles::Change::written ? kSettling : kReturning);
}

void KernelWatch::take_messages() {
  while (check_) {
    // The verdicts on an older source count no more.
    const std::optional<CheckMessage> message = due_ ? std::nullopt : check_->receive();
    if (!message) return;
    state_.take(*message, std::chrono::duration<double>(Clock::now() - saved_).count());
    if (const auto* checked = std::get_if<CheckedCase>(&*message)) remember(*checked);
    view_.told(state_, *message);
    if (std::holds_alternative<CheckEnded>(*message)) check_.reset();
  }
}

std::vector<std::string> KernelWatch::first_cases() const {
  if (failed_.empty()) return first_case_.empty() ? std::vector<std::string>() : std::vector{first_case_};
  return {failed_.begin(), failed_.begin() + static_cast<std::ptrdiff_t>(std::min(failed_.size(), kMostFirst))};
}

void KernelWatch::remember(const CheckedCase& checked) {
  if (first_case_.empty()) first_case_ = checked.name;
  const auto known = std::ranges::find(failed_, checked.name);
  const bool is_failure = !harness::is_success(checked.status);
  if (is_failure && known == failed_.end()) failed_.push_back(checked.name);
  if (!is_failure && known != failed_.end()) failed_.erase(known);
}

}  // namespace assay::cli
