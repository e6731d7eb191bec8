// Whether the results of two runs are comparable: to continue a run, to merge runs, or to report a difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::harness {

// The newest run of the ledger with the same request: the same selection and shard under the same policy, schedule, seed and options.
// Runs of older ledgers, which did not record their selection, never match.
[[nodiscard]] std::optional<RunRecord> find_run_like(const Ledger& ledger, const RunDescription& wanted);

// Reasons why the verdicts on one case may differ although the request is the same, a clause each ("kernel of tq4_v1", "compiler: A,
// now B"); empty if there are none. `later` may have run on another machine.
[[nodiscard]] std::vector<std::string> differences_of(const RunDescription& earlier, const RunDescription& later);

// Parses "2/4" to {2, 4}; empty for anything that is not a shard. For contents of a ledger; the command line uses parse_shard().
struct ShardNumber {
  std::size_t number = 1, count = 1;  // number from 1
};
[[nodiscard]] std::optional<ShardNumber> shard_number(const std::string& text);

}  // namespace assay::harness
