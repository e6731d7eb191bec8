// Formats verdicts, progress and summaries for the terminal.
#include "cli/console.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/counted.h"
#include "cli/device.h"
#include "cli/say.h"
#include "cli/terminal.h"
#include "cli/workspace.h"
#include "harness/cases/suite.h"
#include "harness/findings/fault_text.h"
#include "harness/ledger/executed_on.h"
#include "kernels/axis_text.h"
#include "reports/explanation.h"
#include "reports/figures.h"

namespace assay::cli {
namespace {

// "executed on the simulator, policy checked"; the policy native is not named.
std::string executed_text(const Options& options) {
  return harness::executed_on(replay_options(options)) + (options.policy == "native" ? "" : ", policy " + options.policy);
}

using harness::Status;
using harness::Verdict;

// Only this many failures are described in full, because a broken kernel would fill the screen.
constexpr std::size_t kDetailedFailures = 10;
constexpr int kBarWidth = 30;
constexpr std::size_t kPlainInterval = 100;  // cases between two progress lines that are not on a terminal

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string_view fault_name(harness::ElementFault fault) {
  switch (fault) {
    case harness::ElementFault::none:
      return "";
    case harness::ElementFault::above_bound:
      return "above bound";
    case harness::ElementFault::not_written:
      return "never written";
    case harness::ElementFault::nan:
      return "NaN";
    case harness::ElementFault::infinite:
      return "infinite";
  }
  return "";
}

// Under policy `shadow`, each error is also shown as rounding and logic.
std::string worst_elements(const Verdict& verdict) {
  const harness::Judgement& judgement = verdict.judgement;
  if (judgement.worst.empty()) return {};
  std::string text =
      fmt::format("    {:>8} {:>6} {:>10}  {:>16}  {:>16}  {:>12}  {:>12}  {:>12}{}\n", "index", "row", "coordinate", "expected", "actual",
                  "error", "bound", "error/bound", verdict.split ? fmt::format("  {:>12}  {:>12}", "rounding", "logic") : std::string());
  for (const harness::WorstElement& element : judgement.worst) {
    std::string parts;
    if (verdict.split) {
      const harness::SplitElement* split = verdict.split->find(element.index);
      parts = split == nullptr ? fmt::format("  {:>12}  {:>12}", "-", "-")
                               : fmt::format("  {:>12.4g}  {:>12.4g}", split->rounding(), split->logic());
    }
    text += fmt::format("    {:>8} {:>6} {:>10}  {:>16.9g}  {:>16.9g}  {:>12.4g}  {:>12.4g}  {:>12.4g}{}  {}\n", element.index,
                        element.index / verdict.row_length, element.index % verdict.row_length, element.expected, element.actual,
                        std::abs(element.actual - element.expected), element.bound, element.ratio, parts, fault_name(element.fault));
  }
  return text;
}

std::string worst_of_failure(const Verdict& verdict) {
  const bool is_failure = verdict.status == Status::failed || verdict.status == Status::hazard || verdict.status == Status::mistrusted;
  return is_failure ? worst_elements(verdict) : std::string();
}

// Whether the verdict's reason ends with the first hazard.
bool ends_with_hazard(const Verdict& verdict) {
  const auto* hazard = verdict.faults.empty() ? nullptr : verdict.faults.back().as<harness::fault::Hazard>();
  return hazard != nullptr && !hazard->is_output_right;
}

// If the reason already contains the first hazard, only the missing details of it are printed.
std::string hazards_of(const Verdict& verdict) {
  std::string text;
  for (std::size_t i = 0; i < verdict.hazards.size(); ++i) {
    const metal::Hazard& hazard = verdict.hazards[i];
    const std::string times = hazard.count == 1 ? std::string() : fmt::format(" ({} times)", hazard.count);
    const bool is_reason = i == 0 && ends_with_hazard(verdict);
    if (!is_reason) {
      text += fmt::format("    {}{}\n", harness::hazard_text(hazard), times);
    } else if (!times.empty()) {
      text += fmt::format("    occurred{}\n", times);
    }
    if (hazard.second) text += fmt::format("    {}:{}: the other access\n", hazard.second->file, hazard.second->line);
  }
  return text;
}

// `remark` says what a stage means for the verdict.
std::string stages_of(const Verdict& verdict, bool only_failures, std::string_view remark = " (does not affect this verdict)") {
  std::string text;
  for (const harness::StageVerdict& stage : verdict.stages) {
    if (stage.passed && only_failures) continue;
    if (!stage.is_judged) {
      text += fmt::format("  {}: not judged ({})\n", stage.name, harness::reason_of(stage));
      continue;
    }
    text += fmt::format("  {}: {}{}{}, largest error/bound {:.4g}{}\n", stage.name, stage.passed ? "passed" : "failed",
                        stage.faults.empty() ? "" : ": ", harness::reason_of(stage), stage.judgement.max_ratio, remark);
  }
  return text;
}

// "3 failed"
void put_failures(std::size_t failures) {
  const std::string text = fmt::format("{} failed", failures);
  if (failures == 0)
    put(stdout, text);
  else
    put_painted(stdout, Paint::failure, text);
}

// Whether the case has a comparison to print.
bool has_figures(const Verdict& verdict) {
  switch (verdict.status) {
    case Status::passed:
    case Status::failed:
    case Status::known:
    case Status::not_required:
    case Status::hazard:
      return true;
    case Status::mistrusted:
      return !verdict.is_internal;
    case Status::crashed:
    case Status::timeout:
    case Status::rejected:
    case Status::skipped:
      return false;
  }
  return false;
}

}  // namespace

Progress::Progress(const Options& options, std::size_t selected)
    : options_(options), selected_(selected), start_(now()), is_terminal_(is_terminal(stdout)) {}

void Progress::show(const Verdict& verdict, bool is_repetition) {
  ++done_;
  if (!harness::is_success(verdict.status)) {
    ++failures_;
    if (!is_repetition) show_failure(verdict);
  } else if (!verdict.notes.empty()) {
    clear();
    say_verdict(verdict.status, describe_verdict(verdict, options_));
  }
  if (is_terminal_) {
    if (now() - last_drawn_ > 0.1 || done_ == selected_) draw();
  } else if (done_ % kPlainInterval == 0 && done_ < selected_) {
    say("{} of {} cases, {} failed\n", done_, selected_, failures_);
  }
  std::fflush(stdout);
}

void Progress::show_failure(const Verdict& verdict) {
  clear();
  if (++shown_failures_ <= kDetailedFailures) {
    say_verdict(verdict.status, describe_verdict(verdict, options_));
  } else {
    say_verdict(verdict.status, fmt::format("{:<10} {}  {}\n", harness::to_string(verdict.status), harness::format_case(verdict.test_case),
                                            harness::reason_of(verdict)));
  }
  if (shown_failures_ == kDetailedFailures) say("(further failures take one line each; `assay show CASE` prints the details)\n");
}

void Progress::draw() {
  last_drawn_ = now();
  const double elapsed = last_drawn_ - start_;
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(selected_ - done_) / rate : 0;
  const int filled = selected_ == 0 ? kBarWidth : static_cast<int>(done_ * kBarWidth / selected_);
  control(stdout, Control::clear_line);
  say("[{:#<{}}{:.<{}}] {}/{}, {:.0f} cases/s, {:.0f} s left, ", "", filled, "", kBarWidth - filled, done_, selected_, rate, left);
  put_failures(failures_);
}

void Progress::clear() {
  if (is_terminal_) control(stdout, Control::clear_line);
}

void Progress::finish() {
  clear();
  std::fflush(stdout);
}

std::string describe_head(const Verdict& verdict) {
  std::string text = fmt::format("{} {}\n", harness::to_string(verdict.status), harness::format_case(verdict.test_case));
  if (!verdict.faults.empty()) text += fmt::format("  {}\n", harness::reason_of(verdict));
  if (!verdict.notes.empty()) text += fmt::format("  note: {}\n", harness::text_of(verdict.notes));
  return text;
}

std::string describe_outcome(const Verdict& verdict) {
  return describe_head(verdict) + hazards_of(verdict) + worst_of_failure(verdict) + stages_of(verdict, true);
}

std::string describe_trace(const Verdict& verdict) {
  return describe_head(verdict) + hazards_of(verdict) + worst_of_failure(verdict) + stages_of(verdict, false, "");
}

std::string describe_verdict(const Verdict& verdict, const Options& options) {
  const std::string name = harness::format_case(verdict.test_case);
  std::string text = describe_outcome(verdict);
  if (verdict.status != Status::passed)
    text += fmt::format("  {}: {}\n", options.executed_on.empty() ? "replay" : "on the simulator",
                        replay_line(options, name, verdict.schedules));
  return text;
}

std::string describe_everything(const Verdict& verdict, const Options& options) {
  const std::string name = harness::format_case(verdict.test_case);
  std::string text = describe_head(verdict);
  text += fmt::format("  family {}: {}\n", verdict.test_case.family->name(), verdict.test_case.family->description);
  for (std::size_t i = 0; i < verdict.test_case.values.size(); ++i) {
    const std::string_view axis = verdict.test_case.family->axes[i].name;
    text += fmt::format("  {:<16} {}\n", axis, kernels::axis_text(verdict.test_case.family->contract, axis, verdict.test_case.values[i]));
  }
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.name == verdict.test_case.fixture) text += fmt::format("  fixture {:<8} {}\n", fixture.name, fixture.catches);
  }
  if (const families::Omission* omission = harness::omission_of(verdict.test_case))
    text += fmt::format("  beyond           whether the kernel does {}; no case of the gate is about it: {}\n", omission->ability,
                        omission->sentence);
  const harness::Judgement& judgement = verdict.judgement;
  if (has_figures(verdict)) {
    harness::ElementCount elements;
    elements.add(judgement);
    text += fmt::format("  elements         {} compared, {} above bound, {} never written, {} NaN, {} infinite, {} guard words changed\n",
                        elements.compared, judgement.above_bound, judgement.not_written, judgement.nans, judgement.infs,
                        judgement.guard_violations);
    text += fmt::format("  error/bound      largest {:.4g} at index {}\n", judgement.max_ratio, judgement.max_ratio_index);
    text += judgement.compared == 0
                ? std::string("  error            none: no element is a number\n")
                : fmt::format("  error            largest {:.4g} absolute, {:.4g} relative; NMSE {:.4g}; cosine {:.15g}\n",
                              judgement.max_abs_error, judgement.max_rel_error, judgement.nmse, judgement.cosine);
    if (verdict.split) text += fmt::format("  split            {}\n", reports::split_text(*verdict.split));
    text += fmt::format("  bound            median bound/magnitude {:.4g}; {} uninformative elements; {} distinct expected values\n",
                        judgement.median_bound_ratio, judgement.uninformative, judgement.distinct_expected);
    if (named_device(options).is_gpu())
      text += fmt::format("  GPU              {:.6f} s; oracle {:.4f} s\n", verdict.simulator_seconds, verdict.oracle_seconds);
    else
      text +=
          fmt::format("  simulator        {} threadgroups, {} meeting points, {} collectives ({} divergent), {:.4f} s; oracle {:.4f} s\n",
                      verdict.counters.threadgroups, verdict.counters.meeting_points, verdict.counters.collectives,
                      verdict.counters.divergent_collectives, verdict.simulator_seconds, verdict.oracle_seconds);
    text += fmt::format("  output digest    {:016x}\n", verdict.digest);
    text += "  worst elements\n" + worst_elements(verdict);
  }
  text += hazards_of(verdict);
  for (const metal::Hazard& remark : verdict.remarks)
    text += fmt::format("  remark: {} ({})\n", harness::hazard_text(remark), base::counted(remark.count, "time"));
  text += stages_of(verdict, false);
  text += fmt::format("  replay: {}\n", replay_line(options, name, verdict.schedules));
  text += fmt::format("  {}\n", executed_text(options));
  return text;
}

namespace {

// Lines that come before the counts.
std::string describe_circumstances(const harness::Summary& summary) {
  std::string text;
  if (summary.stopped) {
    std::size_t done = 0;
    for (const auto& [status, count] : summary.counts) done += count;
    text += fmt::format("stopped: {} of {} selected cases were run\n", done, summary.selected);
  }
  if (summary.stage_failures != 0) {
    text += fmt::format(
        "warning: in {} of the passed cases, a later stage (such as the merge of partial results) is wrong or could not be judged; `assay "
        "show` prints which. Run the family of that stage to test it\n",
        summary.stage_failures);
  }
  return text;
}

// What follows the numbers of passed and failed cases.
std::string describe_rest(const harness::Summary& summary, const Options& options, std::size_t outside_limits) {
  std::string text;
  std::string kinds;
  for (const auto& [status, count] : summary.counts) {
    if (!harness::is_success(status) && status != Status::failed && count != 0) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, harness::to_string(status));
    }
  }
  if (!kinds.empty()) text += fmt::format(" (of these {})", kinds);
  if (summary.count(Status::known) != 0) {
    std::string findings;
    for (const auto& [finding, cases] : summary.known_findings)
      findings += fmt::format("{}{} {}", findings.empty() ? "" : ", ", cases, finding);
    text += fmt::format(", {} failed as known ({})", summary.count(Status::known), findings);
  }
  if (summary.count(Status::not_required) != 0)
    text += fmt::format(", {} did not pass what the contract does not require", summary.count(Status::not_required));
  if (summary.count(Status::skipped) != 0) text += fmt::format(", {} skipped", summary.count(Status::skipped));
  if (outside_limits != 0) text += fmt::format(", {} outside of [limits]", outside_limits);
  text += "; " + reports::element_text({summary.elements, summary.known_elements});
  if (!summary.largest_ratio_case.empty()) {
    text += fmt::format("; largest error/bound {:.3g} in {}", summary.largest_ratio, summary.largest_ratio_case);
  }
  const std::string time = summary.seconds == 0 ? std::string() : fmt::format(", in {:.1f} s", summary.seconds);
  if (!options.executed_on.empty())
    return text + fmt::format("; executed {}, judged here{}; output digest {:016x}\n", options.executed_on, time, summary.digest);
  constexpr const char* kOwn =
      "forward (cases with several simdgroups also run in reverse, and a quarter of them at random; expensive cases run forward only)";
  const std::string order =
      named_device(options).is_gpu() ? "" : fmt::format(", schedule {}", options.schedule.empty() ? kOwn : options.schedule);
  text += fmt::format("; {}{}{}; output digest {:016x}\n", executed_text(options), order, time, summary.digest);
  return text;
}

}  // namespace

void say_verdict(harness::Status status, std::string_view text) {
  const std::size_t word = harness::to_string(status).size();
  if (status == Status::passed)
    put_painted(stdout, Paint::success, text.substr(0, word));
  else if (!harness::is_success(status))
    put_painted(stdout, Paint::failure, text.substr(0, word));
  else
    put(stdout, text.substr(0, word));
  put(stdout, text.substr(word));
}

void say_summary(const harness::Summary& summary, const Options& options, std::size_t outside_limits) {
  std::size_t carried_out = 0;
  for (const auto& [status, count] : summary.counts) carried_out += count;
  say("{}{} case{}: {} passed, ", describe_circumstances(summary), carried_out, carried_out == 1 ? "" : "s", summary.count(Status::passed));
  put_failures(summary.failures());
  say("{}", describe_rest(summary, options, outside_limits));
}

}  // namespace assay::cli
