// Command lines of this program that do the same with a kernel as the one that it was started with.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace assay::cli {

// The options, besides those of replay_options(), that change what a run of several cases executes: --schedule, --seed, --jobs, --abi and
// --sandbox.
[[nodiscard]] std::vector<std::string> further_words(const Options& options);

// The same for a command that runs cases by their names, which contain their seeds.
[[nodiscard]] std::vector<std::string> further_words_for_names(const Options& options);

}  // namespace assay::cli
