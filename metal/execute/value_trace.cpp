// Converts the bits of traced values to numbers.
#include "metal/execute/value_trace.h"

#include <bit>

#include "metal/execute/scalars.h"

namespace assay::metal {

double number_of(const TracedValue& value, TracedOperation::Type type) {
  switch (type) {
    case TracedOperation::Type::float32:
      return static_cast<double>(std::bit_cast<float>(value.bits));
    case TracedOperation::Type::half:
      return static_cast<double>(std::bit_cast<execute::Half>(static_cast<std::uint16_t>(value.bits)));
    case TracedOperation::Type::bfloat:
      return static_cast<double>(std::bit_cast<float>(value.bits << 16));
    case TracedOperation::Type::integer:
      break;
  }
  return value.bits;
}

}  // namespace assay::metal
