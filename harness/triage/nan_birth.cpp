// Reads where NaN are born off the remarks of checked runs.
#include "harness/triage/nan_birth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cases/case_size.h"
#include "harness/triage/nearby.h"

namespace assay::harness {
namespace {

constexpr std::string_view kComputes = " computes ";

// Comparisons with NaN are false, so a kernel that asks whether its sum is greater than 0 makes 0 of them.
bool shows_no_number(const WorstElement& element) { return !std::isfinite(element.actual) || element.actual == 0.0; }

bool makes_nan(const metal::Hazard& remark) {
  return remark.kind == metal::HazardKind::nonfinite_result && remark.message.find(": NaN from ") != std::string::npos;
}

std::vector<metal::Hazard> births_in(Laboratory& laboratory, const Case& test_case) {
  std::vector<metal::Hazard> births;
  if (size_of(test_case) > kLargestNearby) return births;
  for (metal::Hazard& remark : laboratory.verdict_under(test_case, metal::Policy::checked).remarks) {
    if (makes_nan(remark)) births.push_back(std::move(remark));
  }
  return births;
}

}  // namespace

std::optional<metal::Hazard> find_nan_birth(Laboratory& laboratory, const Verdict& failing, std::span<const Observation> passing) {
  const std::vector<WorstElement>& worst = failing.judgement.worst;
  if (failing.status != Status::failed || worst.empty() || !shows_no_number(worst.front())) return std::nullopt;
  std::vector<metal::Hazard> births = births_in(laboratory, failing.test_case);
  if (births.empty()) return std::nullopt;
  constexpr std::size_t few = 4;
  for (const Observation& right : passing.first(std::min(few, passing.size()))) {
    for (const metal::Hazard& harmless : births_in(laboratory, right.test_case))
      std::erase_if(births, [&](const metal::Hazard& birth) { return birth.first == harmless.first; });
  }
  if (births.empty()) return std::nullopt;
  return *std::ranges::min_element(births, {}, [](const metal::Hazard& birth) { return birth.first.line; });
}

std::string formula_of(const metal::Hazard& birth) {
  const std::size_t at = birth.message.find(kComputes);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + kComputes.size();
  return birth.message.substr(begin, birth.message.find(" (", begin) - begin);
}

bool is_of_nothing(const metal::Hazard& birth) {
  constexpr std::array<std::string_view, 3> of_nothing = {"-inf - -inf", "0 / 0", "-0 / 0"};
  return std::ranges::find(of_nothing, formula_of(birth)) != of_nothing.end();
}

}  // namespace assay::harness
