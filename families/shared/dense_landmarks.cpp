// The landmarks of attention over bfloat keys and values.
#include <limits>

#include "families/shared/attention_landmarks.h"
#include "families/shared/dense_inputs.h"
#include "families/shared/landmark_families.h"
#include "oracles/arithmetic.h"

namespace assay::families {

Landmarks dense_landmarks(const Case& test_case, const Source& source, std::span<const std::size_t> rows) {
  const oracles::DenseShape shape = dense_request(test_case).shape;
  const fixtures::DenseInputs inputs = dense_inputs(test_case, source);
  std::vector<AttentionLandmarkHead> heads;
  for (std::size_t head = 0; head < shape.batches * shape.kv_heads; ++head) {
    const auto part = [&](const std::vector<std::uint16_t>& stored) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < shape.kv_len * shape.head_dim; ++i)
        numbers.push_back(oracles::bfloat_value(stored[head * shape.head_rows * shape.head_dim + i]));
      return numbers;
    };
    heads.push_back(
        {.keys = part(inputs.k), .values = part(inputs.v), .key_norms = {}, .value_norms = {}, .key_factors = {}, .value_factors = {}});
  }
  std::vector<AttentionLandmarkRow> described;
  for (const std::size_t row : rows) {
    const std::size_t query = row % shape.queries;
    const std::size_t head = row / shape.queries % shape.heads;
    const std::size_t batch = row / shape.queries / shape.heads;
    AttentionLandmarkRow one;
    one.row = row;
    one.kv_head = batch * shape.kv_heads + head / (shape.heads / shape.kv_heads);
    // Kernels round the query to bfloat.
    for (std::size_t c = 0; c < shape.head_dim; ++c) one.query.push_back(oracles::round_to_bfloat(inputs.q[row * shape.head_dim + c]));
    for (std::size_t key = 0; key < shape.kv_len; ++key) {
      double added = 0;
      if (!inputs.mask.empty()) {
        const std::size_t plane = batch % shape.mask_batches * shape.mask_heads + head % shape.mask_heads;
        added = oracles::half_value(inputs.mask[(plane * shape.queries + query) * shape.kv_len + key]);
      }
      one.bias.push_back(added <= oracles::kInvisibleMask ? -std::numeric_limits<double>::infinity() : added);
    }
    described.push_back(std::move(one));
  }
  return attention_landmarks({shape.head_dim, shape.head_dim, static_cast<double>(shape.scale), static_cast<double>(shape.softcap)},
                             described, heads);
}

}  // namespace assay::families
