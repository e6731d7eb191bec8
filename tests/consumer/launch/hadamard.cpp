// Encodes the dispatches of the Hadamard transform.
#include "launch/hadamard.h"

#include <array>
#include <span>
#include <stdexcept>
#include <string>

void encode_hadamard(assay::metal::ComputeEncoder& encoder, std::uint32_t num_heads, std::uint32_t head_dim,
                     assay::metal::BufferView rows) {
  if (head_dim != 256 && head_dim != 512) throw std::invalid_argument("head_dim = " + std::to_string(head_dim) + " is neither 256 nor 512");
  if (num_heads == 0) throw std::invalid_argument("num_heads = 0: there is nothing to transform");
  const std::array<std::uint32_t, 2> shape = {num_heads, head_dim};
  encoder.set_pipeline({"hadamard_rows_" + std::to_string(head_dim), {}});
  encoder.set_bytes(0, std::as_bytes(std::span(shape)));
  encoder.set_buffer(1, rows);
  encoder.dispatch_threadgroups({num_heads, 1, 1}, {32, 1, 1});
}
