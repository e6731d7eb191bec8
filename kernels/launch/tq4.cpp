#include "kernels/launch/tq4.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "kernels/launch/reduce.h"
#include "kernels/launch/refusal.h"

namespace assay::kernels {
namespace {

void require_buffers(const Tq4Parameters& p, const Tq4Buffers& buffers, std::uint32_t nwg) {
  const std::uint64_t rows = std::uint64_t{p.n_kv_heads} * p.kv_capacity;
  require_size("Q", buffers.q, std::uint64_t{p.n_heads} * p.head_dim * 4, "f32 [n_heads, head_dim]");
  require_size("K_packed", buffers.k_packed, rows * (p.head_dim / 2), "u8 [n_kv_heads, kv_capacity, head_dim / 2]");
  require_size("K_norms", buffers.k_norms, rows * 4, "f32 [n_kv_heads, kv_capacity]");
  require_size("V_packed", buffers.v_packed, rows * (p.head_dim / 2), "u8 [n_kv_heads, kv_capacity, head_dim / 2]");
  require_size("V_norms", buffers.v_norms, rows * 4, "f32 [n_kv_heads, kv_capacity]");
  require_size("dst", buffers.dst, std::uint64_t{p.n_heads} * p.head_dim * 4, "f32 [n_heads, head_dim]");
  if (nwg > 1) {
    require_size("partials", buffers.partials, tq4_partials_bytes(p.n_heads, p.head_dim, nwg), "f32 [n_heads * nwg * (head_dim + 2)]");
  }
}

}  // namespace

void validate(const Tq4Parameters& p) {
  require_head_dim(p.head_dim);
  require_positive("n_heads", p.n_heads);
  require_positive("n_kv_heads", p.n_kv_heads);
  if (p.n_heads % p.n_kv_heads != 0) {
    throw std::invalid_argument(fmt::format("n_heads = {} is not a multiple of n_kv_heads = {}", p.n_heads, p.n_kv_heads));
  }
  require_positive("kv_seq_len", p.kv_seq_len);
  if (p.kv_capacity < p.kv_seq_len) {
    throw std::invalid_argument(fmt::format("kv_capacity = {} is below kv_seq_len = {}", p.kv_capacity, p.kv_seq_len));
  }
  if (p.ring_start >= p.kv_capacity) {
    throw std::invalid_argument(fmt::format("ring_start = {} is not below kv_capacity = {}", p.ring_start, p.kv_capacity));
  }
  if (p.ring_start != 0 && p.kv_seq_len < p.kv_capacity) {
    throw std::invalid_argument(
        fmt::format("ring_start = {} with kv_seq_len = {} below kv_capacity = {}: keys would be lost, a ring starts to turn "
                    "when it is full",
                    p.ring_start, p.kv_seq_len, p.kv_capacity));
  }
  if (p.mask_type > 2)
    throw std::invalid_argument(fmt::format("mask_type = {}: accepted are 0 (none), 1 (causal), 2 (sliding window)", p.mask_type));
  if (p.softcap != 0.0F) throw std::invalid_argument(fmt::format("softcap = {}: accepted is 0, no kernel applies it", p.softcap));
  if (!std::isfinite(p.scale)) throw std::invalid_argument(fmt::format("scale = {}: a finite number is needed", p.scale));
  require_nwg(tq4_nwg(p));

  const std::uint64_t cache_bytes = std::uint64_t{p.n_kv_heads} * p.kv_capacity * (p.head_dim / 2);
  const std::uint64_t limit = std::uint64_t{1} << 32;
  if (cache_bytes > limit && p.offset_bits < 64) {
    throw std::invalid_argument(
        fmt::format("n_kv_heads * kv_capacity * head_dim / 2 = {} bytes, but the kernel's {}-bit offsets reach {} bytes", cache_bytes,
                    p.offset_bits, limit));
  }
}

std::uint32_t tq4_nwg(const Tq4Parameters& parameters) { return parameters.nwg.value_or(kTq4DefaultNwg); }

std::uint64_t tq4_partials_bytes(std::uint64_t n_heads, std::uint64_t head_dim, std::uint64_t nwg) {
  return n_heads * nwg * (head_dim + 2) * 4;
}

void encode_tq4(metal::ComputeEncoder& encoder, const BoundKernel& attention, const BoundKernel* reduce, const Tq4Parameters& parameters,
                const Tq4Buffers& buffers) {
  validate(parameters);
  const std::uint32_t nwg = tq4_nwg(parameters);
  require_buffers(parameters, buffers, nwg);
  if (nwg > 1 && reduce == nullptr) throw std::invalid_argument(fmt::format("nwg = {} needs a reduce kernel, and none was given", nwg));

  using metal::FieldValue;
  const FieldValues values = {
      {"n_heads", FieldValue::of(parameters.n_heads)},         {"n_kv_heads", FieldValue::of(parameters.n_kv_heads)},
      {"head_dim", FieldValue::of(parameters.head_dim)},       {"kv_seq_len", FieldValue::of(parameters.kv_seq_len)},
      {"kv_capacity", FieldValue::of(parameters.kv_capacity)}, {"scale", FieldValue::of(parameters.scale)},
      {"mask_type", FieldValue::of(parameters.mask_type)},     {"sliding_window", FieldValue::of(parameters.sliding_window)},
      {"softcap", FieldValue::of(parameters.softcap)},         {"nwg", FieldValue::of(nwg)},
      {"ring_start", FieldValue::of(parameters.ring_start)},
  };

  attention.set_pipeline(encoder);
  attention.set_parameters(encoder, values);
  attention.set_buffer(encoder, "Q", buffers.q);
  attention.set_buffer(encoder, "K_packed", buffers.k_packed);
  attention.set_buffer(encoder, "K_norms", buffers.k_norms);
  attention.set_buffer(encoder, "V_packed", buffers.v_packed);
  attention.set_buffer(encoder, "V_norms", buffers.v_norms);
  attention.set_buffer(encoder, "dst", nwg > 1 ? buffers.partials : buffers.dst);

  // Query in half, 32 scores and 32 masks in float, the accumulator in float; counted in halves.
  const std::size_t padded = (parameters.head_dim + 127U) / 128U * 128U;
  attention.set_threadgroup_memory(encoder, 2 * (padded + 128 + 2 * padded));
  encoder.dispatch_threadgroups({1, parameters.n_heads, nwg}, {32, 1, 1});

  if (nwg > 1) {
    encoder.memory_barrier();
    encode_reduce(encoder, *reduce, {.nrows = parameters.n_heads, .head_dim = parameters.head_dim, .nwg = nwg},
                  {buffers.partials, buffers.dst});
  }
}

}  // namespace assay::kernels
