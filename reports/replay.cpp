#include "reports/replay.h"

#include <fmt/format.h>

#include "harness/run/verdict.h"

namespace assay::reports {

std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record) {
  return fmt::format("assay run {}{}", record.name, replay_options(run, record));
}

std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record) {
  std::string options;
  if (!run.description.replay_options.empty()) options += " " + run.description.replay_options;
  // Where the case found its own schedules and failed under the first, it does so again.
  const std::string& schedules = run.description.schedule.empty() ? record.schedules : run.description.schedule;
  if (!schedules.empty() && schedules != metal::Schedule{}.to_string()) options += fmt::format(" --schedule {}", schedules);
  return options;
}

}  // namespace assay::reports
