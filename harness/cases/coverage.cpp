// Counts the combinations of values and classes that a list of cases contains.
#include "harness/cases/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "families/family.h"
#include "harness/cases/covering.h"

namespace assay::harness {
namespace {

std::string name_levels(const Family& family, Combination combination) {
  const std::vector<std::string_view> fixtures = fixtures_of(family);
  std::vector<std::string> parts;
  for (const auto& [factor, level] : unpack(combination)) {
    const auto index = static_cast<std::size_t>(level);
    parts.push_back(factor < family.factors.size() ? fmt::format("{}={}", family.factors[factor].name, family.factors[factor].levels[index])
                                                   : fmt::format("fixture={}", fixtures[index]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string name_classes(const Family& family, Combination combination) {
  const std::vector<std::string_view> fixtures = fixtures_of(family);
  std::vector<std::string> parts;
  for (const auto& [classifier, value] : unpack(combination)) {
    const auto index = static_cast<std::size_t>(value);
    parts.push_back(classifier < family.classifiers.size()
                        ? fmt::format("{}: {}", family.classifiers[classifier].name, family.classifiers[classifier].classes[index])
                        : fmt::format("fixture: {}", fixtures[index]));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Counts the possible combinations that are met, and names some of those that are not.
template <typename Name>
CoverageFigure compare(const Combinations& possible, const Combinations& met, const Name& name, std::vector<std::string>& missing) {
  CoverageFigure figure{0, possible.size()};
  std::vector<Combination> open;
  for (const Combination combination : possible) {
    if (met.contains(combination)) {
      ++figure.met;
    } else {
      open.push_back(combination);
    }
  }
  std::ranges::sort(open);
  for (const Combination combination : open) {
    if (missing.size() < kNamedMissing) missing.push_back(name(combination));
  }
  return figure;
}

std::int64_t median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

Coverage measure_coverage(Suite suite, const kernels::Variant& variant, std::span<const Case> cases) {
  const SuitePlan& plan = plan_of(suite);
  const Family& family = family_of(variant);
  const std::vector<std::string_view> fixtures = fixtures_of(family);
  const CoveringDesign design = suite_design(plan, family, variant.limits, most_work(plan));
  const CoveringDesign unlimited = suite_design(plan, family, variant.limits, std::numeric_limits<std::int64_t>::max());

  Coverage coverage;
  coverage.strength = std::min<std::size_t>(design.strength, 3);
  Combinations levels;
  Combinations triples;
  const auto length = std::ranges::find_if(family.axes, &Axis::is_length);
  std::vector<std::int64_t> lengths;
  for (const Case& value : cases) {
    if (value.variant != variant.name || value.family != &family || !value.beyond.empty()) continue;
    ++coverage.cases;
    const auto fixture = static_cast<int>(std::ranges::find(fixtures, value.fixture) - fixtures.begin());
    std::vector<std::vector<int>> row;
    for (std::size_t factor = 0; factor < family.factors.size(); ++factor) {
      std::vector<int>& holding = row.emplace_back();
      for (int level = 0; level < design.levels[factor]; ++level) {
        if (family.factors[factor].holds(static_cast<std::size_t>(level), value.values)) holding.push_back(level);
      }
    }
    row.push_back({fixture});
    add_levels(row, coverage.strength, levels);

    std::vector<int> classes;
    for (const families::Classifier& classifier : family.classifiers) classes.push_back(classifier.classify(value.values));
    classes.push_back(fixture);
    add_triples(design, classes, triples);

    if (length != family.axes.end()) lengths.push_back(value.at(length->name));
  }

  const Combinations possible = possible_levels(design);
  coverage.values = compare(possible, levels, [&](Combination combination) { return name_levels(family, combination); }, coverage.missing);
  coverage.classes = compare(
      possible_triples(design), triples, [&](Combination combination) { return name_classes(family, combination); }, coverage.missing);
  coverage.too_costly = possible_levels(unlimited).size() - possible.size();
  coverage.median_length = median(std::move(lengths));
  return coverage;
}

std::string describe_coverage(const Coverage& coverage) {
  std::string text = fmt::format("{} cases: {} of values {}/{}", coverage.cases, coverage.strength == 2 ? "pairs" : "triples",
                                 coverage.values.met, coverage.values.possible);
  if (coverage.too_costly != 0) text += fmt::format(" ({} more are too expensive)", coverage.too_costly);
  if (coverage.classes.possible != 0) text += fmt::format(", triples of classes {}/{}", coverage.classes.met, coverage.classes.possible);
  if (coverage.median_length != 0) text += fmt::format(", median n {}", coverage.median_length);
  if (!coverage.missing.empty()) {
    const std::size_t open = coverage.values.possible - coverage.values.met + coverage.classes.possible - coverage.classes.met;
    text += fmt::format("; not met: {}{}", fmt::join(coverage.missing, "; "),
                        open > coverage.missing.size() ? fmt::format("; and {} more", open - coverage.missing.size()) : std::string());
  }
  return text;
}

}  // namespace assay::harness
