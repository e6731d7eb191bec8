// Attention on unquantised rows, and the error that storage is expected to add.
#include "oracles/source_attention.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "math/functions.h"
#include "oracles/products.h"

namespace assay::oracles {
namespace {

using Eigen::Index;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void require_rows(const DecodeShape& shape, const SourceRows& rows) {
  const auto require_size = [](const char* what, std::size_t size, std::size_t needed) {
    if (size != needed) throw std::invalid_argument(fmt::format("source {} has {} elements, but the shape needs {}", what, size, needed));
  };
  require_size("q", rows.q.size(), shape.heads * shape.head_dim);
  require_size("k", rows.k.size(), shape.kv_heads * shape.kv_capacity * shape.head_dim);
  require_size("v", rows.v.size(), shape.kv_heads * shape.kv_capacity * shape.head_dim);
  for (std::size_t i = 0; i < rows.q.size(); ++i) {
    if (!std::isfinite(rows.q[i])) {
      throw std::invalid_argument(
          fmt::format("source q is {} at head {} coordinate {}", rows.q[i], i / shape.head_dim, i % shape.head_dim));
    }
  }
}

void require_model(const DecodeShape& shape, const StorageModel& model) {
  if (model.block_dim == 0 || shape.head_dim % model.block_dim != 0) {
    throw std::invalid_argument(fmt::format("block_dim {} does not divide head_dim {}", model.block_dim, shape.head_dim));
  }
  if (!(model.distortion >= 0.0 && model.distortion <= 1.0)) {
    throw std::invalid_argument(fmt::format("distortion {} is outside of 0 .. 1, the range for a variance of 1", model.distortion));
  }
}

// The visible rows of one side and key/value head, newest first.
RowMatrix visible_rows(const DecodeShape& shape, std::span<const double> side, const char* name, std::size_t kv_head,
                       std::span<const std::size_t> slots) {
  RowMatrix rows(static_cast<Index>(slots.size()), static_cast<Index>(shape.head_dim));
  for (std::size_t t = 0; t < slots.size(); ++t) {
    const std::span<const double> row = side.subspan((kv_head * shape.kv_capacity + slots[t]) * shape.head_dim, shape.head_dim);
    if (!std::ranges::all_of(row, [](double x) { return std::isfinite(x); })) {
      throw std::invalid_argument(fmt::format("visible source {} slot {} of key/value head {} is not finite", name, slots[t], kv_head));
    }
    std::ranges::copy(row, rows.row(static_cast<Index>(t)).data());
  }
  return rows;
}

// One query head and its visible rows.
struct SourceHead {
  std::size_t head;
  Eigen::Map<const Eigen::RowVectorXd> query;
  const RowMatrix& keys;
  const RowMatrix& values;
  Eigen::VectorXd weights;    // p_t, their sum 1
  Eigen::RowVectorXd output;  // o
};

Eigen::ArrayXd exponentials(const Eigen::ArrayXd& x) {
  return x.unaryExpr([](double one) { return math::exp(one); });
}

// All products of two rows.
Eigen::MatrixXd gram_of(const RowMatrix& rows) {
  Eigen::MatrixXd gram(rows.rows(), rows.rows());
  const auto count = static_cast<std::size_t>(rows.rows());
  multiply_rows(rows.data(), count, rows.data(), count, static_cast<std::size_t>(rows.cols()),
                [&](std::size_t i, std::size_t j, double product) { gram(static_cast<Index>(i), static_cast<Index>(j)) = product; });
  return gram;
}

template <typename Visit>
void for_each_head(const DecodeShape& shape, const SourceRows& rows, Visit visit) {
  const std::vector<std::size_t> slots = visible_slots(shape);
  require_rows(shape, rows);
  const std::size_t group = shape.heads / shape.kv_heads;
  const auto dim = static_cast<Index>(shape.head_dim);
  for (std::size_t g = 0; g < shape.kv_heads; ++g) {
    const RowMatrix keys = visible_rows(shape, rows.k, "k", g, slots);
    const RowMatrix values = visible_rows(shape, rows.v, "v", g, slots);
    for (std::size_t head = g * group; head < (g + 1) * group; ++head) {
      const Eigen::Map<const Eigen::RowVectorXd> query(rows.q.data() + head * shape.head_dim, dim);
      Eigen::VectorXd scores(keys.rows());
      for (Index t = 0; t < keys.rows(); ++t) {
        scores(t) = static_cast<double>(shape.scale) * dot(keys.row(t).data(), query.data(), shape.head_dim);
      }
      Eigen::VectorXd weights = exponentials(scores.array() - scores.maxCoeff());
      weights /= weights.sum();
      Eigen::RowVectorXd output = Eigen::RowVectorXd::Zero(dim);
      add_terms(
          {output.data(), shape.head_dim}, {weights.data(), slots.size()},
          [&](std::size_t t) { return values.row(static_cast<Index>(t)).data(); }, [](double v, std::size_t) { return v; });
      visit(SourceHead{head, query, keys, values, std::move(weights), std::move(output)});
    }
  }
}

// What a query's rounding to half adds to the distortion of a key in the variance of a score: at most (2^-11)^2, relative.
constexpr double kHalfQueryDistortion = 0x1p-22;

// The variance of each score: the errors of a block are isotropic and take `distortion` of its energy.
Eigen::VectorXd score_variances(const SourceHead& head, const DecodeShape& shape, const StorageModel& model) {
  const auto block_dim = static_cast<Index>(model.block_dim);
  Eigen::VectorXd energy = Eigen::VectorXd::Zero(head.keys.rows());
  for (Index first = 0; first < head.keys.cols(); first += block_dim) {
    energy += head.keys.middleCols(first, block_dim).rowwise().squaredNorm() * head.query.segment(first, block_dim).squaredNorm();
  }
  const auto scale = static_cast<double>(shape.scale);
  return energy * (scale * scale * (model.distortion + kHalfQueryDistortion) / static_cast<double>(model.block_dim));
}

// For each block the variance of a coordinate of the output, from the errors of the values.
std::vector<double> output_variances(const SourceHead& head, const StorageModel& model) {
  const auto block_dim = static_cast<Index>(model.block_dim);
  std::vector<double> variances;
  for (Index first = 0; first < head.values.cols(); first += block_dim) {
    const Eigen::VectorXd energy = head.values.middleCols(first, block_dim).rowwise().squaredNorm();
    variances.push_back(model.distortion / static_cast<double>(model.block_dim) * head.weights.cwiseAbs2().dot(energy));
  }
  return variances;
}

// Rows p_t s_t (v_t - o): with independent standard normals as coefficients they sum to what the errors of the keys do to the output, if
// s_t is by how much they move a weight, relatively.
RowMatrix key_influences(const SourceHead& head, const Eigen::ArrayXd& moves) {
  RowMatrix influences = head.values.rowwise() - head.output;
  influences.array().colwise() *= head.weights.array() * moves;
  return influences;
}

// -log of the probability left to each of the tails below.
constexpr double kTail = 12.0;

// A sum of squares of independent normals with these variances exceeds this with probability e^-kTail at most (Laurent and Massart, Annals
// of Statistics 28 (2000), lemma 1).
struct SumOfSquares {
  double sum = 0, squares = 0, largest = 0;  // of the variances, of their squares; their largest

  void add(double variance, double times) {
    sum += times * variance;
    squares += times * variance * variance;
    largest = std::max(largest, variance);
  }
  [[nodiscard]] double bound() const { return sum + 2.0 * std::sqrt(kTail * squares) + 2.0 * kTail * largest; }
};

// What sum a_t e^(2 delta_t) / sum a_t stays below: the largest of the factors, or, where many share the sum, Bernstein's inequality for
// terms that end at e^(2 reach_t). `variances` are those of the normal delta_t.
double grown_sum(const Eigen::ArrayXd& a, const Eigen::ArrayXd& variances, const Eigen::ArrayXd& reach) {
  const double total = a.sum();
  if (total == 0.0) return 1.0;
  const double mean = (a * exponentials(2.0 * variances)).sum();
  const double variance = (a.square() * (exponentials(8.0 * variances) - exponentials(4.0 * variances))).sum();
  const double largest = (a * exponentials(2.0 * reach)).maxCoeff();
  const double bernstein = (mean + std::sqrt(2.0 * kTail * variance) + 2.0 / 3.0 * kTail * largest) / total;
  return std::min(bernstein, math::exp(2.0 * reach.maxCoeff()));
}

}  // namespace

std::vector<double> source_attention(const DecodeShape& shape, const SourceRows& rows) {
  std::vector<double> output(shape.heads * shape.head_dim);
  for_each_head(shape, rows, [&](const SourceHead& head) {
    std::copy_n(head.output.data(), shape.head_dim, output.begin() + static_cast<std::ptrdiff_t>(head.head * shape.head_dim));
  });
  return output;
}

std::vector<double> expected_storage_error(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model) {
  require_model(shape, model);
  std::vector<double> errors(shape.heads);
  for_each_head(shape, rows, [&](const SourceHead& head) {
    double square = key_influences(head, score_variances(head, shape, model).array().sqrt()).squaredNorm();
    for (const double variance : output_variances(head, model)) square += variance * static_cast<double>(model.block_dim);
    errors[head.head] = std::sqrt(square);
  });
  return errors;
}

std::vector<double> storage_error_bound(const DecodeShape& shape, const SourceRows& rows, const StorageModel& model) {
  require_model(shape, model);
  std::vector<double> bounds(shape.heads);
  for_each_head(shape, rows, [&](const SourceHead& head) {
    const Eigen::VectorXd variances = score_variances(head, shape, model);
    // The largest change of any score.
    const double count = static_cast<double>(variances.size());
    const Eigen::ArrayXd reach = (2.0 * (kTail + math::log(count)) * variances.array()).sqrt();
    // The weights' sum shrinks no further than by this (it is at least e to the weighted mean of the moves).
    const double shrinkage = math::exp(-std::sqrt(2.0 * kTail * head.weights.cwiseAbs2().dot(variances)));

    SumOfSquares from_values;
    const Eigen::ArrayXd energy = head.values.rowwise().squaredNorm().array() * head.weights.array().square();
    const double grown = grown_sum(energy, variances.array(), reach);
    for (const double variance : output_variances(head, model)) from_values.add(variance * grown, static_cast<double>(model.block_dim));

    // |e^x - 1| <= |x| expm1(reach) / reach.
    const Eigen::ArrayXd curved = reach.unaryExpr([](double x) { return x > 0.0 ? math::expm1(x) / x : 1.0; });
    SumOfSquares from_keys;
    const RowMatrix influences = key_influences(head, variances.array().sqrt() * curved);
    const bool is_wide = influences.rows() < influences.cols();
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(gram_of(is_wide ? influences : RowMatrix(influences.transpose())),
                                                                Eigen::EigenvaluesOnly);
    for (const double variance : solver.eigenvalues()) from_keys.add(std::max(variance, 0.0), 1.0);
    const double keys = std::sqrt(from_keys.bound());

    // Given the keys' part, its product with the values' part is normal with a deviation of at most its length times theirs.
    const double mixed = 2.0 * std::sqrt(2.0 * kTail * from_values.largest) * keys;
    bounds[head.head] = std::sqrt(from_values.bound() + keys * keys + mixed) / shrinkage;
  });
  return bounds;
}

}  // namespace assay::oracles
