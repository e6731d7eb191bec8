// The values that every thread of some dispatches computed, for comparing two kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metal/size3.h"
#include "metal/source_location.h"

namespace assay::metal {

// One result of a floating-point operation, one number read, or one value stored to memory that threads share. For a
// vector, one component.
struct TracedValue {
  std::uint32_t operation = 0;  // index into ValueTrace::operations
  std::uint32_t bits = 0;       // of a number, in its own type; of an integer, the xor of its low and high half
  std::uint64_t read = 0;       // last byte of the followed buffer that the thread (until its first read: its threadgroup) had read by
                                // then, counted from 1; 0: none yet
};

struct TracedOperation {
  // `move`: a value that was selected, loaded or converted without a change. `store`: a value written to device or threadgroup memory.
  enum class Kind { arithmetic, move, store } kind = Kind::arithmetic;
  enum class Type { float32, half, bfloat, integer } type = Type::float32;
  SourceLocation place;
};

struct TracedThread {
  std::uint32_t dispatch = 0;  // from 0
  Size3 threadgroup = {};
  std::uint32_t thread = 0;  // thread_index_in_threadgroup
  std::vector<TracedValue> values;
};

struct ValueTrace {
  // Set before the dispatches: the label of the buffer whose reads are followed, from its bound offset on. Empty: none.
  std::string followed;
  std::size_t most_values = std::size_t{1} << 24;  // of 16 bytes each

  std::vector<std::string> functions;  // by dispatch
  std::vector<TracedOperation> operations;
  std::vector<TracedThread> threads;  // in the order in which they began
  std::size_t size = 0;               // number of values in all threads
  bool is_cut = false;                // there were more than most_values, and the rest is missing
};

// The number that the bits of a value represent; for an integer, the integer.
[[nodiscard]] double number_of(const TracedValue& value, TracedOperation::Type type);

}  // namespace assay::metal
