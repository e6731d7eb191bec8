// The common part of the launches of `bf16_prefill` and `bf16_vec`: shapes, strides, struct fields and refusals.
//
// q [B, H, nq, 512], k and v [B, G, n, 512] bfloat, mask half [B', H', nq, n], dst bfloat [B, H, nq, 512]. Query head h reads key/value
// head h / (H / G) and mask head h mod H'; batch b reads mask batch b mod B'.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/variant.h"
#include "metal/argument_layout.h"
#include "metal/buffer.h"

namespace assay::families {

inline constexpr std::uint64_t kBf16HeadDim = 512;
inline constexpr std::uint64_t kBf16RowBytes = kBf16HeadDim * 2;  // of one key, value or output row

// Bytes from one row (token), head and batch of a tensor to the next.
struct RowStrides {
  std::uint64_t token = 0;
  std::uint64_t head = 0;
  std::uint64_t batch = 0;
};

// Strides of a tensor [batches, heads, rows] of rows of `row_bytes`, without gaps.
[[nodiscard]] RowStrides strides_of(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads);

// Bytes from the first to the last value of a tensor [batches, heads, rows] of rows of `row_bytes`.
[[nodiscard]] std::uint64_t bytes_needed(const RowStrides& strides, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads,
                                         std::uint64_t batches);

struct Bf16Parameters {
  std::uint32_t batches = 0;       // B
  std::uint32_t n_heads = 0;       // H
  std::uint32_t n_kv_heads = 0;    // G, divides H
  std::uint32_t queries = 0;       // nq
  std::uint32_t kv_len = 0;        // n >= 1
  std::uint32_t kv_batches = 0;    // of keys and values, divides B; 0: B. Batch b reads batch b / (B / kv_batches)
  std::uint32_t mask_batches = 0;  // B', divides B; 0 for no mask
  std::uint32_t mask_heads = 0;    // H', divides H; 0 for no mask
  RowStrides q, k, v;
  RowStrides mask;                                         // a row has the n values of one query
  metal::ScalarType q_element = metal::ScalarType::other;  // type of the elements in q: bfloat16 for prefill, float32 for vec
  float scale = 0.0F;
  float max_bias = 0.0F;       // must be 0: no kernel applies it
  float logit_softcap = 0.0F;  // must be 0, unless is_beyond: no kernel has to apply it
  bool is_far = false;         // whether q, mask and a cache of tokens have gaps so large that they exist only on the device
  bool is_beyond = false;      // whether what the contract leaves out is not refused (families/omission.h)

  [[nodiscard]] std::uint32_t key_batches() const { return kv_batches == 0 ? batches : kv_batches; }
  [[nodiscard]] bool has_mask() const { return mask_heads != 0 || mask_batches != 0; }
};

struct Bf16Tensors {
  metal::BufferView q;
  metal::BufferView k;
  metal::BufferView v;
  metal::BufferView mask;  // only used with a mask
  metal::BufferView dst;   // bfloat [B, H, nq, 512]
};

// Throws std::invalid_argument, naming the field and both values, for parameters with which no kernel of the two families may run.
// `q_element` is the type that the family's kernels read.
void require_bf16_shape(const Bf16Parameters& parameters, metal::ScalarType q_element);
// The tensors with the bytes that are needed of each. Throws std::invalid_argument, with the size needed, for tensors that are smaller
// than shape and strides require.
[[nodiscard]] Bf16Tensors require_bf16_tensors(const Bf16Parameters& parameters, Bf16Tensors tensors);

// All fields of the 192-byte struct of both families' kernels.
[[nodiscard]] kernels::FieldValues bf16_fields(const Bf16Parameters& parameters);

}  // namespace assay::families
