// Declared weaker storage: an honest half accumulator passes with its declaration and fails without, one that stops growing fails with
// it, and what a declaration adds has its limit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/shared/attention_accuracy.h"
#include "fixtures/generators.h"
#include "harness/judge/judge.h"
#include "kernels/variant.h"
#include "oracles/attention.h"
#include "tests/unit/bound_reference_kernel.h"

namespace assay::tests::bound_storage_test {
namespace {

constexpr std::size_t kContractDepth = 13;
constexpr double kHalfUnit = 0x1p-11;

oracles::DecodeShape shape_of(std::size_t n) {
  return {.heads = 2, .kv_heads = 1, .head_dim = 256, .kv_len = n, .kv_capacity = n, .scale = 1.0F / 16.0F};
}

oracles::AttentionAccuracy float_accuracy() { return {.dot_depth = kContractDepth}; }
oracles::AttentionAccuracy half_accuracy() {
  oracles::AttentionAccuracy accuracy = float_accuracy();
  accuracy.accumulator = oracles::half_format();
  return accuracy;
}

harness::Judgement judge_half_kernel(std::string_view fixture, std::size_t n, const oracles::AttentionAccuracy& accuracy) {
  const oracles::DecodeShape shape = shape_of(n);
  const fixtures::DecodeInputs inputs = fixtures::find_fixture(fixture).decode({.shape = shape, .seed = 5});
  const std::vector<float> output = reference_decode(shape, inputs.q, inputs.cache(), {.mistake = Mistake::half_accumulator});
  return harness::judge(output, oracles::decode_attention(shape, inputs.q, inputs.cache(), accuracy), {},
                        {.informative_ratio = 16.0 * oracles::weakest_unit(accuracy)});
}

oracles::Expected expected_of(std::string_view fixture, std::size_t n, const oracles::AttentionAccuracy& accuracy) {
  const oracles::DecodeShape shape = shape_of(n);
  const fixtures::DecodeInputs inputs = fixtures::find_fixture(fixture).decode({.shape = shape, .seed = 5});
  return oracles::decode_attention(shape, inputs.q, inputs.cache(), accuracy);
}

TEST(BoundStorage, AnHonestHalfAccumulatorPassesWithItsDeclarationOnly) {
  for (const char* fixture : {"gauss", "heavy", "structured", "uniform", "drift", "needle"}) {
    for (const std::size_t n : {1U, 33U, 65U, 128U, 300U}) {
      const harness::Judgement declared = judge_half_kernel(fixture, n, half_accuracy());
      EXPECT_TRUE(declared.passed()) << fixture << " n " << n << ": " << declared.max_ratio;
      EXPECT_GT(judge_half_kernel(fixture, n, float_accuracy()).above_bound, 0U) << fixture << " n " << n;
    }
  }
}

// Sums of more than 2^15 have a spacing of 32 in half: what a chunk adds is swallowed, doubled, or ends in infinity.
TEST(BoundStorage, AnAccumulatorThatStopsGrowingIsNotExcused) {
  const harness::Judgement judgement = judge_half_kernel("drift", 60000, half_accuracy());
  EXPECT_GT(judgement.above_bound + judgement.infs, 0U) << judgement.max_ratio;
}

// Values below the range of half vanish in it; a declaration does not make them right.
TEST(BoundStorage, ValuesThatTheFormatCannotHoldAreNotExcused) {
  EXPECT_GT(judge_half_kernel("tiny", 65, half_accuracy()).above_bound, 0U);
}

TEST(BoundStorage, OneChunkAddsOneRoundingAndManyEight) {
  for (const auto& [n, units] : {std::pair<std::size_t, double>{32, 1.0}, {300, 8.0}, {20000, 8.0}}) {
    const oracles::Expected exact = expected_of("gauss", n, float_accuracy());
    const oracles::Expected half = expected_of("gauss", n, half_accuracy());
    for (std::size_t j = 0; j < half.size(); ++j) {
      const double added = half.bound[j] - exact.bound[j];
      const double unit = kHalfUnit * half.magnitude[j];
      // Half has an absolute part as well; these values are far from it.
      ASSERT_GE(added, 0.999 * units * unit) << j;
      ASSERT_LE(added, (n == 32 ? 1.01 * units * unit + 0x1p-24 : 8.0000001 * unit)) << j;
    }
  }
}

TEST(BoundStorage, ARoundingAfterEveryEightKeysIsFourInAChunk) {
  oracles::AttentionAccuracy often = half_accuracy();
  often.accumulator_keys = 8;
  const oracles::Expected exact = expected_of("gauss", 32, float_accuracy());
  const oracles::Expected half = expected_of("gauss", 32, often);
  for (std::size_t j = 0; j < half.size(); ++j) {
    const double added = half.bound[j] - exact.bound[j];
    ASSERT_GE(added, 0.999 * 4.0 * kHalfUnit * half.magnitude[j]) << j;
    ASSERT_LE(added, 1.01 * 4.0 * kHalfUnit * half.magnitude[j] + 0x1p-22) << j;
  }
}

TEST(BoundStorage, EveryStoreIsOneRoundingOfItsFormat) {
  oracles::AttentionAccuracy stores = float_accuracy();
  stores.stores = {oracles::bfloat_format(), oracles::float_format(), oracles::bfloat_format(), oracles::bfloat_format()};
  EXPECT_EQ(oracles::weakest_unit(stores), 0x1p-8);
  const oracles::Expected exact = expected_of("gauss", 300, float_accuracy());
  const oracles::Expected stored = expected_of("gauss", 300, stores);
  const double three = std::pow(1.0 + 0x1p-8, 3) - 1.0;
  for (std::size_t j = 0; j < stored.size(); ++j) {
    const double added = stored.bound[j] - exact.bound[j];
    ASSERT_GE(added, three * stored.magnitude[j]) << j;
    ASSERT_LE(added, 1.001 * three * stored.magnitude[j]) << j;
  }
}

TEST(BoundStorage, AMergeStoreCountsWithEveryHalvingOfNsg) {
  kernels::Accuracy declared;
  declared.stores = {"bf16"};
  declared.merge_store = "half";
  const std::vector<std::pair<std::int64_t, std::size_t>> rows = {{1, 1}, {2, 2}, {4, 3}};
  for (const auto& [nsg, stores] : rows) {
    const oracles::AttentionAccuracy accuracy = families::attention_accuracy(declared, oracles::bfloat_format(), nsg);
    ASSERT_EQ(accuracy.stores.size(), stores) << nsg;
    EXPECT_EQ(accuracy.stores.front().unit(), oracles::bfloat_format().unit());
    if (nsg > 1) EXPECT_EQ(accuracy.stores.back().unit(), oracles::half_format().unit());
  }
}

// Keys or values that are dequantised to a narrow format before their products.
TEST(BoundStorage, RoundedKeysAndValuesPassWithTheirDeclarationOnly) {
  for (const oracles::OutputFormat& format : {oracles::half_format(), oracles::bfloat_format()}) {
    for (const char* fixture : {"gauss", "heavy", "structured", "uniform", "drift", "needle"}) {
      for (const std::size_t n : {1U, 33U, 300U}) {
        const oracles::DecodeShape shape = shape_of(n);
        const fixtures::DecodeInputs inputs = fixtures::find_fixture(fixture).decode({.shape = shape, .seed = 5});
        for (const bool is_key : {true, false}) {
          ReferenceOptions options;
          oracles::AttentionAccuracy accuracy = float_accuracy();
          (is_key ? options.keys : options.stored) = (is_key ? accuracy.keys : accuracy.values) = format;
          const std::vector<float> output = reference_decode(shape, inputs.q, inputs.cache(), options);
          const auto judged = [&](const oracles::AttentionAccuracy& by) {
            return harness::judge(output, oracles::decode_attention(shape, inputs.q, inputs.cache(), by), {},
                                  {.informative_ratio = 16.0 * oracles::weakest_unit(by)});
          };
          const harness::Judgement declared = judged(accuracy);
          const std::string what = fmt::format("{} {} n {} {}", format.name, fixture, n, is_key ? "keys" : "values");
          EXPECT_EQ(declared.above_bound, 0U) << what << ": " << declared.max_ratio;
          // The weight of a single key, or of equal ones, does not depend on its score. The scores of `drift` are large.
          const std::string_view kind = fixture;
          const bool counts = kind != "drift" && (!is_key || (n > 1 && kind != "uniform" && kind != "needle"));
          if (counts) EXPECT_GT(judged(float_accuracy()).above_bound, 0U) << what;
          RecordProperty(what, fmt::format("{:.3f} {:.2g}", declared.max_ratio, declared.median_bound_ratio));
        }
      }
    }
  }
}

// Values of 1e-34 are 0 in half: no kernel with this storage can do better, and none may do worse than half a subnormal.
TEST(BoundStorage, ValuesBelowTheirFormatMayVanishButNotGrow) {
  const oracles::DecodeShape shape = shape_of(300);
  const fixtures::DecodeInputs inputs = fixtures::find_fixture("tiny").decode({.shape = shape, .seed = 5});
  oracles::AttentionAccuracy accuracy = float_accuracy();
  accuracy.values = oracles::half_format();
  const auto judged = [&](const std::vector<float>& output, const oracles::AttentionAccuracy& by, double declared_loss) {
    return harness::judge(output, oracles::decode_attention(shape, inputs.q, inputs.cache(), by), {},
                          {.informative_ratio = 16.0 * oracles::weakest_unit(by), .declared_loss = declared_loss});
  };
  const std::vector<float> vanished = reference_decode(shape, inputs.q, inputs.cache(), {.stored = oracles::half_format()});
  ASSERT_TRUE(std::ranges::all_of(vanished, [](float value) { return value == 0.0F; }));
  const double loss = families::declared_loss(accuracy);
  EXPECT_EQ(loss, 0x1p-24);
  EXPECT_TRUE(judged(vanished, accuracy, loss).passed()) << judged(vanished, accuracy, loss).max_ratio;
  EXPECT_EQ(judged(vanished, float_accuracy(), families::declared_loss(float_accuracy())).above_bound, vanished.size());
  const std::vector<float> grown(vanished.size(), 0x1.01p-25F);
  EXPECT_EQ(judged(grown, accuracy, loss).above_bound, grown.size());
  // Keys alone do not allow it.
  accuracy.keys = oracles::half_format();
  accuracy.values = oracles::float_format();
  EXPECT_GT(judged(vanished, accuracy, families::declared_loss(accuracy)).above_bound, 0U);
}

// The exception is for numbers of that size only: a bound for normal numbers is what it was.
TEST(BoundStorage, TheLossOfValuesDoesNotWidenBoundsOfNormalNumbers) {
  oracles::AttentionAccuracy accuracy = float_accuracy();
  accuracy.values = oracles::half_format();
  const oracles::Expected expected = expected_of("gauss", 300, accuracy);
  const oracles::Expected exact = expected_of("gauss", 300, float_accuracy());
  for (std::size_t j = 0; j < expected.size(); ++j)
    ASSERT_LE(expected.bound[j], exact.bound[j] + 1.01 * kHalfUnit * expected.magnitude[j] + 0x1.01p-25) << j;
}

TEST(BoundStorage, RoundedKeysAddTheirUnitToEachProductAndHalfASubnormal) {
  oracles::AttentionAccuracy accuracy = float_accuracy();
  accuracy.keys = oracles::half_format();
  // Two keys: the output moves with the difference of their scores, so that the bound can be computed by hand.
  const oracles::Expected exact = expected_of("gauss", 2, float_accuracy());
  const oracles::Expected rounded = expected_of("gauss", 2, accuracy);
  for (std::size_t j = 0; j < exact.size(); ++j) ASSERT_GT(rounded.bound[j], exact.bound[j]) << j;
  accuracy.keys = oracles::bfloat_format();
  const oracles::Expected coarse = expected_of("gauss", 2, accuracy);
  for (std::size_t j = 0; j < exact.size(); ++j) {
    // Eight times the unit; the absolute part of half vanishes here, and e^r - 1 grows a little faster than r.
    const double ratio = (coarse.bound[j] - exact.bound[j]) / (rounded.bound[j] - exact.bound[j]);
    ASSERT_GT(ratio, 7.9) << j;
    ASSERT_LT(ratio, 9.0) << j;
  }
}

TEST(BoundStorage, FloatDeclaresNothing) {
  oracles::AttentionAccuracy declared = float_accuracy();
  declared.stores = {oracles::float_format()};
  EXPECT_EQ(expected_of("gauss", 300, declared).bound, expected_of("gauss", 300, float_accuracy()).bound);
}

}  // namespace
}  // namespace assay::tests::bound_storage_test
