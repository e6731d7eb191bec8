// Builds the command that repeats a recorded case.
#include "reports/replay.h"

#include "harness/findings/verdict.h"
#include "harness/ledger/shell_line.h"

namespace assay::reports {

std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record) {
  std::vector<std::string> words = replay_words(run, record);
  words.insert(words.begin(), {"assay", "run", record.name});
  return harness::shell_line(words);
}

std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record) {
  const std::vector<std::string> words = replay_words(run, record);
  return words.empty() ? std::string() : " " + harness::shell_line(words);
}

std::vector<std::string> replay_words(const harness::RunRecord& run, const harness::CaseRecord& record) {
  std::vector<std::string> words = run.description.replay_options;
  // A case that chose its own schedules and failed under the first does so again without --schedule.
  const std::string& schedules = run.description.schedule.empty() ? record.schedules : run.description.schedule;
  if (!schedules.empty() && schedules != metal::Schedule{}.to_string()) words.insert(words.end(), {"--schedule", schedules});
  return words;
}

}  // namespace assay::reports
