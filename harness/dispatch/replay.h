// Executes a host's dispatches on a case's buffers: what its launch would have computed.
#pragma once

#include "harness/dispatch/trace.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"

namespace assay::harness {

// Dispatches what the trace says (functions, constants, struct bytes, grid, threads, threadgroup memory, barriers) on `simulator`, with the
// case's buffers in the places of the host's, as a Correspondence tells; `encode` encodes the case's own launch, from which they are
// known. A buffer that is none of the contract's holds poison. Lengths of buffers are the contract's, whatever the trace says.
//
// Throws metal::EncodeError where Metal would refuse the dispatch.
void replay(const PreparedVariant& prepared, const Trace& trace, metal::ComputeEncoder& simulator, const Encode& encode);

}  // namespace assay::harness
