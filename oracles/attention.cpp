// Exact decode attention in double, and its bound.
#include "oracles/attention.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "math/functions.h"
#include "oracles/attention_bound.h"
#include "oracles/cache_reader.h"
#include "oracles/codebook.h"
#include "oracles/fwht.h"
#include "oracles/products.h"

namespace assay::oracles {

namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::Index;

// Number of positions to dequantise at a time: 64 rows of 512 doubles are 256 KB, which fits a second-level cache.
constexpr std::size_t kBlock = 64;

void require_shape(const DecodeShape& shape) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument("decode shape: " + text); };
  if (shape.head_dim != 256 && shape.head_dim != 512) refuse(fmt::format("head_dim {} is neither 256 nor 512", shape.head_dim));
  if (shape.heads == 0 || shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    refuse(fmt::format("{} heads are not a multiple of {} kv_heads", shape.heads, shape.kv_heads));
  }
  if (shape.kv_len == 0 || shape.kv_capacity < shape.kv_len) {
    refuse(fmt::format("kv_len {} must be from 1 to kv_capacity {}", shape.kv_len, shape.kv_capacity));
  }
  if (shape.ring_start >= shape.kv_capacity || (shape.ring_start != 0 && shape.kv_len < shape.kv_capacity && !shape.partial_ring)) {
    refuse(fmt::format("ring_start {} with kv_len {} and kv_capacity {}: ring_start must be 0 unless the ring is full", shape.ring_start,
                       shape.kv_len, shape.kv_capacity));
  }
  if (shape.mask_type > MaskType::sliding_window) {
    refuse(fmt::format("mask_type {} is none of 0, 1, 2", static_cast<std::uint32_t>(shape.mask_type)));
  }
  if (!std::isfinite(shape.scale)) refuse(fmt::format("scale is {}", shape.scale));
  if (!(shape.softcap >= 0.0F && std::isfinite(shape.softcap))) refuse(fmt::format("softcap is {}", shape.softcap));
}

void require_query_domain(const DecodeShape& shape, std::span<const float> q) {
  constexpr double largest = 65504.0;
  const auto refuse = [&](std::size_t i, double value) {
    throw std::invalid_argument(fmt::format("{}q is {} at head {} coordinate {}: outside of the domain |q| <= {}",
                                            shape.fused_rotation ? "rotated " : "", value, i / shape.head_dim, i % shape.head_dim,
                                            largest));
  };
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (!(std::abs(static_cast<double>(q[i])) <= (shape.fused_rotation ? std::numeric_limits<float>::max() : largest)))
      refuse(i, static_cast<double>(q[i]));
  }
  if (!shape.fused_rotation) return;
  const Expected rotated = fwht(q, shape.head_dim, FwhtMode::signs_first);
  for (std::size_t i = 0; i < q.size(); ++i) {
    if (!(std::abs(rotated.value[i]) + rotated.bound[i] <= largest)) refuse(i, rotated.value[i]);
  }
}

void require_inputs(const DecodeShape& shape, std::span<const float> q, const TurboQuantCache& cache) {
  require_shape(shape);
  const auto require_size = [](const char* what, std::size_t size, std::size_t needed) {
    if (size != needed) throw std::invalid_argument(fmt::format("{} has {} elements, but the shape needs {}", what, size, needed));
  };
  (void)codebook(cache.bits);
  require_size("q", q.size(), shape.heads * shape.head_dim);
  require_size("k_codes", cache.k_codes.size(), cache_code_bytes(shape, cache.bits));
  require_size("v_codes", cache.v_codes.size(), cache_code_bytes(shape, cache.bits));
  require_size("k_norms", cache.k_norms.size(), norm_count(shape, cache.norm_layout));
  require_size("v_norms", cache.v_norms.size(), norm_count(shape, cache.norm_layout));
  if (cache.norm_layout == NormLayout::one_per_block && shape.head_dim > 256 &&
      !(cache.scale_factor_d512 > 0.0F && std::isfinite(cache.scale_factor_d512))) {
    throw std::invalid_argument(fmt::format("scale_factor_d512 is {}: it must be positive", cache.scale_factor_d512));
  }
  require_query_domain(shape, q);
}

// Keys or values at the visible slots of one key/value head, dequantised block by block.
template <typename Visit>
void for_each_block(const CacheReader& reader, std::size_t kv_head, std::span<const std::size_t> slots, RowMatrix& rows, Visit visit) {
  for (std::size_t first = 0; first < slots.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, slots.size() - first);
    reader.read(kv_head, slots.subspan(first, count), rows.data());
    visit(static_cast<Index>(first), rows.topRows(static_cast<Index>(count)));
  }
}

void require_finite_norms(const CacheReader& reader, const char* side, std::size_t kv_heads, std::span<const std::size_t> slots) {
  for (std::size_t g = 0; g < kv_heads; ++g) {
    for (const std::size_t slot : slots) {
      if (!std::isfinite(reader.largest(g, slot))) {
        throw std::invalid_argument(fmt::format("norm of visible {} slot {} of key/value head {} is not finite", side, slot, g));
      }
    }
  }
}

// result(first + t, r) = factor times the product of row t and column r.
template <typename Rows>
void multiply(Eigen::MatrixXd& result, Index first, double factor, const Rows& rows, const Eigen::MatrixXd& columns) {
  multiply_rows(rows.data(), static_cast<std::size_t>(rows.rows()), columns.data(), static_cast<std::size_t>(columns.cols()),
                static_cast<std::size_t>(columns.rows()), [&](std::size_t t, std::size_t r, double product) {
                  result(first + static_cast<Index>(t), static_cast<Index>(r)) = factor * product;
                });
}

// Replaces rows by their absolute values, adds them to the sums and updates the maximum.
void take_sizes(double* rows, std::size_t count, std::size_t dim, double* sums, double* largest) {
  for (std::size_t t = 0; t < count; ++t) {
    double* const row = rows + t * dim;
    for (std::size_t j = 0; j < dim; ++j) {
      const double size = std::abs(row[j]);
      row[j] = size;
      sums[j] += size;
      largest[j] = largest[j] < size ? size : largest[j];
    }
  }
}

// The query heads of one key/value head, one column per head: q, usually rounded to half, and the possible deviation of the kernel's q from
// it.
struct Queries {
  Eigen::MatrixXd values;
  Eigen::MatrixXd doubts;
};

Queries queries_of(const DecodeShape& shape, std::span<const float> q, std::size_t kv_head, const AttentionAccuracy& accuracy) {
  const std::size_t group = shape.heads / shape.kv_heads;
  const auto stored = [&](double value) { return accuracy.rounds_queries ? round_to_half(value) : value; };
  Queries result;
  result.values.resize(static_cast<Index>(shape.head_dim), static_cast<Index>(group));
  result.doubts.setZero(static_cast<Index>(shape.head_dim), static_cast<Index>(group));
  const std::span<const float> rows = q.subspan(kv_head * group * shape.head_dim, group * shape.head_dim);
  if (!shape.fused_rotation) {
    for (std::size_t i = 0; i < rows.size(); ++i) result.values.data()[i] = stored(static_cast<double>(rows[i]));
    return result;
  }
  const Expected rotated = fwht(rows, shape.head_dim, FwhtMode::signs_first, accuracy.profile);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = rotated.value[i];
    const double entry = stored(value);
    result.values.data()[i] = entry;
    result.doubts.data()[i] = std::max(stored(value + rotated.bound[i]) - entry, entry - stored(value - rotated.bound[i]));
  }
  return result;
}

std::vector<std::size_t> slots_by_age(const DecodeShape& shape, std::size_t first_age, std::size_t end_age) {
  std::vector<std::size_t> slots;
  slots.reserve(end_age - first_age);
  for (std::size_t age = first_age; age < end_age; ++age) {
    slots.push_back((shape.ring_start + shape.kv_len - 1 - age) % shape.kv_capacity);
  }
  return slots;
}

std::size_t visible_count(const DecodeShape& shape) {
  const bool window = shape.mask_type == MaskType::sliding_window && shape.sliding_window > 0;
  return window ? std::min(shape.sliding_window, shape.kv_len) : shape.kv_len;
}

}  // namespace

AttentionAccuracy without_conversions(AttentionAccuracy accuracy) {
  accuracy.output = accuracy.accumulator = accuracy.keys = accuracy.values = float_format();
  accuracy.stores.clear();
  accuracy.rounds_queries = false;
  return accuracy;
}

std::vector<std::size_t> visible_slots(const DecodeShape& shape) {
  require_shape(shape);
  return slots_by_age(shape, 0, visible_count(shape));
}

// Long because all passes over the cache share the matrices of one key/value head. README.md has the derivation.
Expected decode_attention(const DecodeShape& shape, std::span<const float> q, const TurboQuantCache& cache,
                          const AttentionAccuracy& accuracy) {
  require_inputs(shape, q, cache);
  const std::vector<std::size_t> slots = visible_slots(shape);
  const std::vector<std::size_t> invisible = slots_by_age(shape, slots.size(), shape.kv_len);
  const CacheReader keys(shape, cache.bits, cache.norm_layout, cache.scale_factor_d512, cache.k_codes, cache.k_norms);
  const CacheReader values(shape, cache.bits, cache.norm_layout, cache.scale_factor_d512, cache.v_codes, cache.v_norms);
  require_finite_norms(keys, "K", shape.kv_heads, slots);
  require_finite_norms(values, "V", shape.kv_heads, slots);
  // With rounded keys, the bound is limited by that without any declaration.
  std::vector<AttentionRoundings> declared_or_not;
  declared_or_not.emplace_back(shape, cache, accuracy, slots);
  AttentionAccuracy undeclared = without_conversions(accuracy);
  undeclared.output = accuracy.output;
  if (accuracy.keys.unit() > kFloatUnit) declared_or_not.emplace_back(shape, cache, undeclared, slots);

  const std::size_t dim = shape.head_dim;
  const std::size_t group = shape.heads / shape.kv_heads;
  const Index columns = static_cast<Index>(dim);
  const Index heads = static_cast<Index>(group);
  const Index count = static_cast<Index>(slots.size());
  const double scale = static_cast<double>(shape.scale);

  Expected expected;
  expected.value.resize(shape.heads * dim);
  expected.bound.resize(shape.heads * dim);
  expected.magnitude.resize(shape.heads * dim);

  RowMatrix rows(static_cast<Index>(std::min(kBlock, slots.size())), columns);
  Eigen::MatrixXd scores(count, heads);
  Eigen::MatrixXd products(count, heads);
  const bool has_doubts = shape.fused_rotation || shape.softcap != 0.0F;
  Eigen::MatrixXd doubts = Eigen::MatrixXd::Zero(has_doubts ? count : 0, heads);
  Eigen::MatrixXd weights(count, heads);
  for (std::size_t g = 0; g < shape.kv_heads; ++g) {
    const Queries queries = queries_of(shape, q, g, accuracy);
    const Eigen::MatrixXd query_sizes = queries.values.cwiseAbs() + queries.doubts;
    for_each_block(keys, g, slots, rows, [&](Index first, auto block) {
      multiply(scores, first, scale, block, queries.values);
      block = block.cwiseAbs();
      multiply(products, first, 1.0, block, query_sizes);
      if (shape.fused_rotation) multiply(doubts, first, std::abs(scale), block, queries.doubts);
    });

    std::vector<std::vector<WeightErrors>> errors(declared_or_not.size());
    for (Index r = 0; r < heads; ++r) {
      for (Index t = 0; shape.softcap != 0.0F && t < count; ++t) {
        const CappedScore capped = capped_score(scores(t, r), static_cast<double>(shape.softcap), accuracy.profile);
        scores(t, r) = capped.score;
        doubts(t, r) += capped.doubt;
      }
      const double largest = scores.col(r).maxCoeff();
      for (Index t = 0; t < count; ++t) weights(t, r) = math::exp(scores(t, r) - largest);
      for (std::size_t i = 0; i < errors.size(); ++i) {
        errors[i].push_back(weight_errors(declared_or_not[i], {scores.col(r).data(), slots.size()}, {products.col(r).data(), slots.size()},
                                          {weights.col(r).data(), slots.size()}, query_sizes.col(r).sum(), {},
                                          {doubts.col(r).data(), has_doubts ? slots.size() : 0}));
      }
    }
    const Eigen::RowVectorXd sums = weights.colwise().sum();

    // One row per head, so that the loops over values use contiguous memory.
    RowMatrix output = RowMatrix::Zero(heads, columns);
    RowMatrix magnitude = RowMatrix::Zero(heads, columns);
    std::vector<RowMatrix> deviations(errors.size(), RowMatrix::Zero(heads, columns));
    Eigen::RowVectorXd value_sizes = Eigen::RowVectorXd::Zero(columns);
    Eigen::RowVectorXd largest_values = Eigen::RowVectorXd::Zero(columns);
    for_each_block(values, g, slots, rows, [&](Index first, auto block) {
      const auto add_to = [&](RowMatrix& sums_of_heads) {
        for (Index r = 0; r < heads; ++r) {
          add_terms(
              {sums_of_heads.row(r).data(), dim}, {weights.col(r).data() + first, static_cast<std::size_t>(block.rows())},
              [&](std::size_t t) { return block.row(static_cast<Index>(t)).data(); }, [](double v, std::size_t) { return v; });
        }
      };
      add_to(output);
      take_sizes(block.data(), static_cast<std::size_t>(block.rows()), dim, value_sizes.data(), largest_values.data());
      add_to(magnitude);
    });
    for (Index r = 0; r < heads; ++r) {
      output.row(r) /= sums(r);
      magnitude.row(r) /= sums(r);
    }
    for_each_block(values, g, slots, rows, [&](Index first, auto block) {
      for (std::size_t i = 0; i < errors.size(); ++i) {
        for (Index r = 0; r < heads; ++r) {
          const double* const center = output.row(r).data();
          add_terms(
              {deviations[i].row(r).data(), dim},
              {errors[i][static_cast<std::size_t>(r)].slack.data() + first, static_cast<std::size_t>(block.rows())},
              [&](std::size_t t) { return block.row(static_cast<Index>(t)).data(); },
              [center](double v, std::size_t j) { return std::abs(v - center[j]); });
        }
      }
    });

    // Masked slots of a chunk that is not skipped are read too, so a value that is not finite is allowed only in a skipped chunk.
    double stale = 0.0;
    for (const std::size_t slot : invisible) {
      const double size = values.largest(g, slot);
      if (std::isfinite(size)) stale += size;
    }
    for (Index r = 0; r < heads; ++r) {
      const std::size_t head = g * group + static_cast<std::size_t>(r);
      for (Index j = 0; j < columns; ++j) {
        const std::size_t index = head * dim + static_cast<std::size_t>(j);
        const auto bound_of = [&](std::size_t i) {
          const ElementSums element{.value = output(r, j),
                                    .magnitude = magnitude(r, j),
                                    .largest = largest_values(j),
                                    .deviation = deviations[i](r, j),
                                    .reach = value_sizes(j) + stale + declared_or_not[i].positions * std::abs(output(r, j))};
          return element_bound(declared_or_not[i], errors[i][static_cast<std::size_t>(r)], sums(r), element);
        };
        double bound = bound_of(0);
        if (errors.size() > 1)
          bound =
              std::min(bound, bound_of(1) + kStorageCap * weakest_unit(accuracy) * magnitude(r, j) + loss_of_values(declared_or_not[0]));
        expected.value[index] = output(r, j);
        expected.magnitude[index] = magnitude(r, j);
        expected.bound[index] = accuracy.output.widen(output(r, j), bound);
      }
    }
  }
  return expected;
}

DomainReport decode_domain(const DecodeShape& shape, std::span<const float> q, const TurboQuantCache& cache) {
  require_inputs(shape, q, cache);
  const std::size_t visible = visible_count(shape);
  const std::vector<std::size_t> slots = slots_by_age(shape, 0, shape.kv_len);
  const CacheReader keys(shape, cache.bits, cache.norm_layout, cache.scale_factor_d512, cache.k_codes, cache.k_norms);
  const double infinity = std::numeric_limits<double>::infinity();
  DomainReport report{.smallest_visible_score = infinity, .largest_visible_score = -infinity, .largest_excess = -infinity};
  RowMatrix row(1, static_cast<Index>(shape.head_dim));
  for (std::size_t g = 0; g < shape.kv_heads; ++g) {
    const Eigen::MatrixXd queries = queries_of(shape, q, g, {}).values;
    Eigen::MatrixXd scores(1, queries.cols());
    Eigen::RowVectorXd largest_visible = Eigen::RowVectorXd::Constant(queries.cols(), -infinity);
    for (std::size_t age = 0; age < slots.size(); ++age) {
      if (age >= visible && !std::isfinite(keys.largest(g, slots[age]))) continue;
      keys.read(g, std::span(slots).subspan(age, 1), row.data());
      multiply(scores, 0, static_cast<double>(shape.scale), row, queries);
      if (age < visible) {
        largest_visible = largest_visible.cwiseMax(scores);
        report.smallest_visible_score = std::min(report.smallest_visible_score, scores.minCoeff());
        report.largest_visible_score = std::max(report.largest_visible_score, scores.maxCoeff());
      } else {
        report.largest_excess = std::max(report.largest_excess, (scores - largest_visible).maxCoeff());
      }
    }
  }
  report.inside = report.smallest_visible_score > -65400.0 && report.largest_excess <= 65400.0;
  return report;
}

}  // namespace assay::oracles
