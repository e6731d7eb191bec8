// Executes what authors of foreign kernels describe, and holds it against what they expect.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "metal/devices/simulator.h"
#include "tests/foreign/foreign.h"

namespace assay::foreign {

// Of all files of this folder, in the order in which they were linked.
[[nodiscard]] std::vector<Run> all_runs();

struct Outcome {
  std::vector<std::string> hazards;   // defects only
  std::vector<std::string> mistakes;  // elements beyond their tolerance, the first few of each buffer
  std::size_t compared = 0;           // elements
};

// Throws what metal::Library and metal::Simulator throw.
[[nodiscard]] Outcome execute(const Run& run, metal::Policy policy);

// For GoogleTest.
void PrintTo(const Run& run, std::ostream* stream);

[[nodiscard]] std::string path_of(const std::string& file);

}  // namespace assay::foreign
