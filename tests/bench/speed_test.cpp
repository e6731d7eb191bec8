// Holds what issues 2 and 7 promise about time: as ratios between contenders measured in turn, because this machine's own pace is nobody's
// promise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "oracles/arithmetic.h"
#include "oracles/attention.h"
#include "oracles/codebook.h"
#include "tests/bench/interleaved.h"
#include "tests/bench/matrix_setup.h"
#include "tests/bench/scalar_attention.h"
#include "tests/bench/tq4_setup.h"

namespace assay::tests::speed_test {
namespace {

// Issue 21. With AVX-512, an Intel Xeon takes 0.18 times as long as the scalar loop.
#if defined(__x86_64__)
const double kSimulatorPerScalar = __builtin_cpu_supports("avx512vl") != 0 ? 0.5 : 1.0;
#else
constexpr double kSimulatorPerScalar = 1.0;
#endif
constexpr double kCheckedPerScalar = 2.0;
constexpr double kOraclePerScalar = 1.3;

constexpr std::size_t kRounds = 31;

// Why time means nothing in this build; empty if it does.
std::string why_not_timed() {
#ifndef __OPTIMIZE__
  return "the simulator's runtime is built without optimisation";
#else
  if (scalar_attention_flags().empty()) return "the scalar loop is not built with the yardstick's flags: another compiler, or sanitizers";
  return {};
#endif
}

// Largest |scalar - exact| in units of what the loop may be off: the oracle's bound for a dot product in any order, which knows every
// rounding of the loop except that it sums all n positions in one chain, above and below the fraction bar.
double largest_error_per_bound(const Tq4Setup& setup, std::span<const float> output) {
  const oracles::Expected exact = oracles::decode_attention(setup.shape(), setup.inputs().q, setup.inputs().cache());
  const double chain = oracles::gamma(2.0 * static_cast<double>(setup.shape().kv_len));
  if (output.size() != exact.size()) throw std::invalid_argument(fmt::format("{} outputs, {} expected", output.size(), exact.size()));
  double largest = 0.0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double ratio = std::abs(static_cast<double>(output[i]) - exact.value[i]) / (exact.bound[i] + chain * exact.magnitude[i]);
    if (std::isnan(ratio)) return ratio;
    largest = std::max(largest, ratio);
  }
  return largest;
}

TEST(ScalarAttention, ComputesTheAttentionThatTheOracleExpects) {
  Tq4Setup setup(reference_shape());
  setup.run_scalar();
  const double error = largest_error_per_bound(setup, setup.scalar_output());
  fmt::print("scalar loop against the oracle: largest error {:.3g} of what rounding allows\n", error);
  EXPECT_LE(error, 1.0);
  EXPECT_GT(error, 0.0) << "float agrees with double to the last bit: nothing was computed";
}

TEST(ScalarAttention, IsCaughtWhenItReadsTheWrongKeyValueHead) {
  Tq4Setup setup(reference_shape());
  const oracles::DecodeShape& shape = setup.shape();
  const fixtures::DecodeInputs& inputs = setup.inputs();
  std::vector<float> scores(shape.kv_len);
  std::vector<float> output(shape.heads * shape.head_dim);
  scalar_attention(
      {shape.heads, 1, shape.head_dim, shape.kv_len, shape.scale}, setup.half_q().data(),
      {oracles::codebook(4).data(), inputs.k_codes.data(), inputs.k_norms.data(), inputs.v_codes.data(), inputs.v_norms.data()},
      scores.data(), output.data());
  EXPECT_GT(largest_error_per_bound(setup, output), 1.0);
}

TEST(Speed, SimulatorAndOracleKeepTheirShareOfTheScalarLoop) {
  if (const std::string reason = why_not_timed(); !reason.empty()) GTEST_SKIP() << reason;
  Tq4Setup setup(reference_shape());
  const Interleaved interleaved = measure_calmly({{"scalar", [&] { setup.run_scalar(); }},
                                                  {"checked", [&] { setup.run_simulator(metal::Policy::checked); }},
                                                  {"simulator", [&] { setup.run_simulator(); }},
                                                  {"oracle", [&] { setup.run_oracle(); }}},
                                                 kRounds);
  // What was timed is the real thing.
  ASSERT_TRUE(setup.hazards().empty()) << setup.hazards().front().message;
  ASSERT_TRUE(harness::judge(setup.simulator_output(), setup.expected()).passed());

  fmt::print("tq4 D=256 H=8 G=2 n=1024 NWG=1, {} rounds, CPU ms: smallest / median / largest\n", interleaved.rounds());
  for (const char* name : {"scalar", "simulator", "checked", "oracle"}) {
    const Timing timing = interleaved.timing(name);
    fmt::print("  {:<9} {:8.3f} {:8.3f} {:8.3f}\n", name, timing.smallest * 1e3, timing.median * 1e3, timing.largest * 1e3);
  }
  const double simulator = interleaved.ratio("simulator", "scalar");
  const double checked = interleaved.ratio("checked", "scalar");
  const double oracle = interleaved.ratio("oracle", "scalar");
  fmt::print(
      "  simulator / scalar = {:.3f} (at most {})\n  checked / scalar = {:.3f} (at most {})\n  oracle / scalar = {:.3f} (at most {})\n",
      simulator, kSimulatorPerScalar, checked, kCheckedPerScalar, oracle, kOraclePerScalar);
  EXPECT_LE(simulator, kSimulatorPerScalar);
  EXPECT_LE(checked, kCheckedPerScalar);
  EXPECT_LE(oracle, kOraclePerScalar);
}

TEST(Speed, MatrixMultiplyIsComputedOncePerSimdgroup) {
  constexpr std::uint32_t kThreadgroups = 3;
  constexpr std::uint32_t kSimdgroups = 2;
  constexpr std::uint32_t kMultiplies = 100;
  MatrixSetup setup(kThreadgroups, kSimdgroups, kMultiplies);
  setup.run();
  ASSERT_TRUE(setup.hazards().empty()) << setup.hazards().front().message;
  EXPECT_EQ(setup.counters().matrix_multiplies, std::uint64_t{kThreadgroups} * kSimdgroups * kMultiplies);

  const std::vector<float> expected = setup.expected();
  ASSERT_EQ(setup.output().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(setup.output()[i], expected[i]) << "element " << i;
}

}  // namespace
}  // namespace assay::tests::speed_test
