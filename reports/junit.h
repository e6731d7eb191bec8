// Writes a run as JUnit XML for CI systems: one testsuite per family, one testcase per case.
//
//   passed             <testcase/> alone
//   skipped, known     <skipped message="reason"/>; of a known failure with type and text as below
//   crashed, timeout   <error type=status message="reason">, as are cases without a verdict because the run was ended
//   never started      one <testcase> more, "every selected case has a verdict", whose <error> says how many have none: a run that was
//                      stopped is never green
//   everything else    <failure type=status message="reason">, the worst elements and the replay line as text
//
// A testcase has the file of its kernel, and a failing one the line, if a check or triage found one.
//
// The properties of each testsuite apply to the run: where and how it was executed, its notes, the number of cases that [limits] excludes,
// and the number of compared elements of the suite. Other details of a verdict are in its <system-out>.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"
#include "reports/source_root.h"

namespace assay::reports {

// Returns UTF-8; characters that XML does not allow (control characters, U+FFFE, U+FFFF, invalid bytes) become U+FFFD.
[[nodiscard]] std::string junit(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases, const SourceRoot& root);

}  // namespace assay::reports
