// The command that repeats one case of a recorded run.
#pragma once

#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

[[nodiscard]] std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record);

// The words behind the case's name in it.
[[nodiscard]] std::vector<std::string> replay_words(const harness::RunRecord& run, const harness::CaseRecord& record);

// The same in a line; empty or begins with a blank.
[[nodiscard]] std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record);

}  // namespace assay::reports
