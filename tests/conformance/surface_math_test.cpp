// Every common, math and relational function for every floating-point type and its vectors, in each of its namespaces.
//
// Expectations: MSL 6.2, 6.4 and 6.5, evaluated on the host in long double and rounded once, or step by step where the definition has
// steps.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "tests/conformance/rows.h"
#include "tests/conformance/surface.h"

namespace assay::tests::surface_math_test {
namespace {

using Real = long double;

struct Arguments {
  Real x, y, z, u, p;
  std::string type;
  // The value after the one rounding that a step of arithmetic in the type under test has.
  [[nodiscard]] Real step(Real value) const { return decode(type, encode(type, value)); }
};

enum class Where { everywhere, not_as_builtin, unnamed };

struct Function {
  std::string expression;
  std::function<Real(const Arguments&)> value;
  Where where = Where::everywhere;  // which of fast::, precise:: and __metal_ have it too
  std::string result = {};
};

Real sine_pi(Real x) {
  const Real r = std::remainder(x, Real{2});
  return std::sin(std::numbers::pi_v<Real> * (std::fabs(r) > 0.5L ? std::copysign(Real{1}, r) - r : r));
}
Real cosine_pi(Real x) { return std::sin(std::numbers::pi_v<Real> * (0.5L - std::fabs(std::remainder(x, Real{2})))); }
Real median(Real x, Real y, Real z) { return std::max(std::min(x, y), std::min(std::max(x, y), z)); }
Real smooth(const Arguments& a) {
  const Real low = std::min(a.x, a.y), high = std::max(a.x, a.y) + 1;
  const Real t = std::clamp(a.step(a.step(a.z - low) / a.step(high - low)), Real{0}, Real{1});
  return a.step(a.step(t * t) * a.step(3 - a.step(2 * t)));
}

std::vector<Function> functions() {
  const auto x = [](Real (*f)(Real)) { return [f](const Arguments& a) { return f(a.x); }; };
  const auto u = [](Real (*f)(Real)) { return [f](const Arguments& a) { return f(a.u); }; };
  const auto p = [](Real (*f)(Real)) { return [f](const Arguments& a) { return f(a.p); }; };
  const auto xy = [](Real (*f)(Real, Real)) { return [f](const Arguments& a) { return f(a.x, a.y); }; };
  return {
      {"acos(u)", u(std::acos)},
      {"acosh(p + T(1))", [](const Arguments& a) { return std::acosh(a.p + 1); }},
      {"asin(u)", u(std::asin)},
      {"asinh(x)", x(std::asinh)},
      {"atan(x)", x(std::atan)},
      {"atan2(x, y)", xy(std::atan2)},
      {"atanh(u)", u(std::atanh)},
      {"ceil(x)", x(std::ceil)},
      {"copysign(x, y)", xy(std::copysign)},
      {"cos(x)", x(std::cos)},
      {"cosh(x)", x(std::cosh)},
      {"cospi(x)", x(cosine_pi)},
      {"divide(x, y)", [](const Arguments& a) { return a.x / a.y; }},
      {"exp(x)", x(std::exp)},
      {"exp2(x)", x(std::exp2)},
      {"exp10(x)", [](const Arguments& a) { return std::pow(Real{10}, a.x); }},
      {"fabs(x)", x(std::fabs)},
      {"abs(x)", x(std::fabs), Where::not_as_builtin},
      {"fdim(x, y)", xy(std::fdim)},
      {"floor(x)", x(std::floor)},
      {"fma(x, y, z)", [](const Arguments& a) { return a.x * a.y + a.z; }},
      {"fmax(x, y)", xy(std::fmax)},
      {"max(x, y)", xy(std::fmax), Where::not_as_builtin},
      {"fmin(x, y)", xy(std::fmin)},
      {"min(x, y)", xy(std::fmin), Where::not_as_builtin},
      {"fmax3(x, y, z)", [](const Arguments& a) { return std::max({a.x, a.y, a.z}); }},
      {"max3(x, y, z)", [](const Arguments& a) { return std::max({a.x, a.y, a.z}); }, Where::not_as_builtin},
      {"fmin3(x, y, z)", [](const Arguments& a) { return std::min({a.x, a.y, a.z}); }},
      {"min3(x, y, z)", [](const Arguments& a) { return std::min({a.x, a.y, a.z}); }, Where::not_as_builtin},
      {"fmedian3(x, y, z)", [](const Arguments& a) { return median(a.x, a.y, a.z); }},
      {"median3(x, y, z)", [](const Arguments& a) { return median(a.x, a.y, a.z); }, Where::not_as_builtin},
      {"fmod(x, y)", xy(std::fmod)},
      {"fract(x)", [](const Arguments& a) { return a.x - std::floor(a.x); }},
      {"log(p)", p(std::log)},
      {"log2(p)", p(std::log2)},
      {"log10(p)", p(std::log10)},
      {"pow(p, y)", [](const Arguments& a) { return std::pow(a.p, a.y); }},
      {"powr(p, y)", [](const Arguments& a) { return std::pow(a.p, a.y); }},
      {"rint(x)", x(std::rint)},
      {"round(x)", x(std::round)},
      {"rsqrt(p)", [](const Arguments& a) { return 1 / std::sqrt(a.p); }},
      {"sin(x)", x(std::sin)},
      {"sinh(x)", x(std::sinh)},
      {"sinpi(x)", x(sine_pi)},
      {"sqrt(p)", p(std::sqrt)},
      {"tan(x)", x(std::tan)},
      {"tanh(x)", x(std::tanh)},
      {"tanpi(u / T(4))", [](const Arguments& a) { return std::tan(std::numbers::pi_v<Real> * (a.u / 4)); }},
      {"trunc(x)", x(std::trunc)},
      {"saturate(x)", [](const Arguments& a) { return std::clamp(a.x, Real{0}, Real{1}); }},
      {"sign(x)", [](const Arguments& a) { return a.x > 0 ? Real{1} : Real{-1}; }},
      {"clamp(x, min(y, z), max(y, z))", [](const Arguments& a) { return std::clamp(a.x, std::min(a.y, a.z), std::max(a.y, a.z)); }},
      {"mix(x, y, u)", [](const Arguments& a) { return a.step(a.x + a.step(a.step(a.y - a.x) * a.u)); }},
      {"step(x, y)", [](const Arguments& a) { return a.y < a.x ? Real{0} : Real{1}; }, Where::not_as_builtin},
      {"smoothstep(min(x, y), max(x, y) + T(1), z)", smooth, Where::not_as_builtin},
      {"ldexp(x, ilogb(y))", [](const Arguments& a) { return std::ldexp(a.x, std::ilogb(a.y)); }},
      {"nextafter(x, x)", [](const Arguments& a) { return a.x; }},
      {"ilogb(x)", [](const Arguments& a) { return Real(std::ilogb(a.x)); }, Where::everywhere, "int"},
      {"sine(x)", x(std::sin), Where::unnamed},
      {"cosine(x)", x(std::cos), Where::unnamed},
      {"rest(x)", [](const Arguments& a) { return a.x - std::trunc(a.x); }, Where::unnamed},
      {"whole(x)", x(std::trunc), Where::unnamed},
      {"mantissa(x)", [](const Arguments& a) { return std::ldexp(a.x, -std::ilogb(a.x) - 1); }, Where::unnamed},
      {"exponent(x)", [](const Arguments& a) { return Real(std::ilogb(a.x) + 1); }, Where::unnamed, "int"},
      {"select(x, y, x < z)", [](const Arguments& a) { return a.x < a.z ? a.y : a.x; }, Where::unnamed},
  };
}

// Functions with a second result, each of which one wrapper returns.
const char* const kSecondResults = R"(
template <typename V> struct as_int { typedef int type; };
template <typename T, int N> struct as_int<vec<T, N>> { typedef vec<int, N> type; };
template <typename V> V sine(V x) { V c; return sincos(x, c); }
template <typename V> V cosine(V x) { V c; sincos(x, c); return c; }
template <typename V> V rest(V x) { V w; return modf(x, w); }
template <typename V> V whole(V x) { V w; modf(x, w); return w; }
template <typename V> V mantissa(V x) { typename as_int<V>::type e; return frexp(x, e); }
template <typename V> typename as_int<V>::type exponent(V x) { typename as_int<V>::type e; frexp(x, e); return e; }
)";

// Numbers of at most eleven bits, none of them zero: they are the same in half and in float, and sums of their products are exact here.
std::vector<Values> samples(const std::string& type) {
  std::mt19937 engine(11);
  const auto among = [&](int count, Real unit, bool negative) {
    const Real value = static_cast<Real>(1 + engine() % static_cast<unsigned>(count)) * unit;
    return encode(type, negative && engine() % 2 == 0 ? -value : value);
  };
  std::vector<Values> values(64);
  for (auto& v : values)
    v = {among(1024, 1 / 128.0L, true), among(1024, 1 / 128.0L, true), among(1024, 1 / 128.0L, true),
         among(511, 1 / 512.0L, true),  among(1024, 1 / 64.0L, false), encode(type, 1)};
  return values;
}

bool same_number(const std::string& type, const SurfaceRow& row, Bits actual, Bits expected) {
  if (actual == expected) return true;
  if (!row.result.empty()) return false;
  const Real a = decode(type, actual), e = decode(type, expected);
  // Zeros of differences and products carry a sign that long double's do not always have.
  return (std::isnan(a) && std::isnan(e)) || (a == 0 && e == 0);
}

SurfaceRow row_of(const std::string& type, const std::string& prefix, const Function& function) {
  return {prefix + function.expression, function.result, [type, function](const Values& v) {
            const Arguments a{decode(type, v[0]), decode(type, v[1]), decode(type, v[2]), decode(type, v[3]), decode(type, v[4]), type};
            const Real value = function.value(a);
            return function.result.empty() ? encode(type, value) : Bits{static_cast<std::uint32_t>(static_cast<int>(value))};
          }};
}

void check(const std::string& type, const std::string& prefix, std::vector<int> sizes = {1, 2, 3, 4}) {
  Surface surface{type, {}, samples(type)};
  for (const auto& function : functions()) {
    if (function.where == Where::unnamed && !prefix.empty()) continue;
    if (function.where == Where::not_as_builtin && prefix == "__metal_") continue;
    surface.rows.push_back(row_of(type, prefix, function));
  }
  surface.agrees = [type](const SurfaceRow& row, Bits actual, Bits expected) { return same_number(type, row, actual, expected); };
  surface.prologue = kSecondResults;
  surface.sizes = std::move(sizes);
  check_surface(surface);
}

TEST(Surface, MathFunctionsOfFloat) { check("float", ""); }
TEST(Surface, MathFunctionsOfHalf) { check("half", ""); }
TEST(Surface, MathFunctionsInFast) { check("float", "fast::"); }
TEST(Surface, MathFunctionsInPrecise) { check("float", "precise::"); }
TEST(Surface, MathBuiltinsOfFloat) { check("float", "__metal_"); }
TEST(Surface, MathBuiltinsOfHalf) { check("half", "__metal_", {1, 4}); }

// One that rounds twice, or through float, is caught.
TEST(Surface, RoundingIsToNearestEvenAtEveryEdge) {
  EXPECT_EQ(encode("half", 1 + 0x1p-11L), encode("half", 1));
  EXPECT_EQ(encode("half", 1 + 0x1p-11L + 0x1p-40L), encode("half", 1 + 0x1p-10L));
  EXPECT_EQ(encode("half", 65519.99L), 0x7bffU);
  EXPECT_EQ(encode("half", 65520), 0x7c00U);
  EXPECT_EQ(encode("half", -0x1p-25L), 0x8000U);
  EXPECT_EQ(encode("half", 0x1.8p-25L), 1U);
  EXPECT_EQ(encode("bfloat", 1 + 0x1p-8L), encode("bfloat", 1));
  EXPECT_EQ(encode("float", 0x1p-149L), 1U);
}

struct Class {
  std::string expression;
  std::function<bool(Real s, Real x)> value;
};

void check_classes(const std::string& type, int minimum) {
  const auto infinity = std::numeric_limits<Real>::infinity();
  const auto special = std::to_array<Real>(
      {std::nanl(""), infinity, -infinity, 0, -0.0L, std::ldexp(1.0L, minimum), -std::ldexp(1.0L, minimum - 2), 1, -2.5L, 1024});
  const auto normal = [minimum](Real s) { return std::isfinite(s) && std::fabs(s) >= std::ldexp(1.0L, minimum); };
  const std::vector<Class> classes = {
      {"isnan(s)", [](Real s, Real) { return std::isnan(s); }},
      {"isinf(s)", [](Real s, Real) { return std::isinf(s); }},
      {"isfinite(s)", [](Real s, Real) { return std::isfinite(s); }},
      {"isnormal(s)", [normal](Real s, Real) { return normal(s); }},
      {"signbit(s)", [](Real s, Real) { return std::signbit(s); }},
      {"isordered(s, x)", [](Real s, Real) { return !std::isnan(s); }},
      {"isunordered(x, s)", [](Real s, Real) { return std::isnan(s); }},
      {"s < x", [](Real s, Real x) { return s < x; }},
      {"s == s", [](Real s, Real) { return !std::isnan(s); }},
      {"s != x", [](Real s, Real x) { return s != x; }},
      {"__metal_isnan(s, true)", [](Real s, Real) { return std::isnan(s); }},
      {"select(isinf(s), isnan(s), s == s)", [](Real, Real) { return false; }},
  };
  Surface surface{type, {}, {}};
  for (std::size_t t = 0; t < 64; ++t) {
    const Bits x = encode(type, static_cast<Real>(t) / 8 - 3);
    surface.values.push_back({x, x, x, x, x, encode(type, special[t % special.size()])});
  }
  for (const auto& row : classes)
    surface.rows.push_back({row.expression, "bool",
                            [type, value = row.value](const Values& v) { return Bits{value(decode(type, v[5]), decode(type, v[0]))}; }});
  surface.rows.push_back(
      {"select(x, s, s > x)", "", [type](const Values& v) { return decode(type, v[5]) > decode(type, v[0]) ? v[5] : v[0]; }});
  check_surface(surface);
}

TEST(Surface, RelationalFunctions) {
  check_classes("float", -126);
  check_classes("half", -14);
  check_classes("bfloat", -126);
}

TEST(Surface, ConstantsOfEveryType) {
  struct Constant {
    const char* name;
    Real value;
  };
  const Real pi = std::numbers::pi_v<Real>, e = std::numbers::e_v<Real>, root = std::numbers::sqrt2_v<Real>;
  const Constant constants[] = {{"E", e},
                                {"LOG2E", 1 / std::log(2.0L)},
                                {"LOG10E", 1 / std::log(10.0L)},
                                {"LN2", std::log(2.0L)},
                                {"LN10", std::log(10.0L)},
                                {"PI", pi},
                                {"PI_2", pi / 2},
                                {"PI_4", pi / 4},
                                {"1_PI", 1 / pi},
                                {"2_PI", 2 / pi},
                                {"2_SQRTPI", 2 / std::sqrt(pi)},
                                {"SQRT2", root},
                                {"SQRT1_2", root / 2}};
  std::vector<Row> rows;
  for (const auto& [name, value] : constants) {
    rows.push_back({fmt::format("M_{}", name),
                    "MSL 6.5, tables of constants",
                    fmt::format("PUT(0, M_{0}_F); PUTH(1, M_{0}_H); PUTH(2, M_{0}_BF);", name),
                    {},
                    {static_cast<std::uint32_t>(encode("float", value)), static_cast<std::uint32_t>(encode("half", value)),
                     static_cast<std::uint32_t>(encode("bfloat", value))}});
  }
  rows.push_back(
      {"limits of bfloat and half",
       "definitions of the formats",
       "PUTH(0, MAXBFLOAT); PUTH(1, HUGE_VALBF); PUTH(2, BFLT_MIN); PUTH(3, BFLT_EPSILON); o[4] = BFLT_MAX_EXP; PUTH(5, MAXHALF); PUTH(6, "
       "HUGE_VALH); PUTH(7, HALF_MIN); PUTH(8, HALF_EPSILON); o[9] = uint(-BFLT_MIN_10_EXP); o[10] = BFLT_RADIX;",
       {},
       {0x7f7f, 0x7f80, 0x0080, 0x3c00, 128, 0x7bff, 0x7c00, 0x0400, 0x1400, 37, 2}});
  check_rows("constants", rows);
}

std::uint32_t unorm(Real value, Real scale) { return static_cast<std::uint32_t>(std::rint(std::clamp(value, Real{0}, Real{1}) * scale)); }
Real linear_of_srgb(Real x) { return x <= 0.04045L ? x / 12.92L : std::pow((x + 0.055L) / 1.055L, 2.4L); }
Real srgb_of_linear(Real x) { return x <= 0.0031308L ? x * 12.92L : 1.055L * std::pow(x, 1 / 2.4L) - 0.055L; }

// IEC 61966-2-1 for the colours, alpha linear; ten bits each from the lowest, two for alpha.
TEST(Surface, PackAndUnpack) {
  const Real values[4] = {0.25L, 0.001L, 1.5L, 0.5L};
  const std::uint32_t word = 0x80ff0a40;
  std::uint32_t srgb = unorm(values[3], 255) << 24, wide = unorm(values[3], 3) << 30;
  for (unsigned k = 0; k < 3; ++k) {
    srgb |= unorm(srgb_of_linear(std::min(values[k], Real{1})), 255) << (8 * k);
    wide |= unorm(values[k], 1023) << (10 * k);
  }
  const auto single = [](Real value) { return static_cast<std::uint32_t>(encode("float", value)); };
  check_rows(
      "pack and unpack",
      {{"pack_float_to_srgb_unorm4x8, pack_float_to_unorm10a2",
        "MSL 6.14, IEC 61966-2-1",
        "float4 v = float4(F(0), F(1), F(2), F(3)); o[0] = pack_float_to_srgb_unorm4x8(v); o[1] = pack_float_to_unorm10a2(v); o[2] = "
        "pack_half_to_unorm10a2(half4(1, 0, 1, 0)); o[3] = pack_half_to_srgb_unorm4x8(half4(1, 0, 0, 1));",
        {f(0.25F), f(0.001F), f(1.5F), f(0.5F)},
        {srgb, wide, 0x3ff003ff, 0xff0000ff}},
       {"unpack_unorm4x8_srgb_to_float",
        "MSL 6.14, IEC 61966-2-1",
        "float4 v = unpack_unorm4x8_srgb_to_float(U(0)); PUT(0, v.x); PUT(1, v.y); PUT(2, v.z); PUT(3, v.w); PUTH(4, "
        "unpack_unorm4x8_srgb_to_half(U(0)).z);",
        {word},
        {single(linear_of_srgb(64 / 255.0L)), single(linear_of_srgb(10 / 255.0L)), f(1), single(128 / 255.0L), h(1)}},
       {"unpack_unorm10a2_to_float",
        "MSL 6.14",
        "float4 v = unpack_unorm10a2_to_float(U(0)); PUT(0, v.x); PUT(1, v.y); PUT(2, v.z); PUT(3, v.w); PUTH(4, "
        "unpack_unorm10a2_to_half(U(0)).w);",
        {5 | 1023U << 10 | 512U << 20 | 2U << 30},
        {single(5 / 1023.0L), f(1), single(512 / 1023.0L), single(2 / 3.0L), h(2 / 3.0F)}},
       {"half packs as its float",
        "MSL 6.14",
        "o[0] = pack_half_to_unorm4x8(half4(0, 1, H(0), 1)); o[1] = pack_half_to_snorm4x8(half4(-1, 1, H(0), 0)); o[2] = "
        "pack_half_to_unorm2x16(half2(H(0), 1)); o[3] = pack_half_to_snorm2x16(half2(-1, H(0)));",
        {h(0.25F)},
        {0xff40ff00, 0x00207f81, 0xffff4000, 0x20008001}},
       {"half from unorm and snorm",
        "MSL 6.14",
        "PUTH(0, unpack_unorm4x8_to_half(U(0)).y); PUTH(1, unpack_snorm4x8_to_half(U(0)).x); PUTH(2, unpack_unorm2x16_to_half(U(0)).x); "
        "PUTH(3, unpack_snorm2x16_to_half(U(0)).y); PUT(4, unpack_snorm2x16_to_float(U(0)).x);",
        {0x7fff3381},
        {h(0.2F), h(-1), h(13185 / 65535.0F), h(1), f(13185 / 32767.0F)}}});
}

}  // namespace
}  // namespace assay::tests::surface_math_test
