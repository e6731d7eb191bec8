// The command that repeats one case of a recorded run.
#pragma once

#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

[[nodiscard]] std::string replay_line(const harness::RunRecord& run, const harness::CaseRecord& record);

// The command-line words after the case name.
[[nodiscard]] std::vector<std::string> replay_words(const harness::RunRecord& run, const harness::CaseRecord& record);

// The same as one line; empty, or begins with a space.
[[nodiscard]] std::string replay_options(const harness::RunRecord& run, const harness::CaseRecord& record);

}  // namespace assay::reports
