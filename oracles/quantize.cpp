// The indices and norms that a correct quantiser may produce.
#include "oracles/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "oracles/codebook.h"
#include "oracles/fwht.h"

namespace assay::oracles {
namespace {

constexpr std::size_t kNormBlock = 256;  // coordinates that share a norm

void require(const QuantizeShape& shape, std::span<const float> src) {
  if (shape.head_dim != 256 && shape.head_dim != 512) {
    throw std::invalid_argument(fmt::format("quantize: head_dim {} is neither 256 nor 512", shape.head_dim));
  }
  if (src.size() != shape.kv_heads * shape.head_dim || src.empty()) {
    throw std::invalid_argument(fmt::format("quantize: {} values for {} heads of head_dim {}", src.size(), shape.kv_heads, shape.head_dim));
  }
  if (shape.head_dim == 512 && !(shape.scale_factor_d512 > 0.0F && std::isfinite(shape.scale_factor_d512))) {
    throw std::invalid_argument(fmt::format("quantize: scale_factor_d512 is {}: it must be positive", shape.scale_factor_d512));
  }
}

// An interval that contains a computed number: [value - bound, value + bound].
struct Uncertain {
  double value;
  double bound;
};

// Whether a row is two coordinates of one size among zeros. Such a row's transform is 0 or twice that size everywhere, and the zeros
// are exact in float, before the normalisation or after it and in any order of sums, unless a product is fused with a sum.
bool is_pair(std::span<const float> row) {
  std::array<float, 2> pair = {};
  std::size_t count = 0;
  for (const float x : row) {
    if (x == 0.0F) continue;
    if (count == pair.size()) return false;
    pair[count++] = std::abs(x);
  }
  return count == pair.size() && pair[0] == pair[1];
}

// The possible float error of each coordinate of the rotation.
std::vector<double> rotation_errors(std::span<const float> src, const Expected& rotated, std::size_t head_dim,
                                    const ArithmeticProfile& profile) {
  std::vector<double> errors = rotated.bound;
  for (std::size_t first = 0; first < src.size(); first += head_dim) {
    const bool keeps_zeros = !profile.may_contract && is_pair(src.subspan(first, head_dim));
    for (std::size_t i = first; i < first + head_dim; ++i) {
      // The transform of a row of zeros is exactly zero, even if the bound allows for flushed sums.
      if (rotated.magnitude[i] == 0.0 || (keeps_zeros && rotated.value[i] == 0.0)) errors[i] = 0.0;
    }
  }
  return errors;
}

// ||y|| / root of a block whose coordinates carry the given errors. The root of a sum of squares with relative error g has relative error
// at most 1 - sqrt(1 - g) = g / (1 + sqrt(1 - g)), little more than half of it; squares that underflow take at most `lost` from the
// sum, or add it.
Uncertain norm_of(std::span<const double> y, std::span<const double> errors, double root, std::size_t sum_depth,
                  const ArithmeticProfile& profile) {
  const auto norm = [](std::span<const double> x) {
    double squares = 0.0;
    for (const double coordinate : x) squares += coordinate * coordinate;
    return std::sqrt(squares);
  };
  const double size = norm(y);
  const double count = static_cast<double>(y.size());
  // By the triangle inequality, a norm changes by at most the norm of the change.
  const double moved = norm(errors);
  const double of_sum = gamma(static_cast<double>(sum_depth));
  const double of_root = of_sum / (1.0 + std::sqrt(1.0 - of_sum));
  const double of_rest = gamma(profile.sqrt_error + profile.divide_error);  // the root itself, and the division by 16
  const double relative = of_root + of_rest + of_root * of_rest;
  const double lost = count * (profile.eta + profile.eta_add);
  // sqrt(s + d) - sqrt(s) is below sqrt(d), and below d / sqrt(s) where s is not small.
  const double from_underflow = std::min(std::sqrt(lost), size > 0.0 ? lost / size : std::numeric_limits<double>::infinity());
  const double bound = (moved + (size + moved) * relative + from_underflow * (1.0 + relative)) / root + profile.eta;
  return {size / root, size == 0.0 && moved == 0.0 ? 0.0 : bound};
}

// The factor that a block's coordinates are multiplied with: unit / norm, by reciprocal and product.
Uncertain factor_of(const Uncertain& norm, double unit, const ArithmeticProfile& profile) {
  const double factor = unit / norm.value;
  if (!(norm.bound < norm.value)) return {factor, std::numeric_limits<double>::infinity()};
  const double largest = unit / (norm.value - norm.bound) * (1.0 + gamma(profile.reciprocal_error + 1.0));
  return {factor, largest - factor};
}

}  // namespace

QuantizedToken quantize(const QuantizeShape& shape, std::span<const float> src, std::size_t sum_depth, const ArithmeticProfile& profile) {
  require(shape, src);
  const std::span<const float> centroids = codebook(shape.bits);
  const Expected rotated = fwht(src, shape.head_dim, FwhtMode::signs_first, profile);
  const std::vector<double> rotation_error = rotation_errors(src, rotated, shape.head_dim, profile);
  const std::size_t depth = sum_depth == 0 ? kNormBlock : std::min(profile.depth_of(sum_depth), kNormBlock);
  const double smallest = static_cast<double>(kSmallestNorm);
  const bool blocks = shape.head_dim > kNormBlock;
  const double unit = blocks ? static_cast<double>(shape.scale_factor_d512) : 16.0;
  const double root = blocks ? 16.0 : 1.0;

  QuantizedToken token;
  const std::size_t rows = src.size() / kNormBlock;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * kNormBlock;
    const std::span<const double> y(rotated.value.data() + first, kNormBlock);
    const std::span<const double> errors(rotation_error.data() + first, kNormBlock);
    const Uncertain norm = norm_of(y, errors, root, depth, profile);
    token.norms.value.push_back(norm.value);
    token.norms.bound.push_back(norm.bound);
    token.norms.magnitude.push_back(norm.value);

    // If it is uncertain on which side of the threshold the norm is, both 0 and the scaled coordinate are correct.
    const bool may_vanish = norm.value - norm.bound <= smallest;
    const bool must_vanish = norm.value + norm.bound <= smallest;
    const Uncertain factor = must_vanish ? Uncertain{0.0, 0.0} : factor_of(norm, unit, profile);
    for (std::size_t i = 0; i < kNormBlock; ++i) {
      const double scaled = y[i] * factor.value;
      const double largest = (std::abs(y[i]) + errors[i]) * (factor.value + factor.bound) * (1.0 + gamma(1.0)) + profile.eta;
      // Zero times any factor is zero: nothing underflows.
      const bool is_zero = must_vanish || (y[i] == 0.0 && errors[i] == 0.0);
      const double reach = is_zero ? 0.0 : largest - std::abs(scaled);
      const double low = may_vanish ? std::min(0.0, scaled - reach) : scaled - reach;
      const double high = may_vanish ? std::max(0.0, scaled + reach) : scaled + reach;
      const double input = norm.value <= smallest ? 0.0 : scaled;
      token.inputs.value.push_back(input);
      token.inputs.bound.push_back(std::max(input - low, high - input));
      token.inputs.magnitude.push_back(factor.value * rotated.magnitude[first]);
      token.lowest.push_back(quantize_coordinate(centroids, low));
      token.highest.push_back(quantize_coordinate(centroids, high));
    }
  }
  return token;
}

}  // namespace assay::oracles
