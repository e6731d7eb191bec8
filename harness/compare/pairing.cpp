// Pairs the cases of two variants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "harness/cases/selection.h"
#include "harness/compare/compare.h"

namespace assay::harness {
namespace {

// The name without the suffix that distinguishes the two if they have the same name. People do not write the suffix.
std::string plain_name(const kernels::Variant& variant) { return variant.name.substr(0, variant.name.find('@')); }

std::string words_behind_variant(const Case& about) {
  const std::string name = format_case(about);
  return name.substr(variant_of(name).size());
}

// The case for `variant`. If that is made for another value of a capability axis, the case gets this value.
Case as_one_of(Case about, const kernels::Variant& variant) {
  about.variant = variant.name;
  for (const kernels::AxisLimit& limit : variant.limits) {
    const std::vector<Axis>& axes = about.family->axes;
    const std::size_t axis = about.family->axis_index(limit.axis);
    if (admits(limit, about) || !axes[axis].is_capability || limit.values.size() != 1) continue;
    about.values[axis] = limit.values.front();
    if (about.values[axis] != 0) continue;
    // Axes that only have a meaning together with that axis.
    for (std::size_t other = 0; other < axes.size(); ++other) {
      if (axes[other].needed_by == axes[axis].name) about.values[other] = axes[other].initial;
    }
  }
  return about;
}

std::string limit_against(const kernels::Variant& variant, const Case& about) {
  const auto limit = std::ranges::find_if(variant.limits, [&](const kernels::AxisLimit& one) { return !admits(one, about); });
  return limit == variant.limits.end() ? std::string()
                                       : fmt::format("{} supports only {} = {}", variant.name, limit->axis, fmt::join(limit->values, ", "));
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
  for (const Case& about : all) {
    const std::string rest = words_behind_variant(about);
    if (std::ranges::any_of(names, [&](const std::string& name) { return glob_match(word, name + rest); })) found.push_back(about);
  }
  if (found.empty()) throw std::invalid_argument(fmt::format("no case of the suite matches '{}'", word));
  return found;
}

}  // namespace

bool has_name(const Case& about) {
  try {
    Case again = parse_case(format_case(about), *about.family);
    again.variant = about.variant;
    return again == about;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

Pairing pair_cases(const PairingRequest& request, const kernels::Variant& old_variant, const kernels::Variant& new_variant) {
  if (old_variant.family != new_variant.family)
    throw std::invalid_argument(fmt::format("{} is of family {}, {} of family {}: they have no case in common", old_variant.name,
                                            old_variant.family, new_variant.name, new_variant.family));
  const Family& family = find_family(old_variant.family);
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
  for (const Case& about : all) {
    const CasePair pair{as_one_of(about, old_variant), as_one_of(about, new_variant)};
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
