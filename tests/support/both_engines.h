// Whether a kernel leaves the same behind lane by lane as it did as vectors.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "metal/devices/simulator.h"
#include "tests/support/on_gpu.h"

namespace assay::tests {

inline std::vector<std::string> messages_of(const metal::Simulator& simulator) {
  std::vector<std::string> messages;
  for (const metal::Hazard& hazard : simulator.hazards()) messages.push_back(hazard.message + " x" + std::to_string(hazard.count));
  return messages;
}

// Whether the hazard ended its threadgroup. What lanes wrote before that depends on which of them ran first.
inline bool ends_threadgroup(const metal::Hazard& hazard) {
  return hazard.kind == metal::HazardKind::barrier_divergence || hazard.message.find("given up") != std::string::npos;
}

// Executes the same on fibers over `fresh`, which hold what the simulator's buffers held before it executed as vectors, and compares all
// that `as_vectors` left in `expected`, its hazards and its counters. Nothing is done where the engine makes no difference.
inline void expect_same_on_fibers(const std::vector<std::shared_ptr<metal::Library>>& libraries, metal::SimulatorOptions options,
                                  const metal::Simulator& as_vectors, const EncodeTest& encode,
                                  const std::vector<std::unique_ptr<metal::Buffer>>& expected,
                                  const std::vector<std::unique_ptr<metal::Buffer>>& fresh) {
  if (options.policy != metal::Policy::native || options.engine != metal::Engine::vector || options.trace != nullptr) return;
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
}

}  // namespace assay::tests
