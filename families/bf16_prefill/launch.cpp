// Validates parameters of `bf16_prefill` and encodes its dispatches.
#include "families/bf16_prefill/launch.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "families/bf16_prefill/contract.h"
#include "families/described_launch.h"
#include "families/shared/refusal.h"

namespace assay::families {
namespace {

// A constant that the kernel declares must have been compiled with the wanted value.
void require_constants(const kernels::BoundKernel& kernel, const std::map<std::uint32_t, metal::FunctionConstant>& wanted) {
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

}  // namespace

bool is_ragged(const Bf16Parameters& p) { return p.kv_len % kBf16TileKeys != 0; }

void validate_bf16_prefill(const Bf16Parameters& p) {
  require_bf16_shape(p, metal::ScalarType::bfloat16);
  // Rows of `pad` are as far apart as those of keys and values.
  if (!is_ragged(p)) return;
  const auto require_dense = [&](std::string_view field, std::uint64_t stride) {
    if (stride != kBf16RowBytes) {
      throw std::invalid_argument(
          fmt::format("{} = {}: must be {}, because pad copies rows without gaps, and it has to: kv_len = {} is not a multiple of {}",
                      field, stride, kBf16RowBytes, p.kv_len, kBf16TileKeys));
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
  const DescribedLaunch launch(launch_of_family("bf16_prefill"), {}, std::make_shared<FieldNames>(bf16_fields(p)));
  for (const DescribedLaunch::Scratch& scratch : launch.scratch()) {
    if (scratch.bytes == 0) continue;
    if (scratch.name == "pad") buffers.pad = require_size("pad", buffers.pad, scratch.bytes, "64 rows of k, v and mask for every head");
    if (scratch.name == "blk")
      buffers.blk = require_size("blk", buffers.blk, scratch.bytes, "u8 [mask_batches, mask_heads, ceil(queries / 8), ceil(kv_len / 64)]");
  }
  if (is_ragged(p)) require_helper(kernels.pad, "pad", fmt::format("kv_len = {}, which is not a multiple of {},", p.kv_len, kBf16TileKeys));
  if (p.has_mask()) require_helper(kernels.blk, "blk", "a mask");
  const auto find = [&](const LaunchedFunction& function) {
    return function.family.empty() ? &kernels.attention : function.family == kBf16PadContract.name ? kernels.pad : kernels.blk;
  };
  for (const LaunchedFunction& function : launch.functions()) require_constants(*find(function), function.key.constants);
  launch.encode(encoder, find,
                {{"q", buffers.tensors.q},
                 {"k", buffers.tensors.k},
                 {"v", buffers.tensors.v},
                 {"mask", buffers.tensors.mask},
                 {"dst", buffers.tensors.dst},
                 {"pad", buffers.pad},
                 {"blk", buffers.blk},
                 {std::string(kernels::kNoBuffer), placeholder(buffers.tensors.q)}});
}

}  // namespace assay::families
