// Validates parameters of `bf16_prefill` and encodes its dispatches.
#include "families/bf16_prefill/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "families/bf16_prefill/contract.h"
#include "families/shared/refusal.h"

namespace assay::families {
namespace {

using metal::FieldValue;

std::uint32_t tiles(std::uint32_t count, std::uint32_t tile) { return count / tile + (count % tile == 0 ? 0 : 1); }

// A constant that the kernel declares must have been compiled with the wanted value.
void require_constants(const kernels::BoundKernel& kernel, const FunctionConstants& wanted) {
  for (const auto& [index, value] : wanted) {
    const auto found = kernel.entry().pipeline.constants.find(index);
    if (found == kernel.entry().pipeline.constants.end() || found->second == value) continue;
    throw std::invalid_argument(fmt::format("function '{}' was compiled with function constant {} = {}, but these parameters need {}",
                                            kernel.entry().pipeline.function, index, std::get<bool>(found->second), std::get<bool>(value)));
  }
}

void require_helper(const kernels::BoundKernel* kernel, std::string_view what, std::string_view why) {
  if (kernel == nullptr) throw std::invalid_argument(fmt::format("{} needs a {} kernel, but none was given", why, what));
}

void encode_pad(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const Bf16Parameters& p,
                const Bf16PrefillBuffers& buffers) {
  kernels::FieldValues values = bf16_fields(p);
  std::erase_if(values, [](const auto& field) { return kBf16PadContract.find_field(field.first) == nullptr; });
  kernel.set_pipeline(encoder);
  kernel.set_parameters(encoder, values);
  kernel.set_buffer(encoder, "k", buffers.tensors.k);
  kernel.set_buffer(encoder, "v", buffers.tensors.v);
  kernel.set_buffer(encoder, "mask", p.has_mask() ? buffers.tensors.mask : placeholder(buffers.tensors.q));
  kernel.set_buffer(encoder, "dst", buffers.pad);
  encoder.dispatch_threadgroups({kBf16TileKeys, std::max(p.n_kv_heads, p.mask_heads), std::max(p.key_batches(), p.mask_batches)},
                                {32, 1, 1});
}

void encode_blk(metal::ComputeEncoder& encoder, const kernels::BoundKernel& kernel, const Bf16Parameters& p,
                const Bf16PrefillBuffers& buffers) {
  kernel.set_pipeline(encoder);
  kernel.set_parameters(encoder, {{"ne01", FieldValue::of(p.queries)},
                                  {"ne30", FieldValue::of(p.kv_len)},
                                  {"ne31", FieldValue::of(p.queries)},
                                  {"ne32", FieldValue::of(p.mask_heads)},
                                  {"ne33", FieldValue::of(p.mask_batches)},
                                  {"nb31", FieldValue::of(p.mask.token)},
                                  {"nb32", FieldValue::of(p.mask.head)},
                                  {"nb33", FieldValue::of(p.mask.batch)}});
  kernel.set_buffer(encoder, "mask", buffers.tensors.mask);
  kernel.set_buffer(encoder, "dst", buffers.blk);
  encoder.dispatch_threadgroups({tiles(p.kv_len, kBf16TileKeys), tiles(p.queries, kBf16TileQueries), p.mask_heads * p.mask_batches},
                                {32, 1, 1});
}

}  // namespace

FunctionConstants bf16_prefill_constants(bool has_mask, bool is_ragged) { return {{300, has_mask}, {304, is_ragged}}; }

FunctionConstants bf16_pad_constants(bool has_mask) { return {{100, has_mask}}; }

bool is_ragged(const Bf16Parameters& p) { return p.kv_len % kBf16TileKeys != 0; }

std::uint64_t bf16_pad_bytes(const Bf16Parameters& p) {
  return std::uint64_t{kBf16TileKeys} * p.n_kv_heads * p.key_batches() * (p.k.token + p.v.token) +
         std::uint64_t{2 * kBf16TileKeys} * p.queries * p.mask_heads * p.mask_batches;
}

std::uint64_t bf16_blk_bytes(const Bf16Parameters& p) {
  return std::uint64_t{p.mask_batches} * p.mask_heads * tiles(p.queries, kBf16TileQueries) * tiles(p.kv_len, kBf16TileKeys);
}

void validate_bf16_prefill(const Bf16Parameters& p) {
  require_bf16_shape(p, metal::ScalarType::bfloat16);
  const auto require_dense = [](std::string_view field, std::uint64_t stride) {
    if (stride != kBf16RowBytes) {
      throw std::invalid_argument(
          fmt::format("{} = {}: must be {}, because prefill kernels expect rows of 512 bfloat without gaps", field, stride, kBf16RowBytes));
    }
  };
  require_dense("nb11", p.k.token);
  require_dense("nb21", p.v.token);
}

void encode_bf16_prefill(metal::ComputeEncoder& encoder, const Bf16PrefillKernels& kernels, const Bf16Parameters& p,
                         const Bf16PrefillBuffers& given) {
  validate_bf16_prefill(p);
  Bf16PrefillBuffers buffers = given;
  buffers.tensors = require_bf16_tensors(p, given.tensors);
  require_constants(kernels.attention, bf16_prefill_constants(p.has_mask(), is_ragged(p)));
  if (is_ragged(p)) {
    buffers.pad = require_size("pad", buffers.pad, bf16_pad_bytes(p), "64 rows of k, v and mask for every head");
    require_helper(kernels.pad, "pad", fmt::format("kv_len = {}, which is not a multiple of {},", p.kv_len, kBf16TileKeys));
    require_constants(*kernels.pad, bf16_pad_constants(p.has_mask()));
  }
  if (p.has_mask()) {
    buffers.blk =
        require_size("blk", buffers.blk, bf16_blk_bytes(p), "u8 [mask_batches, mask_heads, ceil(queries / 8), ceil(kv_len / 64)]");
    require_helper(kernels.blk, "blk", "a mask");
  }

  if (is_ragged(p)) encode_pad(encoder, *kernels.pad, p, buffers);
  if (p.has_mask()) encode_blk(encoder, *kernels.blk, p, buffers);
  if (is_ragged(p) || p.has_mask()) encoder.memory_barrier();

  const metal::BufferView dummy = placeholder(buffers.tensors.q);
  const kernels::BoundKernel& attention = kernels.attention;
  attention.set_pipeline(encoder);
  attention.set_parameters(encoder, bf16_fields(p));
  attention.set_buffer(encoder, "q", buffers.tensors.q);
  attention.set_buffer(encoder, "k", buffers.tensors.k);
  attention.set_buffer(encoder, "v", buffers.tensors.v);
  attention.set_buffer(encoder, "mask", p.has_mask() ? buffers.tensors.mask : dummy);
  attention.set_buffer(encoder, "sinks", dummy);
  attention.set_buffer(encoder, "pad", is_ragged(p) ? buffers.pad : dummy);
  attention.set_buffer(encoder, "blk", p.has_mask() ? buffers.blk : dummy);
  attention.set_buffer(encoder, "dst", buffers.tensors.dst);
  // Queries 8 KiB, outputs 8 KiB, 8 KiB unused, and 512 bytes per query for its scores and mask.
  attention.set_threadgroup_memory(encoder, 28672);
  encoder.dispatch_threadgroups({tiles(p.queries, kBf16TileQueries), p.n_heads, p.batches}, {32, 8, 1});
}

}  // namespace assay::families
