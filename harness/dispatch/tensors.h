// The tensors that a trace lists: whether a binding is where its tensor is, and whether two share bytes.
#pragma once

#include <cstdint>
#include <string>

#include "harness/dispatch/trace.h"
#include "metal/argument_layout.h"

namespace assay::harness {

// What is wrong with the place of a binding that should be that of `tensor`: in particular whether the host dropped the offset, or gave
// it in elements. Empty if the place is right.
[[nodiscard]] std::string misplacement(const Trace& trace, const TraceTensor& tensor, const TraceBuffer& bound,
                                       const metal::BoundArgument& argument);

// The same for a binding in a buffer whose tensors are listed, none of which is the one that is needed: the place must be that of any.
[[nodiscard]] std::string stray_offset(const Trace& trace, const TraceBuffer& bound, const metal::BoundArgument& argument);

// Whether two tensors of one buffer have a byte in common. Rows of one may lie in the gaps of the other.
[[nodiscard]] bool share_bytes(const TraceTensor& a, const TraceTensor& b);

// A tensor without gaps.
[[nodiscard]] inline TraceTensor dense_tensor(std::string name, std::string buffer, std::uint64_t start, std::uint64_t length) {
  return {std::move(name), std::move(buffer), start, length, 0, {}};
}

}  // namespace assay::harness
