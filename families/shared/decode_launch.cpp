// Validates parameters of decode attention and encodes its dispatches.
#include "families/shared/decode_launch.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>
#include <string>
#include <variant>

#include "base/code_bytes.h"
#include "families/described_launch.h"
#include "families/shared/codebook.h"
#include "families/shared/refusal.h"
#include "families/shared/scale_factor.h"

namespace assay::families {
namespace {

constexpr std::uint32_t kBlock = 256;               // coordinates that share a norm
constexpr std::uint32_t kManyPositions = 512;       // above this: more workgroups
constexpr std::uint32_t kVeryManyPositions = 1024;  // above this: more simdgroups

std::uint64_t norms_per_position(const DecodeParameters& p) { return p.scale_factor_d512 ? p.head_dim / kBlock : 1; }

// Whether a launch can set the number of simdgroups per workgroup: the kernel has a field for it, or reads the threadgroup's size.
bool takes_simdgroups(const kernels::BoundKernel& attention) {
  return attention.has_field("nsg") || attention.entry().reads_threadgroup_size;
}

// Returns the buffers with the bytes that are needed of each.
DecodeBuffers require_buffers(const DecodeParameters& p, DecodeBuffers buffers, std::uint32_t nwg) {
  const std::uint64_t positions = std::uint64_t{p.n_kv_heads} * p.kv_capacity;
  const std::string_view codes =
      p.codebook_bits == 4 ? "u8 [n_kv_heads, kv_capacity, head_dim / 2]" : "u8 [n_kv_heads, kv_capacity, head_dim]";
  const std::string_view norms = norms_per_position(p) == 1 ? "f32 [n_kv_heads, kv_capacity]" : "f32 [n_kv_heads, kv_capacity, 2]";
  buffers.q = require_size("Q", buffers.q, std::uint64_t{p.n_heads} * p.head_dim * 4, "f32 [n_heads, head_dim]");
  buffers.k_packed = require_size("K_packed", buffers.k_packed, positions * base::code_bytes(p.codebook_bits, p.head_dim), codes);
  buffers.k_norms = require_size("K_norms", buffers.k_norms, positions * norms_per_position(p) * 4, norms);
  buffers.v_packed = require_size("V_packed", buffers.v_packed, positions * base::code_bytes(p.codebook_bits, p.head_dim), codes);
  buffers.v_norms = require_size("V_norms", buffers.v_norms, positions * norms_per_position(p) * 4, norms);
  buffers.dst = require_size("dst", buffers.dst, std::uint64_t{p.n_heads} * p.head_dim * 4, "f32 [n_heads, head_dim]");
  if (nwg > 1) {
    buffers.partials = require_size("partials", buffers.partials, decode_partials_bytes(p.n_heads, p.head_dim, nwg),
                                    "f32 [n_heads * nwg * (head_dim + 2)]");
  }
  return buffers;
}

// Two indices per byte, or one: the family decides.
void require_codebook(const kernels::BoundKernel& attention, std::uint32_t bits) {
  const bool is_tq4 = attention.contract().name == "tq4";
  if (is_tq4 != (bits == 4))
    throw std::invalid_argument(
        fmt::format("codebook_bits = {}: family {} supports {}", bits, attention.contract().name, is_tq4 ? "4" : "5, 6, 8"));
}

}  // namespace

void validate(const DecodeParameters& p) {
  require_head_dim(p.head_dim);
  require_positive("n_heads", p.n_heads);
  require_positive("n_kv_heads", p.n_kv_heads);
  if (p.n_heads % p.n_kv_heads != 0) {
    throw std::invalid_argument(fmt::format("n_heads = {} is not a multiple of n_kv_heads = {}", p.n_heads, p.n_kv_heads));
  }
  require_positive("kv_seq_len", p.kv_seq_len);
  if (p.kv_capacity < p.kv_seq_len) {
    throw std::invalid_argument(fmt::format("kv_capacity = {} is below kv_len = {}", p.kv_capacity, p.kv_seq_len));
  }
  if (p.ring_start >= p.kv_capacity) {
    throw std::invalid_argument(fmt::format("ring_start = {} is not below kv_capacity = {}", p.ring_start, p.kv_capacity));
  }
  if (p.ring_start != 0 && p.kv_seq_len < p.kv_capacity && !p.is_beyond) {
    throw std::invalid_argument(
        fmt::format("ring_start = {} with kv_seq_len = {} below kv_capacity = {}: keys would be lost, because a ring "
                    "wraps only when it is full",
                    p.ring_start, p.kv_seq_len, p.kv_capacity));
  }
  if (p.mask_type > 2)
    throw std::invalid_argument(fmt::format("mask_type = {}: must be 0 (none), 1 (causal) or 2 (sliding window)", p.mask_type));
  if (p.softcap != 0.0F && !p.is_beyond)
    throw std::invalid_argument(fmt::format("softcap = {}: must be 0, because no kernel applies it", p.softcap));
  if (!std::isfinite(p.scale)) throw std::invalid_argument(fmt::format("scale = {}: must be finite", p.scale));
  if (p.codebook_bits != 4 && p.codebook_bits != 5 && p.codebook_bits != 6 && p.codebook_bits != 8)
    throw std::invalid_argument(fmt::format("codebook_bits = {}: must be 4, 5, 6 or 8", p.codebook_bits));
  if (p.head_dim > kBlock && p.scale_factor_d512 && !(*p.scale_factor_d512 > 0.0F && std::isfinite(*p.scale_factor_d512))) {
    throw std::invalid_argument(
        fmt::format("scale_factor_d512 = {} at head_dim = {}: must be positive and finite", *p.scale_factor_d512, p.head_dim));
  }
  require_nwg(p.nwg.value_or(1));
  if (const std::uint32_t nsg = p.nsg.value_or(1); nsg != 1 && nsg != 2 && nsg != 4 && !p.is_beyond)
    throw std::invalid_argument(fmt::format("nsg = {}: must be 1, 2 or 4", nsg));

  const std::uint64_t cache_bytes = std::uint64_t{p.n_kv_heads} * p.kv_capacity * base::code_bytes(p.codebook_bits, p.head_dim);
  const std::uint64_t limit = std::uint64_t{1} << 32;
  if (cache_bytes > limit && p.offset_bits < 64) {
    throw std::invalid_argument(
        fmt::format("n_kv_heads * kv_capacity * head_dim{} = {} bytes, but the kernel's {}-bit offsets reach {} bytes",
                    p.codebook_bits == 4 ? " / 2" : "", cache_bytes, p.offset_bits, limit));
  }
}

DecodeSplit decode_split(const kernels::BoundKernel& attention, const DecodeParameters& parameters) {
  DecodeSplit split{16, 1};
  if (attention.has_field("nsg")) {
    split.nwg = parameters.kv_seq_len > kManyPositions ? 32 : 16;
    split.nsg = parameters.kv_seq_len > kVeryManyPositions ? 4 : 1;
  }
  return {parameters.nwg.value_or(split.nwg), parameters.nsg.value_or(split.nsg)};
}

std::uint64_t decode_partials_bytes(std::uint64_t n_heads, std::uint64_t head_dim, std::uint64_t nwg) {
  return n_heads * nwg * (head_dim + 2) * 4;
}

std::optional<Misfit> decode_misfit(const kernels::BoundKernel& attention, const DecodeParameters& parameters) {
  // Then the fields are those of its own struct, or no fields at all; [limits] says what it supports.
  if (attention.entry().describes_launch) return std::nullopt;
  if (parameters.nsg.value_or(1) > 1 && !takes_simdgroups(attention)) {
    return Misfit{"nsg", fmt::format("nsg = {}, but the kernel has no field nsg and no argument for the size of its threadgroup, so it "
                                     "supports only one simdgroup per workgroup",
                                     *parameters.nsg)};
  }
  if (parameters.softcap != 0.0F && !attention.has_field("softcap"))
    return Misfit{"softcap", "the kernel has no field softcap, so no host can ask for one"};
  // What the author declares is believed: without a field, a kernel may be made for the only values of the limit.
  const auto is_declared = [&](std::string_view axis) { return attention.entry().limit_of(axis) != nullptr; };
  if (parameters.fuse_fwht_pre && !attention.has_field("fuse_fwht_pre") && !is_declared("fuse_fwht_pre"))
    return Misfit{"fuse_fwht_pre", "fuse_fwht_pre = 1, but the kernel has no field fuse_fwht_pre, so it does not rotate the query"};
  // With one index per byte, rows of one block have one norm per position, whatever the factor.
  const bool factor_matters = parameters.codebook_bits == 4 || parameters.head_dim > kBlock;
  if (parameters.scale_factor_d512 && factor_matters && !attention.has_field("scale_factor_d512")) {
    const kernels::AxisLimit* factor = attention.entry().limit_of("scale_factor_d512");
    if (factor == nullptr && !is_declared("block_norms"))
      return Misfit{
          "scale_factor_d512",
          fmt::format("scale_factor_d512 = {}, but the kernel has no such field, so it is taken to expect one norm per position; if "
                      "it expects one per block, declare that with the limit{} scale_factor_d512",
                      *parameters.scale_factor_d512, parameters.codebook_bits == 4 ? "s block_norms = 1 and" : "")};
    if (parameters.head_dim > kBlock && factor != nullptr && factor->values.size() > 1)
      return Misfit{
          "scale_factor_d512",
          "the kernel has no field scale_factor_d512, so it is made for one factor; declare that with the limit scale_factor_d512"};
    if (parameters.head_dim > kBlock && factor == nullptr &&
        *parameters.scale_factor_d512 != std::bit_cast<float>(static_cast<std::uint32_t>(kScaleFactorRoot)))
      return Misfit{"scale_factor_d512",
                    fmt::format("scale_factor_d512 = {}, but the kernel has no such field, so its factor is taken to be sqrt(512), as at "
                                "head_dim = 256; if it is another, declare that with the limit scale_factor_d512",
                                *parameters.scale_factor_d512)};
  }
  if (!parameters.scale_factor_d512 && attention.has_field("scale_factor_d512") && !is_declared("block_norms"))
    return Misfit{
        "scale_factor_d512",
        "the case has one norm per position, but the kernel has the field scale_factor_d512, so it is taken to expect one norm per "
        "block of 256; if it expects one per position, declare that with the limit block_norms = 0"};
  const auto& constants = attention.entry().pipeline.constants;
  if (const auto codebook = constants.find(kCodebookConstant);
      codebook != constants.end() && codebook->second != metal::FunctionConstant(std::int64_t{parameters.codebook_bits})) {
    return Misfit{"codebook_bits", fmt::format("codebook_bits = {}, but the kernel's function constant {} has another value",
                                               parameters.codebook_bits, kCodebookConstant)};
  }
  return std::nullopt;
}

kernels::FieldValues decode_values(const DecodeParameters& parameters, const DecodeSplit& split) {
  using metal::FieldValue;
  return {
      {"n_heads", FieldValue::of(parameters.n_heads)},
      {"n_kv_heads", FieldValue::of(parameters.n_kv_heads)},
      {"head_dim", FieldValue::of(parameters.head_dim)},
      {"kv_seq_len", FieldValue::of(parameters.kv_seq_len)},
      {"kv_capacity", FieldValue::of(parameters.kv_capacity)},
      {"scale", FieldValue::of(parameters.scale)},
      {"mask_type", FieldValue::of(parameters.mask_type)},
      {"sliding_window", FieldValue::of(parameters.sliding_window)},
      {"softcap", FieldValue::of(parameters.softcap)},
      {"nwg", FieldValue::of(split.nwg)},
      {"ring_start", FieldValue::of(parameters.ring_start)},
      {"scale_factor_d512", FieldValue::of(parameters.scale_factor_d512.value_or(1.0F))},
      {"codebook_bits", FieldValue::of(parameters.codebook_bits)},
      {"fuse_fwht_pre", FieldValue::of(std::uint32_t{parameters.fuse_fwht_pre})},
      {"nsg", FieldValue::of(split.nsg)},
  };
}

void encode_decode(metal::ComputeEncoder& encoder, const kernels::BoundKernel& attention, const kernels::BoundKernel* reduce,
                   const DecodeParameters& parameters, const DecodeBuffers& given) {
  validate(parameters);
  require_codebook(attention, parameters.codebook_bits);
  if (const auto misfit = decode_misfit(attention, parameters)) throw std::invalid_argument(misfit->message);
  const auto [nwg, nsg] = decode_split(attention, parameters);
  const DecodeBuffers buffers = require_buffers(parameters, given, nwg);
  if (nwg > 1 && reduce == nullptr) throw std::invalid_argument(fmt::format("nwg = {} needs a reduce kernel, but none was given", nwg));

  encode_launch(encoder, attention.contract().name, decode_values(parameters, {nwg, nsg}),
                [&](const LaunchedFunction& function) { return function.family.empty() ? &attention : reduce; },
                {{"Q", buffers.q},
                 {"K_packed", buffers.k_packed},
                 {"K_norms", buffers.k_norms},
                 {"V_packed", buffers.v_packed},
                 {"V_norms", buffers.v_norms},
                 {"dst", buffers.dst},
                 {"partials", buffers.partials}});
}

}  // namespace assay::families
