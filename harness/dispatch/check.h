// Compares a host's trace with what the launch code encodes for the same case, dispatch by dispatch and field by field.
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
  std::vector<std::string> remarks;      // differences that are no errors: more memory than needed
  bool lacks_barrier = false;            // whether one of the differences is a missing barrier
};

// These are differences: another function, constant, buffer, field value, grid or threadgroup; a dispatch or a barrier that only one
// side has; a buffer or threadgroup memory that is too small; an offset that the argument's type does not allow. Not compared are
// padding, indices that the function does not declare, barriers before the first and after the last dispatch, and bindings of arguments
// that the kernel does not use.
//
// Throws TraceError for a function that no prepared source has, and for fields that contradict the trace's own bytes.
[[nodiscard]] TraceCheck check_trace(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace);

}  // namespace assay::harness
