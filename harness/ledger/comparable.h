// Whether what two runs say can stand side by side: in one run that goes on, in one that is merged, in a difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::harness {

// The newest run of the ledger that was asked for the same: the same selection and shard under the same policy, schedule, seed and
// options. Runs of older ledgers, which did not note their selection, are like no other.
[[nodiscard]] std::optional<RunRecord> find_run_like(const Ledger& ledger, const RunDescription& wanted);

// What could make verdicts of one case differ although nothing else was asked for: one clause for each ("kernel of tq4_v1", "compiler: A,
// now B"); empty if nothing could. `later` may have been made on another machine.
[[nodiscard]] std::vector<std::string> differences_of(const RunDescription& earlier, const RunDescription& later);

// "2/4" -> {2, 4}; nothing for what is no shard. For what a ledger holds; the command line has parse_shard().
struct ShardNumber {
  std::size_t number = 1, count = 1;  // number from 1
};
[[nodiscard]] std::optional<ShardNumber> shard_number(const std::string& text);

}  // namespace assay::harness
