// What the contracts of a run's families leave out, and what its kernels do nevertheless.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cases/case.h"
#include "harness/ledger/ledger.h"

namespace assay::reports {

// The cases of one variant about one omission.
struct Statement {
  std::string variant, family, id, ability;              // harness::Omission
  std::size_t passed = 0, not_required = 0, failed = 0;  // failed: the variant claims it, or the verdict says nothing
  std::size_t skipped = 0;
  std::string example;  // the first case that did not pass, else the first
  std::string reason;   // why the first one was skipped, if all were

  [[nodiscard]] std::size_t cases() const { return passed + not_required + failed + skipped; }
  // Whether every case that was run passed.
  [[nodiscard]] bool holds() const { return passed != 0 && not_required + failed == 0; }
};

// In order of the cases.
[[nodiscard]] std::vector<Statement> statements(std::span<const harness::CaseRecord> cases);
// "NAME does not apply a softcap (not required by the contract): 3 of 3 cases, the first NAME/..."
[[nodiscard]] std::string statement_text(const Statement& statement);

// A family and what it leaves out.
struct Omissions {
  std::string_view family;
  std::span<const harness::Omission> omissions;
};
// Of the families of the cases, in their order.
[[nodiscard]] std::vector<Omissions> omissions_of(std::span<const harness::CaseRecord> cases);
// The sentence, and how to see what a kernel does: "The softcap is 0 (`--suite ...` tells ...)".
[[nodiscard]] std::string omission_text(const harness::Omission& omission);

}  // namespace assay::reports
