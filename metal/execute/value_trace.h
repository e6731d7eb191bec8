// What every thread of some dispatches computed, value by value, to compare two kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metal/size3.h"
#include "metal/source_location.h"

namespace assay::metal {

// One result of a floating-point operation, one number read, or one value stored to memory that threads share; of a vector one component.
struct TracedValue {
  std::uint32_t operation = 0;  // index into ValueTrace::operations
  std::uint32_t bits = 0;       // of a number in its own type; of an integer its low and high half folded into one
  std::uint64_t read = 0;       // the last byte of the followed buffer that the thread (before it has read any: its threadgroup) had read
                                // by then, counted from 1; 0: none yet
};

struct TracedOperation {
  // `move`: a value that was chosen, loaded or converted without a change. `store`: one written to device or threadgroup memory.
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
  // Set before the dispatches: the label of the buffer whose reads are followed, from its bound offset on; empty: none.
  std::string followed;
  std::size_t most_values = std::size_t{1} << 24;  // 16 bytes each

  std::vector<std::string> functions;  // by dispatch
  std::vector<TracedOperation> operations;
  std::vector<TracedThread> threads;  // in the order in which they began
  std::size_t size = 0;               // values in all threads
  bool is_cut = false;                // there were more than most_values: the rest is missing
};

// The number that the bits of a value are; of an integer the integer.
[[nodiscard]] double number_of(const TracedValue& value, TracedOperation::Type type);

}  // namespace assay::metal
