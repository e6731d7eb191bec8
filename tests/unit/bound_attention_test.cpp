// The bound of decode attention from both sides: right arithmetic in any order stays inside, planted mistakes do not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "fixtures/counter.h"
#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "metal/buffer.h"
#include "oracles/attention.h"
#include "tests/support/flush_subnormals.h"
#include "tests/unit/bound_reference_kernel.h"

namespace assay::tests::bound_attention_test {
namespace {

using oracles::DecodeShape;
using oracles::MaskType;

struct Point {
  DecodeShape shape;
  int bits = 4;
  oracles::NormLayout layout = oracles::NormLayout::one_per_position;
};

DecodeShape shape_of(std::size_t dim, std::size_t heads, std::size_t kv_heads, std::size_t n, std::size_t capacity, std::size_t ring,
                     std::size_t window, bool unit_scale = false) {
  return {.heads = heads,
          .kv_heads = kv_heads,
          .head_dim = dim,
          .kv_len = n,
          .kv_capacity = capacity,
          .ring_start = ring,
          .mask_type = window > 0 ? MaskType::sliding_window : MaskType::none,
          .sliding_window = window,
          .scale = unit_scale ? 1.0F : static_cast<float>(1.0 / std::sqrt(static_cast<double>(dim)))};
}

std::vector<Point> points() {
  using enum oracles::NormLayout;
  return {
      {shape_of(256, 2, 1, 1, 1, 0, 0)},
      {shape_of(256, 2, 2, 31, 64, 0, 0)},
      {shape_of(256, 4, 2, 33, 33, 32, 0)},
      {shape_of(256, 4, 1, 100, 100, 37, 41)},
      {shape_of(256, 8, 1, 300, 512, 0, 64)},
      {shape_of(256, 2, 1, 300, 300, 299, 0, true)},
      {shape_of(512, 2, 1, 65, 128, 0, 33)},
      {shape_of(512, 4, 2, 257, 257, 31, 0)},
      {shape_of(512, 2, 2, 129, 129, 1, 0, true), 4, one_per_block},
      {shape_of(256, 2, 1, 129, 129, 5, 100), 5, one_per_block},
      {shape_of(512, 2, 1, 97, 97, 3, 0), 8, one_per_block},
      {shape_of(256, 4, 4, 513, 514, 0, 0, true)},
  };
}

// `expected`: with one workgroup.
harness::Judgement judge_reference(const Point& point, const fixtures::DecodeInputs& inputs, const ReferenceOptions& options,
                                   oracles::Expected expected) {
  const std::vector<float> raw = reference_decode(point.shape, inputs.q, inputs.cache(), options);
  if (options.nwg == 1) return harness::judge(raw, expected);
  const oracles::PartialsShape layout{.rows = point.shape.heads, .head_dim = point.shape.head_dim, .nwg = options.nwg};
  oracles::widen_for_merge(expected, options.nwg);
  return harness::judge(oracles::merge_partials(layout, raw, metal::kPoisonWord).output, expected);
}

harness::Judgement judge_reference(const Point& point, const fixtures::DecodeInputs& inputs, const ReferenceOptions& options,
                                   const oracles::AttentionAccuracy& accuracy) {
  return judge_reference(point, inputs, options, oracles::decode_attention(point.shape, inputs.q, inputs.cache(), accuracy));
}

std::string describe(const harness::Judgement& judgement) {
  std::string text = fmt::format("above {}, nan {}, inf {}, max ratio {}, median b/A {}, uninformative {}, mistrusted '{}'",
                                 judgement.above_bound, judgement.nans, judgement.infs, judgement.max_ratio, judgement.median_bound_ratio,
                                 judgement.uninformative, judgement.mistrusted ? to_string(judgement.mistrusted->why) : "");
  if (!judgement.worst.empty()) {
    const harness::WorstElement& worst = judgement.worst.front();
    text += fmt::format("; worst [{}]: expected {}, actual {}, bound {}", worst.index, worst.expected, worst.actual, worst.bound);
  }
  return text;
}

// The depth of the contract's own tree (kernels/variants/tq4_v1): what a bound may be tightened to in the order `contract`.
constexpr std::size_t kContractDepth = 13;

// All, or those that every shape may have: bounds of the others are informative only for the shapes that they are made for.
std::vector<std::string> decode_fixture_names(bool is_for_every_shape) {
  std::vector<std::string> names;
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    if (fixture.decode != nullptr && (fixture.for_every_shape || !is_for_every_shape)) names.emplace_back(fixture.name);
  }
  return names;
}

class EveryFixture : public testing::TestWithParam<std::string> {};

TEST_P(EveryFixture, RightArithmeticStaysInsideTheBoundInEveryOrder) {
  const fixtures::Fixture& fixture = fixtures::find_fixture(GetParam());
  double largest = 0.0;
  std::uint64_t seed = 0;
  for (const Point& point : points()) {
    const fixtures::DecodeInputs inputs =
        fixture.decode({.shape = point.shape, .bits = point.bits, .norm_layout = point.layout, .scale_factor_d512 = 16.0F, .seed = ++seed});
    const std::vector<ReferenceOptions> variations = {
        {},
        {.nwg = 3},
        {.nwg = 32, .values = Order::pairwise},
        {.dot = Order::sequential, .values = Order::reversed, .chunks_backwards = true},
        {.nwg = 2, .dot = Order::reversed, .values = Order::pairwise},
        {.dot = Order::pairwise, .chunks_backwards = true},
        {.dot = Order::sequential, .key_after_key = true},
        {.nwg = 2, .key_after_key = true, .chunks_backwards = true},
    };
    const oracles::Expected in_any_order = oracles::decode_attention(point.shape, inputs.q, inputs.cache(), {});
    const oracles::Expected as_contracted = oracles::decode_attention(point.shape, inputs.q, inputs.cache(), {.dot_depth = kContractDepth});
    for (const ReferenceOptions& options : variations) {
      const harness::Judgement judgement =
          judge_reference(point, inputs, options, options.dot == Order::contract ? as_contracted : in_any_order);
      EXPECT_TRUE(judgement.above_bound == 0 && judgement.nans == 0 && judgement.infs == 0)
          << "point " << seed << " nwg " << options.nwg << ": " << describe(judgement);
      EXPECT_FALSE(fixture.for_every_shape && judgement.mistrusted)
          << "point " << seed << " nwg " << options.nwg << ": " << describe(judgement);
      largest = std::max(largest, judgement.max_ratio);
    }
  }
  RecordProperty("largest_error_over_bound", fmt::format("{}", largest));
}

INSTANTIATE_TEST_SUITE_P(BoundAttention, EveryFixture, testing::ValuesIn(decode_fixture_names(false)),
                         [](const auto& parameter) { return parameter.param; });

// Each mistake with the fixture that is meant to show it.
struct Plant {
  const char* name;
  Mistake mistake;
  const char* fixture;
  Point point;
  std::size_t nwg = 1;
};

std::vector<Plant> plants() {
  const Point plain{shape_of(256, 4, 2, 300, 300, 0, 0)};
  const Point few{shape_of(256, 4, 2, 40, 40, 0, 0)};
  const Point ring{shape_of(256, 4, 2, 300, 300, 37, 0)};
  const Point window{shape_of(256, 4, 2, 300, 300, 37, 100)};
  const Point roomy{shape_of(256, 4, 2, 300, 400, 0, 100)};
  const Point wide{shape_of(512, 4, 2, 300, 400, 0, 100)};
  const Point blocks{shape_of(512, 2, 1, 40, 40, 3, 0), 4, oracles::NormLayout::one_per_block};
  return {
      {"scale_off", Mistake::scale_off, "half_edge", few},
      {"query_not_rounded", Mistake::query_not_rounded, "half_edge", plain},
      {"query_not_rounded_wide", Mistake::query_not_rounded, "half_edge", wide},
      {"newest_dropped", Mistake::newest_dropped, "uniform", plain},
      {"newest_dropped_needle", Mistake::newest_dropped, "needle", plain},
      {"oldest_dropped", Mistake::oldest_dropped, "uniform", ring},
      {"window_too_wide", Mistake::window_too_wide, "needle", window},
      {"window_too_wide_uniform", Mistake::window_too_wide, "uniform", roomy},
      {"window_too_narrow", Mistake::window_too_narrow, "uniform", window},
      {"neighbour_k_norm", Mistake::neighbour_k_norm, "gauss", plain},
      {"neighbour_v_norm", Mistake::neighbour_v_norm, "gauss", wide},
      {"nibbles_swapped", Mistake::nibbles_swapped, "gauss", plain},
      {"wrong_head", Mistake::wrong_head, "gauss", plain},
      {"no_rescale", Mistake::no_rescale, "gauss", plain},
      {"sum_not_rescaled", Mistake::sum_not_rescaled, "gauss", plain},
      {"maximum_from_zero", Mistake::maximum_from_zero, "all_negative", plain},
      {"maximum_from_half", Mistake::maximum_from_half, "all_negative_deep", plain},
      {"last_chunk_lost", Mistake::last_chunk_lost, "uniform", plain},
      {"half_accumulator", Mistake::half_accumulator, "drift", plain},
      {"half_weights", Mistake::half_weights, "gauss", plain},
      {"one_centroid_off", Mistake::one_centroid_off, "gauss", {shape_of(256, 2, 1, 1, 1, 0, 0)}},
      {"no_maximum", Mistake::no_maximum, "large", plain},
      {"ring_ignored", Mistake::ring_ignored, "needle", window},
      {"workgroup_lost", Mistake::workgroup_lost, "uniform", plain, 4},
      {"norm_threshold", Mistake::norm_threshold, "tiny", plain},
      {"reads_past_end", Mistake::reads_past_end, "poisoned", roomy},
      {"chunks_not_skipped", Mistake::chunks_not_skipped, "poisoned", roomy},
      {"unnormalised", Mistake::unnormalised, "gauss", plain},
      {"first_block_norm", Mistake::first_block_norm, "structured", blocks},
      {"norm_by_division", Mistake::norm_by_division, "zero", plain},
      {"nibbles_swapped_outlier", Mistake::nibbles_swapped, "outlier", plain},
      {"neighbour_v_norm_heavy", Mistake::neighbour_v_norm, "heavy", plain},
      {"oldest_dropped_cancel", Mistake::oldest_dropped, "cancel", ring},
  };
}

class EveryPlant : public testing::TestWithParam<Plant> {};

TEST_P(EveryPlant, ExceedsTheBoundAndItsTwinDoesNot) {
  const Plant& plant = GetParam();
  const fixtures::DecodeInputs inputs =
      fixtures::find_fixture(plant.fixture).decode({.shape = plant.point.shape, .norm_layout = plant.point.layout, .seed = 11});
  const oracles::AttentionAccuracy accuracy{.dot_depth = kContractDepth};
  const harness::Judgement wrong = judge_reference(plant.point, inputs, {.nwg = plant.nwg, .mistake = plant.mistake}, accuracy);
  const harness::Judgement right = judge_reference(plant.point, inputs, {.nwg = plant.nwg}, accuracy);
  EXPECT_TRUE(right.passed()) << describe(right);
  EXPECT_GT(wrong.above_bound + wrong.nans + wrong.infs, 0U) << describe(wrong);
  RecordProperty("error_over_bound", fmt::format("{}", wrong.max_ratio));
  RecordProperty("error_over_bound_of_twin", fmt::format("{}", right.max_ratio));
}

INSTANTIATE_TEST_SUITE_P(BoundAttention, EveryPlant, testing::ValuesIn(plants()),
                         [](const auto& parameter) { return std::string(parameter.param.name); });

// What `gauss` cannot see: without these fixtures the mistakes would pass.
TEST(BoundAttention, SomeMistakesShowOnTheirFixtureOnly) {
  const Point roomy{shape_of(256, 4, 2, 300, 400, 0, 100)};
  for (const auto& [mistake, fixture] :
       {std::pair{Mistake::maximum_from_zero, "all_negative"}, std::pair{Mistake::maximum_from_half, "all_negative_deep"},
        std::pair{Mistake::norm_threshold, "tiny"}, std::pair{Mistake::reads_past_end, "poisoned"},
        std::pair{Mistake::chunks_not_skipped, "poisoned"}, std::pair{Mistake::no_maximum, "large"},
        std::pair{Mistake::norm_by_division, "zero"}}) {
    const auto judgement_on = [&](std::string_view name) {
      const fixtures::DecodeInputs inputs = fixtures::find_fixture(name).decode({.shape = roomy.shape, .seed = 4});
      return judge_reference(roomy, inputs, {.mistake = mistake}, {.dot_depth = kContractDepth});
    };
    EXPECT_TRUE(judgement_on("gauss").passed()) << fixture << ": " << describe(judgement_on("gauss"));
    EXPECT_FALSE(judgement_on(fixture).passed()) << fixture;
  }
}

// Shapes, fixtures, orders and splits drawn at random, many of them small.
TEST(BoundAttention, RightArithmeticStaysInsideTheBoundOverRandomCases) {
  const fixtures::Counter counter(2026, fixtures::Stream::data);
  std::uint64_t drawn = 0;
  const auto below = [&](std::uint64_t bound) { return counter.below(drawn++, bound); };
  const std::vector<std::string> names = decode_fixture_names(true);
  double largest = 0.0;
  for (int i = 0; i < 250; ++i) {
    const std::size_t dim = below(3) == 0 ? 512 : 256;
    const std::size_t kv_heads = 1 + below(2);
    const std::size_t n = 1 + below(below(4) == 0 ? 200 : 70);
    const std::size_t capacity = n + (below(2) == 0 ? 0 : below(100));
    const std::size_t ring = capacity == n ? below(n) : 0;
    const std::size_t window = below(2) == 0 ? 0 : 1 + below(n + 2);
    const Point point{shape_of(dim, kv_heads * (1 + below(3)), kv_heads, n, capacity, ring, window, below(2) == 0)};
    const std::string& name = names[below(names.size())];
    const ReferenceOptions options{.nwg = 1 + below(5),
                                   .dot = static_cast<Order>(below(4)),
                                   .values = static_cast<Order>(below(4)),
                                   .chunks_backwards = below(2) == 0};
    oracles::AttentionAccuracy accuracy;
    if (options.dot == Order::contract) accuracy.dot_depth = kContractDepth;
    const fixtures::DecodeInputs inputs =
        fixtures::find_fixture(name).decode({.shape = point.shape, .seed = static_cast<std::uint64_t>(i)});
    const harness::Judgement judgement = judge_reference(point, inputs, options, accuracy);
    ASSERT_TRUE(judgement.passed()) << "case " << i << " " << name << " n " << n << " window " << window << ": " << describe(judgement);
    largest = std::max(largest, judgement.max_ratio);
  }
  RecordProperty("largest_error_over_bound", fmt::format("{}", largest));
}

TEST(BoundAttention, MetalProfileAllowsInexactExponentialsAndFlushingAndTheSimulatorsDoesNot) {
  bool simulator_refuses_exp = false;
  bool simulator_refuses_flush = false;
  for (const std::string& name : decode_fixture_names(false)) {
    for (const Point& point : {Point{shape_of(256, 4, 2, 300, 300, 37, 100)}, Point{shape_of(256, 2, 1, 2, 2, 0, 0)},
                               Point{shape_of(512, 2, 1, 33, 33, 1, 0)}}) {
      fixtures::DecodeInputs inputs = fixtures::find_fixture(name).decode({.shape = point.shape, .seed = 21});
      // Three floats off and half a rounding are within the 4 ulp that Metal permits.
      const ReferenceOptions inexact{.exp_steps = 3};
      const oracles::AttentionAccuracy metal{.profile = oracles::metal_profile(), .dot_depth = kContractDepth};
      const harness::Judgement judgement = judge_reference(point, inputs, inexact, metal);
      EXPECT_EQ(judgement.above_bound + judgement.nans, 0U) << name << ": " << describe(judgement);
      // Bounds add up what rarely happens at once: it takes an exp as coarse as this to show in the sum.
      const ReferenceOptions coarse{.exp_steps = 300};
      simulator_refuses_exp =
          simulator_refuses_exp || judge_reference(point, inputs, coarse, {.dot_depth = kContractDepth}).above_bound > 0;

      // Values around the smallest normal float, so that products with weights are flushed, or the values themselves.
      if (name == "tiny") {
        for (float& norm : inputs.v_norms) norm = std::max(norm, 0x1p-124F);
        for (std::size_t i = 0; i < inputs.v_norms.size(); i += 2) inputs.v_norms[i] = 0x1p-130F;
      }
      const oracles::Expected exact_metal = oracles::decode_attention(point.shape, inputs.q, inputs.cache(), metal);
      const oracles::Expected exact_simulator =
          oracles::decode_attention(point.shape, inputs.q, inputs.cache(), {.dot_depth = kContractDepth});
      std::vector<float> flushed;
      {
        const FlushSubnormals flush;
        flushed = reference_decode(point.shape, inputs.q, inputs.cache());
      }
      EXPECT_EQ(harness::judge(flushed, exact_metal).above_bound, 0U) << name;
      simulator_refuses_flush = simulator_refuses_flush || harness::judge(flushed, exact_simulator).above_bound > 0;
    }
  }
  EXPECT_TRUE(simulator_refuses_exp);
  EXPECT_TRUE(simulator_refuses_flush);
}

TEST(BoundAttention, DotDepthTightensAndNeverLoosens) {
  const Point point{shape_of(256, 2, 1, 64, 64, 0, 0)};
  const fixtures::DecodeInputs inputs = fixtures::find_fixture("gauss").decode({.shape = point.shape, .seed = 3});
  const auto bounds = [&](std::optional<std::size_t> depth) {
    return oracles::decode_attention(point.shape, inputs.q, inputs.cache(), {.dot_depth = depth}).bound;
  };
  const auto by_default = bounds(std::nullopt);
  EXPECT_EQ(bounds(256), by_default);
  EXPECT_EQ(bounds(100000), by_default);
  const auto tight = bounds(13);
  for (std::size_t j = 0; j < tight.size(); ++j) ASSERT_LT(tight[j], by_default[j]);
}

TEST(BoundAttention, WhatMetalPermitsIsNeverLessThanWhatTheSimulatorDoes) {
  const Point point{shape_of(512, 2, 1, 100, 100, 7, 50)};
  const fixtures::DecodeInputs inputs = fixtures::find_fixture("gauss").decode({.shape = point.shape, .seed = 3});
  const auto bounds = [&](const oracles::ArithmeticProfile& profile) {
    return oracles::decode_attention(point.shape, inputs.q, inputs.cache(), {.profile = profile, .dot_depth = 13}).bound;
  };
  const auto simulator = bounds(oracles::simulator_profile());
  const auto metal = bounds(oracles::metal_profile());
  const auto fast = bounds(oracles::metal_fast_profile());
  for (std::size_t j = 0; j < simulator.size(); ++j) {
    ASSERT_LT(simulator[j], metal[j]);
    ASSERT_LT(metal[j], fast[j]);
  }
}

}  // namespace
}  // namespace assay::tests::bound_attention_test
