// Names of policies.
#include "metal/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace assay::metal {

namespace {

// In the order of Policy.
constexpr std::array<std::string_view, 3> kPolicies = {"native", "checked", "shadow"};

}  // namespace

std::string_view to_string(Policy policy) { return kPolicies.at(static_cast<std::size_t>(policy)); }

Policy parse_policy(std::string_view text) {
  const auto* const found = std::ranges::find(kPolicies, text);
  if (found != kPolicies.end()) return static_cast<Policy>(found - kPolicies.begin());
  throw std::invalid_argument(fmt::format("'{}' is no policy: accepted are native, checked and shadow", text));
}

}  // namespace assay::metal
