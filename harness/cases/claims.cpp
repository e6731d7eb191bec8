// The claims of a variant: their names, and the cases that they are about.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/nearest_word.h"
#include "harness/cases/suite.h"

namespace assay::harness {

bool is_valid(const Case& value) {
  try {
    value.family->validate(value);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

void check_axis_names(const kernels::Variant& variant) {
  const Family& family = family_of(variant);
  const auto place = [&](std::uint32_t line, std::string_view where) {
    return variant.description.empty() ? std::string(where) : fmt::format("{}:{}: {}", variant.description.string(), line, where);
  };
  const auto check = [&](std::string_view axis, std::uint32_t line, std::string_view where) {
    if (family.has_axis(axis)) return;
    std::vector<std::string_view> names;
    for (const Axis& known : family.axes) names.push_back(known.name);
    throw kernels::VariantError(fmt::format("{} {}: family {} has no such axis{}; accepted: {}", place(line, where), axis, family.name(),
                                            base::did_you_mean(axis, names), fmt::join(names, ", ")));
  };
  for (const kernels::AxisLimit& limit : variant.limits)
    check(limit.axis, limit.line, variant.description.empty() ? "--limit" : "[limits]");
  for (const kernels::Claim& claim : variant.claims) {
    for (const auto& [axis, value] : claim.where) check(axis, claim.line, fmt::format("'claims' contains '{}':", claim.text));
    const Omission* omission = claim.omission.empty() ? nullptr : family.find_omission(claim.omission);
    if (claim.omission.empty() || (omission != nullptr && !omission->ability.empty())) continue;
    std::vector<std::string> names;
    for (const Omission& known : family.omissions) {
      if (!known.ability.empty()) names.push_back(fmt::format("{} ({})", known.id, known.ability));
    }
    throw kernels::VariantError(fmt::format("{} {}; accepted: same_bits_as:VARIANT, {}",
                                            place(claim.line, fmt::format("'claims' contains '{}':", claim.text)),
                                            omission == nullptr ? "unknown claim" : "no case can show it", fmt::join(names, ", ")));
  }
}

const Omission* omission_of(const Case& value) { return value.beyond.empty() ? nullptr : value.family->find_omission(value.beyond); }

const kernels::Claim* claim_about(const kernels::Variant& variant, const Case& value) {
  const auto is_about = [&](const kernels::Claim& claim) {
    return claim.omission == value.beyond &&
           std::ranges::all_of(claim.where, [&](const auto& wanted) { return value.at(wanted.first) == wanted.second; });
  };
  const auto found = value.beyond.empty() ? variant.claims.end() : std::ranges::find_if(variant.claims, is_about);
  return found == variant.claims.end() ? nullptr : &*found;
}

std::vector<Case> cases_of_same_bits(const kernels::Variant& variant, const Case& value) {
  std::vector<Case> cases;
  const Omission* omission = omission_of(value);
  if (omission == nullptr || !omission->same_bits || omission->same_bits->of_schedules()) return cases;
  const std::size_t axis = value.family->axis_index(omission->same_bits->axis);
  for (const std::int64_t other : omission->same_bits->values) {
    if (other == value.values[axis]) continue;
    Case next = value;
    next.values[axis] = other;
    if (within_limits(variant, next) && is_valid(next)) cases.push_back(std::move(next));
  }
  return cases;
}

}  // namespace assay::harness
