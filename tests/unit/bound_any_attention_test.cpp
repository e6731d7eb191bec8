// The bound of attention of any shape from both sides: float kernels of many shapes stay inside with every declared rounding, mistakes do
// not, and on normal rows the bound is sharp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/flush_subnormals.h"
#include "tests/unit/any_attention_kernels.h"

namespace assay::tests::bound_any_attention_test {
namespace {

using namespace oracles;
using Dot = AnyKernel::Dot;

AnyAttentionShape shape_of(std::size_t dim, std::size_t n, std::size_t queries = 2) {
  AnyAttentionShape shape;
  shape.batches = 1;
  shape.heads = 4;
  shape.kv_heads = 2;
  shape.queries = queries;
  shape.kv_rows = n;
  shape.head_dim = shape.value_dim = dim;
  shape.scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim))));
  shape.lse = LogBase::natural;
  return shape;
}

// Loops of one thread, matrices of 8 x 8, simdgroups with keys in turn, several passes with a merge.
std::vector<std::pair<const char*, AnyKernel>> float_kernels() {
  return {{"key after key", {}},
          {"backwards, fma", {.dot = Dot::backwards, .backwards = true, .divides = true}},
          {"chunks of 32", {.dot = Dot::blocks, .chunk = 32, .scales_query = true, .tanh_by_exp = true}},
          {"chunks of 8, base two", {.dot = Dot::blocks, .chunk = 8, .scales_query = true, .base_two = true}},
          {"maximum first", {.chunk = 0}},
          {"32 simdgroups", {.dot = Dot::lanes, .parts = 32, .deals_in_turn = true, .scales_query = true, .base_two = true}},
          {"2 simdgroups", {.parts = 2, .deals_in_turn = true}},
          {"two passes", {.dot = Dot::lanes, .parts = 7, .merges_in_tree = true, .normalises_parts = true, .base_two = true}}};
}

TEST(BoundAnyAttention, FloatKernelsOfManyShapesStayInside) {
  double largest = 0.0;
  for (const std::size_t dim : {32U, 128U, 576U}) {
    for (const std::size_t n : {1U, 2U, 31U, 130U, 700U}) {
      for (std::size_t rows = 0; rows < kAnyRows; ++rows) {
        AnyAttentionShape shape = shape_of(dim, n);
        shape.value_dim = 72;
        if (rows % 2 == 1) shape.softcap = 30.0;
        AnyScene scene = any_scene(shape, static_cast<AnyRows>(rows), static_cast<std::uint32_t>(dim + n + rows));
        if (n % 2 == 1) scene.sinks = {-1.0F, 0.0F, 2.0F, 9.0F};
        const AnyExpected exact = scene.exact();
        for (const auto& [name, kernel] : float_kernels()) {
          const AnyOutput output = run_any_kernel(scene, kernel);
          const double ratio = std::max(largest_ratio(output.output, exact.output), largest_ratio(output.lse, exact.lse));
          EXPECT_LT(ratio, 0.75) << name << " " << name_of(static_cast<AnyRows>(rows)) << " D " << dim << " n " << n;
          largest = std::max(largest, ratio);
        }
      }
    }
  }
  RecordProperty("largest_error_of_bound", fmt::format("{:.3f}", largest));
}

TEST(BoundAnyAttention, LongSumsInAnyOrderStayInside) {
  for (const AnyRows rows :
       {AnyRows::gauss, AnyRows::positive, AnyRows::equal_keys, AnyRows::faint, AnyRows::alternating, AnyRows::drift}) {
    AnyAttentionShape shape = shape_of(64, 8192, 1);
    shape.value_dim = 32;
    const AnyScene scene = any_scene(shape, rows, 3);
    const AnyExpected exact = scene.exact();
    for (const auto& [name, kernel] : float_kernels()) {
      const AnyOutput output = run_any_kernel(scene, kernel);
      EXPECT_LT(largest_ratio(output.output, exact.output), 0.75) << name << " " << name_of(rows);
      EXPECT_LT(largest_ratio(output.lse, exact.lse), 0.75) << name << " " << name_of(rows);
    }
  }
}

// A soft cap leaves scores far from 0 with differences below the spacing of floats near the sum of the weights: nearly equal weights, none
// of which has the float of another, then round in the same direction.
AnyScene saturated_scene(std::size_t n, double score) {
  AnyAttentionShape shape = shape_of(64, n, 1);
  shape.value_dim = 32;
  shape.softcap = 30.0;
  AnyScene scene = any_scene(shape, AnyRows::gauss, 4);
  const std::vector<float> direction(scene.q.begin(), scene.q.begin() + 64);
  double length = 0.0;
  for (const float d : direction) length += static_cast<double>(d) * static_cast<double>(d);
  for (std::size_t i = 0; i < scene.q.size(); ++i) scene.q[i] = direction[i % 64];
  for (std::size_t i = 0; i < scene.k.size(); ++i) {
    const double target = score * (1.0 + 0.05 * static_cast<double>(i / 64 * 37 % 1009) / 1009.0);
    scene.k[i] = static_cast<float>(target / (shape.scale * length)) * direction[i % 64];
  }
  for (std::size_t i = 0; i < scene.v.size(); ++i) scene.v[i] = 0.1F * scene.v[i] + (i % 3 == 0 ? -2.0F : 1.5F);
  return scene;
}

TEST(BoundAnyAttention, NearlyEqualWeightsThatRoundAlikeStayInside) {
  double largest = 0.0;
  for (const std::size_t n : {300U, 2048U, 8192U}) {
    for (const double score : {-195.0, -150.0, -100.0, 150.0}) {
      const AnyScene scene = saturated_scene(n, score);
      const AnyExpected exact = scene.exact();
      for (const auto& [name, kernel] : float_kernels()) {
        const AnyOutput output = run_any_kernel(scene, kernel);
        const double ratio = std::max(largest_ratio(output.output, exact.output), largest_ratio(output.lse, exact.lse));
        EXPECT_LT(ratio, 0.4) << name << " n " << n << " score " << score;
        largest = std::max(largest, ratio);
      }
    }
  }
  RecordProperty("largest_error_of_bound", fmt::format("{:.3f}", largest));
}

// Float resolves 16,384 equal weights to 1e-3 in any order; a bound beyond would call right kernels mistrusted.
TEST(BoundAnyAttention, SumsOfEqualWeightsHaveABoundThatIsInformative) {
  for (const std::size_t n : {4096U, 16384U}) {
    AnyAttentionShape shape = shape_of(64, n, 1);
    shape.value_dim = 32;
    const Expected exact = any_scene(shape, AnyRows::equal_all, 3).exact().output;
    EXPECT_LT(median_sharpness(exact), 0.06 * static_cast<double>(n) * 1e-6) << n;
  }
}

struct RoundingPoint {
  std::string name;
  AnyKernel kernel;
  AnyAttentionAccuracy accuracy;
};

// Long because it is a list.
std::vector<RoundingPoint> rounding_points(const OutputFormat& format) {
  std::vector<RoundingPoint> points = {
      {"query", {.chunk = 8, .scales_query = true}, {}},
      {"query, base two", {.chunk = 8, .scales_query = true, .base_two = true}, {}},
      {"keys", {.chunk = 8}, {.keys = format}},
      {"values", {.dot = Dot::lanes, .parts = 5}, {.values = format}},
      {"dot", {}, {.dot = format}},
      {"scores", {.chunk = 32, .base_two = true}, {.scores = format}},
      {"weights", {.chunk = 32}, {.weights = format}},
      {"weights, sum unrounded", {.sums_rounded_weights = false}, {.weights = format}},
      {"accumulator", {.chunk = 32}, {.accumulator = format, .accumulator_keys = 32}},
      {"statistics", {.chunk = 32}, {.statistics = format}},
      {"partials", {.parts = 5}, {.stores = {format}}},
      {"normalised partials", {.parts = 8, .deals_in_turn = true, .merges_in_tree = true, .normalises_parts = true}, {.stores = {format}}},
      {"output", {}, {.output = format}},
  };
  for (RoundingPoint& point : points) {
    if (point.name.starts_with("query")) point.accuracy.query = point.kernel.query = format;
    point.kernel.keys = point.accuracy.keys;
    point.kernel.values = point.accuracy.values;
    point.kernel.dots = point.accuracy.dot;
    point.kernel.scores = point.accuracy.scores;
    point.kernel.weights = point.accuracy.weights;
    point.kernel.accumulator = point.accuracy.accumulator;
    point.kernel.accumulator_keys = point.accuracy.accumulator_keys;
    point.kernel.statistics = point.accuracy.statistics;
    if (!point.accuracy.stores.empty()) point.kernel.partials = format;
  }
  return points;
}

// `faint` and `equal_all` are left out where sums are narrow: they stop growing, which no declaration excuses.
bool stops_growing(const RoundingPoint& point, AnyRows rows) {
  return (point.name == "accumulator" || point.name == "statistics") &&
         (rows == AnyRows::faint || rows == AnyRows::equal_all || rows == AnyRows::few_keys);
}

TEST(BoundAnyAttention, EveryDeclaredRoundingStaysInsideAndIsNoticedWhereItIsNotDeclared) {
  for (const OutputFormat& format : {half_format(), bfloat_format()}) {
    for (const RoundingPoint& point : rounding_points(format)) {
      double largest = 0.0, undeclared = 0.0;
      for (const std::size_t n : {1U, 7U, 33U, 300U}) {
        for (std::size_t rows = 0; rows < kAnyRows; ++rows) {
          if (stops_growing(point, static_cast<AnyRows>(rows))) continue;
          AnyAttentionShape shape = shape_of(64, n);
          if (rows % 3 == 1) shape.softcap = 30.0;
          const AnyScene scene = any_scene(shape, static_cast<AnyRows>(rows), static_cast<std::uint32_t>(n + rows));
          const AnyOutput output = run_any_kernel(scene, point.kernel);
          const AnyExpected exact = scene.exact(point.accuracy);
          const double ratio = largest_ratio(output.output, exact.output, point.accuracy.output);
          EXPECT_LE(ratio, 1.0) << format.name << " " << point.name << " " << name_of(static_cast<AnyRows>(rows)) << " n " << n;
          EXPECT_LE(largest_ratio(output.lse, exact.lse), 1.0) << format.name << " " << point.name << " lse " << rows << " n " << n;
          largest = std::max(largest, ratio);
          if (rows == 0) undeclared = std::max(undeclared, largest_ratio(output.output, scene.exact().output, point.accuracy.output));
        }
      }
      EXPECT_GT(largest, 0.1) << format.name << " " << point.name;
      EXPECT_GT(undeclared, 10.0) << format.name << " " << point.name;
      RecordProperty(fmt::format("{}_{}", format.name, point.name), fmt::format("{:.3f}", largest));
    }
  }
}

// Eight roundings of a storage format are a result; an accumulator that stops growing is none.
TEST(BoundAnyAttention, AnAccumulatorThatStopsGrowingIsNotExcused) {
  const AnyScene scene = any_scene(shape_of(64, 4096), AnyRows::positive, 5);
  const AnyExpected exact = scene.exact({.accumulator = half_format()});
  EXPECT_GT(largest_ratio(run_any_kernel(scene, {.accumulator = half_format()}).output, exact.output), 1.0);
}

// Where a score may be off by more than the softmax resolves, the bound is as large as the values, and no less.
TEST(BoundAnyAttention, ScoresBeyondTheDigitsOfFloatAreStillBounded) {
  for (const float factor : {1e3F, 1e5F, 1e8F, 1e18F}) {
    AnyScene scene = any_scene(shape_of(64, 100), AnyRows::gauss, 12);
    for (float& q : scene.q) q *= factor;
    const AnyExpected exact = scene.exact({.query = half_format(), .scores = bfloat_format()});
    const AnyOutput output = run_any_kernel(scene);
    EXPECT_LT(largest_ratio(output.output, exact.output), 1.0) << factor;
    EXPECT_LT(largest_ratio(output.lse, exact.lse), 1.0) << factor;
    EXPECT_LT(*std::ranges::max_element(exact.output.bound), 20.0) << factor;
  }
}

// Subnormals flushed by the processor, and every exponential 3 floats off.
TEST(BoundAnyAttention, TheProfileOfMetalCoversFlushingAndItsExponential) {
  AnyScene scene = any_scene(shape_of(64, 200), AnyRows::gauss, 6);
  for (float& v : scene.v) v *= 0x1p-124F;
  const AnyExpected metal = scene.exact({.profile = metal_profile()}), fast = scene.exact({.profile = metal_fast_profile()});
  const AnyExpected simulator = scene.exact();
  const AnyOutput output = [&scene] {
    const FlushSubnormals flushed;
    return run_any_kernel(scene, {.exp_steps = 3});
  }();
  EXPECT_LT(largest_ratio(output.output, metal.output), 1.0);
  EXPECT_LT(largest_ratio(output.output, fast.output), 1.0);
  EXPECT_LT(largest_ratio(output.lse, metal.lse), 1.0);
  EXPECT_GT(largest_ratio(output.output, simulator.output), 1.0);
}

TEST(BoundAnyAttention, OnNormalRowsTheMedianIsBelowTwoMillionths) {
  double largest = 0.0;
  for (const std::size_t dim : {32U, 64U, 128U, 256U, 512U}) {
    for (const std::size_t n : {64U, 500U, 1024U, 4096U}) {
      const double median = median_sharpness(any_scene(shape_of(dim, n), AnyRows::gauss, 7).exact().output);
      EXPECT_LT(median, 2e-6) << dim << " " << n;
      largest = std::max(largest, median);
    }
  }
  for (const std::size_t dim : {32U, 64U, 128U}) {
    for (const std::size_t n : {1U, 7U, 16U, 32U}) {
      EXPECT_LT(median_sharpness(any_scene(shape_of(dim, n), AnyRows::gauss, 7).exact().output), 2e-6) << dim << " " << n;
    }
  }
  RecordProperty("largest_median", fmt::format("{:.3g}", largest));
}

// How often a row exceeds the bound somewhere, of all rows.
double rows_outside(const AnyScene& scene, const std::vector<float>& output, const Expected& exact) {
  const std::size_t dim = scene.shape.value_dim, rows = output.size() / dim;
  std::size_t outside = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    bool is_outside = false;
    for (std::size_t i = row * dim; i < (row + 1) * dim; ++i) {
      is_outside = is_outside || !(std::abs(static_cast<double>(output[i]) - exact.value[i]) <= exact.bound[i]);
    }
    outside += is_outside ? 1 : 0;
  }
  return static_cast<double>(outside) / static_cast<double>(rows);
}

TEST(BoundAnyAttention, OneDroppedKeyOf4096IsOutsideInEveryRow) {
  for (const std::size_t dim : {32U, 64U, 128U, 256U}) {
    const AnyScene scene = any_scene(shape_of(dim, 4096, 1), AnyRows::gauss, 8);
    const Expected exact = scene.exact().output;
    for (const std::size_t which : {0U, 1U, 1000U, 2047U, 2048U, 4094U, 4095U}) {
      const AnyOutput output = run_any_kernel(scene, {.mistake = AnyMistake::drops_key, .which = which});
      EXPECT_EQ(rows_outside(scene, output.output, exact), 1.0) << dim << " " << which;
    }
  }
}

TEST(BoundAnyAttention, MistakesAreOutsideInEveryRow) {
  using enum AnyMistake;
  for (const std::size_t dim : {64U, 128U, 256U}) {
    for (const std::size_t n : {40U, 300U, 1000U}) {
      AnyAttentionShape shape = shape_of(dim, n);
      shape.softcap = 5.0;
      AnyScene scene = any_scene(shape, AnyRows::gauss, 9);
      scene.sinks = {0.0F, 1.0F, -1.0F, 2.0F};
      for (std::size_t i = 0; i < shape.heads * shape.queries * n; ++i)
        scene.bias.push_back(-3.0F * static_cast<float>(i * 37 % n) / static_cast<float>(n));
      const Expected exact = scene.exact().output;
      EXPECT_EQ(rows_outside(scene, run_any_kernel(scene).output, exact), 0.0);
      for (const AnyMistake mistake :
           {drops_key, exchanges_values, no_sink, sink_has_value, cap_after_bias, bias_of_next_key, scale_twice}) {
        const AnyOutput output = run_any_kernel(scene, {.mistake = mistake, .which = n - 7});
        EXPECT_EQ(rows_outside(scene, output.output, exact), 1.0) << static_cast<int>(mistake) << " D " << dim << " n " << n;
      }
      // Two of four heads read other keys; a row whose first key is the largest needs no rescaling.
      EXPECT_EQ(rows_outside(scene, run_any_kernel(scene, {.mistake = kv_head_by_modulo}).output, exact), 0.5);
      EXPECT_GE(rows_outside(scene, run_any_kernel(scene, {.mistake = no_rescale}).output, exact), 0.75);
    }
  }
}

// Query i sees keys up to i + offset.
std::vector<float> causal(const AnyAttentionShape& shape, std::size_t offset) {
  std::vector<float> bias;
  for (std::size_t row = 0; row < shape.heads * shape.queries; ++row) {
    for (std::size_t key = 0; key < shape.kv_rows; ++key) {
      bias.push_back(key > row % shape.queries + offset ? -std::numeric_limits<float>::infinity() : 0.0F);
    }
  }
  return bias;
}

TEST(BoundAnyAttention, ACausalOffsetThatIsOffByOneIsOutsideInEveryRow) {
  for (const std::size_t dim : {64U, 128U, 256U}) {
    for (const std::size_t n : {33U, 512U, 2048U}) {
      AnyScene scene = any_scene(shape_of(dim, n, 8), AnyRows::gauss, 10);
      scene.bias = causal(scene.shape, n - 9);
      const Expected exact = scene.exact().output;
      EXPECT_EQ(rows_outside(scene, run_any_kernel(scene).output, exact), 0.0);
      for (const std::size_t offset : {n - 10, n - 8}) {
        scene.bias = causal(scene.shape, offset);
        EXPECT_EQ(rows_outside(scene, run_any_kernel(scene).output, exact), 1.0) << dim << " " << n;
      }
    }
  }
}

// Keys and values that are rounded differ for each key, so the whole of a key is still seen.
TEST(BoundAnyAttention, ADroppedKeyIsOutsideWithRoundedKeysAndValues) {
  for (const OutputFormat& format : {half_format(), bfloat_format()}) {
    const AnyAttentionAccuracy accuracy{.keys = format, .values = format};
    const AnyScene scene = any_scene(shape_of(128, 1000), AnyRows::gauss, 11);
    const Expected exact = scene.exact(accuracy).output;
    EXPECT_LT(largest_ratio(run_any_kernel(scene, {.keys = format, .values = format}).output, exact), 1.0);
    std::size_t seen = 0;
    for (std::size_t which = 0; which < 20; ++which) {
      const AnyOutput output = run_any_kernel(scene, {.keys = format, .values = format, .mistake = AnyMistake::drops_key, .which = which});
      seen += rows_outside(scene, output.output, exact) > 0.0 ? 1 : 0;
    }
    EXPECT_EQ(seen, 20U) << format.name;
  }
}

// Under the formats of half-precision kernels mistakes of a whole key are still seen.
TEST(BoundAnyAttention, ADroppedKeyIsOutsideInHalfPrecisionToo) {
  AnyAttentionAccuracy accuracy{.weights = half_format(), .output = half_format()};
  const AnyScene scene = any_scene(shape_of(128, 1000), AnyRows::gauss, 11);
  const Expected exact = scene.exact(accuracy).output;
  std::size_t seen = 0;
  for (std::size_t which = 0; which < 20; ++which) {
    const AnyOutput output = run_any_kernel(scene, {.weights = half_format(), .mistake = AnyMistake::drops_key, .which = which});
    seen += rows_outside(scene, output.output, exact) > 0.0 ? 1 : 0;
  }
  EXPECT_GE(seen, 15U);
}

}  // namespace
}  // namespace assay::tests::bound_any_attention_test
