// Says what a selection costs before it runs.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "harness/cases/selection.h"

namespace assay::cli {

// Seconds of processor time from which on a run says beforehand what it costs.
inline constexpr double kLongSelection = 600;

// Prints a line if the whole selection takes at least `least` seconds.
void say_effort(const Options& options, const harness::Selection& selection, double least);

// Selects and prints what the words cost, and into how many shards to split them; of a long suite only a small shard is listed. Returns the
// exit status. Throws what select() throws.
[[nodiscard]] int print_estimate(const Options& options, const std::vector<std::string>& words);

}  // namespace assay::cli
