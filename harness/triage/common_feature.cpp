// Counts the features of failing and of passing cases.
#include "harness/triage/common_feature.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/chance.h"
#include "families/feature.h"

namespace assay::harness {
namespace {

// What would happen by chance in more than one of a hundred runs says nothing.
constexpr double kChance = 0.01;

struct Count {
  const families::Feature* feature;
  std::size_t failing = 0, passing = 0;  // cases with it
};

bool is_telling(const Count& count, std::size_t failing, std::size_t passing) {
  return count.failing == failing && count.passing < passing &&
         base::chance_of(failing + passing, count.failing + count.passing, failing) < kChance;
}

// Whether each case with it fails, and how many of the others do is no reason for that.
bool is_enough(const Count& count, std::size_t failing, std::size_t passing) {
  const std::size_t others = failing - count.failing;
  return count.passing == 0 && count.failing > others && base::chance_of(failing + passing, failing, count.failing) < kChance;
}

// A mistake may need two features at once. The second one counts if it is missing in half of the passing cases with the first one.
CommonFeature with_second(const Count& special, std::span<const Count> counts, std::size_t failing, std::span<const Case> passing) {
  const Count* second = nullptr;
  std::size_t with_both = special.passing;
  for (const Count& count : counts) {
    if (&count == &special || !is_telling(count, failing, passing.size())) continue;
    const auto both = static_cast<std::size_t>(std::ranges::count_if(
        passing, [&](const Case& test_case) { return special.feature->has(test_case) && count.feature->has(test_case); }));
    if (both * 2 > special.passing || both >= with_both) continue;
    second = &count;
    with_both = both;
  }
  const bool is_alone = second == nullptr;
  const std::string names =
      is_alone ? std::string(special.feature->name) : fmt::format("{} and {}", special.feature->name, second->feature->name);
  return {special.feature->kind.empty() && !is_alone ? second->feature->kind : special.feature->kind,
          fmt::format("only cases with {} fail so: {} of {}; of the {} others none", names, failing, failing + with_both,
                      passing.size() - with_both)};
}

}  // namespace

std::optional<CommonFeature> common_feature(std::span<const Case> failing, std::span<const Case> passing) {
  if (failing.empty() || passing.empty()) return std::nullopt;
  std::vector<Count> counts;
  for (const families::Feature& feature : failing.front().family->triage.features) {
    counts.push_back({.feature = &feature,
                      .failing = static_cast<std::size_t>(std::ranges::count_if(failing, feature.has)),
                      .passing = static_cast<std::size_t>(std::ranges::count_if(passing, feature.has))});
  }
  const Count* special = nullptr;
  const Count* enough = nullptr;
  for (const Count& count : counts) {
    if (is_telling(count, failing.size(), passing.size()) && (special == nullptr || count.passing < special->passing)) special = &count;
    if (is_enough(count, failing.size(), passing.size()) && (enough == nullptr || count.failing > enough->failing)) enough = &count;
  }
  if (special != nullptr) return with_second(*special, counts, failing.size(), passing);
  if (enough == nullptr) return std::nullopt;
  const std::size_t others = failing.size() - enough->failing;
  return CommonFeature{enough->feature->kind, fmt::format("all {} cases with {} fail; of the {} others {}", enough->failing,
                                                          enough->feature->name, others + passing.size(), others)};
}

}  // namespace assay::harness
