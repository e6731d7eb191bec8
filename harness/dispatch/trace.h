// A trace: the dispatches that a host encoded for a case, in order, with everything that decides what they compute.
//
// Traces of our launch code (recorder.h) and of other hosts (read by reports/dispatch.h) have the same form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "metal/argument_layout.h"
#include "metal/devices/encoder.h"
#include "metal/limits.h"

namespace assay::harness {

// A trace that cannot be interpreted; what() names the place in the file.
class TraceError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

using TraceNumber = std::variant<bool, std::uint64_t, std::int64_t, double>;
[[nodiscard]] std::string to_string(const TraceNumber& value);

// A scalar within the bytes of an argument, at the place that the kernel's reflection gives.
struct TraceField {
  std::string name;  // "softcap", "strides[2]"; for an argument that is a scalar, the argument's name
  std::string type;  // as in the kernel's source
  std::size_t offset = 0;
  std::size_t size = 0;  // bytes
  TraceNumber value;     // of a half or bfloat, the bits
};

// The scalars that lie completely in `bytes`. Leaves out fields that are structs or vectors of other types.
[[nodiscard]] std::vector<TraceField> decode_fields(const metal::BoundArgument& argument, std::span<const std::byte> bytes);

struct TraceBuffer {
  std::string name;          // identifies the buffer; the contract's names mean the contract's buffers
  std::uint64_t length = 0;  // bytes of the buffer; in the contract's trace the bytes needed, 0 for a placeholder
  std::uint64_t offset = 0;  // in bytes, where the argument starts
};

// A tensor, or a view of one, where the host made it. A host records it apart from the calls that bind it, so that a wrong offset
// in such a call contradicts it.
struct TraceTensor {
  struct Axis {
    std::uint64_t size = 0;
    std::uint64_t stride = 0;  // bytes
  };
  std::string name;           // the contract's, or any other
  std::string buffer;         // identifies the buffer, as TraceBuffer::name
  std::uint64_t start = 0;    // bytes from the start of the buffer
  std::uint64_t length = 0;   // bytes, gaps between rows included
  std::uint64_t element = 0;  // bytes of an element; 0: the trace does not say
  std::vector<Axis> axes;     // outermost first; empty: without gaps
};

struct TraceBinding {
  std::string argument;                         // the kernel's name of it; optional in a host's trace
  std::optional<TraceBuffer> buffer;            // nothing if the encoder copied bytes
  std::optional<std::vector<std::byte>> bytes;  // these bytes, or the contents of a buffer in constant memory from its offset on
  std::vector<TraceField> fields;               // of these bytes; in a host's trace, name and value are enough
  std::string tensor = {};                      // the tensor that the host meant, one of Trace::tensors; empty: the trace does not say
};

struct TraceConstant {
  metal::FunctionConstant value;
  std::string type;  // "bool", "int"; optional in a host's trace
};

struct TraceDispatch {
  std::string place;  // position in the file: "commands[2]"; empty in the contract's trace
  std::string function;
  std::vector<std::string> definitions;                       // in the contract's trace, those of the library of the function
  std::map<std::uint32_t, TraceConstant> constants;           // by index
  std::map<std::uint32_t, TraceBinding> bindings;             // by buffer index, as bound when the dispatch is encoded
  std::map<std::uint32_t, std::uint64_t> threadgroup_memory;  // bytes by index
  bool counts_threads = false;  // `grid` counts threads (dispatchThreads) instead of threadgroups; components may be 0
  metal::Size3 grid;
  metal::Size3 threads_per_threadgroup;
  bool after_barrier = false;  // whether a memory barrier separates it from the previous dispatch
};

struct Trace {
  std::string case_name;  // empty: not in the file
  std::vector<TraceTensor> tensors;
  std::vector<TraceDispatch> dispatches;
  std::vector<std::string>
      spare_barriers;  // places of barriers that separate no dispatches: before the first, behind the last, a second one
};

// The most commands of a trace. A launch has at most three dispatches.
inline constexpr std::size_t kMostTraceCommands = 1024;
inline constexpr std::size_t kMostTraceTensors = 1024;
inline constexpr std::size_t kMostTensorAxes = 8;
inline constexpr std::size_t kMostTraceBytes = 65536;  // of one binding
inline constexpr std::uint32_t kLastTraceIndex = metal::kMaxBufferIndex;

}  // namespace assay::harness
