// Whether a kernel leaves the same behind lane by lane as it did as vectors.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "metal/devices/simulator.h"
#include "tests/support/on_gpu.h"

namespace assay::tests {

// Distances between unrelated objects depend on where the system puts buffers, so they are left out.
inline std::vector<std::string> messages_of(const metal::Simulator& simulator) {
  static const std::regex distance("[0-9]{10,} bytes (before|behind)");
  std::vector<std::string> messages;
  for (const metal::Hazard& hazard : simulator.hazards())
    messages.push_back(std::regex_replace(hazard.message, distance, "many bytes $1") + " x" + std::to_string(hazard.count));
  return messages;
}

// A line of text for each line of the kernel that costs something.
inline std::vector<std::string> words_of(const std::vector<metal::KernelCost>& kernels) {
  std::vector<std::string> words;
  for (const metal::KernelCost& kernel : kernels) {
    words.push_back(fmt::format("{} x{}: {} distinct bytes", kernel.function, kernel.dispatches, kernel.total.distinct_device_bytes));
    for (const auto& [place, cost] : kernel.lines) {
      words.push_back(
          fmt::format("line {}: {} read, {} written, {} distinct, {} in threadgroup memory, {} calls, {} barriers, {}+{}+{} flops",
                      place.line, cost.device_bytes_read, cost.device_bytes_written, cost.distinct_device_bytes, cost.threadgroup_accesses,
                      cost.simdgroup_calls, cost.barriers, cost.float_operations, cost.half_operations, cost.bfloat_operations));
    }
  }
  return words;
}

// Whether the hazard ended its threadgroup. What lanes wrote before that depends on which of them ran first.
inline bool ends_threadgroup(const metal::Hazard& hazard) {
  return hazard.kind == metal::HazardKind::barrier_divergence || hazard.message.find("given up") != std::string::npos;
}

// Executes the same on fibers over `fresh`, which hold what the simulator's buffers held before it executed as vectors, and compares all
// that `as_vectors` left in `expected`, its hazards, its counters and its cost. Nothing is done where the engine makes no difference.
inline void expect_same_on_fibers(const std::vector<std::shared_ptr<metal::Library>>& libraries, metal::SimulatorOptions options,
                                  const metal::Simulator& as_vectors, const EncodeTest& encode,
                                  const std::vector<std::unique_ptr<metal::Buffer>>& expected,
                                  const std::vector<std::unique_ptr<metal::Buffer>>& fresh) {
  if (options.policy == metal::Policy::shadow || options.engine != metal::Engine::vector || options.trace != nullptr) return;
  options.engine = metal::Engine::fibers;
  metal::Simulator lanes(libraries, options);
  encode(lanes, fresh);
  std::string differences;
  const bool is_whole = std::none_of(lanes.hazards().begin(), lanes.hazards().end(), ends_threadgroup);
  for (std::size_t i = 0; is_whole && i < expected.size(); ++i) {
    if (expected[i] == nullptr || expected[i]->size() % sizeof(std::uint32_t) != 0) continue;
    differences += on_gpu::difference(*expected[i], *fresh[i], i);
  }
  EXPECT_EQ(differences, "") << "between vectors (here \"on the simulator\") and fibers (\"on the GPU\")";
  EXPECT_EQ(messages_of(as_vectors), messages_of(lanes));
  const auto numbers = [](const metal::ExecutionCounters& all) {
    return std::tuple(all.threadgroups, all.meeting_points, all.collectives, all.matrix_multiplies);
  };
  EXPECT_EQ(numbers(as_vectors.counters()), numbers(lanes.counters()));
  EXPECT_EQ(words_of(as_vectors.cost()), words_of(lanes.cost()));
}

}  // namespace assay::tests
