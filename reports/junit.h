// A run as JUnit XML, which CI systems read: one testsuite per family, one testcase per case.
//
//   passed             <testcase/> alone
//   skipped, known     <skipped message="reason"/>; of a known failure with type and text as below
//   crashed, timeout   <error type=status message="reason">, as is whatever has no verdict because the run was ended
//   never started      one <testcase> more, "every selected case has a verdict", whose <error> says how many have none: a run that was
//                      stopped is never green
//   everything else    <failure type=status message="reason">, the worst elements and the replay line as text
//
// Each testsuite's properties say what holds for the run: where and how it was executed, its notes, how many cases [limits] left out, and
// how many elements of the suite were compared. What else is to be said of one verdict is its <system-out>.
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// UTF-8; what XML cannot hold (control characters, U+FFFE, U+FFFF, bytes that are no UTF-8) becomes U+FFFD.
[[nodiscard]] std::string junit(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
