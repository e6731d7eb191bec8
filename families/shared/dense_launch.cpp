// Validates shapes and strides of bf16_prefill and bf16_vec, and fills their struct.
#include "families/shared/dense_launch.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "families/shared/refusal.h"

namespace assay::families {
namespace {

using metal::FieldValue;

void require_divisor(std::string_view whole, std::uint64_t of, std::string_view part, std::uint64_t value) {
  if (value == 0 || of % value != 0)
    throw std::invalid_argument(fmt::format("{} = {} is not a multiple of {} = {}", whole, of, part, value));
}

// The counts are ints in the kernel's struct.
void require_count(std::string_view field, std::uint64_t value) {
  require_positive(field, value);
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  if (value > most)
    throw std::invalid_argument(fmt::format("{} = {}: must be at most {}, the largest int of the kernel", field, value, most));
}

// The names of the struct's fields for the strides of token, head and batch.
struct StrideNames {
  std::string_view token, head, batch;
};

void require_aligned(const RowStrides& strides, const StrideNames& names, std::uint64_t alignment) {
  const auto check = [&](std::string_view name, std::uint64_t stride) {
    if (stride % alignment != 0) {
      throw std::invalid_argument(
          fmt::format("{} = {} is not a multiple of {} bytes, the size of one load of the kernel", name, stride, alignment));
    }
  };
  check(names.token, strides.token);
  check(names.head, strides.head);
  check(names.batch, strides.batch);
}

// Rows must not overlap each other, nor heads the next head. Heads may also lie between two tokens.
void require_apart(const RowStrides& strides, const StrideNames& names, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads,
                   std::uint64_t batches) {
  const auto check = [](std::string_view name, std::uint64_t stride, std::uint64_t least, std::string_view what) {
    if (stride < least) throw std::invalid_argument(fmt::format("{} = {}: {} need at least {} bytes", name, stride, what, least));
  };
  check(names.token, strides.token, row_bytes, "the values of one row");
  if (strides.head >= row_bytes && strides.token >= (heads - 1) * strides.head + row_bytes) {
    if (batches > 1) check(names.batch, strides.batch, rows * strides.token, fmt::format("the {} rows of a batch", rows));
    return;
  }
  const std::uint64_t head_bytes = (rows - 1) * strides.token + row_bytes;
  if (heads > 1 || batches > 1) check(names.head, strides.head, head_bytes, fmt::format("the {} rows of a head", rows));
  if (batches > 1) {
    check(names.batch, strides.batch, (heads - 1) * strides.head + head_bytes, fmt::format("the {} heads of a batch", heads));
  }
}

}  // namespace

std::uint64_t bytes_needed(const RowStrides& strides, std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads,
                           std::uint64_t batches) {
  return (batches - 1) * strides.batch + (heads - 1) * strides.head + (rows - 1) * strides.token + row_bytes;
}

RowStrides strides_of(std::uint64_t row_bytes, std::uint64_t rows, std::uint64_t heads) {
  return {row_bytes, row_bytes * rows, row_bytes * rows * heads};
}

void require_bf16_shape(const Bf16Parameters& p, metal::ScalarType q_element) {
  require_count("batches", p.batches);
  require_count("n_heads", p.n_heads);
  require_count("n_kv_heads", p.n_kv_heads);
  require_divisor("n_heads", p.n_heads, "n_kv_heads", p.n_kv_heads);
  require_divisor("batches", p.batches, "kv_batches", p.key_batches());
  require_count("queries", p.queries);
  require_count("kv_len", p.kv_len);
  if (p.has_mask()) {
    require_divisor("n_heads", p.n_heads, "mask_heads", p.mask_heads);
    require_divisor("batches", p.batches, "mask_batches", p.mask_batches);
  }
  if (p.q_element != q_element) {
    throw std::invalid_argument(
        fmt::format("q_element = {}: the kernel reads q as {}", metal::to_string(p.q_element), metal::to_string(q_element)));
  }
  if (!std::isfinite(p.scale)) throw std::invalid_argument(fmt::format("scale = {}: must be finite", p.scale));
  if (p.max_bias != 0.0F) throw std::invalid_argument(fmt::format("max_bias = {}: must be 0, because no kernel applies it", p.max_bias));
  if (p.logit_softcap != 0.0F && !p.is_beyond)
    throw std::invalid_argument(fmt::format("logit_softcap = {}: must be 0, because no kernel applies it", p.logit_softcap));

  const std::uint64_t q_bytes = kBf16HeadDim * metal::size_of(q_element);
  constexpr StrideNames q_names = {"nb01", "nb02", "nb03"};
  // Kernels read four values at a time, as bfloat4 and float4.
  require_aligned(p.q, q_names, 4 * metal::size_of(q_element));
  // Heads may be interleaved with tokens, in either order; only a row must be contiguous.
  if (p.q.token < q_bytes && p.queries > 1)
    throw std::invalid_argument(fmt::format("nb01 = {}: the values of one row need at least {} bytes", p.q.token, q_bytes));
  constexpr StrideNames k_names = {"nb11", "nb12", "nb13"};
  constexpr StrideNames v_names = {"nb21", "nb22", "nb23"};
  require_aligned(p.k, k_names, 8);
  require_aligned(p.v, v_names, 8);
  require_apart(p.k, k_names, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches());
  require_apart(p.v, v_names, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches());
  if (p.has_mask()) {
    constexpr StrideNames mask_names = {"nb31", "nb32", "nb33"};
    require_aligned(p.mask, mask_names, 2);
    require_apart(p.mask, mask_names, 2 * std::uint64_t{p.kv_len}, p.queries, p.mask_heads, p.mask_batches);
  }
}

Bf16Tensors require_bf16_tensors(const Bf16Parameters& p, Bf16Tensors tensors) {
  const std::uint64_t q_bytes = kBf16HeadDim * metal::size_of(p.q_element);
  tensors.q = require_size("q", tensors.q, bytes_needed(p.q, q_bytes, p.queries, p.n_heads, p.batches), "[batches, n_heads, queries, 512]");
  tensors.k = require_size("k", tensors.k, bytes_needed(p.k, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches()),
                           "bfloat [batches, n_kv_heads, kv_len, 512]");
  tensors.v = require_size("v", tensors.v, bytes_needed(p.v, kBf16RowBytes, p.kv_len, p.n_kv_heads, p.key_batches()),
                           "bfloat [batches, n_kv_heads, kv_len, 512]");
  if (p.has_mask()) {
    tensors.mask =
        require_size("mask", tensors.mask, bytes_needed(p.mask, 2 * std::uint64_t{p.kv_len}, p.queries, p.mask_heads, p.mask_batches),
                     "half [mask_batches, mask_heads, queries, kv_len]");
  }
  tensors.dst = require_size("dst", tensors.dst, std::uint64_t{p.batches} * p.n_heads * p.queries * kBf16RowBytes,
                             "bfloat [batches, n_heads, queries, 512]");
  return tensors;
}

kernels::FieldValues bf16_fields(const Bf16Parameters& p) {
  // Without a mask there is one head and one batch, because the kernel takes indices modulo these numbers, which must not be 0.
  const bool masked = p.has_mask();
  const RowStrides mask = masked ? p.mask : RowStrides{};
  return {
      {"ne01", FieldValue::of(p.queries)},
      {"ne02", FieldValue::of(p.n_heads)},
      {"ne03", FieldValue::of(p.batches)},
      {"nb01", FieldValue::of(p.q.token)},
      {"nb02", FieldValue::of(p.q.head)},
      {"nb03", FieldValue::of(p.q.batch)},
      {"ne11", FieldValue::of(p.kv_len)},
      {"ne_12_2", FieldValue::of(p.n_kv_heads)},
      {"ne_12_3", FieldValue::of(p.key_batches())},
      {"ns10", FieldValue::of(p.k.token / 2)},
      {"nb11", FieldValue::of(p.k.token)},
      {"nb12", FieldValue::of(p.k.head)},
      {"nb13", FieldValue::of(p.k.batch)},
      {"ns20", FieldValue::of(p.v.token / 2)},
      {"nb21", FieldValue::of(p.v.token)},
      {"nb22", FieldValue::of(p.v.head)},
      {"nb23", FieldValue::of(p.v.batch)},
      {"ne31", FieldValue::of(masked ? p.queries : std::uint32_t{0})},
      {"ne32", FieldValue::of(masked ? p.mask_heads : std::uint32_t{1})},
      {"ne33", FieldValue::of(masked ? p.mask_batches : std::uint32_t{1})},
      {"nb31", FieldValue::of(mask.token)},
      {"nb32", FieldValue::of(mask.head)},
      {"nb33", FieldValue::of(mask.batch)},
      {"ne1", FieldValue::of(p.queries)},
      {"ne2", FieldValue::of(p.n_heads)},
      {"ne3", FieldValue::of(p.batches)},
      {"scale", FieldValue::of(p.scale)},
      {"max_bias", FieldValue::of(0.0F)},
      {"m0", FieldValue::of(0.0F)},
      {"m1", FieldValue::of(0.0F)},
      {"n_head_log2", FieldValue::of(std::uint32_t{0})},
      {"logit_softcap", FieldValue::of(p.logit_softcap)},
  };
}

}  // namespace assay::families
