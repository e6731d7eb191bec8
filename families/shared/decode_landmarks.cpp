// The landmarks of decode attention over a quantised cache. Keys are counted by slots.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "families/shared/attention_landmarks.h"
#include "families/shared/cache_edit.h"
#include "families/shared/decode_inputs.h"
#include "families/shared/landmark_families.h"
#include "oracles/arithmetic.h"
#include "oracles/codebook.h"
#include "oracles/fwht.h"

namespace assay::families {
namespace {

using oracles::DecodeShape;

struct Decoded {
  std::vector<double> rows, norms, factors;  // without norms and factors if a row has several
};

Decoded decoded(const DecodeShape& shape, const fixtures::DecodeInputs& inputs, std::size_t head, std::size_t slots, bool of_keys) {
  const bool has_block_norms = inputs.norm_layout == oracles::NormLayout::one_per_block;
  constexpr std::size_t block = 256;
  const StoredSide side = {.heads = shape.kv_heads,
                           .capacity = shape.kv_capacity,
                           .head_dim = shape.head_dim,
                           .bits = inputs.bits,
                           .norms_per_position = has_block_norms ? shape.head_dim / block : 1,
                           .divisor = has_block_norms && shape.head_dim != block ? static_cast<double>(inputs.scale_factor_d512)
                                                                                 : std::sqrt(static_cast<double>(shape.head_dim)),
                           .codes = of_keys ? std::span<const std::uint8_t>(inputs.k_codes) : std::span<const std::uint8_t>(inputs.v_codes),
                           .norms = of_keys ? std::span<const float>(inputs.k_norms) : std::span<const float>(inputs.v_norms),
                           .other_norms = {}};
  Decoded made;
  made.rows.resize(slots * shape.head_dim);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    decode_slot(side, CacheEdit{}, head, slot, std::span(made.rows).subspan(slot * shape.head_dim, shape.head_dim));
    if (side.norms_per_position != 1) continue;
    made.norms.push_back(static_cast<double>(side.norms[head * side.capacity + slot]));
    made.factors.push_back(made.norms.back() / side.divisor);
  }
  return made;
}

// Rotated if the kernel does that, and rounded to half, as the contract says.
std::vector<double> query_of(const DecodeShape& shape, std::span<const float> stored) {
  std::vector<double> query(stored.begin(), stored.end());
  if (shape.fused_rotation) {
    const int dim = static_cast<int>(shape.head_dim);
    for (int i = 0; i < dim; ++i) query[static_cast<std::size_t>(i)] *= oracles::rotation_sign(dim, i);
    oracles::fwht_in_place(query, query.size(), oracles::FwhtMode::plain);
  }
  for (double& value : query) value = oracles::round_to_half(value);
  return query;
}

bool sees(const DecodeShape& shape, std::size_t slot) {
  const std::size_t position = (slot + shape.kv_capacity - shape.ring_start) % shape.kv_capacity;
  if (position >= shape.kv_len) return false;
  const bool has_window = shape.mask_type == oracles::MaskType::sliding_window && shape.sliding_window > 0;
  return !has_window || position + shape.sliding_window >= shape.kv_len;
}

}  // namespace

LandmarksOf decode_landmarks(FormatOf format_of) {
  return [=](const Case& test_case, const Source& source, std::span<const std::size_t> rows) {
    const DecodeFormat format = format_of(test_case);
    const DecodeShape shape = decode_request(test_case, format).shape;
    const fixtures::DecodeInputs inputs = decode_inputs(test_case, format, source);
    const std::size_t slots = std::min(shape.kv_capacity, std::max(inputs.filled_slots, shape.kv_len));
    std::vector<AttentionLandmarkHead> heads;
    for (std::size_t head = 0; head < shape.kv_heads; ++head) {
      Decoded keys = decoded(shape, inputs, head, slots, true), values = decoded(shape, inputs, head, slots, false);
      heads.push_back({std::move(keys.rows), std::move(values.rows), std::move(keys.norms), std::move(values.norms),
                       std::move(keys.factors), std::move(values.factors)});
    }
    std::vector<AttentionLandmarkRow> described;
    for (const std::size_t row : rows) {
      AttentionLandmarkRow one;
      one.row = row;
      one.kv_head = row / (shape.heads / shape.kv_heads);
      one.query = query_of(shape, std::span<const float>(inputs.q).subspan(row * shape.head_dim, shape.head_dim));
      for (std::size_t slot = 0; slot < slots; ++slot)
        one.bias.push_back(sees(shape, slot) ? 0.0 : -std::numeric_limits<double>::infinity());
      described.push_back(std::move(one));
    }
    return attention_landmarks({shape.head_dim, shape.head_dim, static_cast<double>(shape.scale), static_cast<double>(shape.softcap)},
                               described, heads);
  };
}

}  // namespace assay::families
