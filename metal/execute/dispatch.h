// Runs the threadgroups of one dispatch on the machine's cores.
#pragma once

#include <vector>

#include "metal/execute/lanes.h"
#include "metal/hazard.h"

namespace assay::metal::execute {

struct Dispatch {
  Threadgroup::Launch launch;  // position and threads are filled in per threadgroup
  unsigned threads = 1;        // CPU threads
};

// Runs all of them (on one CPU thread if accesses are logged) and returns the hazards in the order of the threadgroups, equal ones merged.
std::vector<Hazard> run(const Dispatch& dispatch, ExecutionCounters& counters);

}  // namespace assay::metal::execute
