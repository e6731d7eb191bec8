// Launch code of family `fwht`: the Walsh-Hadamard transform of every head's row, in place.
#pragma once

#include <cstdint>

#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

// The function of the family that a launch uses; the values are those of the case axis.
enum class FwhtMode : std::uint32_t { standalone = 0, premult = 1, undo = 2 };

struct FwhtParameters {
  std::uint32_t head_dim = 0;   // D, 256 or 512
  std::uint32_t num_heads = 0;  // >= 1
};

// The values of all fields of the kernels' structs.
[[nodiscard]] kernels::FieldValues fwht_values(const FwhtParameters& parameters);

// Throws std::invalid_argument, naming the field, for parameters with which no kernel may run. encode_fwht() does the same.
void validate(const FwhtParameters& parameters);

// One threadgroup of 32 threads per head over `data` f32 [num_heads, D]. `kernel` is the function of the mode. Throws
// std::invalid_argument, naming the field and both values, before anything is encoded.
void encode_fwht(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const FwhtParameters& parameters,
                 metal::BufferView data);

}  // namespace assay::families
