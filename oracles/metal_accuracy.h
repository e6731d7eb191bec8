// The accuracy that the Metal Shading Language Specification promises, function by function: the data of the profiles `metal` and
// `metal_fast`.
//
// The specification has three tables: single precision, single precision with fast mathematics, and half precision (36 to 38 in the
// edition of 2017). This table was written without a copy of them at hand. A figure is `confirmed` if somebody of the project has read it
// there. All other figures are from memory and not confirmed here: of several candidates each is the widest, and README.md says which there
// were ("Profiles").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

namespace assay::oracles {

enum class MetalMath : std::uint8_t { precise, fast, half };

inline constexpr double kNoLimit = -1.0;

// The largest error of one function in one mode. An ulp is that of the result, in the format of the mode.
struct FunctionAccuracy {
  double ulp = 0.0;               // 0: exact, 0.5: correctly rounded
  double ulp_per_unit = 0.0;      // plus this times |x|
  double absolute = 0.0;          // in the domain [low, high], instead; outside of it `ulp` counts, which may be kNoLimit
  double low = 0.0, high = 0.0;   // of `absolute`
  std::string_view formula = {};  // the function may be computed as this, and its error follows from that
  bool is_confirmed = false;

  [[nodiscard]] constexpr bool is_formula() const { return !formula.empty(); }
};

struct FunctionRow {
  std::string_view function;  // "exp", or an operation: "x / y"
  FunctionAccuracy precise, fast, half;
};

namespace accuracy {
constexpr FunctionAccuracy exact() { return {.is_confirmed = true}; }  // by its definition, whatever the tables say
constexpr FunctionAccuracy rounded(bool is_confirmed = false) { return {.ulp = 0.5, .is_confirmed = is_confirmed}; }
constexpr FunctionAccuracy ulps(double count, double per_unit = 0.0, bool is_confirmed = false) {
  return {.ulp = count, .ulp_per_unit = per_unit, .is_confirmed = is_confirmed};
}
constexpr FunctionAccuracy within(double absolute, double low, double high, double otherwise, bool is_confirmed = false) {
  return {.ulp = otherwise, .absolute = absolute, .low = low, .high = high, .is_confirmed = is_confirmed};
}
constexpr FunctionAccuracy as(std::string_view formula) { return {.formula = formula}; }

inline constexpr double kPi = 3.14159274101257324;  // M_PI_F
// Every function of half.
inline constexpr FunctionAccuracy kHalf = ulps(1.0, 0.0, true);
}  // namespace accuracy

// Every function of <metal_math> and <metal_common> that a kernel may call, and the operators.
inline constexpr auto kMetalAccuracy = [] {
  using namespace accuracy;
  return std::to_array<FunctionRow>({
      {"x + y", rounded(), rounded(), rounded()},
      {"x - y", rounded(), rounded(), rounded()},
      {"x * y", rounded(), rounded(), rounded()},
      {"x / y", rounded(true), ulps(2.5), kHalf},
      {"1 / x", rounded(true), ulps(2.5), kHalf},
      {"fma", rounded(), rounded(), rounded()},
      {"divide", rounded(true), ulps(2.5), kHalf},
      {"sqrt", rounded(true), as("x * rsqrt(x)"), kHalf},
      {"rsqrt", ulps(2), ulps(2), kHalf},
      {"exp", ulps(4), ulps(3, 2, true), kHalf},
      {"exp2", ulps(4), ulps(3, 2), kHalf},
      {"exp10", ulps(4), as("exp2(x * log2(10))"), kHalf},
      {"log", ulps(4), within(0x1p-21, 0.5, 2.0, 3, true), kHalf},
      {"log2", ulps(4), within(0x1p-21, 0.5, 2.0, 3), kHalf},
      {"log10", ulps(4), as("log2(x) * log10(2)"), kHalf},
      {"pow", ulps(16), as("exp2(y * log2(x))"), kHalf},
      {"powr", ulps(16), as("exp2(y * log2(x))"), kHalf},
      {"sin", ulps(4), within(0x1p-11, -kPi, kPi, kNoLimit), kHalf},
      {"cos", ulps(4), within(0x1p-11, -kPi, kPi, kNoLimit), kHalf},
      {"sincos", ulps(4), within(0x1p-11, -kPi, kPi, kNoLimit), kHalf},
      {"sinpi", ulps(4), within(0x1p-11, -1.0, 1.0, kNoLimit), kHalf},
      {"cospi", ulps(4), within(0x1p-11, -1.0, 1.0, kNoLimit), kHalf},
      {"tan", ulps(6), as("sin(x) / cos(x)"), kHalf},
      {"tanpi", ulps(6), as("sinpi(x) / cospi(x)"), kHalf},
      {"asin", ulps(4), ulps(5), kHalf},
      {"acos", ulps(4), ulps(5), kHalf},
      {"atan", ulps(5), ulps(5), kHalf},
      {"atan2", ulps(6), as("atan(y / x), with pi added or subtracted"), kHalf},
      {"sinh", ulps(4), as("(exp(x) - exp(-x)) / 2"), kHalf},
      {"cosh", ulps(4), as("(exp(x) + exp(-x)) / 2"), kHalf},
      {"tanh", ulps(5), as("(t - 1) / (t + 1), t = exp(2 * x)"), kHalf},
      {"asinh", ulps(4), as("log(x + sqrt(x * x + 1))"), kHalf},
      {"acosh", ulps(4), as("log(x + sqrt(x * x - 1))"), kHalf},
      {"atanh", ulps(5), as("log((1 + x) / (1 - x)) / 2"), kHalf},
      {"mix", as("x + (y - x) * a"), as("x + (y - x) * a"), as("x + (y - x) * a")},
      {"smoothstep", as("t * t * (3 - 2 * t), t = clamp((x - a) / (b - a))"), as("t * t * (3 - 2 * t), t = clamp((x - a) / (b - a))"),
       as("t * t * (3 - 2 * t), t = clamp((x - a) / (b - a))")},
      {"fdim", rounded(), rounded(), kHalf},
      {"fract", rounded(), rounded(), kHalf},
      {"ldexp", rounded(), rounded(), kHalf},
      {"fmod", exact(), exact(), exact()},
      {"ceil", exact(), exact(), exact()},
      {"floor", exact(), exact(), exact()},
      {"rint", exact(), exact(), exact()},
      {"round", exact(), exact(), exact()},
      {"trunc", exact(), exact(), exact()},
      {"fabs", exact(), exact(), exact()},
      {"abs", exact(), exact(), exact()},
      {"copysign", exact(), exact(), exact()},
      {"nextafter", exact(), exact(), exact()},
      {"sign", exact(), exact(), exact()},
      {"step", exact(), exact(), exact()},
      {"saturate", exact(), exact(), exact()},
      {"clamp", exact(), exact(), exact()},
      {"max", exact(), exact(), exact()},
      {"min", exact(), exact(), exact()},
      {"fmax", exact(), exact(), exact()},
      {"fmin", exact(), exact(), exact()},
      {"max3", exact(), exact(), exact()},
      {"min3", exact(), exact(), exact()},
      {"median3", exact(), exact(), exact()},
      {"fmax3", exact(), exact(), exact()},
      {"fmin3", exact(), exact(), exact()},
      {"fmedian3", exact(), exact(), exact()},
      {"frexp", exact(), exact(), exact()},
      {"ilogb", exact(), exact(), exact()},
      {"modf", exact(), exact(), exact()},
  });
}();

// nullptr if the table has no such function.
constexpr const FunctionRow* find_accuracy(std::string_view function) {
  const auto* const found = std::ranges::find(kMetalAccuracy, function, &FunctionRow::function);
  return found == kMetalAccuracy.end() ? nullptr : found;
}

// Throws std::out_of_range, or does not compile, if the table has no such function.
constexpr const FunctionAccuracy& accuracy_of(std::string_view function, MetalMath mode) {
  const FunctionRow* row = find_accuracy(function);
  if (row == nullptr) throw std::out_of_range("no row for this function");
  return mode == MetalMath::precise ? row->precise : mode == MetalMath::fast ? row->fast : row->half;
}

// Freedoms of the specification that are not errors of a function.

// The order in which simd_sum adds is not specified. A tree of 32 lanes has five sums on every path, a chain 31.
inline constexpr std::size_t kSimdSumTree = 5, kSimdSumChain = 31;
// Whether the compiler may fuse a product with a sum: in both modes, because a host seldom switches contraction off.
inline constexpr bool kMayContract = true;
// What flushing to zero loses of a subnormal float: as much as the smallest normal one.
inline constexpr double kFlushedFloat = 0x1p-126;

}  // namespace assay::oracles
