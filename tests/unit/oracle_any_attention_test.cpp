// Attention of any shape: values against 113-bit arithmetic, known answers, rows that see nothing, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "math/functions.h"
#include "tests/unit/any_attention_kernels.h"
#include "tests/unit/oracle_quad.h"

namespace assay::tests::oracle_any_attention_test {
namespace {

using namespace oracles;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

AnyAttentionShape small_shape() {
  AnyAttentionShape shape;
  shape.batches = 2;
  shape.heads = 6;
  shape.kv_heads = 3;
  shape.queries = 3;
  shape.kv_rows = 41;
  shape.head_dim = 72;
  shape.value_dim = 20;
  shape.kv_len = {41, 33};
  shape.scale = 0.125;
  shape.lse = LogBase::natural;
  return shape;
}

// A third of the keys hidden, a bias for the others, and NaN behind the last key of the shorter batch.
AnyScene scene_of(const AnyAttentionShape& shape, std::uint32_t seed, bool sinks = true) {
  AnyScene scene = any_scene(shape, AnyRows::gauss, seed);
  std::mt19937 random(seed + 1);
  std::normal_distribution<float> normal(0.0F, 1.0F);
  for (std::size_t i = 0; i < shape.batches * shape.heads * shape.queries * shape.kv_rows; ++i) {
    scene.bias.push_back(random() % 3 == 0 ? kHidden : normal(random));
  }
  for (std::size_t h = 0; sinks && h < shape.heads; ++h) scene.sinks.push_back(2.0F * normal(random));
  const std::size_t length = shape.kv_len.empty() ? shape.kv_rows : shape.kv_len.back();
  for (std::size_t g = (shape.batches - 1) * shape.kv_heads; g < shape.batches * shape.kv_heads; ++g) {
    for (std::size_t row = g * shape.kv_rows + length; row < (g + 1) * shape.kv_rows; ++row) {
      std::fill_n(scene.k.begin() + static_cast<std::ptrdiff_t>(row * shape.head_dim), shape.head_dim, NAN);
      std::fill_n(scene.v.begin() + static_cast<std::ptrdiff_t>(row * shape.value_dim), shape.value_dim, NAN);
    }
  }
  return scene;
}

// log x for x >= 1: Newton's iteration from the double.
Quad quad_log(Quad x) {
  Quad y = std::log(static_cast<double>(x));
  for (int i = 0; i < 3; ++i) y += x * quad_exp(-y) - 1;
  return y;
}

Quad quad_tanh(Quad x) {
  const Quad e = quad_exp(-2 * quad_abs(x));
  return (x < 0 ? -1 : 1) * (1 - e) / (1 + e);
}

struct QuadRow {
  std::vector<Quad> output;
  Quad lse;
};

QuadRow in_113_bits(const AnyScene& scene, std::size_t b, std::size_t h, std::size_t i) {
  const AnyAttentionShape& s = scene.shape;
  const std::size_t row = (b * s.heads + h) * s.queries + i;
  const std::size_t first = (b * s.kv_heads + h / (s.heads / s.kv_heads)) * s.kv_rows;
  std::vector<Quad> scores;
  std::vector<std::size_t> keys;
  for (std::size_t key = 0; key < s.kv_len[b]; ++key) {
    const float bias = scene.bias[row * s.kv_rows + key];
    if (bias == kHidden) continue;
    Quad dot = 0;
    for (std::size_t c = 0; c < s.head_dim; ++c) {
      dot += static_cast<Quad>(scene.q[row * s.head_dim + c]) * static_cast<Quad>(scene.k[(first + key) * s.head_dim + c]);
    }
    dot *= static_cast<Quad>(s.scale);
    if (s.softcap != 0.0) dot = static_cast<Quad>(s.softcap) * quad_tanh(dot / static_cast<Quad>(s.softcap));
    scores.push_back(dot + static_cast<Quad>(bias));
    keys.push_back(key);
  }
  Quad largest = *std::max_element(scores.begin(), scores.end());
  if (!scene.sinks.empty()) largest = std::max(largest, static_cast<Quad>(scene.sinks[h]));
  Quad sum = scene.sinks.empty() ? Quad{0} : quad_exp(static_cast<Quad>(scene.sinks[h]) - largest);
  QuadRow result{.output = std::vector<Quad>(s.value_dim, 0), .lse = 0};
  for (std::size_t t = 0; t < keys.size(); ++t) {
    const Quad weight = quad_exp(scores[t] - largest);
    sum += weight;
    for (std::size_t j = 0; j < s.value_dim; ++j)
      result.output[j] += weight * static_cast<Quad>(scene.v[(first + keys[t]) * s.value_dim + j]);
  }
  for (Quad& o : result.output) o /= sum;
  result.lse = largest + quad_log(sum);
  return result;
}

void expect_113_bits(const AnyScene& scene) {
  const AnyAttentionShape& s = scene.shape;
  const AnyExpected exact = scene.exact();
  double largest = 0.0;
  for (std::size_t row = 0; row < s.batches * s.heads * s.queries; ++row) {
    const QuadRow quad = in_113_bits(scene, row / (s.heads * s.queries), row / s.queries % s.heads, row % s.queries);
    for (std::size_t j = 0; j < s.value_dim; ++j) {
      const std::size_t index = row * s.value_dim + j;
      const auto error = static_cast<double>(quad_abs(quad.output[j] - static_cast<Quad>(exact.output.value[index])));
      ASSERT_LE(error, exact.output.bound[index] / 1000) << row << " " << j;
      largest = std::max(largest, error / exact.output.bound[index]);
    }
    const auto error = static_cast<double>(quad_abs(quad.lse - static_cast<Quad>(exact.lse.value[row])));
    ASSERT_LE(error, exact.lse.bound[row] / 1000) << row;
    largest = std::max(largest, error / exact.lse.bound[row]);
  }
  testing::Test::RecordProperty("largest_error_of_bound", fmt::format("{:.2g}", largest));
}

TEST(AnyAttention, AgreesWith113Bits) {
  for (const double cap : {0.0, 3.0, 50.0}) {
    for (const bool sinks : {false, true}) {
      AnyAttentionShape shape = small_shape();
      shape.softcap = cap;
      AnyScene scene = scene_of(shape, 11, sinks);
      expect_113_bits(scene);
      for (float& q : scene.q) q *= 30.0F;
      expect_113_bits(scene);
    }
  }
}

TEST(AnyAttention, TheLogarithmInBaseTwoIsTheNaturalOneOverLogTwo) {
  AnyAttentionShape shape = small_shape();
  const AnyExpected natural = scene_of(shape, 3).exact();
  shape.lse = LogBase::two;
  const AnyExpected two = scene_of(shape, 3).exact();
  for (std::size_t row = 0; row < two.lse.size(); ++row) {
    EXPECT_NEAR(two.lse.value[row], natural.lse.value[row] / math::log(2.0), 1e-14);
    EXPECT_GT(two.lse.bound[row], natural.lse.bound[row]);
  }
  EXPECT_EQ(two.output.value, natural.output.value);
}

TEST(AnyAttention, OneVisibleKeyGivesItsValueAndItsScore) {
  const AnyAttentionShape shape = small_shape();
  AnyScene scene = scene_of(shape, 5, false);
  for (std::size_t i = 0; i < scene.bias.size(); ++i) scene.bias[i] = i % shape.kv_rows == 7 ? 0.0F : kHidden;
  const AnyExpected exact = scene.exact();
  for (std::size_t row = 0; row < exact.lse.size(); ++row) {
    const std::size_t kv_head = row / (shape.heads * shape.queries) * shape.kv_heads + row / shape.queries % shape.heads / 2;
    const std::size_t key = kv_head * shape.kv_rows + 7;
    for (std::size_t j = 0; j < shape.value_dim; ++j) {
      EXPECT_EQ(exact.output.value[row * shape.value_dim + j], static_cast<double>(scene.v[key * shape.value_dim + j]));
      EXPECT_LT(exact.output.bound[row * shape.value_dim + j], 1e-6 * exact.output.magnitude[row * shape.value_dim + j] + 1e-30);
    }
    double score = 0.0;
    for (std::size_t c = 0; c < shape.head_dim; ++c) {
      score += static_cast<double>(scene.q[row * shape.head_dim + c]) * static_cast<double>(scene.k[key * shape.head_dim + c]);
    }
    EXPECT_NEAR(exact.lse.value[row], 0.125 * score, 1e-12);
  }
}

TEST(AnyAttention, ABatchReadsTheKeysThatItIsTold) {
  AnyAttentionShape shape = small_shape();
  shape.kv_len = {};
  AnyScene scene = scene_of(shape, 6);
  scene.shape.kv_batch = {1, 1};
  const AnyExpected shared = scene.exact();
  const auto half = [](std::vector<float>& rows) {
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2));
    rows.insert(rows.end(), rows.begin(), rows.end());
  };
  scene.shape.kv_batch = {};
  half(scene.k);
  half(scene.v);
  EXPECT_EQ(scene.exact().output.value, shared.output.value);
}

TEST(AnyAttention, NumbersMayBeFloatsOrDoubles) {
  const AnyScene scene = scene_of(small_shape(), 7);
  const std::vector<double> q(scene.q.begin(), scene.q.end()), k(scene.k.begin(), scene.k.end());
  AnyAttentionInputs inputs = scene.inputs();
  inputs.q = q;
  inputs.k = k;
  const AnyExpected doubles = any_attention(scene.shape, inputs);
  EXPECT_EQ(doubles.output.value, scene.exact().output.value);
  EXPECT_EQ(doubles.output.bound, scene.exact().output.bound);
}

TEST(AnyAttention, ARowThatSeesNothingIsWhatTheCallerSays) {
  AnyAttentionShape shape = small_shape();
  shape.kv_len = {41, 0};
  const double infinity = std::numeric_limits<double>::infinity();
  const std::size_t row = shape.heads * shape.queries;  // the first of batch 1
  for (const EmptyRow empty : {EmptyRow::zero, EmptyRow::nan, EmptyRow::any}) {
    shape.empty_row = empty;
    const AnyExpected exact = scene_of(shape, 8, false).exact();
    EXPECT_EQ(exact.is_empty[row], 1);
    EXPECT_EQ(exact.is_empty[0], 0);
    EXPECT_EQ(std::isnan(exact.output.value[row * shape.value_dim]), empty == EmptyRow::nan);
    EXPECT_EQ(exact.output.bound[row * shape.value_dim], empty == EmptyRow::any ? infinity : 0.0);
    EXPECT_EQ(exact.lse.value[row], -infinity);
    EXPECT_FALSE(std::isnan(exact.output.value[0]));
  }
}

TEST(AnyAttention, ARowThatSeesOnlyItsSinkIsZeroWithTheSinkAsItsLogarithm) {
  AnyAttentionShape shape = small_shape();
  shape.kv_len = {41, 0};
  shape.empty_row = EmptyRow::nan;
  const AnyScene scene = scene_of(shape, 8);
  const AnyExpected exact = scene.exact();
  const std::size_t row = shape.heads * shape.queries;
  EXPECT_EQ(exact.is_empty[row], 0);
  EXPECT_EQ(exact.output.value[row * shape.value_dim], 0.0);
  EXPECT_EQ(exact.output.bound[row * shape.value_dim], 0.0);
  EXPECT_EQ(exact.lse.value[row], static_cast<double>(scene.sinks[0]));
  EXPECT_LT(exact.lse.bound[row], 1e-5);
}

TEST(AnyAttention, WithoutConversionsNothingDeclaredCounts) {
  const AnyScene scene = scene_of(small_shape(), 9);
  AnyAttentionAccuracy declared;
  for (OutputFormat* format : {&declared.query, &declared.dot, &declared.scores, &declared.weights, &declared.accumulator,
                               &declared.statistics, &declared.output, &declared.lse_output}) {
    *format = half_format();
  }
  declared.stores = {bfloat_format()};
  EXPECT_EQ(weakest_unit(declared), 0x1p-8);
  EXPECT_EQ(scene.exact(without_conversions(declared)).output.bound, scene.exact().output.bound);
  EXPECT_EQ(scene.exact(without_conversions(declared)).lse.bound, scene.exact().lse.bound);
  EXPECT_EQ(scene.exact(declared).output.value, scene.exact().output.value);
}

// Each declaration widens every bound, so a kernel that is more exact passes too.
TEST(AnyAttention, DeclarationsOnlyWiden) {
  const AnyScene scene = scene_of(small_shape(), 10);
  const AnyExpected plain = scene.exact();
  using Format = OutputFormat AnyAttentionAccuracy::*;
  for (const Format format :
       {&AnyAttentionAccuracy::query, &AnyAttentionAccuracy::dot, &AnyAttentionAccuracy::scores, &AnyAttentionAccuracy::weights,
        &AnyAttentionAccuracy::accumulator, &AnyAttentionAccuracy::statistics, &AnyAttentionAccuracy::output}) {
    AnyAttentionAccuracy declared;
    declared.*format = half_format();
    const AnyExpected wider = scene.exact(declared);
    for (std::size_t i = 0; i < plain.output.size(); ++i) ASSERT_GT(wider.output.bound[i], plain.output.bound[i]);
  }
  for (const ArithmeticProfile& profile : {metal_profile(), metal_fast_profile()}) {
    const AnyExpected wider = scene.exact({.profile = profile});
    for (std::size_t i = 0; i < plain.output.size(); ++i) ASSERT_GT(wider.output.bound[i], plain.output.bound[i]);
  }
  const AnyExpected narrower = scene.exact({.dot_depth = 8});
  for (std::size_t i = 0; i < plain.output.size(); ++i) ASSERT_LT(narrower.output.bound[i], plain.output.bound[i]);
}

TEST(AnyAttention, RefusesWhatDoesNotFitTogether) {
  const auto refused = [](const std::function<void(AnyScene&)>& spoil) {
    AnyScene scene = scene_of(small_shape(), 1);
    spoil(scene);
    EXPECT_THROW(static_cast<void>(scene.exact()), std::invalid_argument);
  };
  refused([](AnyScene& s) { s.q.pop_back(); });
  refused([](AnyScene& s) { s.k.pop_back(); });
  refused([](AnyScene& s) { s.v.pop_back(); });
  refused([](AnyScene& s) { s.sinks.pop_back(); });
  refused([](AnyScene& s) { s.sinks[2] = NAN; });
  refused([](AnyScene& s) { s.q[5] = NAN; });
  refused([](AnyScene& s) { s.bias[5] = NAN; });
  refused([](AnyScene& s) { s.bias[5] = std::numeric_limits<float>::infinity(); });
  refused([](AnyScene& s) { std::ranges::fill(s.k, NAN); });
  refused([](AnyScene& s) { std::ranges::fill(s.v, NAN); });
  refused([](AnyScene& s) { s.shape.heads = 4; });
  refused([](AnyScene& s) { s.shape.kv_len = {41}; });
  refused([](AnyScene& s) { s.shape.kv_len = {41, 42}; });
  refused([](AnyScene& s) { s.shape.kv_batch = {0, 2}; });
  refused([](AnyScene& s) { s.shape.value_dim = 0; });
  refused([](AnyScene& s) { s.shape.softcap = -1.0; });
  refused([](AnyScene& s) { s.shape.scale = NAN; });
}

}  // namespace
}  // namespace assay::tests::oracle_any_attention_test
