// A run as JUnit XML, which CI systems read: one testsuite per family, one testcase per case.
//
//   passed             <testcase/> alone
//   skipped            <skipped message="reason"/>
//   crashed, timeout   <error type=status message="reason">, as is whatever has no verdict because the run was ended
//   everything else    <failure type=status message="reason">, the worst elements and the replay line as text
#pragma once

#include <span>
#include <string>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// UTF-8; what XML cannot hold (control characters, bytes that are no UTF-8) becomes U+FFFD.
[[nodiscard]] std::string junit(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);

}  // namespace assay::reports
