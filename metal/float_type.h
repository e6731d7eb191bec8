// The scalar type of the floating-point numbers in a buffer.
#pragma once

namespace assay::metal {

enum class FloatType { float32, half, bfloat };

}  // namespace assay::metal
