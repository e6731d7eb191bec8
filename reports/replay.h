// The command that repeats one case of a recorded run.
#pragma once

#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// `words`: what `assay run` needs besides the name of the case.
[[nodiscard]] std::string replay_line(const std::string& case_name, std::vector<std::string> words);
[[nodiscard]] std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record);

// Adds the --schedule that repeats a verdict: that of the run if it has one, else that of the case. A case that chose its own schedules
// and failed under the first does so again without --schedule.
void add_schedule(std::vector<std::string>& words, const std::string& of_run, const std::string& of_case);

// The command-line words after the case name.
[[nodiscard]] std::vector<std::string> replay_words(const harness::RunRecord& run, const harness::CaseRecord& record);

// The same as one line; empty, or begins with a space.
[[nodiscard]] std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record);

}  // namespace assay::reports
