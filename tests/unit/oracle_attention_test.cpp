// The attention oracle: cases with a known answer, identities, an evaluation in 113 bits, and what it refuses.
// Long because each rule of the contract is computed a second time by hand.
#include "oracles/attention.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "fixtures/generators.h"
#include "oracles/codebook.h"
#include "oracles/fwht.h"
#include "tests/unit/oracle_quad.h"

namespace assay::tests::oracle_attention_test {
namespace {

using fixtures::DecodeInputs;
using oracles::DecodeShape;
using oracles::Expected;
using oracles::MaskType;
using oracles::NormLayout;

DecodeInputs make(const DecodeShape& shape, const char* fixture = "gauss", std::uint64_t seed = 5) {
  return fixtures::find_fixture(fixture).decode({.shape = shape, .seed = seed});
}

Expected evaluate(const DecodeShape& shape, const DecodeInputs& inputs) {
  return oracles::decode_attention(shape, inputs.q, inputs.cache(), {.dot_depth = 13});
}

// Coordinate j of a stored value, by the definition in the header and nothing else.
double stored_value(const DecodeShape& shape, const DecodeInputs& inputs, std::size_t g, std::size_t slot, std::size_t j) {
  const std::size_t position = g * shape.kv_capacity + slot;
  const std::uint8_t byte = inputs.v_codes[position * shape.head_dim / 2 + j / 2];
  const double centroid = static_cast<double>(oracles::codebook(4)[j % 2 == 0 ? byte & 15 : byte >> 4]);
  return centroid * static_cast<double>(inputs.v_norms[position]) / std::sqrt(static_cast<double>(shape.head_dim));
}

void expect_close(const Expected& a, const Expected& b, double relative) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t j = 0; j < a.size(); ++j) {
    ASSERT_NEAR(a.value[j], b.value[j], relative * (a.magnitude[j] + 1e-300)) << j;
    ASSERT_NEAR(a.magnitude[j], b.magnitude[j], relative * a.magnitude[j]) << j;
  }
}

TEST(OracleAttention, OneVisibleKeyGivesItsValue) {
  for (const std::size_t dim : {256U, 512U}) {
    const DecodeShape shape{.heads = 4,
                            .kv_heads = 2,
                            .head_dim = dim,
                            .kv_len = 40,
                            .kv_capacity = 40,
                            .ring_start = 11,
                            .mask_type = MaskType::sliding_window,
                            .sliding_window = 1,
                            .scale = 0.1F};
    const DecodeInputs inputs = make(shape);
    const Expected expected = evaluate(shape, inputs);
    // The newest position stands one slot before the oldest.
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t j = 0; j < dim; ++j) {
        const double value = stored_value(shape, inputs, h / 2, 10, j);
        ASSERT_NEAR(expected.value[h * dim + j], value, 4e-16 * std::abs(value));
        // Four roundings of the value, then reciprocal and product of a weight of 1: no softmax, no sums between positions.
        ASSERT_LT(expected.bound[h * dim + j], 80 * 0x1p-24 * std::abs(value));
      }
    }
  }
}

TEST(OracleAttention, EqualScoresGiveTheMean) {
  const DecodeShape shape{.heads = 2, .kv_heads = 1, .head_dim = 256, .kv_len = 50, .kv_capacity = 64, .scale = 0.25F};
  const DecodeInputs inputs = make(shape, "uniform");
  const Expected expected = evaluate(shape, inputs);
  for (std::size_t j = 0; j < 256; ++j) {
    double mean = 0.0;
    double size = 0.0;
    for (std::size_t slot = 0; slot < 50; ++slot) {
      mean += stored_value(shape, inputs, 0, slot, j) / 50.0;
      size += std::abs(stored_value(shape, inputs, 0, slot, j)) / 50.0;
    }
    ASSERT_NEAR(expected.value[j], mean, 1e-14 * size);
    ASSERT_NEAR(expected.magnitude[j], size, 1e-14 * size);
  }
}

TEST(OracleAttention, ZeroQueryAveragesForAnyKeys) {
  const DecodeShape shape{.heads = 1, .kv_heads = 1, .head_dim = 512, .kv_len = 33, .kv_capacity = 33, .ring_start = 5, .scale = 1.0F};
  DecodeInputs inputs = make(shape);
  std::fill(inputs.q.begin(), inputs.q.end(), 0.0F);
  DecodeInputs other = make(shape, "gauss", 6);
  other.q = inputs.q;
  other.v_codes = inputs.v_codes;
  other.v_norms = inputs.v_norms;
  expect_close(evaluate(shape, inputs), evaluate(shape, other), 1e-15);
}

TEST(OracleAttention, DominatingKeyIsOneHot) {
  const DecodeShape shape{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 70, .kv_capacity = 70, .scale = 0.0625F};
  DecodeInputs inputs = make(shape);
  // Position 23's key is the query itself, a thousand times as long: every other weight is below e^-800.
  for (std::size_t i = 0; i < 256; ++i) {
    const std::uint8_t index = oracles::quantize_coordinate(oracles::codebook(4), static_cast<double>(inputs.q[i]));
    std::uint8_t& byte = inputs.k_codes[23 * 128 + i / 2];
    byte = static_cast<std::uint8_t>(i % 2 == 0 ? (byte & 0xf0) | index : (byte & 0x0f) | (index << 4));
  }
  inputs.k_norms[23] = 16000.0F;
  const Expected expected = evaluate(shape, inputs);
  for (std::size_t j = 0; j < 256; ++j) ASSERT_NEAR(expected.value[j], stored_value(shape, inputs, 0, 23, j), 1e-15);
}

TEST(OracleAttention, ScalingValuesScalesValueBoundAndMagnitude) {
  const DecodeShape shape{.heads = 2, .kv_heads = 2, .head_dim = 256, .kv_len = 90, .kv_capacity = 90, .scale = 0.0625F};
  DecodeInputs inputs = make(shape);
  const Expected before = evaluate(shape, inputs);
  for (float& norm : inputs.v_norms) norm *= 1024.0F;
  const Expected after = evaluate(shape, inputs);
  for (std::size_t j = 0; j < before.size(); ++j) {
    ASSERT_DOUBLE_EQ(after.value[j], 1024.0 * before.value[j]);
    ASSERT_NEAR(after.bound[j], 1024.0 * before.bound[j], 1e-12 * after.bound[j]);
  }
}

TEST(OracleAttention, RotatingTheRingWithItsContentsChangesNothing) {
  const DecodeShape straight{.heads = 2,
                             .kv_heads = 1,
                             .head_dim = 256,
                             .kv_len = 77,
                             .kv_capacity = 77,
                             .mask_type = MaskType::sliding_window,
                             .sliding_window = 30,
                             .scale = 0.0625F};
  const DecodeInputs inputs = make(straight);
  for (const std::size_t start : {1U, 31U, 32U, 60U, 76U}) {
    DecodeShape turned = straight;
    turned.ring_start = start;
    DecodeInputs moved = inputs;
    for (std::size_t slot = 0; slot < 77; ++slot) {
      const std::size_t to = (slot + start) % 77;
      std::copy_n(inputs.k_codes.begin() + static_cast<std::ptrdiff_t>(slot * 128), 128,
                  moved.k_codes.begin() + static_cast<std::ptrdiff_t>(to * 128));
      std::copy_n(inputs.v_codes.begin() + static_cast<std::ptrdiff_t>(slot * 128), 128,
                  moved.v_codes.begin() + static_cast<std::ptrdiff_t>(to * 128));
      moved.k_norms[to] = inputs.k_norms[slot];
      moved.v_norms[to] = inputs.v_norms[slot];
    }
    const Expected expected = evaluate(straight, inputs);
    const Expected turned_expected = evaluate(turned, moved);
    EXPECT_EQ(turned_expected.value, expected.value) << start;
  }
}

TEST(OracleAttention, AWindowIsAShorterHistory) {
  // The 20 newest of 60 positions, and a cache that holds only those.
  DecodeShape windowed{.heads = 1,
                       .kv_heads = 1,
                       .head_dim = 256,
                       .kv_len = 60,
                       .kv_capacity = 60,
                       .mask_type = MaskType::sliding_window,
                       .sliding_window = 20,
                       .scale = 0.0625F};
  const DecodeInputs inputs = make(windowed);
  const DecodeShape short_shape{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 20, .kv_capacity = 20, .scale = 0.0625F};
  DecodeInputs tail = inputs;
  tail.k_codes.assign(inputs.k_codes.begin() + 40 * 128, inputs.k_codes.end());
  tail.v_codes.assign(inputs.v_codes.begin() + 40 * 128, inputs.v_codes.end());
  tail.k_norms.assign(inputs.k_norms.begin() + 40, inputs.k_norms.end());
  tail.v_norms.assign(inputs.v_norms.begin() + 40, inputs.v_norms.end());
  EXPECT_EQ(evaluate(windowed, inputs).value, evaluate(short_shape, tail).value);
  // Without mask type 2, and with a window of 0 or of everything, all positions count.
  const std::vector<double> all = [&] {
    DecodeShape open = windowed;
    open.mask_type = MaskType::none;
    return evaluate(open, inputs).value;
  }();
  for (const auto& [type, window] : {std::pair{MaskType::causal, 20}, std::pair{MaskType::sliding_window, 0},
                                     std::pair{MaskType::sliding_window, 60}, std::pair{MaskType::sliding_window, 61}}) {
    windowed.mask_type = type;
    windowed.sliding_window = static_cast<std::size_t>(window);
    EXPECT_EQ(evaluate(windowed, inputs).value, all) << window;
  }
}

TEST(OracleAttention, VisibleSlotsFollowTime) {
  DecodeShape shape{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 5, .kv_capacity = 5, .ring_start = 3};
  // Oldest at 3, then 4, 0, 1, and the newest at 2.
  EXPECT_EQ(oracles::visible_slots(shape), (std::vector<std::size_t>{2, 1, 0, 4, 3}));
  shape.mask_type = MaskType::sliding_window;
  shape.sliding_window = 3;
  EXPECT_EQ(oracles::visible_slots(shape), (std::vector<std::size_t>{2, 1, 0}));
  shape = {.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 3, .kv_capacity = 5};
  EXPECT_EQ(oracles::visible_slots(shape), (std::vector<std::size_t>{2, 1, 0}));
}

TEST(OracleAttention, QueryIsTheOnlyInputRoundedToHalf) {
  const DecodeShape shape{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 12, .kv_capacity = 12, .scale = 0.0625F};
  DecodeInputs inputs = make(shape);
  const Expected expected = evaluate(shape, inputs);
  for (float& q : inputs.q) q = static_cast<float>(static_cast<_Float16>(q));
  EXPECT_EQ(evaluate(shape, inputs).value, expected.value);
}

TEST(OracleAttention, WithoutConversionsNothingIsRoundedToAnotherFormat) {
  const DecodeShape shape{.heads = 2, .kv_heads = 1, .head_dim = 256, .kv_len = 12, .kv_capacity = 12, .scale = 0.0625F};
  DecodeInputs inputs = make(shape);
  const oracles::AttentionAccuracy weak = {
      .dot_depth = 13, .output = oracles::bfloat_format(), .accumulator = oracles::half_format(), .stores = {oracles::half_format()}};
  const oracles::AttentionAccuracy plain = oracles::without_conversions(weak);
  EXPECT_EQ(oracles::weakest_unit(plain), oracles::kFloatUnit);
  EXPECT_EQ(plain.dot_depth, weak.dot_depth);
  const auto of = [&](const oracles::AttentionAccuracy& accuracy) {
    return oracles::decode_attention(shape, inputs.q, inputs.cache(), accuracy);
  };
  const Expected rounded = evaluate(shape, inputs);
  const Expected left_alone = of(plain);
  std::size_t apart = 0;
  for (std::size_t j = 0; j < rounded.size(); ++j) {
    const double distance = std::abs(rounded.value[j] - left_alone.value[j]);
    apart += distance > rounded.bound[j] + left_alone.bound[j];
    ASSERT_LT(distance, 1e-2 * rounded.magnitude[j]) << j;
    ASSERT_NEAR(left_alone.bound[j], rounded.bound[j], 0.1 * rounded.bound[j]) << "float arithmetic and nothing else";
  }
  EXPECT_GT(apart, rounded.size() / 2) << "q is not half";

  for (float& q : inputs.q) q = static_cast<float>(static_cast<_Float16>(q));
  EXPECT_EQ(of(plain).value, rounded.value);
  EXPECT_EQ(of(plain).bound, evaluate(shape, inputs).bound);
}

// The rotation's own rounding remains: as a doubt of q, which half would widen to a whole step or hide altogether.
TEST(OracleAttention, WithoutConversionsAFusedRotationIsInDoubtByItsOwnRounding) {
  DecodeShape shape{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 12, .kv_capacity = 12, .scale = 0.0625F};
  const DecodeInputs inputs = make(shape);
  std::vector<double> rotated(inputs.q.begin(), inputs.q.end());
  oracles::fwht_in_place(rotated, shape.head_dim, oracles::FwhtMode::signs_first);
  const std::vector<float> in_float(rotated.begin(), rotated.end());
  const oracles::AttentionAccuracy plain = oracles::without_conversions(oracles::AttentionAccuracy{.dot_depth = 13});
  const Expected apart = oracles::decode_attention(shape, in_float, inputs.cache(), plain);
  shape.fused_rotation = true;
  const Expected fused = oracles::decode_attention(shape, inputs.q, inputs.cache(), plain);
  for (std::size_t j = 0; j < fused.size(); ++j) {
    ASSERT_LE(std::abs(fused.value[j] - apart.value[j]), fused.bound[j]) << j;
    ASSERT_GT(fused.bound[j], apart.bound[j]) << j;
    ASSERT_LT(fused.bound[j], 20.0 * apart.bound[j]) << j;
  }
}

TEST(OracleAttention, ValueRules) {
  // The same codes under each rule: D = 512 with one norm against two equal block norms, which differ by sqrt(512) / scale_factor.
  const DecodeShape shape{.heads = 2, .kv_heads = 1, .head_dim = 512, .kv_len = 20, .kv_capacity = 24, .scale = 0.0625F};
  const DecodeInputs one = make(shape);
  DecodeInputs two = one;
  two.norm_layout = NormLayout::one_per_block;
  two.scale_factor_d512 = static_cast<float>(std::sqrt(512.0));
  for (auto* norms : {&two.k_norms, &two.v_norms}) {
    std::vector<float> doubled;
    for (const float norm : *norms) doubled.insert(doubled.end(), {norm, norm});
    norms->assign(doubled.begin(), doubled.end());
  }
  expect_close(evaluate(shape, one), evaluate(shape, two), 1e-5);
  // Only the second half of the coordinates answers to the second norm.
  for (std::size_t i = 1; i < two.v_norms.size(); i += 2) two.v_norms[i] *= 2.0F;
  const Expected base = evaluate(shape, one);
  const Expected changed = evaluate(shape, two);
  for (std::size_t j = 0; j < 512; ++j) ASSERT_NEAR(changed.value[j], (j < 256 ? 1.0 : 2.0) * base.value[j], 1e-5 * changed.magnitude[j]);
  // 8 bits: one code a byte, and an index is masked to its bits.
  const DecodeShape small{.heads = 1, .kv_heads = 1, .head_dim = 256, .kv_len = 1, .kv_capacity = 1};
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  const std::vector<float> q(256, 1.0F);
  const std::vector<float> norm{16.0F};
  for (const int bits : {5, 6, 8}) {
    const oracles::TurboQuantCache cache{bits, NormLayout::one_per_block, 1.0F, codes, codes, norm, norm};
    const Expected expected = oracles::decode_attention(small, q, cache);
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(expected.value[i], static_cast<double>(oracles::codebook(bits)[i % (std::size_t{1} << bits)])) << bits;
    }
  }
}

// The definition, position by position in 113 bits.
std::vector<Quad> quad_attention(const DecodeShape& shape, const DecodeInputs& inputs, bool rounds_queries) {
  const std::size_t dim = shape.head_dim;
  const bool blocks = inputs.norm_layout == NormLayout::one_per_block && dim > 256;
  const Quad divisor = blocks ? static_cast<Quad>(inputs.scale_factor_d512) : quad_sqrt(static_cast<double>(dim));
  const std::span<const float> table = oracles::codebook(inputs.bits);
  const auto coordinate = [&](std::span<const std::uint8_t> codes, std::span<const float> norms, std::size_t position, std::size_t j) {
    const std::size_t index = inputs.bits == 4 ? (codes[position * dim / 2 + j / 2] >> (4 * (j % 2))) & 15 : codes[position * dim + j];
    const float norm = blocks ? norms[position * 2 + j / 256] : norms[position];
    return static_cast<Quad>(table[index]) * static_cast<Quad>(norm) / divisor;
  };
  std::vector<Quad> output(shape.heads * dim);
  for (std::size_t h = 0; h < shape.heads; ++h) {
    const std::size_t g = h / (shape.heads / shape.kv_heads);
    std::vector<std::size_t> positions;
    std::vector<Quad> scores;
    for (std::size_t slot = 0; slot < shape.kv_len; ++slot) {
      // Order in time, oldest first, and from it the age.
      std::size_t order = 0;
      for (std::size_t at = shape.ring_start; at != slot; at = (at + 1) % shape.kv_capacity) ++order;
      const std::size_t age = shape.kv_len - 1 - order;
      if (shape.mask_type == MaskType::sliding_window && shape.sliding_window > 0 && age >= shape.sliding_window) continue;
      Quad dot = 0;
      for (std::size_t i = 0; i < dim; ++i) {
        const float stored = inputs.q[h * dim + i];
        const Quad q = rounds_queries ? static_cast<float>(static_cast<_Float16>(stored)) : stored;
        dot += q * coordinate(inputs.k_codes, inputs.k_norms, g * shape.kv_capacity + slot, i);
      }
      positions.push_back(g * shape.kv_capacity + slot);
      scores.push_back(dot * static_cast<Quad>(shape.scale));
    }
    const Quad largest = *std::max_element(scores.begin(), scores.end());
    Quad sum = 0;
    for (Quad& score : scores) {
      score = quad_exp(score - largest);
      sum += score;
    }
    for (std::size_t j = 0; j < dim; ++j) {
      Quad total = 0;
      for (std::size_t t = 0; t < positions.size(); ++t) total += scores[t] * coordinate(inputs.v_codes, inputs.v_norms, positions[t], j);
      output[h * dim + j] = total / sum;
    }
  }
  return output;
}

class OracleAttentionQuad : public testing::TestWithParam<std::string> {};

TEST_P(OracleAttentionQuad, OracleErrsLessThanAThousandthOfTheSmallestBound) {
  const std::vector<fixtures::DecodeRequest> requests = {
      {.shape = {.heads = 2,
                 .kv_heads = 1,
                 .head_dim = 256,
                 .kv_len = 70,
                 .kv_capacity = 70,
                 .ring_start = 33,
                 .mask_type = MaskType::sliding_window,
                 .sliding_window = 40,
                 .scale = 0.0625F},
       .seed = 1},
      {.shape = {.heads = 2, .kv_heads = 2, .head_dim = 512, .kv_len = 40, .kv_capacity = 50, .scale = 1.0F}, .seed = 2},
      {.shape = {.heads = 1, .kv_heads = 1, .head_dim = 512, .kv_len = 33, .kv_capacity = 33, .ring_start = 1, .scale = 0.044F},
       .bits = 6,
       .norm_layout = NormLayout::one_per_block,
       .scale_factor_d512 = 22.627417F,
       .seed = 3},
  };
  double largest = 0.0;
  for (const fixtures::DecodeRequest& request : requests) {
    const DecodeInputs inputs = fixtures::find_fixture(GetParam()).decode(request);
    for (const bool rounds_queries : {true, false}) {
      oracles::AttentionAccuracy accuracy = {.dot_depth = 13};
      if (!rounds_queries) accuracy = without_conversions(accuracy);
      const Expected expected = oracles::decode_attention(request.shape, inputs.q, inputs.cache(), accuracy);
      const std::vector<Quad> exact = quad_attention(request.shape, inputs, rounds_queries);
      for (std::size_t j = 0; j < exact.size(); ++j) {
        const auto error = static_cast<double>(quad_abs(exact[j] - static_cast<Quad>(expected.value[j])));
        ASSERT_LT(error, 1e-3 * expected.bound[j]) << "element " << j << " of request with seed " << request.seed << ", " << rounds_queries;
        largest = std::max(largest, error / expected.bound[j]);
      }
    }
  }
  RecordProperty("largest_oracle_error_over_bound", fmt::format("{}", largest));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, OracleAttentionQuad,
                         testing::Values("gauss", "outlier", "needle", "uniform", "drift", "cancel", "large", "all_negative",
                                         "all_negative_deep", "tiny", "zero", "half_edge", "poisoned"),
                         [](const auto& parameter) { return parameter.param; });

TEST(OracleAttention, RefusesWhatDoesNotFitAndSaysTheValues) {
  const DecodeShape good{.heads = 4, .kv_heads = 2, .head_dim = 256, .kv_len = 10, .kv_capacity = 20, .scale = 0.0625F};
  const DecodeInputs inputs = make(good);
  const auto message = [&](auto change) -> std::string {
    DecodeShape shape = good;
    DecodeInputs copy = inputs;
    change(shape, copy);
    try {
      (void)oracles::decode_attention(shape, copy.q, copy.cache());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  const auto expect_refusal = [&](const char* part, auto change) {
    EXPECT_NE(message(change).find(part), std::string::npos) << message(change);
  };
  EXPECT_EQ(message([](DecodeShape&, DecodeInputs&) {}), "accepted");
  expect_refusal("head_dim 128", [](DecodeShape& s, DecodeInputs&) { s.head_dim = 128; });
  expect_refusal("4 heads are not a multiple of 3", [](DecodeShape& s, DecodeInputs&) { s.kv_heads = 3; });
  expect_refusal("kv_len 0", [](DecodeShape& s, DecodeInputs&) { s.kv_len = 0; });
  expect_refusal("kv_len 21", [](DecodeShape& s, DecodeInputs&) { s.kv_len = 21; });
  expect_refusal("ring_start 3", [](DecodeShape& s, DecodeInputs&) { s.ring_start = 3; });
  expect_refusal("mask_type 7", [](DecodeShape& s, DecodeInputs&) { s.mask_type = static_cast<MaskType>(7); });
  expect_refusal("no codebook of 7 bits", [](DecodeShape&, DecodeInputs& i) { i.bits = 7; });
  expect_refusal("k_codes has 5119", [](DecodeShape&, DecodeInputs& i) { i.k_codes.pop_back(); });
  expect_refusal("v_norms has 41", [](DecodeShape&, DecodeInputs& i) { i.v_norms.push_back(1.0F); });
  expect_refusal("q is 65505", [](DecodeShape&, DecodeInputs& i) { i.q[7] = 65505.0F; });
  expect_refusal("norm of visible V slot 4 of key/value head 1",
                 [](DecodeShape&, DecodeInputs& i) { i.v_norms[24] = std::numeric_limits<float>::quiet_NaN(); });
  // Behind the end the same NaN has no effect.
  EXPECT_EQ(message([](DecodeShape&, DecodeInputs& i) { i.v_norms[35] = std::numeric_limits<float>::quiet_NaN(); }), "accepted");
}

}  // namespace
}  // namespace assay::tests::oracle_attention_test
