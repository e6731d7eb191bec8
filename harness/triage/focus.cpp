// Combines what landmarks say about failing cases.
#include "harness/triage/focus.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "harness/mutate/source.h"
#include "harness/triage/landmarks.h"
#include "harness/triage/minimise.h"
#include "harness/triage/ordered.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

// The most suspect line, the first of several.
std::uint32_t most_suspect(const LineSuspicion& suspicion) {
  std::uint32_t line = 0;
  double most = 0;
  for (const auto& [number, value] : suspicion.by_line) {
    if (value <= most) continue;
    line = number;
    most = value;
  }
  return line;
}

// In a tiny case many landmarks have few or equal values, and in a large one some number fits by chance.
std::vector<const Observation*> most_telling(std::span<const Observation> failing) {
  constexpr std::size_t tried = 3;
  constexpr double best = 2e4;
  std::vector<const Observation*> ordered;
  for (const Observation& observation : failing) ordered.push_back(&observation);
  order_by(ordered, [](const Observation* one) {
    const double size = std::max(1.0, size_of(one->test_case));
    return std::max(size / best, best / size);
  });
  ordered.resize(std::min(ordered.size(), tried));
  return ordered;
}

}  // namespace

Focus focus_on(Laboratory& laboratory, std::span<const Observation> failing) {
  Focus focus;
  const std::string file = laboratory.variant().source.string();
  const Source source(kernels::read_text(laboratory.variant().source), file);
  for (const Observation* observation : most_telling(failing)) {
    const std::optional<LandmarkFinding> found = find_landmarks(laboratory, *observation);
    if (!found) continue;
    const Slices slices(source, found->executed);
    const LineSuspicion suspicion = suspicion_of(slices, {.wrong = found->line,
                                                          .also_wrong = found->also_wrong,
                                                          .right = found->right,
                                                          .right_loads = found->right_loads,
                                                          .needed = found->needed,
                                                          .executed = found->executed,
                                                          .is_missing = found->is_missing,
                                                          .is_load = found->is_load,
                                                          .is_shared = found->is_shared,
                                                          .is_place = found->is_place});
    // The first case tells most; what the others say is tried later.
    constexpr double later = 0.3;
    const bool is_first = focus.suspects.empty();
    for (const auto& [line, value] : suspicion.by_line) {
      double& kept = focus.suspicion.by_line[line];
      kept = std::max(kept, value * (is_first ? 1.0 : later));
    }
    if (!is_first) continue;
    focus.suspicion.fault = suspicion.fault;
    focus.has_factor = found->has_factor;
    const std::uint32_t line = most_suspect(suspicion);
    if (line != 0)
      focus.suspects.push_back({.file = file,
                                .line = line,
                                .why = line == found->line || found->line == 0
                                           ? found->sentence
                                           : fmt::format("line {} depends on it: {}", found->line, found->sentence),
                                .is_elsewhere = false,
                                .context = {},
                                .repaired = {}});
  }
  return focus;
}

}  // namespace assay::harness
