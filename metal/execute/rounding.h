// What `explain` reports under the policy `shadow`: the rounding errors of each line, and where a large error originates.
#pragma once

#include <cstdint>
#include <string>

#include "metal/source_location.h"

namespace assay::metal {

// The rounding of one line's operations, under SimulatorOptions::explain. The error of an operation is the difference between its
// result and the same operation in double on the same operands. Conversions are operations too.
struct LineRounding {
  SourceLocation place;
  std::string what;              // e.g. "half add": the operation of the line with the largest error, relative to its results
  std::uint64_t operations = 0;  // of the line; each component counts
  double largest_relative = 0;   // error / |result|; infinite if a finite operation overflowed
  double mean_relative = 0;      // over the operations
};

// The default for the relative error that counts as large.
inline constexpr double kLargeError = 0.01;

// The first operation whose result has a large relative error while no operand has.
struct ErrorBirth {
  SourceLocation place;
  std::string function;
  std::string message;       // one line: place, operation, thread; value and shadow of the result and of each operand
  bool is_overflow = false;  // the value is not finite, but the shadow is
};

}  // namespace assay::metal
