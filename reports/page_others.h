// What the HTML page says of other runs. Only for files of this folder.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/other_runs.h"
#include "reports/page_json.h"

namespace assay::reports {

// The cases of a run in its earlier runs. Most cases are in the same runs as others, and most verdicts repeat the one before: both are
// written once, so that fifty gates of thousands of cases take little more room than one.
class Histories {
 public:
  // Refers to its arguments.
  Histories(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const OtherRuns& others);

  // {"runs": [[id, started, command, [how its environment differs]]], "sets": [[index of a run, ...]], "trouble"?}
  [[nodiscard]] PageJson runs_json() const;
  // [set, [[place in the set, status, ratio, whether the bits differ from the run before], ...]]: an entry where the case differs from the
  // run before. Null for a case that no earlier run has.
  [[nodiscard]] PageJson case_json(const harness::CaseRecord& record) const;

 private:
  const harness::RunRecord& run_;
  const OtherRuns& others_;
  using Seen = std::pair<std::size_t, const harness::CaseOutcome*>;  // index of a run
  std::map<std::string_view, std::vector<Seen>> seen_;
  std::map<std::vector<std::size_t>, std::size_t> sets_;  // index by content
  [[nodiscard]] static std::vector<std::size_t> set_of(const std::vector<Seen>& seen);
};

// {"before": {...}, "summary", "environment": [...], "changes": [[index of a case, kind, status before, ratio before, whether bits
// differ]],
//  "only_before": [names], "only_after": [indices], "costs": [[figure, before, after]]}. Kinds: broke, healed, changed, drifted,
//  other_bits.
[[nodiscard]] PageJson against_json(const AgainstRun& against, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
