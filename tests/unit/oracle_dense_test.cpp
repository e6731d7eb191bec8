// Dense attention: what can be said in a sentence, 113-bit arithmetic, the contract in float loops from both sides of the bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "oracles/dense_attention.h"
#include "tests/unit/oracle_quad.h"

namespace assay::tests::oracle_dense_test {
namespace {

using namespace oracles;

using tests::Quad;

constexpr std::uint16_t kMinusInfinity = 0xfc00;  // half
constexpr std::uint16_t kLowest = 0xfbff;         // half -65504

std::uint16_t bfloat_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(round_to_bfloat(value))) >> 16U);
}

struct Scene {
  DenseShape shape;
  std::vector<float> q;
  std::vector<std::uint16_t> k, v, mask;

  Scene(DenseShape with, std::uint32_t seed, float size = 1.0F) : shape(with) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0F, 1.0F);
    for (std::size_t i = 0; i < shape.batches * shape.heads * shape.queries * shape.head_dim; ++i) q.push_back(size * normal(random));
    for (std::size_t i = 0; i < shape.batches * shape.kv_heads * shape.head_rows * shape.head_dim; ++i) {
      k.push_back(bfloat_bits(normal(random)));
      v.push_back(bfloat_bits(normal(random)));
    }
    // Poison behind the last key.
    for (std::size_t head = 0; head < shape.batches * shape.kv_heads; ++head) {
      for (std::size_t i = shape.kv_len * shape.head_dim; i < shape.head_rows * shape.head_dim; ++i) {
        k[head * shape.head_rows * shape.head_dim + i] = v[head * shape.head_rows * shape.head_dim + i] = 0x7fc1;
      }
    }
    // About a third of the keys invisible, half of them by -65504; the others get something small added. Query 0 sees nothing.
    for (std::size_t i = 0; i < shape.mask_batches * shape.mask_heads * shape.queries * shape.kv_len; ++i) {
      const bool is_first = i / shape.kv_len % shape.queries == 0;
      const auto choice = random() % 6;
      mask.push_back(is_first || choice == 0 ? kMinusInfinity : choice == 1 ? kLowest : choice == 2 ? 0xb800 : 0x0000);  // -0.5, 0
    }
  }
  [[nodiscard]] DenseTensors tensors() const { return {q, k, v, mask}; }
  [[nodiscard]] Expected exact() const {
    AttentionAccuracy accuracy;
    accuracy.output = bfloat_format();
    return dense_attention(shape, tensors(), accuracy);
  }
  [[nodiscard]] Expected in_float(std::optional<std::size_t> dot_depth = {}) const {
    AttentionAccuracy accuracy;
    accuracy.dot_depth = dot_depth;
    return dense_attention(shape, tensors(), accuracy);
  }
};

Expected without_conversions_of(const Scene& scene) {
  AttentionAccuracy accuracy;
  accuracy.output = bfloat_format();
  accuracy.stores = {bfloat_format()};
  return dense_attention(scene.shape, scene.tensors(), without_conversions(accuracy));
}

DenseShape small_shape() {
  DenseShape shape;
  shape.batches = 2;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.queries = 3;
  shape.kv_len = 37;
  shape.head_rows = 40;
  shape.head_dim = 64;
  shape.mask_heads = 2;
  shape.mask_batches = 1;
  shape.scale = 0.125F;
  return shape;
}

enum class Mistake {
  none,
  mask_as_zero,
  head_by_modulo,
  last_key_lost,
  no_rescale,
  scale_off,
  mask_head_ignored,
  query_in_float,
  key_of_next_row
};

// The contract in float: tiles of `tile` keys ascending, online softmax, O * (1/S).
std::vector<float> in_float_loops(const Scene& scene, std::size_t tile, Mistake mistake = Mistake::none) {
  const DenseShape& s = scene.shape;
  std::vector<float> output;
  for (std::size_t b = 0; b < s.batches; ++b) {
    for (std::size_t h = 0; h < s.heads; ++h) {
      const std::size_t kv_head = mistake == Mistake::head_by_modulo ? h % s.kv_heads : h / (s.heads / s.kv_heads);
      for (std::size_t t = 0; t < s.queries; ++t) {
        std::vector<float> q(s.head_dim), o(s.head_dim, 0.0F);
        for (std::size_t i = 0; i < s.head_dim; ++i) {
          const float value = scene.q[((b * s.heads + h) * s.queries + t) * s.head_dim + i];
          q[i] = mistake == Mistake::query_in_float ? value : static_cast<float>(round_to_bfloat(value));
        }
        float maximum = -std::numeric_limits<float>::max() / 2, sum = 0.0F;
        const std::size_t n = mistake == Mistake::last_key_lost ? s.kv_len - 1 : s.kv_len;
        for (std::size_t first = 0; first < n; first += tile) {
          std::vector<float> scores;
          for (std::size_t key = first; key < std::min(n, first + tile); ++key) {
            const std::size_t row = (b * s.kv_heads + kv_head) * s.head_rows + key;
            float dot = 0.0F;
            for (std::size_t i = 0; i < s.head_dim; ++i) dot += q[i] * static_cast<float>(bfloat_value(scene.k[row * s.head_dim + i]));
            float score = dot * (mistake == Mistake::scale_off ? s.scale * 1.01F : s.scale);
            if (!scene.mask.empty() && mistake != Mistake::mask_as_zero) {
              const std::size_t mask_head = mistake == Mistake::mask_head_ignored ? 0 : h % s.mask_heads;
              const auto value = static_cast<float>(
                  half_value(scene.mask[(((b % s.mask_batches) * s.mask_heads + mask_head) * s.queries + t) * s.kv_len + key]));
              score = value <= -32752.0F ? -std::numeric_limits<float>::infinity() : score + value;
            }
            scores.push_back(score);
          }
          const float before = maximum;
          for (const float score : scores) maximum = std::max(maximum, score);
          const float rescale = mistake == Mistake::no_rescale ? 1.0F : std::exp(before - maximum);
          sum *= rescale;
          for (float& x : o) x *= rescale;
          for (std::size_t c = 0; c < scores.size(); ++c) {
            const float weight = std::exp(scores[c] - maximum);
            sum += weight;
            std::size_t row = (b * s.kv_heads + kv_head) * s.head_rows + first + c;
            if (mistake == Mistake::key_of_next_row && first + c + 1 < s.kv_len) ++row;
            for (std::size_t i = 0; i < s.head_dim; ++i) o[i] += static_cast<float>(bfloat_value(scene.v[row * s.head_dim + i])) * weight;
          }
        }
        const float inverse = sum == 0.0F ? 0.0F : 1.0F / sum;
        for (const float x : o) output.push_back(x * inverse);
      }
    }
  }
  return output;
}

std::size_t outside(const std::vector<float>& output, const Expected& exact, bool round) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double value = round ? round_to_bfloat(output[i]) : static_cast<double>(output[i]);
    count += !(std::abs(value - exact.value[i]) <= exact.bound[i]);
  }
  return count;
}

TEST(DenseAttention, FloatLoopsStayInsideForEveryTile) {
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    DenseShape shape = small_shape();
    if (seed % 2 == 1) shape.mask_heads = shape.mask_batches = 0;
    if (seed == 4) shape.mask_heads = 4, shape.mask_batches = 2;
    const Scene scene(shape, seed, seed == 5 ? 20.0F : 1.0F);
    for (const std::size_t tile : {1U, 8U, 32U, 64U}) {
      const std::vector<float> output = in_float_loops(scene, tile);
      EXPECT_EQ(outside(output, scene.in_float(), false), 0U) << seed << " " << tile;
      EXPECT_EQ(outside(output, scene.exact(), true), 0U) << seed << " " << tile;
    }
  }
}

TEST(DenseAttention, BoundsAreSharpEnoughToMeanSomething) {
  DenseShape shape = small_shape();
  shape.head_dim = 512;
  shape.kv_len = shape.head_rows = 300;
  shape.scale = 0.0441941738F;
  const Scene scene(shape, 1);
  const Expected exact = scene.in_float(16);
  std::size_t uninformative = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) uninformative += exact.bound[i] > 1e-3 * exact.magnitude[i] && exact.magnitude[i] > 0.0;
  EXPECT_EQ(uninformative, 0U);
}

TEST(DenseAttention, MistakesAreOutside) {
  const Scene scene(small_shape(), 3);
  const Expected exact = scene.exact();
  using enum Mistake;
  for (const Mistake mistake : {mask_as_zero, head_by_modulo, last_key_lost, no_rescale, scale_off, mask_head_ignored, key_of_next_row}) {
    EXPECT_GT(outside(in_float_loops(scene, 8, mistake), exact, true), 0U) << static_cast<int>(mistake);
  }
  EXPECT_GT(outside(in_float_loops(scene, 8, query_in_float), scene.in_float(), false), 0U);
}

// Loops that do not round q are right, those that do are not; bounds are those of float.
TEST(DenseAttention, WithoutConversionsTheQueryIsTheFloatThatItIs) {
  const Scene scene(small_shape(), 3);
  const Expected exact = without_conversions_of(scene);
  EXPECT_EQ(outside(in_float_loops(scene, 8, Mistake::query_in_float), exact, false), 0U);
  EXPECT_GT(outside(in_float_loops(scene, 8), exact, false), 0U);
  const Expected converted = scene.in_float();
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(exact.bound[i], converted.bound[i], 0.1 * converted.bound[i]) << i;

  Scene in_bfloat = scene;
  for (float& q : in_bfloat.q) q = static_cast<float>(round_to_bfloat(q));
  EXPECT_EQ(without_conversions_of(in_bfloat).value, scene.in_float().value);
}

TEST(DenseAttention, ARowThatSeesNothingIsExactlyZero) {
  const Scene scene(small_shape(), 5);
  const Expected exact = scene.exact();
  for (std::size_t row = 0; row < exact.size() / 64; ++row) {
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t index = row * 64 + i;
      EXPECT_EQ(exact.bound[index] == 0.0 && exact.value[index] == 0.0 && exact.magnitude[index] == 0.0, row % 3 == 0) << row;
    }
  }
}

TEST(DenseAttention, OneVisibleKeyGivesItsValue) {
  DenseShape shape = small_shape();
  Scene scene(shape, 8);
  std::ranges::fill(scene.mask, kMinusInfinity);
  for (std::size_t row = 0; row < scene.mask.size() / shape.kv_len; ++row) scene.mask[row * shape.kv_len + 2 * row] = 0;
  const Expected exact = scene.exact();
  for (std::size_t b = 0; b < shape.batches; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t t = 0; t < shape.queries; ++t) {
        const std::size_t key = 2 * ((h % 2) * shape.queries + t);
        for (std::size_t i = 0; i < shape.head_dim; ++i) {
          const std::size_t row = (b * shape.kv_heads + h / 2) * shape.head_rows + key;
          EXPECT_EQ(exact.value[((b * shape.heads + h) * shape.queries + t) * shape.head_dim + i],
                    bfloat_value(scene.v[row * shape.head_dim + i]));
        }
      }
    }
  }
}

TEST(DenseAttention, EqualScoresGiveTheMean) {
  DenseShape shape = small_shape();
  shape.mask_heads = shape.mask_batches = 0;
  Scene scene(shape, 9);
  std::ranges::fill(scene.q, 0.0F);
  const Expected exact = scene.exact();
  double sum = 0.0;
  for (std::size_t key = 0; key < shape.kv_len; ++key) sum += bfloat_value(scene.v[key * shape.head_dim + 5]);
  EXPECT_NEAR(exact.value[5], sum / 37, 1e-14);
}

// Multiples of 1/4 by multiples of 1/2, whose products sum to less than 2^21: every sum of them is a float, in any order, and what a
// dot product may be off by is nothing. One tiny coordinate off the grid, and it is as ever.
TEST(DenseAttention, DotProductsOnAGridAreExact) {
  DenseShape shape = small_shape();
  shape.mask_heads = shape.mask_batches = 0;
  shape.scale = 0x1p-11F;  // scores of some units: the products weigh in the bound
  Scene scene(shape, 10);
  for (float& q : scene.q) q = std::nearbyint(64.0F * q) / 4.0F;
  for (std::size_t i = 0; i < scene.k.size(); ++i) {
    const double key = bfloat_value(scene.k[i]);
    if (!std::isnan(key)) scene.k[i] = bfloat_bits(static_cast<float>(std::nearbyint(64.0 * key) / 2.0));
  }
  const Expected on_grid = scene.in_float();
  const Expected small_tree = scene.in_float(1);
  scene.q[3] = 0x1p-20F;
  const Expected off_grid = scene.in_float();
  for (std::size_t i = 0; i < shape.head_dim; ++i) {
    EXPECT_LT(on_grid.bound[i], 0.5 * off_grid.bound[i]) << i;
    EXPECT_EQ(on_grid.bound[i], small_tree.bound[i]) << i;
  }
}

TEST(DenseAttention, AgreesWith113Bits) {
  const Scene scene(small_shape(), 21, 4.0F);
  const DenseShape& s = scene.shape;
  const Expected exact = scene.in_float();
  for (std::size_t row = 0; row < s.batches * s.heads * s.queries; ++row) {
    const std::size_t b = row / (s.heads * s.queries), h = row / s.queries % s.heads, t = row % s.queries;
    std::vector<Quad> scores;
    std::vector<std::size_t> keys;
    for (std::size_t key = 0; key < s.kv_len; ++key) {
      const double mask = half_value(scene.mask[((h % s.mask_heads) * s.queries + t) * s.kv_len + key]);
      if (mask <= -32752.0) continue;
      Quad dot = 0;
      for (std::size_t i = 0; i < s.head_dim; ++i) {
        dot += static_cast<Quad>(round_to_bfloat(scene.q[row * s.head_dim + i])) *
               static_cast<Quad>(bfloat_value(scene.k[((b * s.kv_heads + h / 2) * s.head_rows + key) * s.head_dim + i]));
      }
      scores.push_back(dot * static_cast<Quad>(s.scale) + static_cast<Quad>(mask));
      keys.push_back(key);
    }
    if (keys.empty()) continue;
    const Quad largest = *std::max_element(scores.begin(), scores.end());
    for (std::size_t i = 0; i < s.head_dim; ++i) {
      Quad sum = 0, weighted = 0;
      for (std::size_t c = 0; c < keys.size(); ++c) {
        const Quad weight = tests::quad_exp(scores[c] - largest);
        sum += weight;
        weighted += weight * static_cast<Quad>(bfloat_value(scene.v[((b * s.kv_heads + h / 2) * s.head_rows + keys[c]) * s.head_dim + i]));
      }
      const std::size_t index = row * s.head_dim + i;
      EXPECT_LE(static_cast<double>(tests::quad_abs(weighted / sum - exact.value[index])), exact.bound[index] / 1000);
    }
  }
}

TEST(DenseAttention, RefusesWhatDoesNotFitTogether) {
  const auto refused = [](const std::function<void(Scene&)>& spoil) {
    Scene scene(small_shape(), 1);
    spoil(scene);
    EXPECT_THROW(static_cast<void>(scene.exact()), std::invalid_argument);
  };
  refused([](Scene& s) { s.q.pop_back(); });
  refused([](Scene& s) { s.k.pop_back(); });
  refused([](Scene& s) { s.mask.pop_back(); });
  refused([](Scene& s) { s.shape.head_rows = 36; });
  refused([](Scene& s) { s.shape.kv_heads = 3; });
  refused([](Scene& s) { s.shape.mask_heads = 3; });
  refused([](Scene& s) { s.q[7] = std::numeric_limits<float>::quiet_NaN(); });
  refused([](Scene& s) { s.v[7] = 0x7f80; });
  refused([](Scene& s) { s.mask[s.shape.kv_len + 1] = 0x7e00; });
}

TEST(StoredFormats, EveryHalfAndBfloatStandsForItsNumber) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double half = half_value(static_cast<std::uint16_t>(bits));
    const auto reference = static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
    EXPECT_TRUE(half == reference || (std::isnan(half) && std::isnan(reference))) << bits;
    const double bfloat = bfloat_value(static_cast<std::uint16_t>(bits));
    const auto same = static_cast<double>(std::bit_cast<float>(bits << 16U));
    EXPECT_TRUE(bfloat == same || (std::isnan(bfloat) && std::isnan(same)));
    if (!std::isnan(bfloat)) EXPECT_EQ(round_to_bfloat(static_cast<float>(bfloat)), bfloat);
  }
  EXPECT_EQ(round_to_bfloat(1.00390625F), 1.0) << "a tie to the even neighbour below";
  EXPECT_EQ(round_to_bfloat(1.01171875F), 1.015625) << "a tie to the even neighbour above";
  EXPECT_EQ(round_to_bfloat(std::numeric_limits<float>::max()), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace assay::tests::oracle_dense_test
