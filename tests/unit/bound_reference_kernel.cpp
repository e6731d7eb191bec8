// The float loops of the reference kernel and its mistakes.
#include "tests/unit/bound_reference_kernel.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "oracles/codebook.h"
#include "oracles/partials.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace assay::tests {

namespace {

float exp_float(float x, int steps) {
  auto y = static_cast<float>(std::exp(static_cast<double>(x)));
  const bool up = (std::bit_cast<std::uint32_t>(x) & 1U) != 0;
  for (int i = 0; i < steps && x != 0.0F; ++i) y = std::nextafter(y, up ? 2.0F : 0.0F);
  return y;
}
float to_half(float x) { return static_cast<float>(static_cast<_Float16>(x)); }
float to_format(const oracles::OutputFormat& format, float x) {
  if (format.significant_bits == 11) return to_half(x);
  return format.significant_bits == 8 ? static_cast<float>(oracles::round_to_bfloat(x)) : x;
}

float pairwise(std::span<const float> terms) {
  if (terms.empty()) return 0.0F;
  if (terms.size() == 1) return terms.front();
  return pairwise(terms.first(terms.size() / 2)) + pairwise(terms.subspan(terms.size() / 2));
}

float butterfly(std::array<float, 32> lanes) {
  for (std::size_t stride = 1; stride < 32; stride *= 2) {
    std::array<float, 32> next{};
    for (std::size_t i = 0; i < 32; ++i) next[i] = lanes[i] + lanes[i ^ stride];
    lanes = next;
  }
  return lanes[0];
}

// One query head's view of the cache.
class Head {
 public:
  Head(const oracles::DecodeShape& shape, const oracles::TurboQuantCache& cache, std::size_t head, const ReferenceOptions& options)
      : shape_(shape),
        cache_(cache),
        options_(options),
        table_(oracles::codebook(cache.bits).begin(), oracles::codebook(cache.bits).end()) {
    group_ = options.mistake == Mistake::wrong_head ? head % shape.kv_heads : head / (shape.heads / shape.kv_heads);
    if (options.mistake == Mistake::one_centroid_off) table_[table_.size() / 2] = table_[table_.size() / 2] - 0.0000045F;
  }

  // centroid[i] and the multiplier of each coordinate.
  void row(bool keys, std::size_t slot, std::span<float> centroids, std::span<float> multipliers) const {
    const std::size_t dim = shape_.head_dim;
    const std::size_t position = group_ * shape_.kv_capacity + slot;
    const auto codes = keys ? cache_.k_codes : cache_.v_codes;
    const auto norms = keys ? cache_.k_norms : cache_.v_norms;
    const bool blocks = cache_.norm_layout == oracles::NormLayout::one_per_block && dim > 256;
    const std::size_t per_position = blocks ? dim / 256 : 1;
    const auto neighbour = keys ? Mistake::neighbour_k_norm : Mistake::neighbour_v_norm;
    const std::size_t norm_position =
        options_.mistake == neighbour ? group_ * shape_.kv_capacity + (slot + 1) % shape_.kv_capacity : position;
    for (std::size_t i = 0; i < dim; ++i) {
      const bool high = (i % 2 == 1) != (options_.mistake == Mistake::nibbles_swapped);
      const std::size_t index = cache_.bits == 4 ? (codes[position * (dim / 2) + i / 2] >> (high ? 4 : 0)) & 0xf
                                                 : codes[position * dim + i] & ((1U << cache_.bits) - 1);
      centroids[i] = table_[index];
      float norm = norms[norm_position * per_position + (blocks && options_.mistake != Mistake::first_block_norm ? i / 256 : 0)];
      if (options_.mistake == Mistake::norm_threshold && norm < 1e-30F) norm = 0.0F;
      if (options_.mistake == Mistake::norm_by_division) norm = norm * norm / norm;
      const float rsqrt = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
      multipliers[i] = blocks ? norm / cache_.scale_factor_d512 : norm * rsqrt;
    }
  }

 private:
  const oracles::DecodeShape& shape_;
  const oracles::TurboQuantCache& cache_;
  const ReferenceOptions& options_;
  std::vector<float> table_;
  std::size_t group_ = 0;
};

struct Partial {
  std::vector<float> output;
  float sum = 0.0F;
  float maximum = -std::numeric_limits<float>::max() / 2.0F;
};

Partial run_workgroup(const oracles::DecodeShape& shape, std::span<const float> q, const Head& head, std::size_t workgroup,
                      const ReferenceOptions& options) {
  const Mistake mistake = options.mistake;
  const std::size_t dim = shape.head_dim;
  const std::size_t n = shape.kv_len - (mistake == Mistake::newest_dropped && shape.kv_len > 1 ? 1 : 0);
  const std::size_t ring = mistake == Mistake::ring_ignored ? 0 : shape.ring_start;
  std::size_t window_start = 0;
  if (shape.mask_type == oracles::MaskType::sliding_window && shape.sliding_window > 0 && shape.sliding_window < n) {
    window_start = n - shape.sliding_window;
    if (mistake == Mistake::window_too_wide && window_start > 0) --window_start;
    if (mistake == Mistake::window_too_narrow) ++window_start;
  }
  if (mistake == Mistake::oldest_dropped) window_start = std::max<std::size_t>(window_start + 1, 1);
  const float scale = mistake == Mistake::scale_off ? shape.scale * 1.00001F : shape.scale;

  Partial partial;
  partial.output.assign(dim, 0.0F);
  if (mistake == Mistake::maximum_from_zero) partial.maximum = 0.0F;
  if (mistake == Mistake::maximum_from_half) partial.maximum = -32752.0F;

  std::vector<std::size_t> chunks;
  for (std::size_t chunk = workgroup; chunk * 32 < n; chunk += options.nwg) chunks.push_back(chunk);
  if (mistake == Mistake::last_chunk_lost && chunks.size() > 1) chunks.pop_back();
  if (mistake == Mistake::workgroup_lost && workgroup == std::min(options.nwg, (n + 31) / 32) - 1 && workgroup > 0) return partial;
  if (options.chunks_backwards) std::reverse(chunks.begin(), chunks.end());

  std::vector<float> centroids(dim), multipliers(dim), terms(dim), column;
  for (const std::size_t chunk : chunks) {
    std::array<float, 32> mask{};
    std::array<float, 32> score{};
    bool any_visible = false;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      const std::size_t slot = chunk * 32 + lane;
      const std::size_t logical = (slot + shape.kv_capacity - ring) % shape.kv_capacity;
      const bool masked = slot >= n || logical >= n || logical < window_start;
      mask[lane] = masked ? -65504.0F : 0.0F;
      any_visible = any_visible || !masked;
    }
    if (!any_visible && mistake != Mistake::chunks_not_skipped) continue;
    const std::size_t limit = mistake == Mistake::reads_past_end ? shape.kv_capacity : n;
    const std::size_t live = std::min<std::size_t>(32, limit - chunk * 32);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      float dot = 0.0F;
      if (lane < live) {
        head.row(true, chunk * 32 + lane, centroids, multipliers);
        for (std::size_t i = 0; i < dim; ++i) terms[i] = to_format(options.keys, centroids[i] * multipliers[i]) * q[i];
        dot = sum_in_order(terms, options.dot);
      }
      score[lane] = std::fma(dot, scale, mask[lane]);
    }
    const float before = partial.maximum;
    partial.maximum = std::max(before, *std::max_element(score.begin(), score.end()));
    const float used = mistake == Mistake::no_maximum ? 0.0F : partial.maximum;
    const float rescale = mistake == Mistake::no_maximum ? 1.0F : exp_float(before - partial.maximum, options.exp_steps);
    std::array<float, 32> weight{};
    for (std::size_t lane = 0; lane < 32; ++lane) {
      weight[lane] = exp_float(score[lane] - used, options.exp_steps);
      if (mistake == Mistake::half_weights) weight[lane] = to_half(weight[lane]);
    }
    partial.sum *= mistake == Mistake::sum_not_rescaled ? 1.0F : rescale;
    if (options.key_after_key) {
      for (const float one : weight) partial.sum += one;
    } else {
      partial.sum += butterfly(weight);
    }
    if (mistake != Mistake::no_rescale) {
      for (float& o : partial.output) o *= rescale;
    }
    std::vector<float> products(live * dim);
    for (std::size_t t = 0; t < live; ++t) {
      head.row(false, chunk * 32 + t, centroids, multipliers);
      for (std::size_t j = 0; j < dim; ++j) {
        products[t * dim + j] = options.stored.significant_bits == 24
                                    ? centroids[j] * (multipliers[j] * weight[t])
                                    : to_format(options.stored, centroids[j] * multipliers[j]) * weight[t];
      }
    }
    column.resize(live);
    for (std::size_t j = 0; j < dim; ++j) {
      for (std::size_t t = 0; t < live; ++t) column[t] = products[t * dim + j];
      const Order order = options.values == Order::contract ? Order::sequential : options.values;
      if (options.key_after_key) {
        for (const float one : column) partial.output[j] += one;
      } else {
        partial.output[j] += sum_in_order(column, order);
      }
      if (mistake == Mistake::half_accumulator) partial.output[j] = to_half(partial.output[j]);
    }
  }
  return partial;
}

}  // namespace

float sum_in_order(std::span<const float> terms, Order order) {
  switch (order) {
    case Order::pairwise:
      return pairwise(terms);
    case Order::reversed: {
      float sum = 0.0F;
      for (std::size_t i = terms.size(); i-- > 0;) sum += terms[i];
      return sum;
    }
    case Order::sequential: {
      float sum = 0.0F;
      for (const float term : terms) sum += term;
      return sum;
    }
    case Order::contract:
      break;
  }
  std::array<float, 32> lanes{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    for (std::size_t i = lane * 4; i < terms.size(); i += 128) {
      lanes[lane] += ((terms[i] + terms[i + 1]) + terms[i + 2]) + terms[i + 3];
    }
  }
  return butterfly(lanes);
}

std::vector<float> reference_decode(const oracles::DecodeShape& shape, std::span<const float> q, const oracles::TurboQuantCache& cache,
                                    const ReferenceOptions& options) {
  const std::size_t dim = shape.head_dim;
  const oracles::PartialsShape layout{.rows = shape.heads, .head_dim = dim, .nwg = options.nwg};
  std::vector<float> result(options.nwg == 1 ? shape.heads * dim : layout.size());
  for (std::size_t h = 0; h < shape.heads; ++h) {
    const Head head(shape, cache, h, options);
    std::vector<float> query(q.begin() + static_cast<std::ptrdiff_t>(h * dim), q.begin() + static_cast<std::ptrdiff_t>((h + 1) * dim));
    if (options.mistake != Mistake::query_not_rounded) {
      for (float& x : query) x = to_half(x);
    }
    for (std::size_t w = 0; w < options.nwg; ++w) {
      const Partial partial = run_workgroup(shape, query, head, w, options);
      if (options.nwg == 1) {
        const float inverse = partial.sum == 0.0F ? 0.0F : 1.0F / partial.sum;
        for (std::size_t j = 0; j < dim; ++j) {
          result[h * dim + j] = options.mistake == Mistake::unnormalised ? partial.output[j] : partial.output[j] * inverse;
        }
        continue;
      }
      for (std::size_t j = 0; j < dim; ++j) result[layout.output_index(h, w, j)] = partial.output[j];
      result[layout.sum_index(h, w)] = partial.sum;
      result[layout.max_index(h, w)] = partial.maximum;
    }
  }
  return result;
}

}  // namespace assay::tests
