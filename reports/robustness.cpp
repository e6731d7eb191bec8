// Sums up the verdicts of a run that was executed with fast mathematics.
#include "reports/robustness.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/executed_on.h"
#include "reports/grouped.h"
#include "reports/run_findings.h"

namespace assay::reports {
namespace {

// Whether only the width of its bounds keeps a case from a verdict. Anything else that is mistrusted is a failure.
bool is_undecided(const harness::CaseRecord& record) {
  return record.status == harness::Status::mistrusted && std::ranges::any_of(record.faults, [](const harness::Fault& fault) {
           const auto* mistrusted = std::get_if<harness::fault::Mistrusted>(&fault.details);
           return mistrusted != nullptr && mistrusted->why == harness::Distrust::uninformative;
         });
}

}  // namespace

std::optional<bool> Robustness::passes() const {
  if (failed != 0) return false;
  return passed == 0 || missing != 0 ? std::nullopt : std::optional(true);
}

std::optional<Robustness> find_robustness(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  if (!is_fast(run.description)) return std::nullopt;
  Robustness found;
  found.missing = without_verdict(run);
  for (const harness::CaseRecord& record : cases) {
    if (!record.status || *record.status == harness::Status::skipped || harness::is_expected_failure(*record.status)) continue;
    if (is_undecided(record)) {
      ++found.undecided;
      continue;
    }
    ++(record.status == harness::Status::passed ? found.passed : found.failed);
    if (record.judgement.compared == 0 || record.judgement.max_ratio <= found.largest_ratio) continue;
    found.largest_ratio = record.judgement.max_ratio;
    found.largest_ratio_case = record.name;
  }
  return found;
}

std::string robustness_text(const Robustness& robustness) {
  const std::optional<bool> passes = robustness.passes();
  std::string text = fmt::format("passes under fast math: {}", passes ? (*passes ? "yes" : "no") : "not known");
  if (!robustness.largest_ratio_case.empty())
    text += fmt::format(", largest error/bound {:.3g} in {}", robustness.largest_ratio, robustness.largest_ratio_case);
  std::string besides;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count != 0) besides += fmt::format("{}{} {}", besides.empty() ? "" : "; ", plural(count, "case"), what);
  };
  add(robustness.failed, "failed");
  add(robustness.undecided, "undecided: their bounds allow too much");
  add(robustness.missing, "without a verdict");
  return besides.empty() ? text : fmt::format("{} ({})", text, besides);
}

std::string robustness_text(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  const std::optional<Robustness> found = find_robustness(run, cases);
  return found ? robustness_text(*found) : "";
}

}  // namespace assay::reports
