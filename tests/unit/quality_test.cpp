// The figures of harness/quality by hand.
#include "harness/quality/quality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "oracles/fwht.h"
#include "oracles/quantize.h"

namespace assay::tests::quality_test {
namespace {

using namespace harness;

TEST(QualitySimilarity, OfRowsByHand) {
  const std::vector<double> exact = {3.0, 4.0, 0.0, 2.0};
  const std::vector<double> other = {3.0, 4.0, 2.0, 0.0};
  const Similarity similarity = compare_rows(exact, other, 2);
  EXPECT_DOUBLE_EQ(similarity.nrmse, std::sqrt(8.0 / 29.0));
  EXPECT_DOUBLE_EQ(similarity.worst_nrmse, std::sqrt(2.0));
  EXPECT_EQ(similarity.worst_row, 1U);
  EXPECT_DOUBLE_EQ(similarity.mean_cosine, 0.5);
  EXPECT_DOUBLE_EQ(similarity.percentile_cosine, 0.0);
}

TEST(QualitySimilarity, OfEqualAndOfVanishingRows) {
  const std::vector<double> zero = {0.0, 0.0};
  const std::vector<double> one = {1.0, 0.0};
  EXPECT_EQ(compare_rows(one, one, 2).nrmse, 0.0);
  EXPECT_EQ(compare_rows(one, one, 2).mean_cosine, 1.0);
  EXPECT_EQ(compare_rows(zero, zero, 2).nrmse, 0.0);
  EXPECT_EQ(compare_rows(zero, zero, 2).mean_cosine, 1.0);
  EXPECT_EQ(compare_rows(zero, one, 2).nrmse, std::numeric_limits<double>::infinity());
  EXPECT_EQ(compare_rows(zero, one, 2).mean_cosine, 0.0);
  EXPECT_EQ(compare_rows(one, zero, 2).nrmse, 1.0);
}

// 200 rows, three of them turned: the first percentile leaves two below it.
TEST(QualitySimilarity, FirstPercentileLeavesOneInAHundredBelow) {
  std::vector<double> exact(400, 1.0);
  std::vector<double> other = exact;
  for (const std::size_t row : {0U, 50U, 199U}) other[2 * row] = -1.0;
  EXPECT_NEAR(compare_rows(exact, other, 2).percentile_cosine, 0.0, 1e-15);
  other[0] = 1.0;
  EXPECT_NEAR(compare_rows(exact, other, 2).percentile_cosine, 1.0, 1e-15);
}

TEST(QualitySimilarity, RefusesWhatCannotBeCompared) {
  const std::vector<double> four(4), two(2);
  EXPECT_THROW(static_cast<void>(compare_rows({}, {}, 2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(compare_rows(four, two, 2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(compare_rows(four, four, 3)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(compare_rows(four, four, 0)), std::invalid_argument);
}

TEST(QualityCodebook, OnlyTheWidestTablesAreNotOptimal) {
  EXPECT_NEAR(codebook_quality(4).ratio(), 1.0, 1e-7);
  EXPECT_LT(codebook_quality(4).largest_residual, 1e-6);
  EXPECT_NEAR(codebook_quality(8).ratio(), 1.523434, 1e-6);
  EXPECT_GT(codebook_quality(8).largest_residual, 1e-3);
  EXPECT_THROW(static_cast<void>(codebook_quality(7)), std::invalid_argument);
}

QualityRequest small(int bits, std::size_t head_dim) {
  return {.head_dim = head_dim, .bits = bits, .heads = 16, .kv_heads = 4, .kv_len = 64, .seed = 1};
}

// The specification's promise: on gauss the prediction holds within a factor of 3. It does within a fifth.
TEST(QualityFixture, PredictionHoldsOnGaussAndEveryBitCounts) {
  for (const std::size_t head_dim : {256U, 512U}) {
    double before = std::numeric_limits<double>::infinity();
    for (const int bits : {4, 5, 6, 8}) {
      const FixtureQuality quality = fixture_quality(fixtures::find_fixture("gauss"), small(bits, head_dim));
      EXPECT_NEAR(quality.similarity.nrmse / quality.expected_nrmse, 1.0, 0.2) << bits;
      EXPECT_LT(quality.similarity.nrmse, 0.65 * before) << bits;
      EXPECT_LE(quality.similarity.percentile_cosine, quality.similarity.mean_cosine);
      EXPECT_GT(quality.similarity.mean_cosine, 0.98);
      EXPECT_GE(quality.similarity.worst_nrmse, quality.similarity.nrmse);
      before = quality.similarity.nrmse;
    }
  }
}

TEST(QualityFixture, EveryFixtureWithASourceLevelHasFigures) {
  std::size_t count = 0;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (!has_source_level(fixture)) {
      EXPECT_THROW(static_cast<void>(fixture_quality(fixture, small(8, 256))), std::invalid_argument) << fixture.name;
      continue;
    }
    ++count;
    const FixtureQuality quality = fixture_quality(fixture, small(8, 256));
    EXPECT_GT(quality.similarity.nrmse, 0.0) << fixture.name;
    EXPECT_TRUE(std::isfinite(quality.similarity.nrmse)) << fixture.name;
    EXPECT_TRUE(std::isfinite(quality.expected_nrmse)) << fixture.name;
  }
  EXPECT_GE(count, 15U);
}

// What is kept is what was quantised: the quantiser's own oracle makes the stored indices of it, and norms to the last bit of float.
TEST(QualityFixture, TheSourceQuantisesToWhatIsStored) {
  const oracles::DecodeShape shape{.heads = 2, .kv_heads = 2, .head_dim = 512, .kv_len = 9, .kv_capacity = 9, .scale = 0.044F};
  for (const char* name : {"gauss", "needle", "structured", "half_edge"}) {
    fixtures::DecodeRequest request{.shape = shape, .bits = 6, .norm_layout = oracles::NormLayout::one_per_block, .seed = 4};
    EXPECT_TRUE(fixtures::find_fixture(name).decode(request).k_source.empty());
    request.keeps_source = true;
    const fixtures::DecodeInputs inputs = fixtures::find_fixture(name).decode(request);
    std::vector<double> source = inputs.k_source;
    oracles::fwht_in_place(source, 512, oracles::FwhtMode::signs_last);
    const std::vector<float> rows(source.begin(), source.end());
    const oracles::QuantizedToken token = oracles::quantize({2 * 9, 512, 6, 1.0F}, rows);
    for (std::size_t i = 0; i < token.lowest.size(); ++i) {
      ASSERT_LE(token.lowest[i], inputs.k_codes[i]) << name << " " << i;
      ASSERT_GE(token.highest[i], inputs.k_codes[i]) << name << " " << i;
    }
    for (std::size_t i = 0; i < token.norms.size(); ++i) {
      ASSERT_NEAR(token.norms.value[i], static_cast<double>(inputs.k_norms[i]), token.norms.bound[i] + 1e-7 * token.norms.value[i]) << name;
    }
  }
}

}  // namespace
}  // namespace assay::tests::quality_test
