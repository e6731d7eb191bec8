// Exact attention over bfloat keys and values in double, and its bound.
#include "oracles/dense_attention.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "math/functions.h"
#include "oracles/attention_bound.h"
#include "oracles/products.h"

namespace assay::oracles {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::Index;

// Of binary64: digits behind the leading one, the exponent's field and what it holds for 1.
constexpr int kDigits = 52;
constexpr std::uint64_t kExponentMask = 0x7ff;
constexpr int kExponentOfOne = 1023;
constexpr double kFloatIntegers = 0x1p24;          // up to here, each is a float
constexpr std::uint16_t kBfloatExponent = 0x7f80;  // all of its bits are set in infinities and NaNs

void require(const DenseShape& shape, const DenseTensors& tensors) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument("dense attention: " + text); };
  if (shape.batches == 0 || shape.queries == 0 || shape.kv_len == 0 || shape.head_dim == 0) {
    refuse(fmt::format("{} batches, {} queries, {} keys, head_dim {}: none may be 0", shape.batches, shape.queries, shape.kv_len,
                       shape.head_dim));
  }
  if (shape.heads == 0 || shape.kv_heads == 0 || shape.heads % shape.kv_heads != 0) {
    refuse(fmt::format("{} heads are not a multiple of {} kv_heads", shape.heads, shape.kv_heads));
  }
  if (shape.head_rows < shape.kv_len) refuse(fmt::format("{} rows per head for {} keys", shape.head_rows, shape.kv_len));
  if ((shape.mask_heads == 0) != (shape.mask_batches == 0) ||
      (shape.mask_heads != 0 && (shape.heads % shape.mask_heads != 0 || shape.batches % shape.mask_batches != 0))) {
    refuse(fmt::format("a mask of {} batches x {} heads for {} x {}", shape.mask_batches, shape.mask_heads, shape.batches, shape.heads));
  }
  if (!std::isfinite(shape.scale)) refuse(fmt::format("scale is {}", shape.scale));
  const auto require_size = [&](const char* what, std::size_t size, std::size_t needed) {
    if (size != needed) refuse(fmt::format("{} has {} elements, but the shape needs {}", what, size, needed));
  };
  require_size("q", tensors.q.size(), shape.batches * shape.heads * shape.queries * shape.head_dim);
  require_size("k", tensors.k.size(), shape.batches * shape.kv_heads * shape.head_rows * shape.head_dim);
  require_size("v", tensors.v.size(), shape.batches * shape.kv_heads * shape.head_rows * shape.head_dim);
  require_size("mask", tensors.mask.size(), shape.mask_batches * shape.mask_heads * shape.queries * shape.kv_len);
}

RowMatrix keys_of(const DenseShape& shape, const char* what, std::span<const std::uint16_t> bits, std::size_t batch, std::size_t kv_head) {
  const std::size_t first = (batch * shape.kv_heads + kv_head) * shape.head_rows * shape.head_dim;
  RowMatrix rows(static_cast<Index>(shape.kv_len), static_cast<Index>(shape.head_dim));
  unsigned not_finite = 0;
  for (std::size_t i = 0; i < shape.kv_len * shape.head_dim; ++i) {
    rows.data()[i] = bfloat_value(bits[first + i]);
    not_finite |= static_cast<unsigned>((bits[first + i] & kBfloatExponent) == kBfloatExponent);
  }
  if (not_finite != 0) {
    throw std::invalid_argument(fmt::format("dense attention: {} of batch {}, key/value head {} is not finite", what, batch, kv_head));
  }
  return rows;
}

RowMatrix queries_of(const DenseShape& shape, std::span<const float> q, std::size_t batch, std::size_t head, bool rounds) {
  const std::size_t first = (batch * shape.heads + head) * shape.queries * shape.head_dim;
  RowMatrix rows(static_cast<Index>(shape.queries), static_cast<Index>(shape.head_dim));
  for (std::size_t i = 0; i < shape.queries * shape.head_dim; ++i) {
    rows.data()[i] = rounds ? round_to_bfloat(q[first + i]) : static_cast<double>(q[first + i]);
  }
  if (!rows.allFinite()) {
    throw std::invalid_argument(
        fmt::format("dense attention: q of batch {}, head {} is not finite{}", batch, head, rounds ? " in bfloat" : ""));
  }
  return rows;
}

// The exponent of the lowest bit that is set in a number, which is neither 0 nor subnormal.
int lowest_bit(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto exponent = static_cast<int>(bits >> kDigits & kExponentMask);
  return exponent - kExponentOfOne - kDigits + std::countr_zero(bits | std::uint64_t{1} << kDigits);
}

// For each row the largest power of two that all of its elements are multiples of; infinite for zeros. Elements are bfloats or floats.
Eigen::VectorXd grids_of(const RowMatrix& rows) {
  Eigen::VectorXd grids(rows.rows());
  for (Index row = 0; row < rows.rows(); ++row) {
    int lowest = std::numeric_limits<int>::max();
    for (const double value : rows.row(row)) {
      if (value != 0.0) lowest = std::min(lowest, lowest_bit(value));
    }
    grids(row) = lowest == std::numeric_limits<int>::max() ? std::numeric_limits<double>::infinity() : std::ldexp(1.0, lowest);
  }
  return grids;
}

// The visible keys of one query, with their mask values.
struct Sight {
  std::vector<std::size_t> keys;
  std::vector<double> mask;  // empty without a mask
};

Sight sight_of(const DenseShape& shape, std::span<const std::uint16_t> mask, std::size_t batch, std::size_t head, std::size_t query) {
  Sight sight;
  if (mask.empty()) {
    for (std::size_t key = 0; key < shape.kv_len; ++key) sight.keys.push_back(key);
    return sight;
  }
  const std::size_t plane = (batch % shape.mask_batches) * shape.mask_heads + head % shape.mask_heads;
  const std::span<const std::uint16_t> row = mask.subspan((plane * shape.queries + query) * shape.kv_len, shape.kv_len);
  for (std::size_t key = 0; key < shape.kv_len; ++key) {
    const double value = half_value(row[key]);
    if (value <= kInvisibleMask) continue;
    if (!std::isfinite(value)) {
      throw std::invalid_argument(fmt::format("dense attention: mask of head {}, query {}, key {} is {}", head, query, key, value));
    }
    sight.keys.push_back(key);
    sight.mask.push_back(value);
  }
  return sight;
}

// All products of a row of one with a row of the other.
RowMatrix products_of(const RowMatrix& a, const RowMatrix& b) {
  RowMatrix products(a.rows(), b.rows());
  multiply_rows(a.data(), static_cast<std::size_t>(a.rows()), b.data(), static_cast<std::size_t>(b.rows()),
                static_cast<std::size_t>(a.cols()),
                [&](std::size_t i, std::size_t j, double product) { products(static_cast<Index>(i), static_cast<Index>(j)) = product; });
  return products;
}

// One (batch, query head): all its queries against the keys and values of one key/value head.
class Head {
 public:
  Head(const DenseShape& shape, const AttentionAccuracy& accuracy, const RowMatrix& keys, const RowMatrix& key_sizes,
       const RowMatrix& values)
      : shape_(shape),
        accuracy_(accuracy),
        keys_(keys),
        key_sizes_(key_sizes),
        key_grids_(grids_of(keys)),
        values_(values),
        value_sizes_(values.cwiseAbs().colwise().sum()),
        largest_values_(Eigen::RowVectorXd::Zero(values.cols())) {
    // Row by row, as they lie in memory.
    for (Index row = 0; row < values.rows(); ++row) largest_values_ = largest_values_.cwiseMax(values.row(row).cwiseAbs());
  }

  void attend(const RowMatrix& queries, std::span<const std::uint16_t> mask, std::size_t batch, std::size_t head, Expected& expected,
              std::size_t first) {
    products_ = products_of(queries, keys_);
    sizes_ = products_of(queries.cwiseAbs(), key_sizes_);
    // Products and all sums of them are multiples of the two grids' product: within the integers of float nothing is rounded, whatever
    // the order.
    const Eigen::VectorXd query_grids = grids_of(queries);
    for (Index query = 0; query < sizes_.rows(); ++query) {
      for (Index key = 0; key < sizes_.cols(); ++key) {
        if (sizes_(query, key) <= kFloatIntegers * query_grids(query) * key_grids_(key)) sizes_(query, key) = 0.0;
      }
    }
    for (std::size_t query = 0; query < shape_.queries; ++query) {
      const Sight sight = sight_of(shape_, mask, batch, head, query);
      // Nothing is visible: the result is exactly 0, the initial value.
      if (!sight.keys.empty()) attend_one(queries.row(static_cast<Index>(query)), query, sight, expected, first + query * shape_.head_dim);
    }
  }

 private:
  template <typename Row>
  void attend_one(const Row& query_row, std::size_t query, const Sight& sight, Expected& expected, std::size_t first) {
    const std::size_t count = sight.keys.size();
    const auto row = static_cast<Index>(query);
    std::vector<double> scores(count), sizes(count), weights(count), mask_sizes(sight.mask.size()), doubts;
    for (std::size_t t = 0; t < count; ++t) {
      const auto key = static_cast<Index>(sight.keys[t]);
      scores[t] = static_cast<double>(shape_.scale) * products_(row, key);
      if (shape_.softcap != 0.0F) {
        const CappedScore capped = capped_score(scores[t], static_cast<double>(shape_.softcap), accuracy_.profile);
        scores[t] = capped.score;
        doubts.push_back(capped.doubt);
      }
      if (!sight.mask.empty()) {
        scores[t] += sight.mask[t];
        mask_sizes[t] = std::abs(sight.mask[t]);
      }
      sizes[t] = sizes_(row, key);
    }
    const double largest = *std::ranges::max_element(scores);
    double sum = 0.0;
    for (std::size_t t = 0; t < count; ++t) sum += weights[t] = math::exp(scores[t] - largest);

    const AttentionRoundings roundings(shape_.kv_len, shape_.head_dim, shape_.scale, accuracy_, sight.keys);
    const WeightErrors errors = weight_errors(roundings, scores, sizes, weights, query_row.cwiseAbs().sum(), mask_sizes, doubts);

    const auto dim = static_cast<Index>(shape_.head_dim);
    const auto value_of = [&](std::size_t t) { return values_.row(static_cast<Index>(sight.keys[t])).data(); };
    const auto sums_of = [](Eigen::RowVectorXd& row) { return std::span<double>(row.data(), static_cast<std::size_t>(row.size())); };
    Eigen::RowVectorXd output = Eigen::RowVectorXd::Zero(dim);
    Eigen::RowVectorXd magnitude = Eigen::RowVectorXd::Zero(dim);
    add_terms(sums_of(output), weights, value_of, [](double v, std::size_t) { return v; });
    add_terms(sums_of(magnitude), weights, value_of, [](double v, std::size_t) { return std::abs(v); });
    output /= sum;
    magnitude /= sum;
    Eigen::RowVectorXd deviation = Eigen::RowVectorXd::Zero(dim);
    const double* const center = output.data();
    add_terms(sums_of(deviation), errors.slack, value_of, [center](double v, std::size_t j) { return std::abs(v - center[j]); });

    // Hidden keys are read too, at most once each.
    const std::size_t chunks = (shape_.kv_len + kChunk - 1) / kChunk;
    const double positions = static_cast<double>(chunks * kChunk);
    for (Index j = 0; j < dim; ++j) {
      const std::size_t index = first + static_cast<std::size_t>(j);
      const ElementSums element{.value = output(j),
                                .magnitude = magnitude(j),
                                .largest = largest_values_(j),
                                .deviation = deviation(j),
                                .reach = value_sizes_(j) + positions * std::abs(output(j))};
      expected.value[index] = element.value;
      expected.magnitude[index] = element.magnitude;
      expected.bound[index] = accuracy_.output.widen(element.value, element_bound(roundings, errors, sum, element));
    }
  }

  const DenseShape& shape_;
  const AttentionAccuracy& accuracy_;
  const RowMatrix& keys_;
  const RowMatrix& key_sizes_;
  const Eigen::VectorXd key_grids_;
  const RowMatrix& values_;
  Eigen::RowVectorXd value_sizes_;
  Eigen::RowVectorXd largest_values_;
  RowMatrix products_;
  RowMatrix sizes_;  // sum |q_i k_ti|, what a dot product may be off by in units of its rounding; 0 where it is exact
};

}  // namespace

Expected dense_attention(const DenseShape& shape, const DenseTensors& tensors, const AttentionAccuracy& accuracy) {
  require(shape, tensors);
  Expected expected;
  expected.value.resize(tensors.q.size());
  expected.bound.resize(tensors.q.size());
  expected.magnitude.resize(tensors.q.size());
  const std::size_t group = shape.heads / shape.kv_heads;
  for (std::size_t batch = 0; batch < shape.batches; ++batch) {
    for (std::size_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
      const RowMatrix keys = keys_of(shape, "k", tensors.k, batch, kv_head);
      const RowMatrix values = keys_of(shape, "v", tensors.v, batch, kv_head);
      const RowMatrix key_sizes = keys.cwiseAbs();
      Head worker(shape, accuracy, keys, key_sizes, values);
      for (std::size_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const std::size_t first = (batch * shape.heads + head) * shape.queries * shape.head_dim;
        worker.attend(queries_of(shape, tensors.q, batch, head, accuracy.rounds_queries), tensors.mask, batch, head, expected, first);
      }
    }
  }
  return expected;
}

}  // namespace assay::oracles
