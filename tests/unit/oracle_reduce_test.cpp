// Partials: layout, exact merge, the reduce oracle against 113 bits, and its bound from both sides.
#include "oracles/reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "metal/buffer.h"
#include "oracles/partials.h"
#include "tests/unit/oracle_quad.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

namespace assay::tests::oracle_reduce_test {
namespace {

using oracles::PartialsShape;

constexpr float kIdleMaximum = -std::numeric_limits<float>::max() / 2.0F;

std::vector<PartialsShape> shapes() {
  return {{.rows = 3, .head_dim = 256, .nwg = 2},
          {.rows = 9, .head_dim = 256, .nwg = 3},
          {.rows = 2, .head_dim = 512, .nwg = 16},
          {.rows = 10, .head_dim = 256, .nwg = 32}};
}

TEST(OraclePartials, LayoutIsTheContracts) {
  // float4 number NWG * i + w of row r starts at r * D/4 * NWG; the pairs follow behind all outputs.
  const PartialsShape shape{.rows = 3, .head_dim = 256, .nwg = 5};
  EXPECT_EQ(shape.output_index(0, 0, 0), 0U);
  EXPECT_EQ(shape.output_index(0, 1, 0), 4U);
  EXPECT_EQ(shape.output_index(0, 0, 4), 20U);
  EXPECT_EQ(shape.output_index(2, 3, 7), 2U * 64 * 5 * 4 + (1 * 5 + 3) * 4 + 3);
  EXPECT_EQ(shape.sum_index(0, 0), 3U * 256 * 5);
  EXPECT_EQ(shape.sum_index(1, 2), 3U * 256 * 5 + 10 + 4);
  EXPECT_EQ(shape.max_index(1, 2), shape.sum_index(1, 2) + 1);
  std::vector<int> hits(shape.size());
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t w = 0; w < 5; ++w) {
      for (std::size_t j = 0; j < 256; ++j) ++hits[shape.output_index(r, w, j)];
      ++hits[shape.sum_index(r, w)];
      ++hits[shape.max_index(r, w)];
    }
  }
  EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](int n) { return n == 1; }));
}

TEST(OraclePartials, ByHand) {
  // Weights 1 and e^-1 of sums 2 and 4: (2 a + 4 b e^-1) / (2 + 4 e^-1) with O = S * value.
  const PartialsShape shape{.rows = 1, .head_dim = 4, .nwg = 2};
  const std::vector<float> raw{2, 4, 6, 8, 40, 40, 40, 40, 2, 7, 4, 6};
  const auto merged = oracles::merge_partials(shape, raw, metal::kPoisonWord);
  const double f = std::exp(-1.0);
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(merged.output[j], (2.0 * static_cast<double>(j + 1) + 40.0 * f) / (2.0 + 4.0 * f), 1e-14);
  }
  EXPECT_EQ(merged.unwritten_words, 0U);
}

TEST(OraclePartials, DoublesMergeAsFloatsDo) {
  const PartialsShape shape{.rows = 2, .head_dim = 256, .nwg = 3};
  const std::vector<float> raw = fixtures::find_fixture("gauss").reduce({.shape = shape, .seed = 2});
  std::vector<double> wide(raw.begin(), raw.end());
  EXPECT_EQ(oracles::merge_partials(shape, wide, metal::kPoisonWord).output,
            oracles::merge_partials(shape, raw, metal::kPoisonWord).output);
  // What no float holds counts.
  wide[shape.output_index(1, 2, 17)] *= 1.0 + 0x1p-40;
  const auto moved = oracles::merge_partials(shape, wide, metal::kPoisonWord).output;
  EXPECT_NE(moved[256 + 17], oracles::merge_partials(shape, raw, metal::kPoisonWord).output[256 + 17]);
  wide[shape.output_index(1, 2, 17)] = oracles::widen_nan(metal::kPoisonWord);
  const auto merged = oracles::merge_partials(shape, wide, metal::kPoisonWord);
  EXPECT_EQ(merged.unwritten_words, 1U);
  EXPECT_EQ(harness::judge(merged.output, oracles::reduce(shape, raw)).not_written, 1U);
}

TEST(OraclePartials, IdleWorkgroupsCountNothingAndAllIdleIsZero) {
  const PartialsShape shape{.rows = 2, .head_dim = 4, .nwg = 2};
  const float m = kIdleMaximum;
  const std::vector<float> raw{3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, -90, 0, m, 0, m, 0, m};
  EXPECT_EQ(oracles::merge_partials(shape, raw, metal::kPoisonWord).output, (std::vector<double>{1.5, 1.5, 1.5, 1.5, 0, 0, 0, 0}));
}

TEST(OraclePartials, WhatWasNotWrittenOrIsNanReachesTheJudge) {
  const PartialsShape shape{.rows = 2, .head_dim = 256, .nwg = 3};
  const std::vector<float> good = fixtures::find_fixture("gauss").reduce({.shape = shape, .seed = 2});
  const auto expected = oracles::reduce(shape, good);
  const auto verdict = [&](std::size_t index, float value) {
    std::vector<float> raw = good;
    raw[index] = value;
    return harness::judge(oracles::merge_partials(shape, raw, metal::kPoisonWord).output, expected);
  };
  const auto poison = std::bit_cast<float>(metal::kPoisonWord);
  EXPECT_EQ(verdict(shape.output_index(1, 2, 17), poison).not_written, 1U);
  EXPECT_EQ(verdict(shape.sum_index(1, 0), poison).not_written, 256U);
  EXPECT_EQ(verdict(shape.max_index(0, 1), poison).not_written, 256U);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(verdict(shape.output_index(1, 2, 17), nan).nans, 1U);
  EXPECT_EQ(verdict(shape.max_index(0, 0), nan).nans, 256U);
  EXPECT_EQ(verdict(shape.max_index(0, 1), nan).nans, 256U);
  EXPECT_TRUE(harness::judge(oracles::merge_partials(shape, good, metal::kPoisonWord).output, expected).passed());
}

TEST(OraclePartials, WidenedPoisonIsWhatTheProcessorMakesOfIt) {
  const volatile float poison = std::bit_cast<float>(metal::kPoisonWord);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(poison)),
            std::bit_cast<std::uint64_t>(oracles::widen_nan(metal::kPoisonWord)));
}

enum class ReduceMistake { none, first_maximum, no_factor_on_sum, last_lost, idle_counts, not_normalised };

// The contract in float, workgroups summed in index order (`forward`), backwards, or as a butterfly over 32 lanes.
enum class LaneOrder { forward, backward, butterfly };

std::vector<float> reference_reduce(const PartialsShape& shape, std::span<const float> raw, LaneOrder order, ReduceMistake mistake) {
  std::vector<float> out(shape.rows * shape.head_dim);
  const std::size_t nwg = mistake == ReduceMistake::last_lost ? shape.nwg - 1 : shape.nwg;
  const auto add = [&](std::vector<float> terms) {
    terms.resize(32, 0.0F);
    if (order == LaneOrder::backward) std::reverse(terms.begin(), terms.end());
    if (order == LaneOrder::butterfly) {
      for (std::size_t stride = 1; stride < 32; stride *= 2) {
        const std::vector<float> before = terms;
        for (std::size_t i = 0; i < 32; ++i) terms[i] = before[i] + before[i ^ stride];
      }
      return terms[0];
    }
    float sum = 0.0F;
    for (const float term : terms) sum += term;
    return sum;
  };
  for (std::size_t row = 0; row < shape.rows; ++row) {
    float maximum = raw[shape.max_index(row, 0)];
    for (std::size_t w = 1; w < nwg && mistake != ReduceMistake::first_maximum; ++w)
      maximum = std::max(maximum, raw[shape.max_index(row, w)]);
    std::vector<float> factor(nwg);
    std::vector<float> sums(nwg);
    for (std::size_t w = 0; w < nwg; ++w) {
      const float m = raw[shape.max_index(row, w)];
      factor[w] = static_cast<float>(std::exp(static_cast<double>(m - maximum)));
      if (mistake == ReduceMistake::idle_counts && m == kIdleMaximum) factor[w] = 1.0F;
      const float s = mistake == ReduceMistake::idle_counts && m == kIdleMaximum ? 1.0F : raw[shape.sum_index(row, w)];
      sums[w] = s * (mistake == ReduceMistake::no_factor_on_sum ? 1.0F : factor[w]);
    }
    const float sum = add(sums);
    const float inverse = sum == 0.0F ? 0.0F : (mistake == ReduceMistake::not_normalised ? 1.0F : 1.0F / sum);
    for (std::size_t j = 0; j < shape.head_dim; ++j) {
      std::vector<float> terms(nwg);
      for (std::size_t w = 0; w < nwg; ++w) terms[w] = raw[shape.output_index(row, w, j)] * factor[w];
      out[row * shape.head_dim + j] = add(terms) * inverse;
    }
  }
  return out;
}

TEST(OracleReduce, RightArithmeticStaysInsideTheBoundOnEveryFixture) {
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.reduce == nullptr) continue;
    for (const PartialsShape& shape : shapes()) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const auto raw = fixture.reduce({.shape = shape, .seed = seed});
        const auto expected = oracles::reduce(shape, raw);
        for (const LaneOrder order : {LaneOrder::forward, LaneOrder::backward, LaneOrder::butterfly}) {
          const auto judgement = harness::judge(reference_reduce(shape, raw, order, ReduceMistake::none), expected);
          ASSERT_TRUE(judgement.passed()) << fixture.name << " nwg " << shape.nwg << " seed " << seed << " ratio " << judgement.max_ratio
                                          << " at " << judgement.max_ratio_index;
        }
      }
    }
  }
}

TEST(OracleReduce, PlantedMistakesExceedIt) {
  const PartialsShape shape{.rows = 4, .head_dim = 256, .nwg = 16};
  const auto exceeds = [&](const char* fixture, ReduceMistake mistake) {
    const auto raw = fixtures::find_fixture(fixture).reduce({.shape = shape, .seed = 3});
    const auto judgement = harness::judge(reference_reduce(shape, raw, LaneOrder::butterfly, mistake), oracles::reduce(shape, raw));
    return judgement.above_bound + judgement.nans + judgement.infs;
  };
  EXPECT_GT(exceeds("gauss", ReduceMistake::no_factor_on_sum), 0U);
  EXPECT_GT(exceeds("uniform", ReduceMistake::last_lost), 0U);
  EXPECT_GT(exceeds("idle", ReduceMistake::idle_counts), 0U);
  EXPECT_GT(exceeds("gauss", ReduceMistake::not_normalised), 0U);
  // A wrong reference maximum cancels in exact arithmetic; it shows where its factors leave the range of float.
  EXPECT_GT(exceeds("idle", ReduceMistake::first_maximum), 0U);
}

TEST(OracleReduce, OracleErrsLessThanAThousandthOfTheSmallestBound) {
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.reduce == nullptr) continue;
    for (const PartialsShape& shape : shapes()) {
      const auto raw = fixture.reduce({.shape = shape, .seed = 9});
      const auto expected = oracles::reduce(shape, raw);
      for (std::size_t row = 0; row < shape.rows; ++row) {
        Quad maximum = raw[shape.max_index(row, 0)];
        for (std::size_t w = 0; w < shape.nwg; ++w) maximum = std::max<Quad>(maximum, raw[shape.max_index(row, w)]);
        std::vector<Quad> factor(shape.nwg);
        Quad sum = 0;
        for (std::size_t w = 0; w < shape.nwg; ++w) {
          factor[w] = quad_exp(static_cast<Quad>(raw[shape.max_index(row, w)]) - maximum);
          sum += factor[w] * static_cast<Quad>(raw[shape.sum_index(row, w)]);
        }
        for (std::size_t j = 0; j < shape.head_dim; ++j) {
          Quad total = 0;
          for (std::size_t w = 0; w < shape.nwg; ++w) total += factor[w] * static_cast<Quad>(raw[shape.output_index(row, w, j)]);
          const Quad exact = sum == 0 ? 0 : total / sum;
          const std::size_t index = row * shape.head_dim + j;
          ASSERT_LE(static_cast<double>(quad_abs(exact - static_cast<Quad>(expected.value[index]))), 1e-3 * expected.bound[index])
              << fixture.name << " row " << row << " element " << j;
        }
      }
    }
  }
}

TEST(OracleReduce, OneWorkgroupIsAQuotientAndEqualOnesAMean) {
  const PartialsShape shape{.rows = 1, .head_dim = 4, .nwg = 1};
  const auto expected = oracles::reduce(shape, std::vector<float>{3, 6, 9, -12, 3, 17});
  EXPECT_EQ(expected.value, (std::vector<double>{1, 2, 3, -4}));
  const PartialsShape pair{.rows = 1, .head_dim = 4, .nwg = 2};
  EXPECT_EQ(oracles::reduce(pair, std::vector<float>{2, 2, 2, 2, 6, 6, 6, 6, 2, 5, 2, 5}).value, (std::vector<double>{2, 2, 2, 2}));
}

TEST(OracleReduce, RefusesWhatIsOutsideOfItsDomain) {
  const PartialsShape shape{.rows = 1, .head_dim = 4, .nwg = 1};
  EXPECT_THROW((void)oracles::reduce(shape, std::vector<float>(5)), std::invalid_argument);
  EXPECT_THROW((void)oracles::reduce(shape, std::vector<float>{1, 1, 1, 1, -1, 0}), std::invalid_argument);
  EXPECT_THROW((void)oracles::reduce(shape, std::vector<float>{1, 1, 1, 1, 0, 0}), std::invalid_argument);
  EXPECT_THROW((void)oracles::reduce(shape, std::vector<float>{1, 1, std::nanf(""), 1, 1, 0}), std::invalid_argument);
  EXPECT_THROW((void)oracles::merge_partials(shape, std::vector<float>(5), 1), std::invalid_argument);
}

}  // namespace
}  // namespace assay::tests::oracle_reduce_test
