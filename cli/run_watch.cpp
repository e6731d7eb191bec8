// Prints progress, slow cases and remarks while a run goes on.
#include "cli/run_watch.h"
#include "cli/say.h"
#include "harness/findings/fault_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace assay::cli {
namespace {

constexpr std::chrono::seconds kFirstNote{10};

double seconds(std::chrono::steady_clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

RunWatch::RunWatch(const Options& options, std::size_t selected, const InterruptGuard& interrupt)
    : options_(options), interrupt_(interrupt), progress_(options, selected) {
  interrupt_.start_listening();
}

RunWatch::~RunWatch() {
  interrupt_.stop_listening();
  progress_.finish();
}

void RunWatch::started(const harness::Case& test_case) { running_.push_back({harness::format_case(test_case), Clock::now(), kFirstNote}); }

void RunWatch::finished(const harness::Verdict& verdict, const harness::Summary& so_far) {
  std::erase_if(running_, [name = harness::format_case(verdict.test_case)](const Running& running) { return running.name == name; });
  // A case that fails with nothing but remarks that were shown is one of a count at the end.
  const bool is_repetition =
      !harness::is_success(verdict.status) && !verdict.remarks.empty() &&
      std::ranges::all_of(verdict.faults, [](const harness::Fault& fault) { return fault.kind() == harness::FaultKind::remark; }) &&
      remarks_.has_all(verdict.test_case.variant, verdict.remarks);
  progress_.show(verdict, is_repetition);
  remarks_.add(verdict.test_case.variant, harness::format_case(verdict.test_case), verdict.remarks);
  // A single case was requested for its details.
  if (so_far.selected == 1 && harness::is_success(verdict.status)) say_verdict(verdict.status, describe_verdict(verdict, options_));
}

bool RunWatch::tick() {
  const Clock::time_point now = Clock::now();
  for (Running& running : running_) {
    if (now - running.start < running.next_note) continue;
    progress_.finish();
    const std::string limit = options_.timeout > 0 ? fmt::format("its time limit is {:g} s", options_.timeout)
                                                   : "it has no time limit; press Ctrl-C twice to stop it";
    say(stderr, "assay: {} has been running for {:.0f} s; {}\n", running.name, seconds(now - running.start), limit);
    running.next_note *= 2;
  }
  return !interrupt_.end_at_once();
}

std::string RunWatch::describe_unfinished() const {
  std::string text;
  for (const Running& running : running_) {
    text += fmt::format("no verdict for {}, which had been running for {:.1f} s\n", running.name, seconds(Clock::now() - running.start));
  }
  return text;
}

std::string RunWatch::describe_remarks() const {
  std::string text;
  for (const harness::RemarkGroup& group : remarks_.all()) text += fmt::format("remark: {}\n", harness::text_of(group));
  return text;
}

int exit_status(const harness::Summary& summary) {
  if (summary.any_internal) return kExitInternal;
  return summary.failures() != 0 ? kExitFailed : kExitPassed;
}

bool nothing_passed(const harness::Summary& summary) {
  if (summary.count(harness::Status::passed) != 0 || summary.count(harness::Status::not_required) != 0) return false;
  say("nothing passed: {}\n",
      summary.executed() == 0 ? "every selected case was skipped" : "every selected case was skipped or failed as known");
  return true;
}

}  // namespace assay::cli
