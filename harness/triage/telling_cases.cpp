// Looks for failing cases of a size at which landmarks tell most.
#include "harness/triage/telling_cases.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "harness/cases/case_size.h"
#include "harness/triage/case_name.h"
#include "harness/triage/fit.h"
#include "harness/triage/focus.h"
#include "harness/triage/minimise.h"
#include "harness/triage/ordered.h"

namespace assay::harness {

std::string_view class_of(std::span<const Observation> failing, const Laboratory& laboratory) {
  const std::vector<Fit> fits = fits_of(failing, {}, laboratory.shelf(), Pairs::never);
  return fits.empty() || fits.front().exact < 1.0 ? std::string_view() : fits.front().kind;
}

Telling telling(Laboratory& laboratory, const Finding& finding, const Nearby& nearby, std::span<const Verdict> left) {
  Telling chosen;
  std::vector<const Verdict*> others;
  for (const Verdict& verdict : left) {
    if (verdict.status == Status::failed && !(verdict.test_case == finding.given.test_case) && fails_alike(verdict, finding.given))
      others.push_back(&verdict);
  }
  order_by(others, [](const Verdict* verdict) { return distance_from_telling(size_of(verdict->test_case)); });
  constexpr std::size_t tried = 4, enough = 2;
  const auto take = [&](const Case& test_case) {
    if (!name_of(test_case) || size_of(test_case) > kLargestNearby) return;
    std::optional<Observation> observation = laboratory.observe(test_case);
    if (!observation || !observation->is_failure()) return;
    const std::string_view kind = class_of(std::span(&*observation, 1), laboratory);
    const bool is_alike = kind.empty() || kind == finding.classification.kind;
    (is_alike ? chosen.alike : chosen.others).push_back(std::move(*observation));
  };
  for (std::size_t i = 0; i < std::min(tried, others.size()) && chosen.alike.size() < enough; ++i) {
    // Numbers of one size are told apart best.
    Case plain = others[i]->test_case;
    plain.fixture = "gauss";
    take(plain);
    if (!(plain == others[i]->test_case)) take(others[i]->test_case);
  }
  // The given and the smallest case; others may fail for another reason.
  for (std::size_t i = 0; i < std::min(enough, nearby.failing.size()); ++i) chosen.alike.push_back(nearby.failing[i]);
  return chosen;
}

}  // namespace assay::harness
