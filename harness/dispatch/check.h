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
  std::vector<std::string> tolerated;    // the same, but so common that only a strict check mentions them
  bool lacks_barrier = false;            // whether one of the differences is a missing barrier
  bool lacks_room = false;               // whether one of them is a buffer that is too short

  // A strict check takes nothing for right that the contract does not have.
  [[nodiscard]] bool agrees(bool strict) const { return differences.empty() && (!strict || (remarks.empty() && tolerated.empty())); }
};

// These are differences: another function, constant, buffer, field value, grid or threadgroup; a dispatch or a barrier that only one
// side has; a buffer, tensor or threadgroup memory that is too small; a place that is not that of the tensor; bytes copied for a buffer; an
// offset that the argument's type does not allow. docs/DISPATCH.md lists what is only remarked on or tolerated.
//
// Throws TraceError for a function that no prepared source has, and for fields that contradict the trace's own bytes.
[[nodiscard]] TraceCheck check_trace(const PreparedVariant& prepared, std::span<const ContractDispatch> contract, const Trace& trace);

}  // namespace assay::harness
