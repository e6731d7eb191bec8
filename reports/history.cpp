// The list of runs, and the verdicts of a case in them, as text.
#include "reports/history.h"

#include <fmt/format.h>

#include "harness/findings/fault_text.h"
#include "harness/ledger/comparable.h"
#include "reports/grouped.h"

namespace assay::reports {
namespace {

std::string state_of(const harness::RunRecord& run) {
  if (run.finished.empty()) return "unfinished";
  return run.stopped ? "stopped" : "";
}

std::string word_of(const std::string& text, std::size_t width) { return text.size() <= width ? text : text.substr(0, width - 3) + "..."; }

}  // namespace

std::string history_text(std::span<const harness::RunRecord> runs) {
  constexpr std::size_t kCommandWidth = 60;
  std::string text = fmt::format("{:>5}  {:20}  {:>13}  {:>6}  {:10}  {:16}  {:7}  {}\n", "run", "started", "verdicts", "failed", "",
                                 "digest", "policy", "command");
  for (const harness::RunRecord& run : runs) {
    text += fmt::format("{:>5}  {:20}  {:>13}  {:>6}  {:10}  {:16}  {:7}  {}\n", run.id, run.started,
                        fmt::format("{}/{}", run.verdicts, run.description.selected), run.failures, state_of(run), run.digest,
                        run.description.environment.policy, word_of(run.description.command, kCommandWidth));
  }
  return text;
}

std::string case_history_text(const std::string& name, std::span<const CaseInRun> past) {
  std::string text = name + '\n';
  const CaseInRun* before = nullptr;
  for (const CaseInRun& now : past) {
    std::string news;
    if (before != nullptr) {
      const auto changes = harness::differences_of(before->run.description, now.run.description);
      const bool have_bits = before->record.digest != 0 && now.record.digest != 0;
      if (have_bits && before->record.digest != now.record.digest && before->record.status && now.record.status) news = "different bits";
      if (!news.empty() && !changes.empty()) news += fmt::format("; environments differ: {}", fmt::join(changes, "; "));
    }
    harness::ElementCount elements;
    elements.add(now.record.judgement);
    const std::string figures = elements.compared == 0
                                    ? fmt::format("{:38}", "nothing compared")
                                    : fmt::format("error/bound {:<9.3g} {:016x}", now.record.judgement.max_ratio, now.record.digest);
    text += fmt::format("  run {:<5} {}  {:10} {}  {}\n", now.run.id, now.run.started,
                        now.record.status ? harness::to_string(*now.record.status) : "no verdict", figures, news);
    if (now.record.status && !harness::is_success(*now.record.status))
      text += fmt::format("            {}\n", harness::reason_of(now.record));
    before = &now;
  }
  return text;
}

}  // namespace assay::reports
