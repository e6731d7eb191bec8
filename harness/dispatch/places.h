// Compares where a trace has the contract's buffers: that they have enough bytes, and none in common.
#pragma once

#include <span>

#include "harness/dispatch/check.h"
#include "harness/dispatch/correspondence.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"

namespace assay::harness {

void compare_places(std::span<const ContractDispatch> contract, const Trace& trace, const Correspondence& correspondence,
                    TraceCheck& check);

}  // namespace assay::harness
