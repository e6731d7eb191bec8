// Builds the cases of each suite from covering designs.
// Long because plans, designs and limits of suites stand beside each other.
#include "harness/cases/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/nearest_word.h"
#include "families/registry.h"
#include "harness/cases/file_case.h"
#include "harness/cases/stored_design.h"

namespace assay::harness {
namespace {

// 32 heads at head_dim 512 over 4,096 keys, or over 513 keys if each has a tile of 8 queries: about 1 s. Some of the long_cases
// are more expensive.
constexpr std::int64_t kRareWork = std::int64_t{5} << 24;
// One head over 32,768 keys at head_dim 256. family.long_cases contains longer ones.
constexpr std::int64_t kLongWork = (std::int64_t{1} << 24) + (1 << 20);
// Two such heads at head_dim 512; prefill over 8,192 keys.
constexpr std::int64_t kLongestWork = std::int64_t{3} << 25;

constexpr std::array<SuitePlan, 6> kPlans = {{
    {.name = "smoke",
     .description = "the first hundred short cases of the gate: seconds",
     .suite = Suite::smoke,
     .work = kEverydayWork,
     .longest = 1025,
     .most_cases = 100},
    {.name = "gate",
     .description = "every pair of values and every triple of classes (small families: every triple of values), and the fixture files; "
                    "superseded variants run smoke only: a minute or two",
     .suite = Suite::gate,
     .work = kEverydayWork,
     .rare_work = kRareWork,
     .drawn = 50,
     .corpus = true,
     .beyond = Beyond::claimed},
    {.name = "full",
     .description = "every triple of values (small families: all of them), also long contexts, and the fixture files: minutes",
     .suite = Suite::full,
     .further_strength = 1,
     .long_levels = true,
     .work = kEverydayWork,
     .long_work = kLongWork,
     .drawn = 1000,
     .corpus = true,
     .beyond = Beyond::claimed},
    {.name = "soak",
     .description =
         "like full, with longer contexts and without the fixture files, twenty times with different data (--seed 20000 for another "
         "twenty): hours",
     .suite = Suite::soak,
     .further_strength = 1,
     .long_levels = true,
     .work = kEverydayWork,
     .long_work = kLongestWork,
     .repetitions = 20,
     .drawn = 1000},
    {.name = "long",
     .description =
         "attention over 65,536 to 1,048,576 positions, few cases per variant: for a GPU; seconds to minutes per case on the simulator",
     .suite = Suite::longest,
     .most_cases = 0,
     .longest_cases = true},
    {.name = "negative",
     .description = "what the contract leaves out: tells what a kernel does not do; only what its variant claims must pass: seconds",
     .suite = Suite::negative,
     .work = kEverydayWork,
     .most_cases = 0,
     .beyond = Beyond::all},
}};

// Seeds derived from names are below this, and the repetitions of a suite are this far apart.
constexpr std::uint64_t kSeedRange = 1000;

constexpr std::size_t kMostAxes = 32;

// Reduces the hash of a name to a seed that is short enough to read.
std::uint64_t seed_from(std::string_view name) {
  const std::uint64_t digest = base::digest_of(name);
  return (digest ^ (digest >> 32U)) % kSeedRange;
}

// Derived from the name without the variant, so that all variants of a family use the same data.
std::uint64_t seed_of(const Case& value) { return seed_from(std::string_view(format_case(value)).substr(value.variant.size())); }

bool is_longer(const Case& value, std::int64_t longest) {
  return std::ranges::any_of(value.family->axes, [&](const Axis& axis) { return axis.is_length && value.at(axis.name) > longest; });
}

// `given`, followed by the missing rows of the plan: first those that are possible with everyday cases, then expensive ones.
std::vector<Row> rows_of(const SuitePlan& plan, const Family& family, std::span<const kernels::AxisLimit> limits, std::vector<Row> given) {
  std::vector<Row> rows = covering_rows(suite_design(plan, family, limits, plan.work), std::move(given));
  if (plan.rare_work <= plan.work) return rows;
  CoveringDesign dear = suite_design(plan, family, limits, plan.rare_work);
  dear.cheapest_first = true;
  return covering_rows(dear, std::move(rows));
}

// What the rows of a plan depend on besides the program.
std::string subject_of(const SuitePlan& plan, const kernels::Variant& variant, std::span<const kernels::AxisLimit> limits) {
  const Family& family = family_of(variant);
  std::string subject = fmt::format("{} {}", family.name(), plan.name);
  const auto add_limits = [&](std::span<const kernels::AxisLimit> all) {
    for (const kernels::AxisLimit& limit : all) {
      subject += fmt::format(" {}={}", limit.axis, fmt::join(limit.values, ","));
      for (const auto& [other, own] : limit.pairs) subject += fmt::format(",{}x{}", other, own);
    }
  };
  add_limits(limits);
  if (&family == &families::find_family(family.name())) return subject;
  // A family of one variant depends on all that the variant says.
  subject += " of:";
  add_limits(variant.limits);
  for (const auto& [name, value] : variant.fields) subject += fmt::format(" {}={}:{}", name, static_cast<int>(value.kind), value.bits);
  return subject + (variant.description.empty() ? "" : kernels::read_text(variant.description));
}

// The rows of a design, from the cache: those of the gate take up to a second for a variant, those of longer suites several.
template <typename Make>
std::vector<Row> rows_from_cache(const SuitePlan& plan, const kernels::Variant& variant, std::span<const kernels::AxisLimit> limits,
                                 const Make& make) {
  // A description that was read from text has no file by which an entry would be known.
  if (!variant.description.empty() && !std::filesystem::exists(variant.description)) return make();
  const std::string subject = subject_of(plan, variant, limits);
  const std::string name = fmt::format("design-{:016x}.rows", base::digest_of(subject));
  return stored_rows(name, subject, suite_design(plan, family_of(variant), limits, plan.work), make);
}

// The rows of a plan without limits, made once per process and design. Suites beyond the gate start with the rows of the gate.
const std::vector<Row>& common_rows(const SuitePlan& plan, const kernels::Variant& variant) {
  static std::recursive_mutex mutex;
  static std::map<std::pair<const Family*, std::string_view>, std::vector<Row>> made;
  const std::lock_guard lock(mutex);
  const Family& family = family_of(variant);
  const std::pair key(&family, plan.name);
  auto found = made.find(key);
  if (found == made.end()) {
    const auto make = [&] {
      std::vector<Row> given;
      if (plan.further_strength != 0) given = common_rows(plan_of(Suite::gate), variant);
      return rows_of(plan, family, {}, std::move(given));
    };
    found = made.emplace(key, rows_from_cache(plan, variant, {}, make)).first;
  }
  return found->second;
}

// A limit with the numbers of its axis and of its partner; without a partner, the axis twice.
struct PlacedLimit {
  std::size_t axis, partner;
  const kernels::AxisLimit* limit;
};

// Whether the limits admit the values that are set.
bool admitted(std::span<const PlacedLimit> limits, std::span<const std::int64_t> values) {
  return std::ranges::all_of(limits, [&](const PlacedLimit& placed) {
    const std::int64_t value = values[placed.axis];
    if (value == families::kOpen) return true;
    const std::int64_t beside = values[placed.partner];
    return beside == families::kOpen ? std::ranges::find(placed.limit->values, value) != placed.limit->values.end()
                                     : placed.limit->admits(value, beside);
  });
}

// Each is one of `designed` with drawn values. Expensive ones are drawn again, so large values of several axes seldom come together.
std::vector<Case> drawn_cases(const SuitePlan& plan, const kernels::Variant& variant, std::span<const Case> designed, std::uint64_t seed) {
  constexpr int kTries = 1000;
  const Family& family = *designed.front().family;
  std::vector<Case> cases;
  std::set<std::pair<std::vector<std::int64_t>, std::string>> taken;
  for (const Case& value : designed) taken.emplace(value.values, value.fixture);
  for (std::size_t index = 0; index < plan.drawn; ++index) {
    families::Draw draw(seed, family.name(), index);
    for (int tries = 0; tries < kTries; ++tries) {
      Case value = designed[static_cast<std::size_t>(draw.between(0, static_cast<std::int64_t>(designed.size()) - 1))];
      family.draw(draw, value.values);
      if (family.work(value.values) > plan.work || !within_limits(variant, value) || !is_valid(value)) continue;
      if (!taken.emplace(value.values, value.fixture).second) continue;
      value.seed = 0;
      value.seed = seed + seed_of(value);
      cases.push_back(std::move(value));
      break;
    }
  }
  return cases;
}

// The cases of a design, all different. Seeds are derived from their names.
std::vector<Case> designed_cases(const SuitePlan& plan, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out) {
  if (plan.most_cases == 0) return {};
  const Family& family = family_of(variant);
  const std::vector<std::string_view> fixtures = fixtures_of(family);

  std::vector<Row> limited;
  const std::vector<Row>* rows = &common_rows(plan, variant);
  if (!variant.limits.empty()) {
    const CoveringDesign admitting = suite_design(plan, family, variant.limits, std::numeric_limits<std::int64_t>::max());
    for (const Row& row : *rows) {
      if (admitting.allowed(row)) limited.push_back(row);
    }
    if (left_out != nullptr) *left_out += rows->size() - limited.size();
    limited = rows_from_cache(plan, variant, variant.limits, [&] { return rows_of(plan, family, variant.limits, std::move(limited)); });
    rows = &limited;
  }

  // Rows of different levels may have the same values.
  std::vector<Case> distinct;
  std::set<std::pair<std::vector<std::int64_t>, int>> taken;
  for (const Row& row : *rows) {
    if (distinct.size() == plan.most_cases) break;
    Case value;
    value.variant = variant.name;
    value.family = &family;
    value.values.resize(family.axes.size());
    family.realise(std::span(row).first(row.size() - 1), value.values);
    value.fixture = fixtures[static_cast<std::size_t>(row.back())];
    if (is_longer(value, plan.longest) || !taken.emplace(value.values, row.back()).second) continue;
    value.seed = seed + seed_of(value);
    distinct.push_back(std::move(value));
  }
  return distinct;
}

// Some of the cheap cases of the gate that suit an omission, the cheapest first: where they do not pass, the first one is the easiest to
// understand.
std::vector<Case> cases_of_gate(const Omission& omission, const kernels::Variant& variant, std::uint64_t seed) {
  // Every case of the gate runs in two orders of simdgroups or three already.
  const std::size_t most = omission.same_bits && omission.same_bits->of_schedules() ? 8 : 20;
  constexpr std::int64_t kMostWork = kEverydayWork / 4;
  std::vector<Case> suitable;
  for (Case& value : designed_cases(plan_of(Suite::smoke), variant, seed, nullptr)) {
    value.beyond = omission.id;
    if (value.family->work(value.values) > kMostWork || (omission.suits != nullptr && !omission.suits(value.values))) continue;
    if (omission.same_bits && omission.same_bits->of_schedules() && value.family->simdgroups(value) < 2) continue;
    if (omission.same_bits && !omission.same_bits->of_schedules() && cases_of_same_bits(variant, value).empty()) continue;
    suitable.push_back(std::move(value));
  }
  std::ranges::sort(suitable, {}, [](const Case& value) { return std::pair(value.family->work(value.values), format_case(value)); });
  if (suitable.size() <= most) return suitable;
  std::vector<Case> spread;
  for (std::size_t i = 0; i < most; ++i) spread.push_back(suitable[i * suitable.size() / most]);
  return spread;
}

// Cases about what the contract leaves out: all, or those about claims of the variant.
std::vector<Case> cases_beyond(Beyond which, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out) {
  std::vector<Case> cases;
  if (which == Beyond::none) return cases;
  const Family& family = family_of(variant);
  for (const Omission& omission : family.omissions) {
    const auto is_claimed = [&](const kernels::Claim& claim) { return claim.omission == omission.id; };
    if (omission.ability.empty() || (which == Beyond::claimed && std::ranges::none_of(variant.claims, is_claimed))) continue;
    std::vector<Case> of_omission;
    if (omission.suits != nullptr || omission.same_bits) of_omission = cases_of_gate(omission, variant, seed);
    for (const std::string_view name : omission.cases)
      of_omission.push_back(parse_case(fmt::format("{}/{}/beyond-{}", variant.name, name, omission.id), family));
    for (Case& value : of_omission) {
      if (which == Beyond::claimed && claim_about(variant, value) == nullptr) continue;
      if (within_limits(variant, value)) {
        cases.push_back(std::move(value));
      } else if (left_out != nullptr) {
        ++*left_out;
      }
    }
  }
  return cases;
}

}  // namespace

std::span<const SuitePlan> suite_plans() { return kPlans; }

const SuitePlan& plan_of(Suite suite) { return *std::ranges::find(kPlans, suite, &SuitePlan::suite); }

std::vector<std::string_view> suite_names() {
  std::vector<std::string_view> names;
  for (const SuitePlan& plan : kPlans) names.push_back(plan.name);
  return names;
}

bool is_suite(std::string_view name) { return std::ranges::find(kPlans, name, &SuitePlan::name) != kPlans.end(); }

Suite parse_suite(std::string_view name) {
  const auto* found = std::ranges::find(kPlans, name, &SuitePlan::name);
  if (found != kPlans.end()) return found->suite;
  throw std::invalid_argument(fmt::format("unknown suite '{}'{}; the suites are {}", name, base::did_you_mean(name, suite_names()),
                                          fmt::join(suite_names(), ", ")));
}

Suite suite_for(Suite asked, const kernels::Variant& variant) {
  return asked == Suite::gate && variant.superseded_by ? Suite::smoke : asked;
}

std::vector<std::string_view> fixtures_of(const Family& family) {
  std::vector<std::string_view> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (family.has_fixture(fixture) && fixture.for_every_shape) names.push_back(fixture.name);
  }
  return names;
}

CoveringDesign suite_design(const SuitePlan& plan, const Family& family, std::span<const kernels::AxisLimit> limits, std::int64_t work) {
  if (family.axes.size() > kMostAxes) throw std::logic_error(fmt::format("family {} has more than {} axes", family.name(), kMostAxes));
  CoveringDesign design;
  design.strength = family.gate_strength + plan.further_strength;
  for (const families::Factor& factor : family.factors) {
    design.levels.push_back(static_cast<int>(plan.long_levels ? factor.levels.size() : factor.everyday));
  }
  design.levels.push_back(static_cast<int>(fixtures_of(family).size()));
  const std::size_t factors = family.factors.size();

  std::vector<PlacedLimit> limited;
  for (const kernels::AxisLimit& limit : limits)
    limited.push_back({family.axis_index(limit.axis), family.axis_index(limit.pairs.empty() ? limit.axis : limit.partner), &limit});
  design.allowed = [&family, factors, limited, work, long_work = std::max(work, plan.long_work)](std::span<const int> row) {
    std::array<std::int64_t, kMostAxes> storage{};
    const std::span values = std::span(storage).first(family.axes.size());
    bool is_long = false;
    for (std::size_t factor = 0; factor < factors; ++factor)
      is_long = is_long || row[factor] >= static_cast<int>(family.factors[factor].everyday);
    return family.realise(row.first(factors), values) && admitted(limited, values) && family.work(values) <= (is_long ? long_work : work);
  };
  design.cost = [&family, factors](std::span<const int> row) {
    std::array<std::int64_t, kMostAxes> storage{};
    const std::span values = std::span(storage).first(family.axes.size());
    family.realise(row.first(factors), values);
    return family.work(values);
  };
  if (family.classifiers.empty()) return design;
  design.classify = [&family, factors](std::span<const int> row) {
    std::array<std::int64_t, kMostAxes> storage{};
    const std::span values = std::span(storage).first(family.axes.size());
    family.realise(row.first(factors), values);
    std::vector<int> classes;
    for (const families::Classifier& classifier : family.classifiers) classes.push_back(classifier.classify(values));
    return classes;
  };
  design.class_factors = family.class_factors;
  design.level_classes = {factors};
  design.structural_classes = family.structural_classifiers;
  return design;
}

Case SuiteList::at(std::size_t index) const {
  const std::size_t repeated = designed.size() * repetitions;
  if (index >= repeated) return further.at(index - repeated);
  Case value = designed[index % designed.size()];
  value.seed += index / designed.size() * kSeedRange;
  return value;
}

SuiteList suite_list(Suite suite, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out) {
  const SuitePlan& plan = plan_of(suite);
  const Family& family = family_of(variant);
  SuiteList list{.designed = designed_cases(plan, variant, seed, left_out), .repetitions = plan.repetitions, .further = {}};
  std::vector<Case>& cases = list.further;
  if (plan.corpus) {
    std::vector<Case> further = corpus_cases(family, variant.name);
    std::vector<std::string_view> names = family.own_cases;
    if (plan.long_levels) names.insert(names.end(), family.long_cases.begin(), family.long_cases.end());
    for (const std::string_view name : names) further.push_back(parse_case(fmt::format("{}/{}", variant.name, name), family));
    for (Case& value : further) {
      if (within_limits(variant, value)) {
        cases.push_back(std::move(value));
      } else if (left_out != nullptr) {
        ++*left_out;
      }
    }
  }
  if (plan.longest_cases) {
    for (const std::string_view name : family.longest_cases) {
      Case value = parse_case(fmt::format("{}/{}", variant.name, name), family);
      value.seed += seed;
      if (within_limits(variant, value)) {
        cases.push_back(std::move(value));
      } else if (left_out != nullptr) {
        ++*left_out;
      }
    }
  }
  for (std::uint64_t repetition = 0; seed != 0 && !list.designed.empty() && repetition < plan.repetitions; ++repetition) {
    for (Case& value : drawn_cases(plan, variant, list.designed, seed + repetition * kSeedRange)) cases.push_back(std::move(value));
  }
  for (Case& value : cases_beyond(plan.beyond, variant, seed, left_out)) cases.push_back(std::move(value));
  return list;
}

std::vector<Case> suite_cases(Suite suite, const kernels::Variant& variant, std::uint64_t seed, std::size_t* left_out) {
  const SuiteList list = suite_list(suite, variant, seed, left_out);
  std::vector<Case> cases;
  cases.reserve(list.size());
  for (std::size_t index = 0; index < list.size(); ++index) cases.push_back(list.at(index));
  return cases;
}

bool within_limits(const kernels::Variant& variant, const Case& value) {
  return std::ranges::all_of(variant.limits, [&](const kernels::AxisLimit& limit) { return admits(limit, value); });
}

bool admits(const kernels::AxisLimit& limit, const Case& value) {
  return limit.admits(value.at(limit.axis), value.at(limit.pairs.empty() ? limit.axis : limit.partner));
}

const kernels::AxisLimit* declared_limit_against(const kernels::Variant& variant, const Case& value) {
  const auto found =
      std::ranges::find_if(variant.limits, [&](const kernels::AxisLimit& limit) { return !limit.is_found && !admits(limit, value); });
  return found == variant.limits.end() ? nullptr : &*found;
}

}  // namespace assay::harness
