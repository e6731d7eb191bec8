// Executes a host's dispatches on a case's buffers: computes what its launch would have computed.
#pragma once

#include "harness/dispatch/trace.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"

namespace assay::harness {

// Dispatches what the trace contains (functions, constants, struct bytes, grid, threads, threadgroup memory, barriers) on
// `simulator`. The case's buffers replace the host's, as determined by a Correspondence; `encode` encodes the case's own launch,
// which provides them. A buffer that corresponds to none of the contract's contains poison. Buffers have the contract's lengths,
// whatever the trace says.
//
// Throws metal::EncodeError where Metal would reject the dispatch.
void replay(const PreparedVariant& prepared, const Trace& trace, metal::ComputeEncoder& simulator, const Encode& encode);

}  // namespace assay::harness
