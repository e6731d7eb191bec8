// Launch code of the decode attention families `tq4` (4 bits) and `tqhb` (5, 6 or 8 bits): one query token per head, split over NWG
// workgroups and merged by a `reduce`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "families/misfit.h"
#include "kernels/binding.h"
#include "metal/buffer.h"
#include "metal/devices/encoder.h"

namespace assay::families {

// One query token per head; field names as in the kernels' structs.
struct DecodeParameters {
  std::uint32_t n_heads = 0;      // H
  std::uint32_t n_kv_heads = 0;   // G, divides H
  std::uint32_t head_dim = 0;     // D, 256 or 512
  std::uint32_t kv_seq_len = 0;   // n >= 1
  std::uint32_t kv_capacity = 0;  // cap >= n
  float scale = 0.0F;
  std::uint32_t mask_type = 0;       // 0 none, 1 causal, 2 sliding window
  std::uint32_t sliding_window = 0;  // positions; only used with mask_type 2
  float softcap = 0.0F;              // must be 0, unless is_beyond: no kernel has to apply it
  std::uint32_t ring_start = 0;      // slot of the oldest position; < cap, and 0 unless n == cap or is_beyond
  std::optional<std::uint32_t> nwg;  // 1 .. 32; default: decode_split()
  std::uint32_t offset_bits = 32;    // width of the kernel's cache offsets, in bits (variant.toml)

  std::uint32_t codebook_bits = 4;         // 4 in tq4; 5, 6 or 8 in tqhb
  std::optional<float> scale_factor_d512;  // > 0; if given, at D = 512 the cache has one norm per block of 256, else one per position
  bool fuse_fwht_pre = false;              // whether q is not rotated, so that the kernel rotates it
  std::optional<std::uint32_t> nsg;        // simdgroups per workgroup: 1, 2 or 4, or with is_beyond more; default: decode_split()
  bool is_beyond = false;                  // whether what the contract leaves out is not refused (families/omission.h)
};

struct DecodeBuffers {
  metal::BufferView q;         // f32 [H, D], rotated unless fuse_fwht_pre
  metal::BufferView k_packed;  // u8 [G, cap, D/2] with 4 bits, else [G, cap, D]
  metal::BufferView k_norms;   // f32 [G, cap], or with one norm per block [G, cap, D/256]
  metal::BufferView v_packed;
  metal::BufferView v_norms;
  metal::BufferView dst;       // f32 [H, D]
  metal::BufferView partials;  // f32 [H * NWG * (D + 2)], only used with NWG > 1
};

// How a launch splits a head.
struct DecodeSplit {
  std::uint32_t nwg = 1, nsg = 1;
};

// The split in the parameters. Defaults: NWG = 16 and NSG = 1; for a kernel with banks (field `nsg`), NWG = 32 from 513 positions on
// and NSG = 4 from 1025 on.
[[nodiscard]] DecodeSplit decode_split(const kernels::BoundKernel& attention, const DecodeParameters& parameters);

// The values of all fields of the kernels' structs, by name.
[[nodiscard]] kernels::FieldValues decode_values(const DecodeParameters& parameters, const DecodeSplit& split);

// Bytes of the partials of H heads.
[[nodiscard]] std::uint64_t decode_partials_bytes(std::uint64_t n_heads, std::uint64_t head_dim, std::uint64_t nwg);

// Throws std::invalid_argument, naming the field and both values, for parameters with which no kernel may run. encode_decode() does the
// same; callers that create the buffers first can call this before.
void validate(const DecodeParameters& parameters);

// Why this kernel cannot do what the parameters request: it lacks a field, or was specialised for another codebook. Nothing if it can.
[[nodiscard]] std::optional<Misfit> decode_misfit(const kernels::BoundKernel& attention, const DecodeParameters& parameters);

// Encodes the attention dispatch and, with NWG > 1, a memory barrier and the reduce dispatch that writes dst. `reduce` may be null if
// NWG == 1. Throws std::invalid_argument, naming the field and both values, before anything is encoded.
void encode_decode(metal::ComputeEncoder& encoder, const kernels::BoundKernel& attention, const kernels::BoundKernel* reduce,
                   const DecodeParameters& parameters, const DecodeBuffers& buffers);

}  // namespace assay::families
