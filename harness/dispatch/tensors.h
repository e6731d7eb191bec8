// The tensors that a trace lists: whether a binding is where its tensor is, whether two share bytes, and the order of their elements.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "families/job.h"
#include "families/source.h"
#include "harness/cases/case.h"
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

// The axes of an input as the kernel reads it, outermost first.
struct InputLayout {
  std::uint64_t element = 0;  // bytes
  std::vector<TraceTensor::Axis> axes;
};

// By the name of the buffer. They are derived from where the job puts the tensors that a fixture file of the case would have; an input
// that is none of these has no layout here, like all inputs of cases with much memory.
[[nodiscard]] std::map<std::string, InputLayout> input_layouts(const Case& test_case, const families::Source& source,
                                                               const families::Job& job);

// Whether the elements of a tensor lie in the order that the kernel reads. Axes may be split, merged or, with their strides, listed in
// another order; the outermost may be longer. Axes of size 1 do not count. The tensor has as many bytes as the contract needs.
[[nodiscard]] bool has_layout(const TraceTensor& tensor, const InputLayout& wanted);

// "2 x 65 x 128 elements of 1 byte, with strides of 8320, 128, 1 bytes".
[[nodiscard]] std::string layout_text(std::uint64_t element, const std::vector<TraceTensor::Axis>& axes);

}  // namespace assay::harness
