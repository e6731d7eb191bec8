// Pairs the cases of two variants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/cases/selection.h"
#include "harness/compare/compare.h"
#include "kernels/axis_text.h"

namespace assay::harness {
namespace {

// The name without the suffix that distinguishes the two if they have the same name. People do not write the suffix.
std::string plain_name(const kernels::Variant& variant) { return variant.name.substr(0, variant.name.find('@')); }

std::string words_behind_variant(const Case& test_case) {
  const std::string name = format_case(test_case);
  return name.substr(variant_of(name).size());
}

// The case for `variant`. If that is made for another value of a capability axis, the case gets this value.
Case as_one_of(Case test_case, const kernels::Variant& variant) {
  test_case.variant = variant.name;
  for (const kernels::AxisLimit& limit : variant.limits) {
    const std::vector<Axis>& axes = test_case.family->axes;
    const std::size_t axis = test_case.family->axis_index(limit.axis);
    if (admits(limit, test_case) || !axes[axis].is_capability || limit.values.size() != 1) continue;
    test_case.values[axis] = limit.values.front();
    if (test_case.values[axis] != 0) continue;
    // Axes that only have a meaning together with that axis.
    for (std::size_t other = 0; other < axes.size(); ++other) {
      if (axes[other].needed_by == axes[axis].name) test_case.values[other] = axes[other].initial;
    }
  }
  return test_case;
}

std::string limit_against(const kernels::Variant& variant, const Case& test_case) {
  const auto limit = std::ranges::find_if(variant.limits, [&](const kernels::AxisLimit& one) { return !admits(one, test_case); });
  if (limit == variant.limits.end()) return {};
  std::vector<std::string> values;
  for (const std::int64_t value : limit->values) values.push_back(kernels::axis_text(*variant.contract, limit->axis, value));
  return fmt::format("{} supports only {} = {}", variant.name, limit->axis, fmt::join(values, ", "));
}

bool is_pattern(const std::string& word) { return word.find_first_of("*?") != std::string::npos; }

// The cases of `all` that a word selects; `all` comes from suites of the two.
std::vector<Case> select(const std::string& word, const std::vector<Case>& all, const Family& family,
                         const std::vector<std::string>& names) {
  if (!is_pattern(word)) {
    if (word.find('/') == std::string::npos)
      throw std::invalid_argument(fmt::format("'{}' is neither the name of a case nor a glob; pass a suite with --suite", word));
    return {parse_case(word, family)};
  }
  std::vector<Case> found;
  for (const Case& test_case : all) {
    const std::string rest = words_behind_variant(test_case);
    if (std::ranges::any_of(names, [&](const std::string& name) { return glob_match(word, name + rest); })) found.push_back(test_case);
  }
  if (found.empty()) throw std::invalid_argument(fmt::format("no case of the suite matches '{}'", word));
  return found;
}

}  // namespace

bool has_name(const Case& test_case) {
  try {
    Case again = parse_case(format_case(test_case), *test_case.family);
    again.variant = test_case.variant;
    return again == test_case;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

Pairing pair_cases(const PairingRequest& request, const kernels::Variant& old_variant, const kernels::Variant& new_variant) {
  if (old_variant.family != new_variant.family)
    throw std::invalid_argument(fmt::format("{} is of family {}, {} of family {}: they have no case in common", old_variant.name,
                                            old_variant.family, new_variant.name, new_variant.family));
  const Family& family = family_of(old_variant);
  std::vector<Case> all = suite_cases(request.suite, old_variant, request.seed);
  const std::vector<Case> of_new = suite_cases(request.suite, new_variant, request.seed);
  all.insert(all.end(), of_new.begin(), of_new.end());
  if (!request.words.empty()) {
    std::vector<Case> chosen;
    for (const std::string& word : request.words) {
      const std::vector<Case> more = select(word, all, family, {plain_name(old_variant), plain_name(new_variant)});
      chosen.insert(chosen.end(), more.begin(), more.end());
    }
    all = std::move(chosen);
  }

  Pairing pairing;
  std::set<std::string> known;
  for (const Case& test_case : all) {
    const CasePair pair{as_one_of(test_case, old_variant), as_one_of(test_case, new_variant)};
    if (!has_name(pair.old_case) || !has_name(pair.new_case)) {
      if (has_name(pair.old_case)) pairing.only_old.push_back({format_case(pair.old_case), "the other variant has no such case"});
      if (has_name(pair.new_case)) pairing.only_new.push_back({format_case(pair.new_case), "the other variant has no such case"});
      continue;
    }
    if (!known.insert(words_behind_variant(pair.old_case) + words_behind_variant(pair.new_case)).second) continue;
    const std::string against_old = limit_against(old_variant, pair.old_case);
    const std::string against_new = limit_against(new_variant, pair.new_case);
    if (against_old.empty() && against_new.empty()) {
      pairing.pairs.push_back(pair);
    } else if (against_old.empty()) {
      pairing.only_old.push_back({format_case(pair.old_case), against_new});
    } else if (against_new.empty()) {
      pairing.only_new.push_back({format_case(pair.new_case), against_old});
    }
  }
  return pairing;
}

}  // namespace assay::harness
