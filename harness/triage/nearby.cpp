// Observes cases near a failing one.
#include "harness/triage/nearby.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/case_size.h"
#include "harness/triage/case_name.h"

namespace assay::harness {
namespace {

// Evenly spread over the run, so of many kinds. Cases pass in any order, so they are taken by their names.
std::vector<Observation> observe_elsewhere(Laboratory& laboratory, std::span<const Case> passed) {
  constexpr std::size_t most = 12;
  constexpr double largest = 1e5;
  std::vector<std::pair<std::string, const Case*>> small;
  for (const Case& test_case : passed) {
    if (size_of(test_case) <= largest) small.emplace_back(format_case(test_case), &test_case);
  }
  std::ranges::sort(small, {}, &std::pair<std::string, const Case*>::first);
  std::vector<Observation> observed;
  const std::size_t count = std::min(most, small.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::optional<Observation> observation = laboratory.observe(*small[i * small.size() / count].second);
    if (observation && !observation->is_failure()) observed.push_back(std::move(*observation));
  }
  return observed;
}

}  // namespace

std::vector<Observation> Nearby::right() const {
  std::vector<Observation> all = passing;
  std::ranges::copy(elsewhere, std::back_inserter(all));
  return all;
}

Nearby observe_nearby(Laboratory& laboratory, const Case& given, const Case& minimal, std::span<const Case> passed) {
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
  nearby.elsewhere = observe_elsewhere(laboratory, passed);
  return nearby;
}

}  // namespace assay::harness
