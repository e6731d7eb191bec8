// Makes one run of the runs of its shards.
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
  RunId run = 0;                     // in the ledger that was merged into
  std::vector<std::string> missing;  // shards that were not given, and cases without a verdict: a sentence each
};

// Adds a run to `into` that holds every verdict of the shards once, as the whole selection would have given in one run. All must have been
// asked for parts of the same selection, with equal kernels, compilers' options, policy, schedule and seed, by the same version of assay;
// what else differs (machine, processor, build) becomes a note of the run. Throws LedgerError, naming the file, if they do not belong
// together, if one was recorded by an assay that did not note its selection, and if one is given twice.
[[nodiscard]] Merge merge_runs(std::span<const ShardRun> shards, const std::string& command, Ledger& into);

}  // namespace assay::harness
