// The inputs of decode attention: requests from its axes, its fixture files, and the minimum cost of a case.
#include "families/shared/decode_inputs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/code_bytes.h"
#include "families/shared/omissions.h"
#include "families/shared/scales.h"
#include "fixtures/generators.h"
#include "fixtures/layout.h"
#include "oracles/attention.h"

namespace assay::families {

fixtures::DecodeRequest decode_request(const Case& test_case, const DecodeFormat& format) {
  fixtures::DecodeRequest request;
  request.shape.heads = test_case.size("n_heads");
  request.shape.kv_heads = test_case.size("n_kv_heads");
  request.shape.head_dim = test_case.size("head_dim");
  request.shape.kv_len = test_case.size("kv_len");
  request.shape.kv_capacity = test_case.size("kv_capacity");
  request.shape.ring_start = test_case.size("ring_start");
  request.shape.mask_type = static_cast<oracles::MaskType>(test_case.at("mask_type"));
  request.shape.sliding_window = test_case.size("sliding_window");
  request.shape.scale = score_scale(test_case, request.shape.head_dim);
  if (test_case.beyond == kSoftcapOmission) request.shape.softcap = kOmittedSoftcap;
  request.shape.partial_ring = test_case.beyond == kPartialRingOmission;
  request.bits = static_cast<int>(format.bits);
  request.shape.fused_rotation = format.fuses_rotation;
  if (format.has_block_norms) {
    request.norm_layout = oracles::NormLayout::one_per_block;
    request.scale_factor_d512 = scale_factor_d512(test_case);
  }
  request.seed = test_case.seed;
  return request;
}

DecodeParameters decode_parameters(const Case& test_case, const DecodeFormat& format) {
  const auto value = [&](std::string_view axis) { return static_cast<std::uint32_t>(test_case.at(axis)); };
  DecodeParameters parameters;
  parameters.n_heads = value("n_heads");
  parameters.n_kv_heads = value("n_kv_heads");
  parameters.head_dim = value("head_dim");
  parameters.kv_seq_len = value("kv_len");
  parameters.kv_capacity = value("kv_capacity");
  parameters.scale = score_scale(test_case, test_case.size("head_dim"));
  parameters.mask_type = value("mask_type");
  parameters.sliding_window = value("sliding_window");
  parameters.ring_start = value("ring_start");
  if (test_case.beyond == kSoftcapOmission) parameters.softcap = kOmittedSoftcap;
  parameters.is_beyond = !test_case.beyond.empty();
  parameters.nwg = value("nwg");
  if (format.has_block_norms) parameters.scale_factor_d512 = scale_factor_d512(test_case);
  parameters.codebook_bits = format.bits;
  parameters.nsg = format.nsg;
  parameters.fuse_fwht_pre = format.fuses_rotation;
  return parameters;
}

fixtures::DecodeInputs decode_inputs(const Case& test_case, const DecodeFormat& format, const Source& source) {
  fixtures::DecodeRequest request = decode_request(test_case, format);
  // Keys for a quarter of the scale have four times the scores, -132,000.
  if (test_case.beyond == kBelowSentinelOmission) request.shape.scale /= 4.0F;
  return source.is_file() ? fixtures::decode_inputs(source.file, request, source.tensors) : source.generator->decode(request);
}

void make_hidden_rows_finite(const oracles::DecodeShape& shape, fixtures::DecodeInputs& inputs) {
  if (shape.mask_type != oracles::MaskType::sliding_window || shape.sliding_window == 0) return;
  constexpr float kLarge = 30.0F;
  const std::size_t per_slot = inputs.k_norms.size() / (shape.kv_heads * shape.kv_capacity);
  // The oldest positions are hidden; the newest position is always visible.
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    const auto first_norm = [&](std::size_t position) {
      return (head * shape.kv_capacity + (shape.ring_start + position) % shape.kv_capacity) * per_slot;
    };
    const std::size_t newest = first_norm(shape.kv_len - 1);
    for (std::size_t position = 0; position + shape.sliding_window < shape.kv_len; ++position) {
      for (auto* norms : {&inputs.k_norms, &inputs.v_norms}) {
        for (std::size_t i = 0; i < per_slot; ++i) {
          float& norm = (*norms)[first_norm(position) + i];
          if (!std::isfinite(norm)) norm = kLarge * (*norms)[newest + i];
        }
      }
    }
  }
}

FileRules decode_files(FormatOf format_of) {
  const auto request_of = [=](const Case& test_case) { return decode_request(test_case, format_of(test_case)); };
  return {.inputs = [=](const Case& test_case) { return fixtures::decode_layout(request_of(test_case)); },
          .output_shape = [=](const Case& test_case) -> std::vector<std::uint64_t> {
            return {test_case.size("n_heads"), test_case.size("head_dim")};
          },
          .generate =
              [=](const Case& test_case, const fixtures::Fixture& fixture) {
                const fixtures::DecodeRequest request = request_of(test_case);
                return fixtures::decode_tensors(request, fixture.decode(request));
              },
          .expect =
              [=](const Case& test_case, const Source& source) {
                const fixtures::DecodeInputs inputs = decode_inputs(test_case, format_of(test_case), source);
                return oracles::decode_attention(request_of(test_case).shape, inputs.q, inputs.cache());
              }};
}

Minimum decode_minimum(const Case& test_case, const DecodeFormat& format) {
  constexpr std::int64_t kSlidingWindow = 2;
  const std::uint64_t head_dim = test_case.size("head_dim");
  const std::uint64_t norms = format.has_block_norms ? head_dim / minimum::kBlock : 1;  // per position and head
  const std::uint64_t heads = test_case.size("n_heads");
  const std::uint64_t window = test_case.size("sliding_window");
  std::uint64_t visible = test_case.size("kv_len");
  if (test_case.at("mask_type") == kSlidingWindow && window > 0) visible = std::min(visible, window);
  const std::uint64_t rows = minimum::kFloat * heads * head_dim;
  const std::uint64_t cache =
      2 * test_case.size("n_kv_heads") * visible * (base::code_bytes(format.bits, head_dim) + minimum::kFloat * norms);
  return minimum::of(
      rows + cache, rows,
      heads * visible * (4 * head_dim + 2 * norms + 3) + (format.fuses_rotation ? heads * minimum::rotation_flops(head_dim) : 0));
}

}  // namespace assay::families
