// Running one kernel and looking at everything it left behind: for the tests of execution itself.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "metal/devices/simulator.h"

namespace assay::tests {

// What to run. Buffer 0 is the output, poisoned; buffer i > 0 holds inputs[i - 1].
struct Execution {
  std::string source = {};
  std::string kernel = "test";
  std::size_t output_words = 32;
  std::vector<std::vector<std::uint32_t>> inputs = {};
  std::set<std::uint32_t> set_bytes = {};                     // of the inputs, by index, those that are given by set_bytes()
  std::map<std::uint32_t, std::size_t> unwritten_words = {};  // by index, in the place of an input: an uninitialised buffer
  metal::Size3 threadgroups = {};
  metal::Size3 threads = {32, 1, 1};
  std::size_t threadgroup_bytes = 0;  // of [[threadgroup(0)]]
  metal::SimulatorOptions options = {};
  std::map<std::uint32_t, metal::FunctionConstant> constants = {};
};

struct Outcome {
  std::vector<std::uint32_t> output;
  std::vector<metal::Hazard> hazards;
  metal::ExecutionCounters counters;
};

Outcome execute(const Execution& execution);

// The text of the exception that execute() throws; empty if it throws none.
std::string failure(const Execution& execution);

// `body` as a kernel over out, lane, with #include and using in front; line 1 of the result is the #include.
std::string kernel_of(std::string_view body);

}  // namespace assay::tests
