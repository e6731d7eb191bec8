// Builds the command that repeats a recorded case.
#include "reports/replay.h"

#include "harness/findings/verdict.h"
#include "harness/ledger/shell_line.h"

namespace assay::reports {

std::string replay_line(const std::string& case_name, std::vector<std::string> words) {
  words.insert(words.begin(), {"assay", "run", case_name});
  return harness::shell_line(words);
}

std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record) {
  return replay_line(record.name, replay_words(run, record));
}

void add_schedule(std::vector<std::string>& words, const std::string& of_run, const std::string& of_case) {
  const bool is_default = of_run.empty() && of_case == metal::Schedule{}.to_string();
  const std::string& schedule = of_run.empty() ? of_case : of_run;
  if (!schedule.empty() && !is_default) words.insert(words.end(), {"--schedule", schedule});
}

std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record) {
  const std::vector<std::string> words = replay_words(run, record);
  return words.empty() ? std::string() : " " + harness::shell_line(words);
}

std::vector<std::string> replay_words(const harness::RunRecord& run, const harness::CaseRecord& record) {
  std::vector<std::string> words = run.description.replay_options;
  add_schedule(words, run.description.schedule, record.schedules);
  return words;
}

}  // namespace assay::reports
