// Decides by landmarks and by what failing cases have in common.
#include "harness/triage/without_repair.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "harness/triage/common_feature.h"

namespace assay::harness {
namespace {

// Whether the class comes from a number that was fitted to outputs, and not from one that a kernel would leave out.
bool is_fitted_number(const Classification& classification) {
  return std::holds_alternative<decided::BestFit>(classification.decided) &&
         std::ranges::any_of(classification.fits, [&](const Fit& fit) { return fit.kind == classification.kind && fit.is_arbitrary; });
}

bool explains_little(const Classification& classification) {
  constexpr double good = 0.8;
  return std::holds_alternative<decided::BestFit>(classification.decided) && classification.goodness < good;
}

}  // namespace

Classification likely_class(const Classification& classification, std::span<const Case> failing, std::span<const Case> passed) {
  const bool is_open = classification.kind == mistake::kUnknown || is_fitted_number(classification) || explains_little(classification);
  const std::optional<CommonFeature> common = is_open ? common_feature(failing, passed) : std::nullopt;
  if (!common || common->kind.empty()) return classification;
  return {.kind = common->kind, .says = common->says, .goodness = 0, .decided = decided::Common{}, .fits = {}};
}

void classify_by_landmark(const Focus& focus, std::span<const Case> failing, std::span<const Case> passed, Classification& classification) {
  if (!focus.is_sure || focus.kind.empty()) return;
  const bool is_arbitrary = is_fitted_number(classification);
  if (!is_arbitrary && classification.kind != mistake::kUnknown) return;
  // What only they have is said later.
  if (const std::optional<CommonFeature> common = common_feature(failing, passed); common && !common->kind.empty()) {
    if (!is_arbitrary) return;
    classification.kind = common->kind;
    classification.says = common->says;
    classification.decided = decided::Common{};
    classification.goodness = 0;
    return;
  }
  classification.kind = focus.kind;
  classification.says = says_first_wrong(focus.landmark);
  classification.goodness = 0;
  classification.decided = decided::Landmark{};
}

void add_common(std::span<const Case> failing, std::span<const Case> passed, Finding& finding) {
  const std::optional<CommonFeature> common = common_feature(failing, passed);
  if (!common) return;
  finding.common = common->says;
  Classification& known = finding.classification;
  const bool is_weak = finding.repaired_source.empty() && explains_little(known);
  if ((known.kind != mistake::kUnknown && !is_weak) || common->kind.empty() || common->kind == known.kind) return;
  known.says = common->says;
  known.kind = common->kind;
  known.decided = decided::Common{};
}

}  // namespace assay::harness
