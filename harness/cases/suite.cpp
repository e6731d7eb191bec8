#include "harness/cases/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "harness/cases/file_case.h"

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 2> kSuiteNames = {"smoke", "gate"};
constexpr std::size_t kSmokeCases = 100;
constexpr std::int64_t kSmokeLength = 1025;  // longest cache of a smoke case

std::vector<std::string_view> fixtures_of(const Family& family) {
  std::vector<std::string_view> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (family.has_fixture(fixture) && fixture.for_every_shape) names.push_back(fixture.name);
  }
  return names;
}

// FNV-1a, folded to a seed that is short enough to read in a name.
std::uint64_t seed_from(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return (hash ^ (hash >> 32U)) % 1000U;
}

bool is_short(const Case& value) {
  return std::ranges::none_of(value.family->axes, [&](const Axis& axis) {
    return (axis.name == "kv_len" || axis.name == "kv_capacity") && value.at(axis.name) > kSmokeLength;
  });
}

// The gate's rows of a family, which do not depend on the variant: made once per process.
const std::vector<Row>& gate_rows(const Family& family) {
  static std::mutex mutex;
  static std::map<std::string_view, std::vector<Row>> made;
  const std::lock_guard lock(mutex);
  auto found = made.find(family.name());
  if (found == made.end()) found = made.emplace(family.name(), covering_rows(gate_design(family))).first;
  return found->second;
}

}  // namespace

std::span<const std::string_view> suite_names() { return kSuiteNames; }

bool is_suite(std::string_view name) { return std::ranges::find(kSuiteNames, name) != kSuiteNames.end(); }

Suite parse_suite(std::string_view name) {
  if (name == "smoke") return Suite::smoke;
  if (name == "gate") return Suite::gate;
  throw std::invalid_argument(fmt::format("unknown suite '{}'; the suites are {}", name, fmt::join(kSuiteNames, ", ")));
}

CoveringDesign gate_design(const Family& family) {
  CoveringDesign design;
  for (const Factor& factor : family.factors) design.levels.push_back(static_cast<int>(factor.levels.size()));
  design.levels.push_back(static_cast<int>(fixtures_of(family).size()));
  const std::size_t factors = family.factors.size();
  const std::size_t axes = family.axes.size();
  design.allowed = [&family, factors, axes](std::span<const int> row) {
    std::vector<std::int64_t> values(axes);
    return family.realise(row.first(factors), values);
  };
  design.classify = [&family, factors, axes](std::span<const int> row) {
    std::vector<std::int64_t> values(axes);
    family.realise(row.first(factors), values);
    std::vector<int> classes;
    for (const Classifier& classifier : family.classifiers) classes.push_back(classifier.classify(values));
    if (family.fixtures_are_classes) classes.push_back(row.back());
    return classes;
  };
  design.class_factors = family.class_factors;
  if (family.fixtures_are_classes) design.class_factors.push_back(factors);
  return design;
}

std::vector<Case> suite_cases(Suite suite, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out) {
  const Family& family = find_family(variant.family);
  const std::vector<std::string_view> fixtures = fixtures_of(family);
  std::vector<Case> cases;
  for (const Row& row : gate_rows(family)) {
    Case value;
    value.variant = variant.name;
    value.family = &family;
    value.values.resize(family.axes.size());
    family.realise(std::span(row).first(row.size() - 1), value.values);
    value.fixture = fixtures[static_cast<std::size_t>(row.back())];
    // Named without the variant, so that all variants of a family see the same data.
    const std::string name = format_case(value);
    value.seed = seed + seed_from(std::string_view(name).substr(variant.name.size()));
    if (suite == Suite::smoke && (cases.size() == kSmokeCases || !is_short(value))) continue;
    if (!within_limits(variant, value)) {
      if (left_out != nullptr) ++*left_out;
      continue;
    }
    cases.push_back(std::move(value));
  }
  if (suite == Suite::gate) {
    std::vector<Case> further = corpus_cases(family, variant.name);
    for (const std::string_view name : family.own_cases) further.push_back(parse_case(fmt::format("{}/{}", variant.name, name), family));
    for (Case& value : further) {
      if (within_limits(variant, value)) {
        cases.push_back(std::move(value));
      } else if (left_out != nullptr) {
        ++*left_out;
      }
    }
  }
  return cases;
}

void check_limits(const kernels::Variant& variant) {
  const Family& family = find_family(variant.family);
  for (const kernels::AxisLimit& limit : variant.limits) {
    if (std::ranges::find(family.axes, limit.axis, &Axis::name) != family.axes.end()) continue;
    std::vector<std::string_view> names;
    for (const Axis& axis : family.axes) names.push_back(axis.name);
    throw kernels::VariantError(fmt::format("{}:{}: [limits] {} is no axis of family {}; accepted: {}", variant.description.string(),
                                            limit.line, limit.axis, family.name(), fmt::join(names, ", ")));
  }
}

bool within_limits(const kernels::Variant& variant, const Case& value) {
  return std::ranges::all_of(variant.limits, [&](const kernels::AxisLimit& limit) {
    return std::ranges::find(limit.values, value.at(limit.axis)) != limit.values.end();
  });
}

}  // namespace assay::harness
