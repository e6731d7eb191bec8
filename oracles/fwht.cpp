// The exact Walsh-Hadamard transform, and its bound.
#include "oracles/fwht.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "oracles/codebook.h"
#include "oracles/products.h"

namespace assay::oracles {

namespace {

// Up to this size the definition itself is fast enough to be the oracle.
constexpr std::size_t kMatrixProductDim = 64;

void require_dim(std::size_t head_dim, FwhtMode mode) {
  const bool power_of_two = std::has_single_bit(head_dim) && head_dim <= 4096;
  const bool signed_dim = head_dim == 256 || head_dim == 512;
  if (!power_of_two || (mode != FwhtMode::plain && !signed_dim)) {
    throw std::invalid_argument(fmt::format("no Walsh-Hadamard transform of head_dim {} in mode {}", head_dim, static_cast<int>(mode)));
  }
}

void apply_signs(std::span<double> data, std::size_t head_dim) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] *= rotation_sign(static_cast<int>(head_dim), static_cast<int>(i % head_dim));
  }
}

void butterflies(std::span<double> row) {
  for (std::size_t stride = 1; stride < row.size(); stride *= 2) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if ((i & stride) != 0) continue;
      const double a = row[i];
      const double b = row[i + stride];
      row[i] = a + b;
      row[i + stride] = a - b;
    }
  }
}

}  // namespace

std::vector<double> hadamard_matrix(std::size_t dim) {
  require_dim(dim, FwhtMode::plain);
  const double size = 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> matrix(dim * dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = 0; j < dim; ++j) matrix[i * dim + j] = std::popcount(i & j) % 2 == 0 ? size : -size;
  }
  return matrix;
}

void fwht_in_place(std::span<double> data, std::size_t head_dim, FwhtMode mode) {
  require_dim(head_dim, mode);
  if (data.size() % head_dim != 0) {
    throw std::invalid_argument(fmt::format("{} values are not a multiple of head_dim {}", data.size(), head_dim));
  }
  if (mode == FwhtMode::signs_first) apply_signs(data, head_dim);
  if (head_dim <= kMatrixProductDim) {
    const std::vector<double> matrix = hadamard_matrix(head_dim);
    for (std::size_t first = 0; first < data.size(); first += head_dim) {
      const std::vector<double> row(data.begin() + static_cast<std::ptrdiff_t>(first),
                                    data.begin() + static_cast<std::ptrdiff_t>(first + head_dim));
      for (std::size_t i = 0; i < head_dim; ++i) data[first + i] = dot(matrix.data() + i * head_dim, row.data(), head_dim);
    }
  } else {
    const double size = std::sqrt(static_cast<double>(head_dim));
    for (std::size_t first = 0; first < data.size(); first += head_dim) {
      const std::span<double> row = data.subspan(first, head_dim);
      butterflies(row);
      for (double& x : row) x /= size;
    }
  }
  if (mode == FwhtMode::signs_last) apply_signs(data, head_dim);
}

Expected fwht(std::span<const float> data, std::size_t head_dim, FwhtMode mode, const ArithmeticProfile& profile) {
  require_dim(head_dim, mode);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (!std::isfinite(data[i])) throw std::invalid_argument(fmt::format("input of the transform is {} at element {}", data[i], i));
  }
  Expected expected;
  expected.value.assign(data.begin(), data.end());
  fwht_in_place(expected.value, head_dim, mode);
  expected.bound.resize(data.size());
  expected.magnitude.resize(data.size());

  const double dim = static_cast<double>(head_dim);
  const double root = std::sqrt(dim);
  const double levels = static_cast<double>(std::bit_width(head_dim) - 1);
  const double relative = gamma(levels + 1.0 + profile.rsqrt_error);
  // An output is a tree of D leaves: D - 1 sums may each lose eta_add, so may each leaf; then one product.
  const double absolute = profile.eta_add * 2.0 * dim / root + profile.eta;
  for (std::size_t first = 0; first < data.size(); first += head_dim) {
    double sum = 0.0;
    for (std::size_t i = 0; i < head_dim; ++i) sum += std::abs(static_cast<double>(data[first + i]));
    for (std::size_t i = 0; i < head_dim; ++i) {
      expected.magnitude[first + i] = sum / root;
      expected.bound[first + i] = relative * sum / root + absolute;
    }
  }
  return expected;
}

}  // namespace assay::oracles
