// Smaller cases and places for the triage of several families.
#include "families/shared/probes.h"

#include <fmt/format.h>

namespace assay::families {

std::vector<ShrinkStep> steps_of(std::string_view axis, std::initializer_list<std::int64_t> values) {
  std::vector<ShrinkStep> steps;
  for (const std::int64_t value : values) steps.push_back({{{axis, value}}});
  return steps;
}

std::vector<Case> smaller_positions(const Case& test_case, std::string_view position) {
  std::vector<Case> cases;
  for (const auto& [at, capacity] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {0, 2}, {1, 2}, {1, 4}, {2, 4}}) {
    cases.push_back(test_case);
    put(cases.back(), {{position, at}, {"cache_capacity", capacity}});
    cases.push_back(cases.back());
    put(cases.back(), {{"is_sliding", 0}});
  }
  return cases;
}

Place place_in_rows(const Case& test_case, std::uint64_t byte) {
  const std::uint64_t element = byte / sizeof(float);
  const std::uint64_t head_dim = test_case.size("head_dim");
  return {fmt::format("head {}, coordinate {} (block {} of 256)", element / head_dim, element % head_dim, element % head_dim / 256), {}};
}

}  // namespace assay::families
