// Attention at the source level: by hand, against the oracle of stored bits, and its model of what storage costs against what it does.
#include "oracles/source_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixtures/generators.h"
#include "oracles/codebook.h"
#include "oracles/codebook_theory.h"
#include "oracles/dequantize.h"
#include "oracles/fwht.h"

namespace assay::tests::oracle_source_attention_test {
namespace {

using namespace oracles;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

DecodeShape shape_of(std::size_t heads, std::size_t kv_heads, std::size_t head_dim, std::size_t kv_len) {
  return {.heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim,
          .kv_len = kv_len,
          .kv_capacity = kv_len,
          .scale = 1.0F / std::sqrt(static_cast<float>(head_dim))};
}

double distortion_of(int bits) {
  const std::span<const float> table = codebook(bits);
  return mean_squared_error(std::vector<double>(table.begin(), table.end()));
}

// A fixture's inputs with what they were made of; queries on the grid of half where `on_grid`.
struct Sample {
  DecodeShape shape;
  fixtures::DecodeInputs inputs;
  std::vector<double> q;

  Sample(const char* fixture, const DecodeShape& of, int bits, std::uint64_t seed) : shape(of) {
    inputs = fixtures::find_fixture(fixture).decode(
        {.shape = shape, .bits = bits, .norm_layout = NormLayout::one_per_block, .seed = seed, .keeps_source = true});
    q.assign(inputs.q.begin(), inputs.q.end());
  }
  [[nodiscard]] SourceRows rows() const { return {q, inputs.k_source, inputs.v_source}; }
  [[nodiscard]] std::vector<double> stored_output() const { return decode_attention(shape, inputs.q, inputs.cache()).value; }
};

// |other - exact| of each head.
std::vector<double> distances(const DecodeShape& shape, const std::vector<double>& exact, const std::vector<double>& other) {
  std::vector<double> lengths(shape.heads);
  for (std::size_t i = 0; i < exact.size(); ++i) lengths[i / shape.head_dim] += (other[i] - exact[i]) * (other[i] - exact[i]);
  for (double& length : lengths) length = std::sqrt(length);
  return lengths;
}

TEST(SourceAttention, OneVisibleKeyGivesItsValueAndEqualScoresTheMean) {
  DecodeShape shape = shape_of(2, 2, 256, 3);
  shape.ring_start = 1;  // the newest position is at slot 0
  shape.mask_type = MaskType::sliding_window;
  shape.sliding_window = 1;
  std::vector<double> q(2 * 256, 1.0);
  std::vector<double> k(2 * 3 * 256, kNan);
  std::vector<double> v(2 * 3 * 256, kNan);
  for (std::size_t g = 0; g < 2; ++g) {
    for (std::size_t i = 0; i < 256; ++i) {
      k[g * 3 * 256 + i] = 0.5;
      v[g * 3 * 256 + i] = static_cast<double>(g * 1000 + i);
    }
  }
  const std::vector<double> newest = source_attention(shape, {q, k, v});
  for (std::size_t i = 0; i < newest.size(); ++i) ASSERT_EQ(newest[i], static_cast<double>(i / 256 * 1000 + i % 256));

  shape.mask_type = MaskType::none;
  std::vector<double> equal(k.size(), 0.25);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i / 256 % 3);
  for (const double x : source_attention(shape, {q, equal, v})) ASSERT_NEAR(x, 1.0, 1e-14);
}

TEST(SourceAttention, TwoKeysByHand) {
  const DecodeShape shape = shape_of(2, 1, 256, 2);
  std::vector<double> q(2 * 256);
  q[0] = 16.0;        // head 0 looks at coordinate 0,
  q[256 + 1] = 32.0;  // head 1 at coordinate 1
  std::vector<double> k(2 * 256);
  k[0] = 1.0;         // slot 0 scores 1 for head 0,
  k[256 + 1] = -0.5;  // slot 1 scores -1 for head 1
  std::vector<double> v(2 * 256);
  v[0] = 1.0;  // coordinate 0 of the output is the weight of slot 0
  const std::vector<double> output = source_attention(shape, {q, k, v});
  EXPECT_NEAR(output[0], 1.0 / (1.0 + std::exp(-1.0)), 1e-15);
  EXPECT_NEAR(output[256], 1.0 / (1.0 + std::exp(-1.0)), 1e-15);
}

// On rows that are what the cache holds, the source level is the stored level.
TEST(SourceAttention, AgreesWithTheStoredLevelOnDequantisedRows) {
  for (const std::size_t head_dim : {256U, 512U}) {
    DecodeShape shape = shape_of(4, 2, head_dim, 40);
    shape.ring_start = 17;
    shape.mask_type = MaskType::sliding_window;
    shape.sliding_window = 30;
    const Sample sample("gauss", shape, 5, 3);
    std::vector<double> k(sample.inputs.k_source.size());
    std::vector<double> v(k.size());
    for (std::size_t slot = 0; slot < shape.kv_capacity; ++slot) {
      const DequantizeShape of{shape.kv_heads, head_dim, shape.kv_capacity, slot};
      const std::vector<double> key = dequantize(of, 5, 1.0F, sample.inputs.k_codes, sample.inputs.k_norms).value;
      const std::vector<double> value = dequantize(of, 5, 1.0F, sample.inputs.v_codes, sample.inputs.v_norms).value;
      for (std::size_t i = 0; i < key.size(); ++i) {
        const std::size_t place = (i / head_dim * shape.kv_capacity + slot) * head_dim + i % head_dim;
        k[place] = key[i];
        v[place] = value[i];
      }
    }
    std::vector<double> q(sample.q.size());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = round_to_half(sample.q[i]);
    const std::vector<double> stored = sample.stored_output();
    const std::vector<double> source = source_attention(shape, {q, k, v});
    for (std::size_t i = 0; i < stored.size(); ++i) ASSERT_NEAR(source[i], stored[i], 1e-13);
  }
}

TEST(SourceAttention, TurnsAlongWithItsRows) {
  const Sample sample("outlier", shape_of(4, 2, 512, 20), 4, 5);
  std::vector<double> q = sample.q;
  std::vector<double> k = sample.inputs.k_source;
  std::vector<double> v = sample.inputs.v_source;
  for (std::vector<double>* rows : {&q, &k, &v}) fwht_in_place(*rows, 512, FwhtMode::signs_last);
  std::vector<double> output = source_attention(sample.shape, {q, k, v});
  fwht_in_place(output, 512, FwhtMode::signs_first);
  const std::vector<double> rotated = source_attention(sample.shape, sample.rows());
  for (std::size_t i = 0; i < output.size(); ++i) ASSERT_NEAR(output[i], rotated[i], 1e-12);
}

TEST(StorageError, OfOneKeyIsTheDistortionOfItsValue) {
  const Sample sample("gauss", shape_of(1, 1, 512, 1), 4, 1);
  double square = 0.0;
  for (const double x : sample.inputs.v_source) square += x * x;
  // The blocks weigh by their own energy, so that the sum is that of the row.
  for (const std::size_t block_dim : {256U, 512U}) {
    EXPECT_NEAR(expected_storage_error(sample.shape, sample.rows(), {0.01, block_dim})[0], 0.1 * std::sqrt(square), 1e-12);
  }
}

// Without distortion only the rounding of q to half is left, which is below 2^-11 of anything.
TEST(StorageError, VanishesWithTheDistortion) {
  const Sample sample("gauss", shape_of(2, 1, 256, 16), 4, 1);
  const std::vector<double> output = source_attention(sample.shape, sample.rows());
  const std::vector<double> size = distances(sample.shape, output, std::vector<double>(output.size()));
  const std::vector<double> expected = expected_storage_error(sample.shape, sample.rows(), {0.0, 256});
  const std::vector<double> bound = storage_error_bound(sample.shape, sample.rows(), {0.0, 256});
  for (std::size_t head = 0; head < 2; ++head) {
    EXPECT_LT(expected[head], 2e-3 * size[head]);
    EXPECT_LT(bound[head], 6e-3 * size[head]);
  }
}

struct Point {
  int bits;
  std::size_t head_dim;
  std::size_t kv_len;
};

class StorageModelHolds : public ::testing::TestWithParam<Point> {};

// The model's own data. The mean square over 32 heads is the expected one within a fifth (what the first order leaves out is largest for
// 4 bits, about 5 %); no head exceeds its bound, some come near it, and a wrong output exceeds it: that of another head. Where 4 bits and
// few positions leave much room, nine in ten do.
TEST_P(StorageModelHolds, OnIndependentNormalRows) {
  const auto [bits, head_dim, kv_len] = GetParam();
  const StorageModel model{distortion_of(bits), 256};
  for (const std::uint64_t seed : {1U, 2U}) {
    const Sample sample("gauss", shape_of(32, 8, head_dim, kv_len), bits, seed);
    const std::vector<double> exact = source_attention(sample.shape, sample.rows());
    const std::vector<double> error = distances(sample.shape, exact, sample.stored_output());
    const std::vector<double> expected = expected_storage_error(sample.shape, sample.rows(), model);
    const std::vector<double> bound = storage_error_bound(sample.shape, sample.rows(), model);
    double measured_square = 0.0;
    double expected_square = 0.0;
    double nearest = 0.0;
    for (std::size_t head = 0; head < error.size(); ++head) {
      measured_square += error[head] * error[head];
      expected_square += expected[head] * expected[head];
      EXPECT_LE(error[head], bound[head]) << head;
      nearest = std::max(nearest, error[head] / bound[head]);
    }
    EXPECT_GT(nearest, 0.2);
    EXPECT_NEAR(std::sqrt(measured_square / expected_square), 1.0, 0.2);

    std::vector<double> shifted = sample.stored_output();
    std::ranges::rotate(shifted, shifted.begin() + static_cast<std::ptrdiff_t>(head_dim * 4));
    const std::vector<double> wrong = distances(sample.shape, exact, shifted);
    std::size_t caught = 0;
    for (std::size_t head = 0; head < wrong.size(); ++head) caught += wrong[head] > bound[head] ? 1 : 0;
    EXPECT_GE(caught, bits == 4 ? wrong.size() * 9 / 10 : wrong.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Each, StorageModelHolds,
                         ::testing::Values(Point{4, 256, 64}, Point{4, 512, 33}, Point{5, 256, 100}, Point{6, 512, 64}, Point{8, 256, 48},
                                           Point{8, 512, 20}),
                         [](const auto& parameter) {
                           return "bits" + std::to_string(parameter.param.bits) + "_d" + std::to_string(parameter.param.head_dim) + "_kv" +
                                  std::to_string(parameter.param.kv_len);
                         });

TEST(SourceAttention, RefusesWhatDoesNotFit) {
  const DecodeShape shape = shape_of(1, 1, 256, 2);
  const std::vector<double> q(256), rows(512);
  const auto text_of = [&](const SourceRows& source, const StorageModel& model) {
    try {
      static_cast<void>(expected_storage_error(shape, source, model));
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const StorageModel model{0.01, 256};
  EXPECT_EQ(text_of({q, rows, rows}, model), "accepted");
  EXPECT_EQ(text_of({q, rows, q}, model), "source v has 256 elements, but the shape needs 512");
  EXPECT_EQ(text_of({rows, rows, rows}, model), "source q has 512 elements, but the shape needs 256");
  std::vector<double> broken = rows;
  broken[256] = kNan;
  EXPECT_EQ(text_of({q, rows, broken}, model), "visible source v slot 1 of key/value head 0 is not finite");
  EXPECT_THAT(text_of({q, rows, rows}, {0.01, 96}), ::testing::HasSubstr("block_dim 96 does not divide head_dim 256"));
  EXPECT_THAT(text_of({q, rows, rows}, {1.5, 256}), ::testing::HasSubstr("distortion 1.5"));
}

}  // namespace
}  // namespace assay::tests::oracle_source_attention_test
