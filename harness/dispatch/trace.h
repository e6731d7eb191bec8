// What a host encoded for a case, written down: its dispatches in order, with everything that decides what they compute.
//
// The launch code's own (recorder.h) and other people's (reports/dispatch.h reads theirs) have the same form.
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
#include "metal/encoder.h"
#include "metal/limits.h"

namespace assay::harness {

// A recorded trace that nobody can make sense of; what() names the place in the file.
class TraceError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

using TraceNumber = std::variant<bool, std::uint64_t, std::int64_t, double>;
[[nodiscard]] std::string to_string(const TraceNumber& value);

// A scalar within the bytes of an argument, as the kernel's reflection lays them out.
struct TraceField {
  std::string name;  // "softcap", "strides[2]"; of an argument that is itself a scalar, the argument's
  std::string type;  // as in the kernel's source
  std::size_t offset = 0;
  std::size_t size = 0;  // bytes
  TraceNumber value;     // a half or bfloat as its bits
};

// Scalars of `bytes`, as far as these reach. Fields that are structs or vectors of something else are left out.
[[nodiscard]] std::vector<TraceField> decode_fields(const metal::BoundArgument& argument, std::span<const std::byte> bytes);

struct TraceBuffer {
  std::string name;          // tells buffers apart; the contract's names mean the contract's buffers
  std::uint64_t length = 0;  // bytes of the buffer; in the contract's trace those that are needed, 0 for one that only fills a place
  std::uint64_t offset = 0;  // bytes, where the argument starts
};

struct TraceBinding {
  std::string argument;                         // the kernel's name for it; a host need not know it
  std::optional<TraceBuffer> buffer;            // nothing where the encoder copied bytes
  std::optional<std::vector<std::byte>> bytes;  // those, or what a buffer in constant memory holds from its offset on
  std::vector<TraceField> fields;               // of these bytes; a host need not know them, and then name and value are enough
};

struct TraceConstant {
  metal::FunctionConstant value;
  std::string type;  // "bool", "int"; a host need not say it
};

struct TraceDispatch {
  std::string place;  // where it stands in the file: "commands[2]"; empty in the contract's trace
  std::string function;
  std::vector<std::string> definitions;                       // in the contract's trace, of the library that the function is from
  std::map<std::uint32_t, TraceConstant> constants;           // by index
  std::map<std::uint32_t, TraceBinding> bindings;             // by buffer index; what is bound when the dispatch is encoded
  std::map<std::uint32_t, std::uint64_t> threadgroup_memory;  // bytes by index
  bool counts_threads = false;  // `grid` counts threads (dispatchThreads), not threadgroups; components may be 0
  metal::Size3 grid;
  metal::Size3 threads_per_threadgroup;
  bool after_barrier = false;  // a memory barrier stands between the dispatch before it and this one
};

struct Trace {
  std::string case_name;  // empty: the file says none
  std::vector<TraceDispatch> dispatches;
};

// Most that a trace may hold; a launch has three dispatches at most.
inline constexpr std::size_t kMostTraceCommands = 1024;
inline constexpr std::size_t kMostTraceBytes = 65536;  // of one binding
inline constexpr std::uint32_t kLastTraceIndex = metal::kMaxBufferIndex;

}  // namespace assay::harness
