// Correctly rounded functions: an approximation with an error bound first, and MPFR if that does not decide the rounding.
#include "math/functions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "math/exact_value.h"
#include "math/exponential.h"

namespace assay::math {
namespace {

constexpr std::uint64_t kInvalid = 0xfff8000000000000U;

template <typename... Doubles>
bool is_any_nan(Doubles... values) {
  return (std::isnan(values) || ...);
}

// glibc's manual states an error of at most 5 units in the last place for the `long double` functions used here. We assume 8 or more of the
// 64-bit significand, so MPFR decides about one result in a hundred.
constexpr long double kGuessError = 0x1p-60L;
static_assert(std::numeric_limits<long double>::digits >= 64, "a guess needs more bits than a double has");

template <typename Exact, typename... Doubles>
double decided(long double guess, Exact exact, Doubles... arguments) {
  const long double error = std::abs(guess) * kGuessError;
  const auto low = static_cast<double>(guess - error);
  const auto high = static_cast<double>(guess + error);
  if (low == high) return low;
  if (std::isnan(guess)) return is_any_nan(arguments...) ? static_cast<double>(guess) : std::bit_cast<double>(kInvalid);
  if (std::isinf(guess)) return static_cast<double>(guess);
  return nearest(exact, arguments...);
}

}  // namespace

#define ASSAY_MATH_DEFINE_1(name) \
  double name(double x) { return decided(::name##l(x), mpfr_##name, x); }
#define ASSAY_MATH_DEFINE_2(name) \
  double name(double x, double y) { return decided(::name##l(x, y), mpfr_##name, x, y); }
ASSAY_MATH_GUESSED_KERNEL_FUNCTIONS_1(ASSAY_MATH_DEFINE_1)
ASSAY_MATH_DEFINE_1(erfc)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DEFINE_2)
#undef ASSAY_MATH_DEFINE_1
#undef ASSAY_MATH_DEFINE_2

double exp(double x) {
  if (std::abs(x) <= kLargestGuessedExp) {
    const auto [guess, exponent] = guess_exp(x);
    const double low = guess.high + (guess.low - guess.error);
    const double high = guess.high + (guess.low + guess.error);
    // A power of two that is a double, and so are its products.
    return low == high ? low * std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52) : nearest(mpfr_exp, x);
  }
  // Below half of the smallest double.
  if (x < -746.0) return 0.0;
  return decided(::expl(x), mpfr_exp, x);
}

double expm1(double x) {
  if (std::abs(x) <= kLargestGuessedExpm1) {
    const Guess guess = guess_expm1(x);
    const double low = guess.high + (guess.low - guess.error);
    const double high = guess.high + (guess.low + guess.error);
    if (low == high) return low;
  }
  return decided(::expm1l(x), mpfr_expm1, x);
}

}  // namespace assay::math
