// Dense fixtures and their masks: repeatable, made of what their description says; the helpers' expectation fires and stays quiet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "families/bf16_prefill/helpers.h"
#include "fixtures/dense.h"
#include "fixtures/generators.h"
#include "harness/findings/fault_text.h"
#include "oracles/arithmetic.h"

namespace assay::tests::fixture_dense_test {
namespace {

template <typename T>
families::BufferResult result_of(const std::vector<T>& values) {
  return {.bytes = std::as_bytes(std::span(values))};
}

std::string text_of(const families::BrokenPromise& broken) { return harness::text_of(harness::FaultDetails(broken)); }

using fixtures::DenseInputs;
using fixtures::DenseMask;
using fixtures::DenseRequest;

DenseRequest request_of(DenseMask mask, std::size_t queries = 9, std::size_t keys = 100) {
  DenseRequest request;
  request.shape.batches = 2;
  request.shape.heads = 4;
  request.shape.kv_heads = 2;
  request.shape.queries = queries;
  request.shape.kv_len = keys;
  request.shape.head_rows = keys + 7;
  request.shape.scale = static_cast<float>(1.0 / std::sqrt(512.0));
  request.mask = mask;
  request.window = 33;
  request.seed = 5;
  if (mask != DenseMask::none) {
    request.shape.mask_heads = 4;
    request.shape.mask_batches = 2;
  }
  return request;
}

bool is_hidden(std::uint16_t bits) { return oracles::half_value(bits) <= oracles::kInvisibleMask; }

// Whether a key is hidden, as a function of plane, query and key.
template <typename Rule>
void expect_hidden_where(const DenseRequest& request, Rule rule) {
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  const oracles::DenseShape& shape = request.shape;
  ASSERT_EQ(mask.size(), shape.mask_batches * shape.mask_heads * shape.queries * shape.kv_len);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t key = i % shape.kv_len, query = i / shape.kv_len % shape.queries, plane = i / shape.kv_len / shape.queries;
    ASSERT_EQ(is_hidden(mask[i]), rule(plane, query, key)) << plane << ' ' << query << ' ' << key;
    if (is_hidden(mask[i])) ASSERT_EQ(mask[i], request.hides_with_lowest ? 0xfbff : 0xfc00);
  }
}

TEST(DenseMask, HidesWhatItsNameSays) {
  for (const bool lowest : {false, true}) {
    DenseRequest causal = request_of(DenseMask::causal);
    causal.hides_with_lowest = lowest;
    expect_hidden_where(causal, [](std::size_t, std::size_t query, std::size_t key) { return key > 91 + query; });
    DenseRequest window = request_of(DenseMask::window);
    window.hides_with_lowest = lowest;
    expect_hidden_where(window, [](std::size_t plane, std::size_t query, std::size_t key) {
      return key > 91 + query || key + 33 + 3 * plane <= 91 + query;
    });
    DenseRequest row = request_of(DenseMask::row);
    row.hides_with_lowest = lowest;
    expect_hidden_where(row, [](std::size_t plane, std::size_t query, std::size_t) { return query == (5 + plane) % 9; });
  }
  expect_hidden_where(request_of(DenseMask::zero), [](std::size_t, std::size_t, std::size_t) { return false; });
  EXPECT_TRUE(fixtures::dense_mask(request_of(DenseMask::none)).empty());
}

TEST(DenseMask, SingleShowsOneKeyOfEvery64ToAllQueriesOfAPlane) {
  const DenseRequest request = request_of(DenseMask::single, 9, 1000);
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  std::set<std::size_t> columns;
  for (std::size_t plane = 0; plane < 8; ++plane) {
    for (std::size_t first = 0; first < 1000; first += 64) {
      std::set<std::size_t> seen;
      for (std::size_t query = 0; query < 9; ++query) {
        for (std::size_t key = first; key < std::min<std::size_t>(first + 64, 1000); ++key) {
          if (!is_hidden(mask[(plane * 9 + query) * 1000 + key])) seen.insert(key);
        }
      }
      ASSERT_THAT(seen, ::testing::SizeIs(1)) << plane << ' ' << first;
      columns.insert(*seen.begin() % 64);
    }
  }
  EXPECT_GE(columns.size(), 48U);  // of 128 draws from 64: 55 on average
}

TEST(DenseMask, RandomLeavesEveryRowSomethingAndEveryPlaneItsOwn) {
  const DenseRequest request = request_of(DenseMask::random);
  const std::vector<std::uint16_t> mask = fixtures::dense_mask(request);
  const std::size_t plane_size = 9 * 100;
  std::size_t hidden = 0, added = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    const std::size_t key = i % 100, query = i / 100 % 9, plane = i / plane_size;
    hidden += is_hidden(mask[i]);
    added += !is_hidden(mask[i]) && oracles::half_value(mask[i]) != 0.0;
    if (key == (query + plane) % 100) EXPECT_EQ(mask[i], 0U);
  }
  EXPECT_NEAR(static_cast<double>(hidden) / static_cast<double>(mask.size()), 1.0 / 3.0, 0.03);
  EXPECT_GT(added, mask.size() / 3);
  for (std::size_t plane = 1; plane < 8; ++plane)
    EXPECT_FALSE(std::equal(mask.begin(), mask.begin() + plane_size, mask.begin() + static_cast<std::ptrdiff_t>(plane * plane_size)));
}

class DenseFixture : public ::testing::TestWithParam<std::string> {};

TEST_P(DenseFixture, IsRepeatableAnswersToTheSeedAndIsFinite) {
  DenseRequest request = request_of(DenseMask::random);
  const auto make = fixtures::find_fixture(GetParam()).dense;
  const DenseInputs inputs = make(request);
  EXPECT_EQ(make(request).q, inputs.q);
  EXPECT_EQ(make(request).k, inputs.k);
  EXPECT_EQ(make(request).v, inputs.v);
  request.q_is_bfloat = true;
  for (const float value : make(request).q) ASSERT_EQ(oracles::round_to_bfloat(value), static_cast<double>(value));
  for (std::size_t i = 0; i < inputs.k.size(); ++i) {
    if (i / 512 % request.shape.head_rows >= request.shape.kv_len) {
      ASSERT_EQ(std::isnan(oracles::bfloat_value(inputs.k[i])), GetParam() == "poisoned");
      continue;
    }
    ASSERT_TRUE(std::isfinite(oracles::bfloat_value(inputs.k[i])));
    ASSERT_TRUE(std::isfinite(oracles::bfloat_value(inputs.v[i])));
  }
  request.seed = 6;
  EXPECT_NE(make(request).v, inputs.v);
  EXPECT_NE(make(request).mask, inputs.mask);
}

std::vector<std::string> dense_fixtures() {
  std::vector<std::string> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.dense != nullptr) names.emplace_back(fixture.name);
  }
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, DenseFixture, ::testing::ValuesIn(dense_fixtures()), [](const auto& parameter) { return parameter.param; });

// Scores of a fixture, exact.
std::vector<double> scores_of(std::string_view fixture) {
  const DenseRequest request = request_of(DenseMask::none);
  const DenseInputs inputs = fixtures::find_fixture(fixture).dense(request);
  std::vector<double> scores;
  for (std::size_t query = 0; query < 9; ++query) {
    for (std::size_t key = 0; key < 100; ++key) {
      double dot = 0.0;
      for (std::size_t i = 0; i < 512; ++i)
        dot += oracles::round_to_bfloat(inputs.q[query * 512 + i]) * oracles::bfloat_value(inputs.k[key * 512 + i]);
      scores.push_back(dot * static_cast<double>(request.shape.scale));
    }
  }
  return scores;
}

TEST(DenseFixture, ScoresAreWhereTheDescriptionSays) {
  for (const double score : scores_of("all_negative")) EXPECT_LT(score, -104.0);
  for (const double score : scores_of("all_negative_deep")) {
    EXPECT_LT(score, -32856.0);
    EXPECT_GT(score, -36000.0) << "and far above what -65504 makes of a hidden one";
  }
  // Unscaled, beyond half.
  for (const double score : scores_of("large")) EXPECT_GT(score * std::sqrt(512.0), 65504.0);
  for (const double score : scores_of("large")) EXPECT_LT(score, 5000.0);
}

// --- what pad and blk must leave behind ------------------------------------------------------------------------------------

// The contract's words, in the plainest loops.
std::vector<std::uint16_t> right_pad(const DenseRequest& request, const DenseInputs& inputs) {
  std::vector<std::uint16_t> pad;
  for (const auto* rows : {&inputs.k, &inputs.v}) {
    for (std::size_t head = 0; head < 4; ++head) {
      for (std::size_t row = 64; row < 128; ++row) {
        for (std::size_t i = 0; i < 512; ++i)
          pad.push_back(row < 100 ? (*rows)[(head * request.shape.head_rows + row) * 512 + i] : std::uint16_t{0});
      }
    }
  }
  for (std::size_t row = 0; row < 2 * 4 * 9; ++row) {
    for (std::size_t key = 64; key < 128; ++key) pad.push_back(key < 100 ? inputs.mask[row * 100 + key] : std::uint16_t{0xfbff});
  }
  return pad;
}

TEST(PrefillHelpers, PadIsTheLastRaggedTileAndNothingElse) {
  const DenseRequest request = request_of(DenseMask::causal);
  const DenseInputs inputs = fixtures::find_fixture("gauss").dense(request);
  const std::vector<std::uint16_t> right = right_pad(request, inputs);
  EXPECT_EQ(families::find_pad_fault(request, inputs, result_of(right)), std::nullopt);
  const auto fault_with = [&](std::size_t index, std::uint16_t value) {
    std::vector<std::uint16_t> wrong = right;
    wrong[index] = value;
    return text_of(families::find_pad_fault(request, inputs, result_of(wrong)).value());
  };
  EXPECT_THAT(fault_with(0, 0x7fe5), ::testing::HasSubstr("pad: keys of batch 0, key/value head 0: row 0, coordinate 0 was never written"));
  EXPECT_THAT(fault_with((64 + 36) * 512 + 3, 1),
              ::testing::HasSubstr("key/value head 1: row 36, coordinate 3 is 0x0001; expected 0x0000"));
  EXPECT_THAT(fault_with((4 * 64 + 2 * 64) * 512, 1), ::testing::HasSubstr("pad: values of batch 1, key/value head 0: row 0"));
  EXPECT_THAT(fault_with(2 * 4 * 64 * 512 + (4 * 9 + 2) * 64 + 63, 0),
              ::testing::HasSubstr("pad: mask of batch 1, head 0, query 2: column 63"));
}

TEST(PrefillHelpers, BlkIsOneWhereAnythingIsSeen) {
  const DenseRequest request = request_of(DenseMask::window, 9, 200);
  const DenseInputs inputs = fixtures::find_fixture("gauss").dense(request);
  // Queries at 191 .. 198 and 199, windows of 33 to 54 positions: key tiles 0 and 1 are out of sight but for keys 127 and before.
  std::vector<std::uint8_t> right;
  for (std::size_t plane = 0; plane < 8; ++plane) {
    const std::size_t oldest = 191 - 33 - 3 * plane + 1;
    for (std::size_t tile = 0; tile < 2; ++tile) {
      for (std::size_t key_tile = 0; key_tile < 4; ++key_tile) {
        const std::size_t first_seen = tile == 0 ? oldest : oldest + 8;
        right.push_back(key_tile == 3 || (key_tile + 1) * 64 > first_seen ? 1 : 0);
      }
    }
  }
  EXPECT_EQ(families::find_blk_fault(request, inputs, result_of(right)), std::nullopt);
  std::vector<std::uint8_t> wrong = right;
  wrong[4 * 2 * 3 + 2] ^= 1U;
  EXPECT_THAT(text_of(families::find_blk_fault(request, inputs, result_of(wrong)).value()),
              ::testing::HasSubstr("blk: batch 0, head 3, query tile 0, key tile 2 is 0; expected 1"));
  wrong = right;
  wrong[3] = 0;
  EXPECT_THAT(text_of(families::find_blk_fault(request, inputs, result_of(wrong)).value()),
              ::testing::HasSubstr("key tile 3 is 0; expected 1"));
  wrong[3] = 2;
  EXPECT_NE(families::find_blk_fault(request, inputs, result_of(wrong)), std::nullopt) << "a ragged tile is never without a mask";
}

TEST(PrefillHelpers, BlkMayBeTwoWhereTheMaskAddsNothing) {
  const DenseRequest request = request_of(DenseMask::zero, 8, 128);
  const DenseInputs inputs = fixtures::find_fixture("gauss").dense(request);
  EXPECT_EQ(families::find_blk_fault(request, inputs, result_of(std::vector<std::uint8_t>(16, 2))), std::nullopt);
  EXPECT_EQ(families::find_blk_fault(request, inputs, result_of(std::vector<std::uint8_t>(16, 1))), std::nullopt);
  EXPECT_NE(families::find_blk_fault(request, inputs, result_of(std::vector<std::uint8_t>(16, 0))), std::nullopt);
}

}  // namespace
}  // namespace assay::tests::fixture_dense_test
