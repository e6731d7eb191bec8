// Runs the threadgroups of one dispatch on the machine's cores.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "metal/engine.h"
#include "metal/execute/lanes.h"
#include "metal/hazard.h"

namespace assay::metal::execute {

struct Dispatch {
  Threadgroup::Launch launch;  // position and threads are set for each threadgroup
  unsigned threads = 1;        // CPU threads
  Engine engine = Engine::vector;
  // Called before all threadgroups run again lane by lane, because one of them could not stay vectors; needed if there is an observer,
  // which must then be another one or as new.
  std::function<void()> start_again;
};

// Why whole threadgroups of this size run lane by lane, although the kernel could run as vectors; empty if they do not.
[[nodiscard]] std::string_view size_refusal(const abi::Module& module, Size3 threads);

// Runs all threadgroups, on one CPU thread if accesses are logged. Returns the hazards in the order of the threadgroups, with
// equal ones merged.
std::vector<Hazard> run(const Dispatch& dispatch, ExecutionCounters& counters);

}  // namespace assay::metal::execute
