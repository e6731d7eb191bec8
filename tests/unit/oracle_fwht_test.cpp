// The transform: its matrix, its modes, a 113-bit evaluation, and its bound from both sides.
#include "oracles/fwht.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "oracles/codebook.h"
#include "tests/unit/bound_reference_kernel.h"
#include "tests/unit/oracle_quad.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace assay::tests::oracle_fwht_test {
namespace {

using oracles::FwhtMode;

double sign_of(std::size_t dim, std::size_t j) { return oracles::rotation_sign(static_cast<int>(dim), static_cast<int>(j)); }

std::vector<double> by_matrix(std::span<const float> data, std::size_t dim, FwhtMode mode) {
  const std::vector<double> h = oracles::hadamard_matrix(dim);
  std::vector<double> out(data.size());
  for (std::size_t first = 0; first < data.size(); first += dim) {
    for (std::size_t i = 0; i < dim; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < dim; ++j) {
        sum += h[i * dim + j] * static_cast<double>(data[first + j]) * (mode == FwhtMode::signs_first ? sign_of(dim, j) : 1.0);
      }
      out[first + i] = sum * (mode == FwhtMode::signs_last ? sign_of(dim, i) : 1.0);
    }
  }
  return out;
}

TEST(OracleFwht, MatrixIsSymmetricOrthogonalAndInNaturalOrder) {
  const std::size_t dim = 64;
  const std::vector<double> h = oracles::hadamard_matrix(dim);
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t k = 0; k < dim; ++k) {
      double dot = 0.0;
      for (std::size_t j = 0; j < dim; ++j) dot += h[i * dim + j] * h[k * dim + j];
      ASSERT_DOUBLE_EQ(dot, i == k ? 1.0 : 0.0);
      ASSERT_EQ(h[i * dim + k], h[k * dim + i]);
    }
  }
  // Sylvester: H_2n = [H_n H_n; H_n -H_n].
  EXPECT_GT(h[1 * dim + 2], 0.0);
  EXPECT_LT(h[1 * dim + 1], 0.0);
  EXPECT_LT(h[32 * dim + 32], 0.0);
  EXPECT_GT(h[32 * dim + 31], 0.0);
}

class OracleFwhtDim : public testing::TestWithParam<std::size_t> {};

TEST_P(OracleFwhtDim, FastTransformIsTheMatrixProductInEveryMode) {
  const std::size_t dim = GetParam();
  for (const char* fixture : {"gauss", "heavy", "outlier", "cancel"}) {
    const auto data = fixtures::find_fixture(fixture).fwht({.heads = 3, .head_dim = dim, .seed = 4});
    for (const FwhtMode mode : {FwhtMode::plain, FwhtMode::signs_first, FwhtMode::signs_last}) {
      const auto expected = oracles::fwht(data, dim, mode);
      const auto matrix = by_matrix(data, dim, mode);
      for (std::size_t j = 0; j < data.size(); ++j) ASSERT_NEAR(expected.value[j], matrix[j], 1e-13 * expected.magnitude[j]);
    }
  }
}

TEST_P(OracleFwhtDim, OracleErrsLessThanAThousandthOfTheSmallestBound) {
  const std::size_t dim = GetParam();
  for (const char* fixture : {"gauss", "uniform", "needle", "cancel", "tiny", "large"}) {
    const auto data = fixtures::find_fixture(fixture).fwht({.heads = 2, .head_dim = dim, .seed = 8});
    const auto expected = oracles::fwht(data, dim, FwhtMode::plain);
    for (std::size_t i = 0; i < data.size(); ++i) {
      Quad sum = 0;
      for (std::size_t j = 0; j < dim; ++j) {
        const Quad x = data[i / dim * dim + j];
        sum += std::popcount((i % dim) & j) % 2 == 0 ? x : -x;
      }
      const auto error = static_cast<double>(quad_abs(sum / quad_sqrt(static_cast<double>(dim)) - static_cast<Quad>(expected.value[i])));
      ASSERT_LE(error, 1e-3 * expected.bound[i]) << fixture << " " << i;
    }
  }
}

TEST_P(OracleFwhtDim, InverseRotationUndoesTheRotation) {
  const std::size_t dim = GetParam();
  const auto data = fixtures::find_fixture("gauss").fwht({.heads = 2, .head_dim = dim, .seed = 6});
  std::vector<double> turned(data.begin(), data.end());
  oracles::fwht_in_place(turned, dim, FwhtMode::signs_first);
  oracles::fwht_in_place(turned, dim, FwhtMode::signs_last);
  for (std::size_t j = 0; j < data.size(); ++j) ASSERT_NEAR(turned[j], static_cast<double>(data[j]), 1e-13);
}

TEST_P(OracleFwhtDim, OneHotGivesARowAndConstantGivesOneHot) {
  const std::size_t dim = GetParam();
  const double root = std::sqrt(static_cast<double>(dim));
  std::vector<float> data(dim, 0.0F);
  data[dim / 2] = 3.0F;
  const auto row = oracles::fwht(data, dim, FwhtMode::plain);
  for (std::size_t j = 0; j < dim; ++j) ASSERT_DOUBLE_EQ(row.value[j], (j < dim / 2 ? 3.0 : -3.0) / root);
  std::fill(data.begin(), data.end(), 2.0F);
  const auto peak = oracles::fwht(data, dim, FwhtMode::plain);
  for (std::size_t j = 0; j < dim; ++j) ASSERT_NEAR(peak.value[j], j == 0 ? 2.0 * root : 0.0, 1e-12);
}

// The contract in float; `ascending` strides or descending ones; the last step may be left out or a sign be wrong.
enum class FwhtMistake { none, no_scaling, one_sign, last_stride_lost, signs_at_wrong_end };

std::vector<float> reference_fwht(std::vector<float> data, std::size_t dim, FwhtMode mode, bool ascending, FwhtMistake mistake) {
  const FwhtMode other = mode == FwhtMode::signs_first ? FwhtMode::signs_last : FwhtMode::signs_first;
  const FwhtMode used = mistake == FwhtMistake::signs_at_wrong_end && mode != FwhtMode::plain ? other : mode;
  const auto signs = [&] {
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (sign_of(dim, i % dim) < 0.0 && !(mistake == FwhtMistake::one_sign && i % dim == 7)) data[i] = -data[i];
    }
  };
  if (used == FwhtMode::signs_first) signs();
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
  for (std::size_t first = 0; first < data.size(); first += dim) {
    for (std::size_t step = 1; step < dim; step *= 2) {
      if (mistake == FwhtMistake::last_stride_lost && step * 2 == dim) continue;
      const std::size_t stride = ascending ? step : dim / 2 / step;
      for (std::size_t i = 0; i < dim; ++i) {
        if ((i & stride) != 0) continue;
        const float a = data[first + i];
        const float b = data[first + i + stride];
        data[first + i] = a + b;
        data[first + i + stride] = a - b;
      }
    }
    for (std::size_t i = 0; i < dim && mistake != FwhtMistake::no_scaling; ++i) data[first + i] *= scale;
  }
  if (used == FwhtMode::signs_last) signs();
  return data;
}

TEST_P(OracleFwhtDim, BoundHoldsForRightKernelsOnEveryFixtureAndFailsMistakes) {
  const std::size_t dim = GetParam();
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.fwht == nullptr) continue;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto data = fixture.fwht({.heads = 5, .head_dim = dim, .seed = seed});
      for (const FwhtMode mode : {FwhtMode::plain, FwhtMode::signs_first, FwhtMode::signs_last}) {
        const auto expected = oracles::fwht(data, dim, mode);
        for (const bool ascending : {true, false}) {
          const auto right = harness::judge(reference_fwht(data, dim, mode, ascending, FwhtMistake::none), expected);
          ASSERT_TRUE(right.passed()) << fixture.name << " ratio " << right.max_ratio;
        }
      }
    }
  }
  const auto data = fixtures::find_fixture("gauss").fwht({.heads = 2, .head_dim = dim, .seed = 1});
  for (const FwhtMistake mistake :
       {FwhtMistake::no_scaling, FwhtMistake::one_sign, FwhtMistake::last_stride_lost, FwhtMistake::signs_at_wrong_end}) {
    const auto wrong =
        harness::judge(reference_fwht(data, dim, FwhtMode::signs_first, true, mistake), oracles::fwht(data, dim, FwhtMode::signs_first));
    EXPECT_GT(wrong.above_bound, 0U) << static_cast<int>(mistake);
  }
}

INSTANTIATE_TEST_SUITE_P(Dims, OracleFwhtDim, testing::Values(256U, 512U));

TEST(OracleFwht, SmallSizesAreMatrixProducts) {
  const std::vector<float> data{1.0F, 2.0F, 3.0F, 4.0F};
  const auto y = oracles::fwht(data, 4, FwhtMode::plain).value;
  const std::vector<double> by_hand{5.0, -1.0, -2.0, 0.0};  // sums 10, -2, -4, 0 over sqrt(4)
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(y[i], by_hand[i]);
}

TEST(OracleFwht, Refuses) {
  EXPECT_THROW((void)oracles::fwht(std::vector<float>(300), 300, FwhtMode::plain), std::invalid_argument);
  EXPECT_THROW((void)oracles::fwht(std::vector<float>(300), 256, FwhtMode::plain), std::invalid_argument);
  EXPECT_THROW((void)oracles::fwht(std::vector<float>(64), 64, FwhtMode::signs_first), std::invalid_argument);
  std::vector<float> bad(256);
  bad[3] = std::numeric_limits<float>::infinity();
  EXPECT_THROW((void)oracles::fwht(bad, 256, FwhtMode::plain), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::oracle_fwht_test
