// Launch code of family `tq4`: decode attention over a 4-bit cache, split over NWG workgroups and merged by a `reduce`.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/launch/binding.h"
#include "metal/buffer.h"
#include "metal/encoder.h"

namespace assay::kernels {

// One query token per head; names as in the kernel's struct.
struct Tq4Parameters {
  std::uint32_t n_heads = 0;      // H
  std::uint32_t n_kv_heads = 0;   // G, divides H
  std::uint32_t head_dim = 0;     // D, 256 or 512
  std::uint32_t kv_seq_len = 0;   // n >= 1
  std::uint32_t kv_capacity = 0;  // cap >= n
  float scale = 0.0F;
  std::uint32_t mask_type = 0;       // 0 none, 1 causal, 2 sliding window
  std::uint32_t sliding_window = 0;  // positions; used with mask_type 2
  float softcap = 0.0F;              // must be 0: no kernel applies it
  std::uint32_t ring_start = 0;      // slot of the oldest position; < cap, and 0 unless n == cap
  std::optional<std::uint32_t> nwg;  // 1 .. 32; kTq4DefaultNwg if not given
  std::uint32_t offset_bits = 32;    // widest cache offset that the kernel computes, in bits (variant.toml)
};

inline constexpr std::uint32_t kTq4DefaultNwg = 16;

struct Tq4Buffers {
  metal::BufferView q;         // f32 [H, D], rotated
  metal::BufferView k_packed;  // u8 [G, cap, D/2]
  metal::BufferView k_norms;   // f32 [G, cap]
  metal::BufferView v_packed;  // u8 [G, cap, D/2]
  metal::BufferView v_norms;   // f32 [G, cap]
  metal::BufferView dst;       // f32 [H, D]
  metal::BufferView partials;  // f32 [H * NWG * (D + 2)], used with NWG > 1 only
};

// NWG that a launch with these parameters uses.
[[nodiscard]] std::uint32_t tq4_nwg(const Tq4Parameters& parameters);

// Bytes of the partials of H heads.
[[nodiscard]] std::uint64_t tq4_partials_bytes(std::uint64_t n_heads, std::uint64_t head_dim, std::uint64_t nwg);

// Throws std::invalid_argument naming the field and both values if no kernel may be started with these parameters.
// encode_tq4 does the same; callers that make the buffers first can ask before they do.
void validate(const Tq4Parameters& parameters);

// Encodes the attention dispatch and, with NWG > 1, a memory barrier and the reduce dispatch that writes dst. `reduce` may
// be null with NWG == 1. Throws std::invalid_argument naming the field and both values before anything is encoded.
void encode_tq4(metal::ComputeEncoder& encoder, const BoundKernel& attention, const BoundKernel* reduce, const Tq4Parameters& parameters,
                const Tq4Buffers& buffers);

}  // namespace assay::kernels
