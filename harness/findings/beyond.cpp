// Decides what a case about an omission of the contract counts as.
#include "harness/findings/beyond.h"

#include <fmt/format.h>

#include <string>

#include "harness/cases/suite.h"

namespace assay::harness {

void settle_beyond(const kernels::Variant& variant, Verdict& verdict) {
  const Omission* omission = omission_of(verdict.test_case);
  if (omission == nullptr || verdict.status == Status::passed || verdict.status == Status::mistrusted) return;
  if (has_kind(verdict.faults, FaultKind::outside_of_limits)) return;
  std::string ability(omission->ability);
  if (const kernels::Claim* claim = claim_about(variant, verdict.test_case); claim != nullptr) {
    if (verdict.status == Status::skipped) verdict.status = Status::failed;
    verdict.faults.insert(
        verdict.faults.begin(),
        fault::BrokenClaim{variant.description.string() + (claim->line == 0 ? std::string() : fmt::format(":{}", claim->line)), claim->text,
                           ability});
  } else if (verdict.status != Status::skipped) {
    verdict.status = Status::not_required;
    verdict.faults.insert(verdict.faults.begin(), fault::NotRequired{ability});
  }
}

}  // namespace assay::harness
