// Finds the earlier runs of the cases of a run.
#include "reports/other_runs.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

namespace assay::reports {

OtherRuns past_of(const harness::Ledger& ledger, const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  OtherRuns others;
  std::set<std::string_view> names;
  for (const harness::CaseRecord& record : cases) names.insert(record.name);
  try {
    std::vector<harness::RunRecord> runs = ledger.runs();
    std::erase_if(runs, [&](const harness::RunRecord& other) { return other.id >= run.id; });
    for (; !runs.empty() && others.past.size() < kMostPastRuns; runs.pop_back()) {
      std::vector<harness::CaseOutcome> outcomes = ledger.outcomes(runs.back().id);
      std::erase_if(outcomes, [&](const harness::CaseOutcome& it) { return !names.contains(it.name); });
      if (!outcomes.empty()) others.past.push_back({std::move(runs.back()), std::move(outcomes)});
    }
  } catch (const harness::LedgerError& error) {
    others = {.trouble = error.what()};
  }
  std::ranges::reverse(others.past);
  return others;
}

}  // namespace assay::reports
