// Observes cases near a failing one.
#include "harness/triage/nearby.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "harness/cases/case_size.h"
#include "harness/triage/case_name.h"

namespace assay::harness {

Nearby observe_nearby(Laboratory& laboratory, const Case& given, const Case& minimal) {
  constexpr std::size_t most_failing = 8;
  constexpr std::size_t most_passing = 10;
  Nearby nearby;
  std::vector<Case> cases = {given, minimal};
  for (Case& probe : given.family->triage.probes(given)) cases.push_back(std::move(probe));
  std::set<std::string> seen;
  for (const Case& test_case : cases) {
    const std::optional<std::string> name = name_of(test_case);
    if (!name || size_of(test_case) > kLargestNearby || !seen.insert(*name).second) continue;
    std::optional<Observation> observation = laboratory.observe(test_case);
    if (!observation) continue;
    if (observation->is_failure()) {
      if (nearby.failing.size() < most_failing) nearby.failing.push_back(std::move(*observation));
    } else if (nearby.passing.size() < most_passing) {
      nearby.passing.push_back(std::move(*observation));
    }
  }
  return nearby;
}

}  // namespace assay::harness
