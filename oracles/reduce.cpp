// The exact merge of stored partials, and its bound.
#include "oracles/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "math/functions.h"

namespace assay::oracles {

namespace {

void require_domain(const PartialsShape& shape, std::span<const float> raw) {
  if (shape.rows == 0 || shape.nwg == 0 || shape.head_dim == 0 || shape.head_dim % 4 != 0) {
    throw std::invalid_argument(
        fmt::format("no partials with {} rows, {} workgroups and head_dim {}", shape.rows, shape.nwg, shape.head_dim));
  }
  if (raw.size() != shape.size()) {
    throw std::invalid_argument(fmt::format("partials of {} rows, {} workgroups and head_dim {} are {} floats, not {}", shape.rows,
                                            shape.nwg, shape.head_dim, shape.size(), raw.size()));
  }
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (!std::isfinite(raw[i])) throw std::invalid_argument(fmt::format("partials hold {} at float {}", raw[i], i));
  }
  for (std::size_t row = 0; row < shape.rows; ++row) {
    for (std::size_t w = 0; w < shape.nwg; ++w) {
      const float sum = raw[shape.sum_index(row, w)];
      if (sum < 0.0F) throw std::invalid_argument(fmt::format("S of row {} workgroup {} is {}", row, w, sum));
      for (std::size_t j = 0; sum == 0.0F && j < shape.head_dim; ++j) {
        const float o = raw[shape.output_index(row, w, j)];
        if (o != 0.0F) throw std::invalid_argument(fmt::format("row {} workgroup {} has S = 0 but O[{}] = {}", row, w, j, o));
      }
    }
  }
}

}  // namespace

// Long because it follows the derivation in README.md, "`reduce`", term by term.
Expected reduce(const PartialsShape& shape, std::span<const float> raw, const ArithmeticProfile& profile) {
  require_domain(shape, raw);
  const std::size_t nwg = shape.nwg;
  const double u = kFloatUnit;
  const double depth = static_cast<double>(nwg);  // the product with the factor, then nwg - 1 sums
  const double gamma_sum = gamma(depth);
  const double zeta = gamma_sum / (1.0 - gamma_sum);
  const double gamma_output = gamma(depth + std::max(profile.reciprocal_error + 1.0, profile.divide_error));

  Expected expected;
  const std::size_t count = shape.rows * shape.head_dim;
  expected.value.assign(count, 0.0);
  expected.bound.assign(count, 0.0);
  expected.magnitude.assign(count, 0.0);

  std::vector<double> factor(nwg);
  std::vector<double> slack(nwg);  // f_w expm1(r_w)
  std::vector<double> sums(nwg);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t w = 0; w < nwg; ++w) maximum = std::max(maximum, static_cast<double>(raw[shape.max_index(row, w)]));
    double total = 0.0;
    double smallest_total = 0.0;
    double total_slack = 0.0;
    for (std::size_t w = 0; w < nwg; ++w) {
      const double distance = maximum - static_cast<double>(raw[shape.max_index(row, w)]);
      sums[w] = static_cast<double>(raw[shape.sum_index(row, w)]);
      factor[w] = math::exp(-distance);
      // Beyond 150 the factor is below 2^-216: what its relative error could do is far inside the underflow term, and the
      // distance of an idle workgroup (2^127) would overflow here.
      const double reach = std::min(distance, 150.0);
      const double e = u * (profile.exp_error + profile.exp_error_per_unit * reach * (1.0 + u));
      const double r = u * reach + e / (1.0 - e) + profile.eta_add;
      slack[w] = factor[w] * math::expm1(r);
      total += factor[w] * sums[w];
      total_slack += slack[w] * sums[w];
      smallest_total += factor[w] * sums[w] * math::exp(-r);
    }
    if (!(total > 0.0)) continue;  // all workgroups are idle: the kernel writes exactly 0
    for (std::size_t j = 0; j < shape.head_dim; ++j) {
      double weighted = 0.0;
      double magnitude = 0.0;
      for (std::size_t w = 0; w < nwg; ++w) {
        const double o = static_cast<double>(raw[shape.output_index(row, w, j)]);
        weighted += factor[w] * o;
        magnitude += factor[w] * std::abs(o);
      }
      const double value = weighted / total;
      double from_weights = 0.0;
      double underflow = 0.0;
      for (std::size_t w = 0; w < nwg; ++w) {
        const double o = static_cast<double>(raw[shape.output_index(row, w, j)]);
        from_weights += slack[w] * std::abs(o - value * sums[w]);
        underflow += std::abs(o - value * sums[w]);
      }
      from_weights /= smallest_total;
      const double largest_magnitude = (magnitude + std::abs(value) * total_slack) / smallest_total + from_weights;
      // exp (shared by O and S), the products with O and with S, their sums, the final product.
      const double terms = static_cast<double>(nwg);
      const double absolute =
          (profile.eta * (underflow + terms + std::abs(value) * terms) + profile.eta_add * (terms + std::abs(value) * terms) * 2.0) /
              smallest_total +
          profile.eta;
      const std::size_t index = row * shape.head_dim + j;
      expected.value[index] = value;
      expected.magnitude[index] = magnitude / total;
      expected.bound[index] =
          from_weights + (std::abs(value) + from_weights) * zeta + (1.0 + zeta) * gamma_output * largest_magnitude + absolute;
    }
  }
  return expected;
}

}  // namespace assay::oracles
