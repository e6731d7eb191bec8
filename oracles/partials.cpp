// The exact merge of partial results.
#include "oracles/partials.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "math/functions.h"
#include "oracles/arithmetic.h"

namespace assay::oracles {

double widen_nan(std::uint32_t word) {
  const std::uint64_t sign = word >> 31;
  const std::uint64_t mantissa = word & 0x7fffffu;
  return std::bit_cast<double>((sign << 63) | (std::uint64_t{0x7ff} << 52) | (mantissa << 29));
}

namespace {

template <typename Float>
MergedPartials merge(const PartialsShape& shape, std::span<const Float> raw, std::uint32_t unwritten_word) {
  if (shape.nwg == 0 || shape.head_dim % 4 != 0) {
    throw std::invalid_argument(fmt::format("no layout for partials with nwg {} and head_dim {}", shape.nwg, shape.head_dim));
  }
  if (raw.size() != shape.size()) {
    throw std::invalid_argument(fmt::format("partials of {} rows, {} workgroups and head_dim {} are {} floats, not {}", shape.rows,
                                            shape.nwg, shape.head_dim, shape.size(), raw.size()));
  }
  const double unwritten_value = widen_nan(unwritten_word);
  const auto unwritten = [&](std::size_t index) {
    if constexpr (std::is_same_v<Float, float>) return std::bit_cast<std::uint32_t>(raw[index]) == unwritten_word;
    return std::bit_cast<std::uint64_t>(static_cast<double>(raw[index])) == std::bit_cast<std::uint64_t>(unwritten_value);
  };

  MergedPartials merged;
  merged.output.resize(shape.rows * shape.head_dim);
  for (std::size_t index = 0; index < raw.size(); ++index) merged.unwritten_words += unwritten(index) ? 1U : 0U;

  std::vector<double> factor(shape.nwg);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    bool missing = false;
    double maximum = -std::numeric_limits<double>::infinity();
    for (std::size_t w = 0; w < shape.nwg; ++w) {
      missing = missing || unwritten(shape.sum_index(row, w)) || unwritten(shape.max_index(row, w));
      const double m = static_cast<double>(raw[shape.max_index(row, w)]);
      // A NaN maximum must reach the output, but std::max would drop it.
      maximum = m > maximum || std::isnan(m) ? m : maximum;
    }
    double sum = 0.0;
    for (std::size_t w = 0; w < shape.nwg; ++w) {
      factor[w] = math::exp(static_cast<double>(raw[shape.max_index(row, w)]) - maximum);
      sum += static_cast<double>(raw[shape.sum_index(row, w)]) * factor[w];
    }
    for (std::size_t j = 0; j < shape.head_dim; ++j) {
      double weighted = 0.0;
      bool element_missing = missing;
      for (std::size_t w = 0; w < shape.nwg; ++w) {
        const std::size_t index = shape.output_index(row, w, j);
        element_missing = element_missing || unwritten(index);
        weighted += static_cast<double>(raw[index]) * factor[w];
      }
      double& out = merged.output[row * shape.head_dim + j];
      if (element_missing) {
        out = unwritten_value;
      } else if (sum == 0.0) {
        // 0/0 of idle workgroups is 0 by the contract, but a missing sum with NaN in output or maxima must not become 0.
        out = std::isnan(weighted) ? weighted : 0.0;
      } else {
        out = weighted / sum;
      }
    }
  }
  return merged;
}

}  // namespace

MergedPartials merge_partials(const PartialsShape& shape, std::span<const float> raw, std::uint32_t unwritten_word) {
  return merge(shape, raw, unwritten_word);
}
MergedPartials merge_partials(const PartialsShape& shape, std::span<const double> raw, std::uint32_t unwritten_word) {
  return merge(shape, raw, unwritten_word);
}

void widen_for_merge(Expected& expected, std::size_t nwg) {
  // A term of the numerator: exp within an ulp of double (two roundings), its argument (one, absolute: |x| <= 745 before exp
  // vanishes), a product, nwg - 1 sums; the same again in the denominator; one division.
  const double rounding = gamma(2.0 * (2.0 + 745.0 + 1.0 + static_cast<double>(nwg)) + 1.0, 0x1p-53);
  for (std::size_t j = 0; j < expected.size(); ++j) {
    expected.bound[j] += rounding * (expected.magnitude[j] + expected.bound[j]) + std::numeric_limits<double>::denorm_min();
  }
}

}  // namespace assay::oracles
