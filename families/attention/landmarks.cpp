// The landmarks of family `attention`, from its inputs.
#include "families/attention/landmarks.h"

#include <limits>

#include "families/attention/contract.h"
#include "families/attention/inputs.h"
#include "families/shared/attention_landmarks.h"

namespace assay::families::attention {

Landmarks landmarks_of(const Case& test_case, const Source& source, std::span<const std::size_t> rows) {
  kernels::Variant plain;
  plain.family = kAttentionContract.name;
  plain.contract = &kAttentionContract;
  const Shape shape = shape_of(test_case);
  const Inputs inputs = make_inputs(shape, source, plain);
  std::vector<AttentionLandmarkHead> heads;
  for (std::size_t head = 0; head < shape.kv_batches * shape.kv_heads; ++head) {
    const auto part = [&](const std::vector<float>& all, std::size_t width) {
      const std::size_t size = shape.keys * width;
      const std::span<const float> own = std::span(all).subspan(head * size, size);
      return std::vector<double>(own.begin(), own.end());
    };
    heads.push_back({.keys = part(inputs.k, shape.dk),
                     .values = part(inputs.v, shape.dv),
                     .key_norms = {},
                     .value_norms = {},
                     .key_factors = {},
                     .value_factors = {}});
  }
  const oracles::BiasRow bias = inputs.bias(shape);
  std::vector<AttentionLandmarkRow> described;
  for (const std::size_t row : rows) {
    const std::size_t query = row % shape.queries;
    const std::size_t head = row / shape.queries % shape.heads;
    const std::size_t batch = row / shape.queries / shape.heads;
    AttentionLandmarkRow one;
    one.row = row;
    one.kv_head = shape.kv_batch(batch) * shape.kv_heads + head / (shape.heads / shape.kv_heads);
    const std::span<const float> q = std::span(inputs.q).subspan(row * shape.dk, shape.dk);
    one.query.assign(q.begin(), q.end());
    // Keys behind the batch's own are hidden ones: a wrong kernel may read them.
    one.bias.assign(shape.keys, -std::numeric_limits<double>::infinity());
    std::fill_n(one.bias.begin(), shape.kv_len[batch], 0.0);
    if (bias) bias(batch, head, query, std::span(one.bias).first(shape.kv_len[batch]));
    if (!inputs.sinks.empty()) one.sink = static_cast<double>(inputs.sinks[head]);
    described.push_back(std::move(one));
  }
  return attention_landmarks({shape.dk, shape.dv, static_cast<double>(shape.scale), shape.softcap}, described, heads);
}

}  // namespace assay::families::attention
