// Sums up the cases about what contracts leave out.
#include "reports/beyond.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/cases/case.h"
#include "harness/findings/fault_text.h"

namespace assay::reports {
namespace {

using harness::Status;

const harness::Family* family_of(const harness::CaseRecord& record) {
  const auto all = harness::all_families();
  const auto found = std::ranges::find_if(all, [&](const harness::Family& family) { return family.name() == record.family; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Statement> statements(std::span<const harness::CaseRecord> cases) {
  std::vector<Statement> all;
  for (const harness::CaseRecord& record : cases) {
    const std::string_view id = harness::beyond_of(record.name);
    if (id.empty()) continue;
    auto found = std::ranges::find_if(all, [&](const Statement& one) { return one.variant == record.variant && one.id == id; });
    if (found == all.end()) {
      // A ledger of another assay may have omissions that this one does not know.
      const harness::Family* family = family_of(record);
      const harness::Omission* omission = family == nullptr ? nullptr : family->find_omission(id);
      found = all.insert(all.end(), Statement{.variant = record.variant,
                                              .family = record.family,
                                              .id = std::string(id),
                                              .ability = std::string(omission == nullptr ? id : omission->ability),
                                              .example = record.name,
                                              .reason = {}});
    }
    const bool is_right = record.status == Status::passed;
    const bool is_skipped = record.status == Status::skipped;
    if (!is_right && !is_skipped && found->not_required + found->failed == 0) found->example = record.name;
    if (is_skipped && found->skipped == 0) found->reason = harness::reason_of(record);
    found->passed += is_right;
    found->skipped += is_skipped;
    found->not_required += record.status == Status::not_required;
    found->failed += !is_right && !is_skipped && record.status != Status::not_required;
  }
  return all;
}

std::string statement_text(const Statement& it) {
  const std::size_t run = it.cases() - it.skipped;
  if (run == 0) return fmt::format("{} cannot be asked to {}: {}", it.variant, it.ability, it.reason);
  const std::string skipped = it.skipped == 0 ? std::string() : fmt::format(", {} skipped", it.skipped);
  const std::string_view cases = run == 1 ? "case" : "cases";
  if (it.holds()) return fmt::format("{} does {}: {} of {} {}{}", it.variant, it.ability, it.passed, run, cases, skipped);
  return fmt::format("{} does not {}{}: {} of {} {}{}, the first {}", it.variant, it.ability,
                     it.failed == 0 ? " (not required by the contract)" : "", run - it.passed, run, cases, skipped, it.example);
}

std::vector<Omissions> omissions_of(std::span<const harness::CaseRecord> cases) {
  std::vector<Omissions> all;
  for (const harness::CaseRecord& record : cases) {
    if (std::ranges::find(all, record.family, &Omissions::family) != all.end()) continue;
    const harness::Family* family = family_of(record);
    if (family != nullptr && !family->omissions.empty()) all.push_back({family->name(), family->omissions});
  }
  return all;
}

std::string omission_text(const harness::Omission& omission) {
  if (omission.ability.empty()) return std::string(omission.sentence);
  return fmt::format("{} The suite `negative` tells whether a kernel does {} (`{}`).", omission.sentence, omission.ability, omission.id);
}

}  // namespace assay::reports
