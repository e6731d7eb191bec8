// Merges the runs of shards into one run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::harness {

struct ShardRun {
  const Ledger* ledger;
  RunId run;
};

struct Merge {
  RunId run = 0;                     // in the target ledger
  std::vector<std::string> missing;  // missing shards, and cases without a verdict: a sentence each
  std::vector<std::size_t> again;    // the numbers of these shards, ascending
  std::size_t count = 0;             // of the shards of a full run
};

// Adds a run to `into` that contains every verdict of the shards once, like a single run of the whole selection. All shards must be
// parts of the same selection, with equal kernels, compiler options, policy, schedule and seed, run by the same version of assay. Other
// differences (machine, processor, build) become a note of the run.
//
// Throws LedgerError, naming the file, if the shards do not belong together, if one was recorded by an assay that did not record its
// selection, and if one is given twice.
[[nodiscard]] Merge merge_runs(std::span<const ShardRun> shards, const std::string& command, Ledger& into);

}  // namespace assay::harness
