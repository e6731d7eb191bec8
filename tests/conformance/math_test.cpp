// The mathematical library, function by function, against the C library in long double rounded once.
//
// The simulator evaluates in double and rounds once, so a result may differ from the reference only where the double's own
// error tips a tie: no sample here does.
// Long because each row is a function of the library, with arguments and results.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "tests/conformance/rows.h"

namespace assay::tests::math_test {
namespace {

using Real = long double;

struct Function {
  std::string expression;  // of x, y, z
  std::string source;
  double low, high;  // of the random arguments
  std::function<Real(Real, Real, Real)> reference;
};

constexpr std::size_t kSamples = 160;

std::vector<float> specials() {
  const float inf = std::numeric_limits<float>::infinity();
  return {0.0F, -0.0F,  1.0F,   -1.0F, 2.0F,   -2.0F,       0.5F,       -0.5F,   0.25F, 1.5F, 2.5F,         -2.5F,
          3.0F, 100.0F, -0.75F, 1e-3F, -1e-3F, 0.99999994F, 1.0000001F, 6.0e-5F, inf,   -inf, std::nanf("")};
}

// Random arguments in [low, high], a quarter of them near zero, and the special values.
std::vector<float> arguments(double low, double high, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high), tiny(-12, 0);
  std::vector<float> values = specials();
  // Not the same pairing for each argument.
  std::shuffle(values.begin(), values.end(), engine);
  while (values.size() < kSamples) {
    const double value = uniform(engine);
    values.push_back(static_cast<float>(values.size() % 4 == 0 ? value * std::exp2(tiny(engine)) : value));
  }
  return values;
}

Real pi_times(Real r) { return std::numbers::pi_v<Real> * r; }
Real sine_pi(Real x) {
  Real r = std::remainder(x, Real{2});
  if (std::fabs(r) > 0.5L) r = std::copysign(Real{1}, r) - r;
  return std::sin(pi_times(r));
}
Real cosine_pi(Real x) {
  const Real r = std::fabs(std::remainder(x, Real{2}));
  return std::sin(pi_times(0.5L - r));
}

const char* const kMath = "MSL 6.5 (math functions), value by the C library in long double";

std::vector<Function> functions() {
  const auto one = [](Real (*function)(Real)) { return [function](Real x, Real, Real) { return function(x); }; };
  const auto two = [](Real (*function)(Real, Real)) { return [function](Real x, Real y, Real) { return function(x, y); }; };
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  return {
      {"exp(x)", kMath, -87, 88, one(std::exp)},
      {"exp2(x)", kMath, -126, 127, one(std::exp2)},
      {"exp10(x)", kMath, -37, 38, [](Real x, Real, Real) { return std::pow(Real{10}, x); }},
      {"log(x)", kMath, 0, 1e6, one(std::log)},
      {"log2(x)", kMath, 0, 1e6, one(std::log2)},
      {"log10(x)", kMath, 0, 1e6, one(std::log10)},
      {"sin(x)", kMath, -1e4, 1e4, one(std::sin)},
      {"cos(x)", kMath, -1e4, 1e4, one(std::cos)},
      {"tan(x)", kMath, -1e3, 1e3, one(std::tan)},
      {"asin(x)", kMath, -1, 1, one(std::asin)},
      {"acos(x)", kMath, -1, 1, one(std::acos)},
      {"atan(x)", kMath, -50, 50, one(std::atan)},
      {"sinh(x)", kMath, -80, 80, one(std::sinh)},
      {"cosh(x)", kMath, -80, 80, one(std::cosh)},
      {"tanh(x)", kMath, -8, 8, one(std::tanh)},
      {"asinh(x)", kMath, -1e3, 1e3, one(std::asinh)},
      {"acosh(x)", kMath, 1, 1e3, one(std::acosh)},
      {"atanh(x)", kMath, -1, 1, one(std::atanh)},
      {"sinpi(x)", "MSL 6.5: sin(pi x)", -40, 40, [](Real x, Real, Real) { return std::isinf(x) ? x - x : sine_pi(x); }},
      {"cospi(x)", "MSL 6.5: cos(pi x)", -40, 40, [](Real x, Real, Real) { return std::isinf(x) ? x - x : cosine_pi(x); }},
      {"tanpi(x)", "MSL 6.5: tan(pi x)", -0.49, 0.49, [](Real x, Real, Real) { return std::isinf(x) ? x - x : sine_pi(x) / cosine_pi(x); }},
      {"sqrt(x)", kMath, 0, 1e6, one(std::sqrt)},
      {"rsqrt(x)", "MSL 6.5: 1 / sqrt(x)", 0, 1e6, [](Real x, Real, Real) { return 1 / std::sqrt(x); }},
      {"ceil(x)", kMath, -1e3, 1e3, one(std::ceil)},
      {"floor(x)", kMath, -1e3, 1e3, one(std::floor)},
      {"trunc(x)", kMath, -1e3, 1e3, one(std::trunc)},
      {"rint(x)", "MSL 6.5: ties to even", -10, 10, one(std::rint)},
      {"round(x)", "MSL 6.5: ties away from zero", -10, 10, one(std::round)},
      {"fabs(x)", kMath, -10, 10, one(std::fabs)},
      {"abs(x)", kMath, -10, 10, one(std::fabs)},
      {"sign(x)", "MSL 6.4: 1, -0, +0 or -1; 0 for NaN", -10, 10,
       [](Real x, Real, Real) {
         return std::isnan(x) ? Real{0} : x > 0 ? Real{1} : x < 0 ? Real{-1} : x;
       }},
      {"saturate(x)", "MSL 6.4: clamp to [0, 1]", -2, 2, [](Real x, Real, Real) { return std::fmin(std::fmax(x, Real{0}), Real{1}); }},
      {"pow(x, y)", kMath, -20, 20, two(std::pow)},
      {"powr(fabs(x), y)", "MSL 6.5: pow for x >= 0", -20, 20, [](Real x, Real y, Real) { return std::pow(std::fabs(x), y); }},
      {"powr(-1.0f - fabs(x), y)", "MSL 6.5: defined for x >= 0 only", -20, 20, [nan](Real, Real, Real) { return nan; }},
      {"atan2(x, y)", kMath, -20, 20, two(std::atan2)},
      {"fmod(x, y)", kMath, -20, 20, two(std::fmod)},
      {"fdim(x, y)", kMath, -20, 20, [](Real x, Real y, Real) { return std::fdim(x, y); }},
      {"fmax(x, y)", "MSL 6.5: the operand that is not NaN", -20, 20, two(std::fmax)},
      {"fmin(x, y)", "MSL 6.5: the operand that is not NaN", -20, 20, two(std::fmin)},
      {"max(x, y)", "MSL 6.5: the operand that is not NaN", -20, 20, two(std::fmax)},
      {"min(x, y)", "MSL 6.5: the operand that is not NaN", -20, 20, two(std::fmin)},
      {"copysign(x, y)", kMath, -20, 20, two(std::copysign)},
      {"divide(x, y)", kMath, -20, 20, [](Real x, Real y, Real) { return x / y; }},
      {"step(x, y)", "MSL 6.4: 0 if y < x, else 1", -2, 2, [](Real x, Real y, Real) { return y < x ? Real{0} : Real{1}; }},
      {"fma(x, y, z)", "IEEE 754: one rounding", -20, 20,
       // 24 x 24 bits are exact in 64; the sum is not, where exponents lie far apart, but then the far operand only breaks ties.
       [](Real x, Real y, Real z) { return Real{std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z))}; }},
      {"clamp(x, -abs(y), abs(y) + 1)", "MSL 6.4: fmin(fmax(x, low), high)", -20, 20,
       [](Real x, Real y, Real) { return std::fmin(std::fmax(x, -std::fabs(y)), Real{static_cast<float>(std::fabs(y) + 1)}); }},
      {"fmax3(x, y, z)", "MSL 6.5: fmax(x, fmax(y, z))", -20, 20, [](Real x, Real y, Real z) { return std::fmax(x, std::fmax(y, z)); }},
      {"fmin3(x, y, z)", "MSL 6.5: fmin(x, fmin(y, z))", -20, 20, [](Real x, Real y, Real z) { return std::fmin(x, std::fmin(y, z)); }},
      {"max3(x, y, z)", "MSL 6.4", -20, 20, [](Real x, Real y, Real z) { return std::fmax(x, std::fmax(y, z)); }},
      {"min3(x, y, z)", "MSL 6.4", -20, 20, [](Real x, Real y, Real z) { return std::fmin(x, std::fmin(y, z)); }},
      {"precise::exp(x)", kMath, -87, 88, one(std::exp)},
      {"fast::exp(x)", "METAL_RUNTIME.md 2: the same as precise", -87, 88, one(std::exp)},
      {"metal::precise::rsqrt(x)", kMath, 0, 100, [](Real x, Real, Real) { return 1 / std::sqrt(x); }},
      {"fast::tanh(x)", "METAL_RUNTIME.md 2", -8, 8, one(std::tanh)},
      {"precise::sqrt(x)", kMath, 0, 100, one(std::sqrt)},
      {"fast::max(x, y)", kMath, -8, 8, two(std::fmax)},
      {"precise::pow(x, y)", kMath, -8, 8, two(std::pow)},
      {"fast::log(x)", kMath, 0, 8, one(std::log)},
      {"fast::divide(x, y)", kMath, -8, 8, [](Real x, Real y, Real) { return x / y; }},
  };
}

// The half nearest to value, ties to even: Eigen converts from float only, and rounding twice may be wrong.
std::uint16_t nearest_half(Real value) {
  if (std::isnan(value)) return 0x7e00;
  const auto guess = Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(static_cast<float>(value)));
  const Real overflow = 65520;
  if (std::fabs(value) >= overflow) return static_cast<std::uint16_t>((std::signbit(value) ? 0x8000 : 0) | 0x7c00);
  std::uint16_t best = guess;
  Real best_error = std::numeric_limits<Real>::infinity();
  for (int step = -1; step <= 1; ++step) {
    const auto magnitude = static_cast<int>(guess & 0x7fff) + step;
    if (magnitude < 0 || magnitude > 0x7bff) continue;
    const auto bits = static_cast<std::uint16_t>((guess & 0x8000) | magnitude);
    const Real error = std::fabs(Real{static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits))} - value);
    if (error < best_error || (error == best_error && (bits & 1) == 0)) {
      best = bits;
      best_error = error;
    }
  }
  return best;
}

bool same_float(std::uint32_t actual, float expected) {
  const float value = std::bit_cast<float>(actual);
  return std::isnan(expected) ? std::isnan(value) : actual == f(expected);
}

struct Batch {
  std::vector<Function> functions;
  std::array<Words, 3> arguments;
};

Batch make_batch(bool half) {
  Batch batch{functions(), {}};
  for (std::size_t k = 0; k < batch.functions.size(); ++k) {
    for (std::size_t a = 0; a < 3; ++a) {
      const Function& function = batch.functions[k];
      const double limit = half ? 9.0 : 1e9;
      for (const float value :
           arguments(std::max(function.low, -limit), std::min(function.high, limit), static_cast<std::uint32_t>(3 * k + a))) {
        batch.arguments[a].push_back(half ? f(static_cast<float>(Eigen::half(value))) : f(value));
      }
    }
  }
  return batch;
}

Words execute(const Batch& batch, const std::string& type, const std::string& wrap) {
  std::string text =
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void run(device float* out, device const float* xs, device const float* ys, "
      "device const float* zs, uint i "
      "[[thread_position_in_grid]]) {\n";
  for (std::size_t k = 0; k < batch.functions.size(); ++k) {
    std::string expression = batch.functions[k].expression;
    for (std::size_t at; (at = expression.find("1.0f")) != std::string::npos;) expression.replace(at, 4, type + "(1)");
    text += fmt::format("{{ uint at = i + {}; {} x = {}(xs[at]), y = {}(ys[at]), z = {}(zs[at]); (void)y; (void)z; out[at] = {}; }}\n",
                        k * kSamples, type, type, type, type, fmt::format(fmt::runtime(wrap), expression));
  }
  text += "}\n";
  return run_kernel(text, "run", {Words(batch.arguments[0].size(), 0), batch.arguments[0], batch.arguments[1], batch.arguments[2]},
                    kSamples, 64)[0];
}

// No bit of a zero's sign is specified for the smaller or larger of -0 and +0.
bool either_zero(const std::string& expression, float expected) {
  return expected == 0 && (expression.find("max") != std::string::npos || expression.find("min") != std::string::npos ||
                           expression.find("clamp") != std::string::npos || expression.find("saturate") != std::string::npos);
}

void compare_floats(const Batch& batch, const Words& results) {
  std::size_t compared = 0;
  for (std::size_t k = 0; k < batch.functions.size(); ++k) {
    const Function& function = batch.functions[k];
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::size_t at = k * kSamples + i;
      std::array<float, 3> x;
      for (std::size_t a = 0; a < 3; ++a) x[a] = std::bit_cast<float>(batch.arguments[a][at]);
      const auto expected = static_cast<float>(function.reference(x[0], x[1], x[2]));
      if (either_zero(function.expression, expected)) {
        EXPECT_EQ(std::bit_cast<float>(results[at]), 0.0F) << function.expression;
      } else {
        EXPECT_TRUE(same_float(results[at], expected))
            << function.expression << " at "
            << fmt::format("{:a}, {:a}, {:a}: {:a} instead of {:a}", x[0], x[1], x[2], std::bit_cast<float>(results[at]), expected)
            << ", by " << function.source;
      }
      ++compared;
    }
  }
  EXPECT_EQ(compared, batch.functions.size() * kSamples);
}

TEST(Math, FloatFunctionsAreRoundedOnce) {
  const Batch batch = make_batch(false);
  compare_floats(batch, execute(batch, "float", "{}"));
}

TEST(Math, HalfFunctionsAreRoundedOnce) {
  Batch batch = make_batch(true);
  const Words results = execute(batch, "half", "{}");
  for (std::size_t k = 0; k < batch.functions.size(); ++k) {
    const Function& function = batch.functions[k];
    // The variants take floats; their half arguments are promoted and their results are floats (MSL 6.5).
    if (function.expression.find("::") != std::string::npos) continue;
    if (function.expression == "fma(x, y, z)" || function.expression.starts_with("clamp")) continue;  // below
    for (std::size_t i = 0; i < kSamples; ++i) {
      const std::size_t at = k * kSamples + i;
      std::array<float, 3> x;
      for (std::size_t a = 0; a < 3; ++a) x[a] = std::bit_cast<float>(batch.arguments[a][at]);
      if (function.expression.starts_with("powr(-1")) x[0] = -1;
      const std::uint16_t bits = nearest_half(function.reference(x[0], x[1], x[2]));
      const float expected = static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits));
      if (either_zero(function.expression, expected)) continue;
      EXPECT_TRUE(same_float(results[at], expected))
          << function.expression << " of half at "
          << fmt::format("{:a}, {:a}: {:a} instead of {:a}", x[0], x[1], std::bit_cast<float>(results[at]), expected);
    }
  }
}

// Vectors go component by component: each function of float4 and float3 gives what it gives for the scalar.
TEST(Math, VectorOverloadsAreComponentwise) {
  const Batch batch = make_batch(false);
  std::string text =
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void run(device uint* out, device const float* xs, device const float* ys, "
      "device const float* zs, uint i "
      "[[thread_position_in_grid]]) {\nuint bad = 0;\n";
  for (std::size_t k = 0; k < batch.functions.size(); ++k) {
    std::string e = batch.functions[k].expression;
    text += fmt::format(
        "{{ uint at = i + {0}, next = (i + 1) % {2} + {0}; float s0, s1; {{ float x = xs[at], y = ys[at], z = zs[at]; (void)y; (void)z; s0 "
        "= {1}; }} {{ float x = "
        "xs[next], y = ys[next], z = zs[next]; (void)y; (void)z; s1 = {1}; }}\n"
        "{{ float4 x = float4(xs[at], 1, xs[next], xs[next]), y = float4(ys[at], 1, ys[at], ys[next]), z = float4(zs[at], 1, zs[at], "
        "zs[next]); (void)y; (void)z; float4 v = {1}; bad += "
        "as_type<uint>(v.x) != as_type<uint>(s0); bad += as_type<uint>(v.w) != as_type<uint>(s1); }}\n"
        "{{ float3 x = float3(1, xs[at], xs[next]), y = float3(1, ys[at], ys[next]), z = float3(1, zs[at], zs[next]); (void)y; (void)z; "
        "float3 v = {1}; bad += "
        "as_type<uint>(v.y) != as_type<uint>(s0); bad += as_type<uint>(v.z) != as_type<uint>(s1); }}\n"
        "{{ float2 x = float2(xs[at], xs[next]), y = float2(ys[at], ys[next]), z = float2(zs[at], zs[next]); (void)y; (void)z; float2 v = "
        "{1}; bad += as_type<uint>(v.x) "
        "!= as_type<uint>(s0); bad += as_type<uint>(v.y) != as_type<uint>(s1); }} }}\n",
        k * kSamples, e, kSamples);
  }
  text += "out[i] = bad;\n}\n";
  const Words bad =
      run_kernel(text, "run", {Words(kSamples, 99), batch.arguments[0], batch.arguments[1], batch.arguments[2]}, kSamples, 64)[0];
  EXPECT_EQ(bad, Words(kSamples, 0));
}

TEST(Math, FunctionsWithTwoResultsAndIntegers) {
  const std::uint32_t nan = 0x7fc00000, inf = 0x7f800000;
  check_rows("math functions with several results",
             {
                 {"sincos",
                  kLongDouble,
                  "float c, s = sincos(F(0), c); PUT(0, s); PUT(1, c);",
                  {f(1.25F)},
                  {f(static_cast<float>(std::sin(1.25L))), f(static_cast<float>(std::cos(1.25L)))}},
                 {"sincos(half2)",
                  kLongDouble,
                  "half2 c, s = sincos(half2(0, H(0)), c); PUTH(0, s.y); PUTH(1, c.y); PUTH(2, c.x);",
                  {h(1.25F)},
                  {nearest_half(std::sin(1.25L)), nearest_half(std::cos(1.25L)), h(1)}},
                 {"frexp",
                  "MSL 6.5: mantissa in [0.5, 1)",
                  "int e; PUT(0, frexp(F(0), e)); o[1] = uint(e); PUT(2, frexp(F(1), e)); o[3] = uint(e);",
                  {f(-10), f(0x1p-140F)},
                  {f(-0.625F), 4, f(0.5F), n(-139)}},
                 {"frexp(float4)",
                  "MSL 6.5",
                  "int4 e; float4 m = frexp(float4(1, F(0), 0, 3), e); PUT(0, m.y); o[1] = e.y; o[2] = e.z; o[3] = e.w;",
                  {f(5)},
                  {f(0.625F), 3, 0, 2}},
                 {"ldexp",
                  kHand,
                  "PUT(0, ldexp(F(0), I(1))); PUT(1, ldexp(F(0), 1000)); PUT(2, ldexp(F(0), -1000)); PUT(3, ldexp(F(0), -149)); PUTH(4, "
                  "ldexp(H(2), 3));",
                  {f(3), n(-2), h(1.5F)},
                  {f(0.75F), inf, 0, 3, h(12)}},
                 {"ldexp(float2, int2)",
                  kHand,
                  "float2 v = ldexp(float2(F(0), 1), int2(I(1), 10)); PUT(0, v.x); PUT(1, v.y);",
                  {f(3), 1},
                  {f(6), f(1024)}},
                 {"modf",
                  "MSL 6.5: both parts with the sign of x",
                  "float w; PUT(0, modf(F(0), w)); PUT(1, w); PUT(2, modf(F(1), w)); PUT(3, w);",
                  {f(-2.75F), inf},
                  {f(-0.75F), f(-2), 0, inf}},
                 {"ilogb",
                  "MSL 6.5: the exponent as an integer",
                  "o[0] = uint(ilogb(F(0))); o[1] = uint(ilogb(F(1))); o[2] = uint(ilogb(H(2))); o[3] = ilogb(float2(1, F(0))).y;",
                  {f(10), f(0x1p-130F), h(0.5F)},
                  {3, n(-130), n(-1), 3}},
                 {"fract",
                  "MSL 6.5: min(x - floor(x), 0x1.fffffep-1)",
                  "PUT(0, fract(F(0))); PUT(1, fract(F(1))); PUT(2, fract(F(2))); PUTH(3, fract(H(3)));",
                  {f(-0.25F), f(-1e-9F), f(7.5F), h(-1e-5F)},
                  {f(0.75F), f(0x1.fffffep-1F), f(0.5F), h(0x1.ffcp-1F)}},
                 {"nextafter",
                  "IEEE 754 nextUp and nextDown",
                  "PUT(0, nextafter(F(0), 2.0f)); PUT(1, nextafter(F(0), 0.0f)); PUT(2, nextafter(F(1), -1.0f)); PUTH(3, nextafter(H(2), "
                  "half(9))); "
                  "PUT(4, nextafter(F(0), F(0)));",
                  {f(1), 0, h(2)},
                  {f(1) + 1, f(1) - 1, 0x80000001, h(2) + 1, f(1)}},
                 {"fmedian3, median3",
                  "MSL 6.5",
                  "PUT(0, fmedian3(F(0), F(1), F(2))); PUT(1, median3(F(2), F(0), F(1))); o[2] = uint(median3(I(3), 5, -7)); PUT(3, "
                  "fmedian3(float2(F(1)), 9, "
                  "8).x);",
                  {f(3), f(-1), f(2), 4},
                  {f(2), f(2), 4, f(8)}},
                 {"fma(half) rounds once",
                  kHand,
                  "PUTH(0, fma(H(0), H(1), H(2))); PUTH(1, H(0) * H(1) + H(2));",
                  {h(1.0009765625F), h(1.0009765625F), h(-1)},
                  // (1 + 2^-10)^2 - 1 = 2^-9 + 2^-20, a half; the product alone rounds 2^-20 away.
                  {h(0x1p-9F + 0x1p-20F), h(0x1p-9F)}},
                 {"mix",
                  "MSL 6.4: x + (y - x) * a",
                  "PUT(0, mix(F(0), F(1), F(2))); float2 v = mix(float2(F(0)), float2(F(1)), 0.5f); PUT(1, v.y);",
                  {f(2), f(10), f(0.25F)},
                  {f(4), f(6)}},
                 {"smoothstep",
                  "MSL 6.4: t * t * (3 - 2 t)",
                  "PUT(0, smoothstep(0.0f, F(0), F(1))); PUT(1, smoothstep(0.0f, 1.0f, F(0))); PUT(2, smoothstep(0.0f, 1.0f, -F(0)));",
                  {f(4), f(1)},
                  {f(0.15625F), f(1), 0}},
                 {"isnan, isinf, isfinite",
                  "MSL 6.6",
                  "o[0] = isnan(F(0)); o[1] = isinf(F(0)); o[2] = isinf(-F(1)); o[3] = isfinite(F(1)); o[4] = isfinite(F(2)); o[5] = "
                  "isnan(H(3)); o[6] = "
                  "isinf(H(4)); o[7] = isnan(B(5));",
                  {nan, inf, f(3e38F), 0x7e01, 0xfc00, 0x7fc1},
                  {1, 0, 1, 0, 1, 1, 1, 1}},
                 {"isnormal, signbit, isordered, isunordered",
                  "MSL 6.6",
                  "o[0] = isnormal(F(0)); o[1] = isnormal(F(1)); o[2] = signbit(F(2)); o[3] = isordered(F(0), F(3)); o[4] = "
                  "isunordered(F(0), F(3)); o[5] = isnormal(H(4));",
                  {f(1), 1, 0x80000000, nan, 1},
                  {1, 0, 1, 0, 1, 0}},
                 {"vector classification, any, all",
                  "MSL 6.6",
                  "float4 v = float4(1, F(0), F(1), 0); bool4 a = isnan(v); o[0] = a.y; o[1] = a.z; o[2] = any(a); o[3] = "
                  "all(isfinite(v)); o[4] = "
                  "all(isfinite(v.xw));",
                  {nan, inf},
                  {1, 0, 1, 0, 1}},
                 {"select",
                  "MSL 6.6: b where c",
                  "PUT(0, select(F(0), F(1), U(2) != 0)); float3 v = select(float3(1), float3(2), float3(F(0)) < float3(0, 9, F(1))); "
                  "PUT(1, v.x); PUT(2, v.y); "
                  "o[3] = uint(select(int2(1), int2(I(2)), bool2(false, true)).y); PUTH(4, select(half(1), H(3), true));",
                  {f(5), f(6), 7, h(3)},
                  {f(6), f(1), f(2), 7, h(3)}},
             });
}

TEST(Math, Geometry) {
  check_rows("geometric functions",
             {
                 {"dot is ((a0*b0 + a1*b1) + a2*b2) + a3*b3",
                  "KERNELS.md, arithmetic common to all",
                  "PUT(0, dot(float4(F(0), F(1), F(2), F(3)), float4(F(1), F(2), F(3), F(0))));",
                  {f(1e8F), f(1.1F), f(-1e8F), f(3.3F)},
                  {f(((1e8F * 1.1F + 1.1F * -1e8F) + -1e8F * 3.3F) + 3.3F * 1e8F)}},
                 {"dot of half rounds each step",
                  kEigen,
                  "PUTH(0, dot(half2(H(0), 1), half2(H(0), H(1))));",
                  {h(45.3F), h(0.9F)},
                  {h(static_cast<float>(Eigen::half(
                      static_cast<float>(Eigen::half(static_cast<float>(Eigen::half(45.3F)) * static_cast<float>(Eigen::half(45.3F)))) +
                      static_cast<float>(Eigen::half(0.9F)))))}},
                 {"length, length_squared",
                  kHand,
                  "PUT(0, length(float2(F(0), 4))); PUT(1, length_squared(float3(1, 2, F(0)))); PUTH(2, length(half2(3, H(1))));",
                  {f(3), h(4)},
                  {f(5), f(14), h(5)}},
                 {"distance",
                  kHand,
                  "PUT(0, distance(float3(1, 2, F(0)), float3(1, 5, 7))); PUT(1, distance_squared(float2(F(0), 0), float2(0, 4)));",
                  {f(3)},
                  {f(5), f(25)}},
                 {"normalize",
                  "hand arithmetic: (0, 3, 4) / 5 with the reciprocal root rounded once",
                  "float3 v = normalize(float3(0, 3, F(0))); PUT(0, v.y); PUT(1, v.x);",
                  {f(4)},
                  {f(3.0F * 0.2F), 0}},
                 {"cross",
                  kHand,
                  "float3 v = cross(float3(1, 2, F(0)), float3(4, 5, 6)); PUT(0, v.x); PUT(1, v.y); PUT(2, v.z);",
                  {f(3)},
                  {f(-3), f(6), f(-3)}},
                 {"reflect",
                  "MSL 6.8: I - 2 dot(N, I) N",
                  "float2 v = reflect(float2(F(0), -1), float2(0, 1)); PUT(0, v.x); PUT(1, v.y);",
                  {f(1)},
                  {f(1), f(1)}},
                 {"faceforward",
                  "MSL 6.8: N if dot(Nref, I) < 0, else -N",
                  "PUT(0, faceforward(float2(F(0), 0), float2(0, -1), float2(0, 1)).x); PUT(1, faceforward(float2(F(0), 0), "
                  "float2(0, 1), float2(0, 1)).x);",
                  {f(1)},
                  {f(1), f(-1)}},
                 {"refract straight through",
                  "MSL 6.8",
                  "float2 v = refract(float2(0, -1), float2(0, F(0)), 0.5f); PUT(0, v.y);",
                  {f(1)},
                  {f(-1)}},
             });
}

}  // namespace
}  // namespace assay::tests::math_test
