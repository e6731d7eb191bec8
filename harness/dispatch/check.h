// Holds a host's trace to what the launch code encodes for the same case, dispatch by dispatch and field by field.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/dispatch/recorder.h"
#include "harness/dispatch/trace.h"
#include "harness/prepare/workbench.h"

namespace assay::harness {

struct TraceCheck {
  std::vector<std::string> differences;  // a sentence each, with both values
  std::vector<std::string> remarks;      // what is not the same and yet right: more memory than is needed
  bool lacks_barrier = false;            // one of the differences
};

// Differences are: another function, constant, buffer, field value, grid, threadgroup; a dispatch or a barrier that one of the two does
// not have; a buffer or threadgroup memory that is too small; an offset that the argument's type does not allow. Not looked at are
// padding, indices that the function does not declare, barriers before the first and behind the last dispatch, and what is bound to an
// argument of which the kernel uses nothing.
//
// Throws TraceError for a function that none of the prepared sources has, and for fields that the trace's own bytes contradict.
[[nodiscard]] TraceCheck check_trace(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace);

}  // namespace assay::harness
