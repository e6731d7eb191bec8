// Fixtures of reduce and fwht: each shows a mistake that `gauss` lets pass. (For decode attention: bound_attention.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "oracles/fwht.h"
#include "oracles/reduce.h"

namespace assay::tests::fixture_catches_test {
namespace {

enum class Mistake {
  none,
  maximum_from_zero,
  maximum_from_half,
  maximum_from_floor,  // from -65200: above what masks and idle workgroups leave, so it seems safe
  faint_dropped,       // workgroups that weigh less than e^-16 are skipped
  idle_counts,         // S of an idle workgroup taken for 1
  flushed,             // subnormal results are zero
  half_sum,            // S summed in half
  largest_limited,     // weights relative to the first workgroup, limited to e^10 so that they cannot overflow
  equal_is_merged,     // workgroups of equal maximum taken for one
  zero_is_skipped,     // a butterfly of the first step left out where its first operand is 0
  clamped,             // inputs limited to 10
  output_clamped,      // outputs limited to 10
  scaled_by_norm,      // each row divided by its norm, from squares in float, and multiplied with it at the end
};

struct Catch {
  const char* fixture;
  Mistake mistake;
};

float flush(float x, Mistake mistake) { return mistake == Mistake::flushed && std::fpclassify(x) == FP_SUBNORMAL ? 0.0F : x; }

// The reduce contract in float.
std::vector<float> reduced(const oracles::PartialsShape& shape, const std::vector<float>& raw, Mistake mistake) {
  std::vector<float> output(shape.rows * shape.head_dim);
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const auto maximum = [&](std::size_t w) { return raw[shape.max_index(row, w)]; };
    const auto sum = [&](std::size_t w) {
      const float s = raw[shape.sum_index(row, w)];
      return mistake == Mistake::idle_counts && s == 0.0F ? 1.0F : s;
    };
    float largest = maximum(0);
    if (mistake == Mistake::maximum_from_zero) largest = 0.0F;
    if (mistake == Mistake::maximum_from_half) largest = -32752.0F;
    if (mistake == Mistake::maximum_from_floor) largest = -65200.0F;
    for (std::size_t w = 0; w < shape.nwg; ++w) largest = std::max(largest, maximum(w));
    if (mistake == Mistake::idle_counts) largest = std::max(largest, 0.0F);
    std::vector<float> factor(shape.nwg);
    for (std::size_t w = 0; w < shape.nwg; ++w) {
      const bool is_idle = raw[shape.sum_index(row, w)] == 0.0F;
      factor[w] = mistake == Mistake::idle_counts && is_idle ? 1.0F : std::exp(maximum(w) - largest);
      if (mistake == Mistake::largest_limited) factor[w] = std::exp(std::min(maximum(w) - maximum(0), 10.0F));
      if (mistake == Mistake::faint_dropped && factor[w] < std::exp(-16.0F)) factor[w] = 0.0F;
      for (std::size_t before = 0; mistake == Mistake::equal_is_merged && before < w; ++before) {
        if (maximum(before) == maximum(w)) factor[w] = 0.0F;
      }
    }
    float total = 0.0F;
    for (std::size_t w = 0; w < shape.nwg; ++w) {
      total += flush(sum(w) * factor[w], mistake);
      if (mistake == Mistake::half_sum && total > 65504.0F) total = std::numeric_limits<float>::infinity();
    }
    const float scale = total == 0.0F ? 0.0F : 1.0F / total;
    for (std::size_t j = 0; j < shape.head_dim; ++j) {
      float o = 0.0F;
      for (std::size_t w = 0; w < shape.nwg; ++w) o += flush(raw[shape.output_index(row, w, j)] * factor[w], mistake);
      output[row * shape.head_dim + j] = flush(o * scale, mistake);
    }
  }
  return output;
}

std::vector<float> transformed(std::vector<float> data, std::size_t dim, Mistake mistake) {
  const auto root = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)));
  for (std::size_t first = 0; first < data.size(); first += dim) {
    float* row = data.data() + first;
    float squares = 0.0F;
    for (std::size_t i = 0; i < dim; ++i) {
      row[i] = flush(row[i], mistake);
      if (mistake == Mistake::clamped) row[i] = std::clamp(row[i], -10.0F, 10.0F);
      squares += row[i] * row[i];
    }
    const float size = mistake == Mistake::scaled_by_norm ? std::sqrt(squares) : 1.0F;
    for (std::size_t i = 0; i < dim; ++i) row[i] /= size;
    for (std::size_t stride = 1; stride < dim; stride *= 2) {
      for (std::size_t i = 0; i < dim; ++i) {
        if ((i & stride) != 0) continue;
        const float a = row[i];
        const float b = row[i + stride];
        if (mistake == Mistake::zero_is_skipped && stride == 1 && a == 0.0F) continue;
        row[i] = flush(a + b, mistake);
        row[i + stride] = flush(a - b, mistake);
      }
    }
    for (std::size_t i = 0; i < dim; ++i) {
      row[i] = flush(row[i] * root * size, mistake);
      if (mistake == Mistake::output_clamped) row[i] = std::clamp(row[i], -10.0F, 10.0F);
    }
  }
  return data;
}

bool passes_reduce(const char* fixture, Mistake mistake) {
  const oracles::PartialsShape shape{.rows = 9, .head_dim = 256, .nwg = 8};
  const std::vector<float> raw = fixtures::find_fixture(fixture).reduce({.shape = shape, .seed = 5});
  return harness::judge(reduced(shape, raw, mistake), oracles::reduce(shape, raw)).passed();
}

bool passes_fwht(const char* fixture, Mistake mistake) {
  const std::vector<float> data = fixtures::find_fixture(fixture).fwht({.heads = 5, .head_dim = 256, .seed = 5});
  return harness::judge(transformed(data, 256, mistake), oracles::fwht(data, 256, oracles::FwhtMode::plain)).passed();
}

std::string name_of(const testing::TestParamInfo<Catch>& info) { return info.param.fixture; }

class ReduceFixture : public testing::TestWithParam<Catch> {};

TEST_P(ReduceFixture, ShowsAMistakeThatGaussDoesNot) {
  EXPECT_TRUE(passes_reduce(GetParam().fixture, Mistake::none));
  EXPECT_FALSE(passes_reduce(GetParam().fixture, GetParam().mistake));
  EXPECT_TRUE(passes_reduce("gauss", GetParam().mistake));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, ReduceFixture,
                         testing::Values(Catch{"needle", Mistake::largest_limited}, Catch{"uniform", Mistake::equal_is_merged},
                                         Catch{"cancel", Mistake::equal_is_merged}, Catch{"drift", Mistake::half_sum},
                                         Catch{"all_negative", Mistake::maximum_from_zero},
                                         Catch{"all_negative_deep", Mistake::maximum_from_half},
                                         Catch{"all_negative_floor", Mistake::maximum_from_floor}, Catch{"faint", Mistake::faint_dropped},
                                         Catch{"idle", Mistake::idle_counts}, Catch{"tiny", Mistake::flushed}),
                         name_of);

class FwhtFixture : public testing::TestWithParam<Catch> {};

TEST_P(FwhtFixture, ShowsAMistakeThatGaussDoesNot) {
  EXPECT_TRUE(passes_fwht(GetParam().fixture, Mistake::none));
  EXPECT_FALSE(passes_fwht(GetParam().fixture, GetParam().mistake));
  EXPECT_TRUE(passes_fwht("gauss", GetParam().mistake));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FwhtFixture,
                         testing::Values(Catch{"heavy", Mistake::clamped}, Catch{"outlier", Mistake::clamped},
                                         Catch{"needle", Mistake::zero_is_skipped}, Catch{"uniform", Mistake::output_clamped},
                                         Catch{"cancel", Mistake::output_clamped}, Catch{"large", Mistake::scaled_by_norm},
                                         Catch{"zero", Mistake::zero_is_skipped}, Catch{"tiny", Mistake::flushed}),
                         name_of);

// A fixture without a row above proves nothing yet.
TEST(FixtureCatches, EveryFixtureOfTheSmallFamiliesHasItsMistake) {
  std::size_t reduce = 0;
  std::size_t fwht = 0;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    reduce += fixture.reduce != nullptr ? 1 : 0;
    fwht += fixture.fwht != nullptr ? 1 : 0;
  }
  EXPECT_EQ(reduce, 10U + 1U);  // and gauss
  EXPECT_EQ(fwht, 8U + 1U);
}

}  // namespace
}  // namespace assay::tests::fixture_catches_test
