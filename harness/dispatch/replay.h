// Executes a host's dispatches on a case's buffers: computes what its launch would have computed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "harness/dispatch/trace.h"
#include "harness/execute/execute.h"
#include "harness/prepare/workbench.h"

namespace assay::harness {

// By name and offset in the trace.
using HostBuffers = std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<metal::Buffer>>;

// Dispatches what the trace contains (functions, constants, struct bytes, grid, threads, threadgroup memory, barriers) on
// `simulator`. The case's buffers replace the host's, as determined by a Correspondence; `encode` encodes the case's own launch,
// which provides them. A buffer that corresponds to none of the contract's contains poison, and is kept in `host_buffers` for as long as
// the dispatches may be executed. Buffers have the contract's lengths, not those of the trace.
//
// Throws metal::EncodeError where Metal would reject the dispatch.
void replay(const PreparedVariant& prepared, const Trace& trace, metal::ComputeEncoder& simulator, const Encode& encode,
            HostBuffers& host_buffers);

}  // namespace assay::harness
