// The C library's double first, and MPFR if its error leaves the rounding to a float in doubt.
#include "math/library_functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "math/approximations.h"
#include "math/exact_value.h"

namespace assay::math::library {
namespace {

using approximation::bits_of;
using approximation::is_near_middle;
using approximation::kGrid;
using approximation::of_bits;

constexpr double kInvalid = std::bit_cast<double>(std::uint64_t{0xfff8000000000000U});

// glibc's manual states an error of at most 4 units in the last place for the functions used here.
constexpr std::uint64_t kLibraryError = 32;

template <std::size_t count>
bool contains(const std::array<ExactFunction1, count>& functions, ExactFunction1 function) {
  return std::ranges::find(functions, function) != functions.end();
}

// Frequent results that MPFR would otherwise always decide: those that lie so near to a float that no double between them says on which
// side. Their neighbour on that side does.
std::optional<double> known(ExactFunction1 exact, double x) {
  constexpr double kBelowOne = 1.0 - 0x1p-53, kAboveOne = 1.0 + 0x1p-52;
  constexpr std::array<ExactFunction1, 4> kBelowArgument = {mpfr_sin, mpfr_atan, mpfr_tanh, mpfr_asinh};
  constexpr std::array<ExactFunction1, 4> kAboveArgument = {mpfr_tan, mpfr_asin, mpfr_sinh, mpfr_atanh};
  constexpr std::array<ExactFunction1, 3> kPowers = {mpfr_exp, mpfr_exp2, mpfr_exp10};
  // x - x^3 / 3 and such, x^3 / 3 being below 2^12 units in the last place of an x that is a float.
  if (std::abs(x) < 0x1p-20 && (bits_of(x) & (kGrid - 1)) == 0) {
    if (contains(kBelowArgument, exact)) return of_bits(bits_of(x) - 1);
    if (contains(kAboveArgument, exact)) return of_bits(bits_of(x) + 1);
  }
  // 1 - x^2 / 2 and 1 + x^2 / 2, where x^2 is below 2^-40.
  if (exact == mpfr_cos && std::abs(x) < 0x1p-20) return kBelowOne;
  if (exact == mpfr_cosh && std::abs(x) < 0x1p-20) return kAboveOne;
  // 1 + x, and at most 1 + 2.4 x.
  if (contains(kPowers, exact) && std::abs(x) < 0x1p-40) return x < 0.0 ? kBelowOne : kAboveOne;
  // 1 - tanh(20) is 8.5e-18, a thirteenth of a unit in the last place.
  if (exact == mpfr_tanh && std::abs(x) >= 20.0) return std::copysign(kBelowOne, x);
  if (exact == mpfr_exp2 && std::nearbyint(x) == x && std::abs(x) <= 1000.0) return std::ldexp(1.0, static_cast<int>(x));
  return std::nullopt;
}
std::optional<double> known(ExactFunction2, double, double) { return std::nullopt; }

template <typename Exact, typename... Doubles>
double decided(double guess, Exact exact, Doubles... arguments) {
  if (std::isnan(guess)) return (std::isnan(arguments) || ...) ? guess : kInvalid;
  if (!is_near_middle(guess, kLibraryError)) return guess;
  // Poles, overflow, zeros, underflow, and results that are exact at 0 in every C library.
  if (std::isinf(guess) || guess == 0.0 || ((arguments == 0.0) && ...)) return guess;
  if (const auto value = known(exact, arguments...)) return *value;
  return to_odd(exact, arguments...);
}

}  // namespace

#define ASSAY_MATH_DEFINE_1(name) \
  double name(double x) { return decided(::name(x), mpfr_##name, x); }
#define ASSAY_MATH_DEFINE_2(name) \
  double name(double x, double y) { return decided(::name(x, y), mpfr_##name, x, y); }
ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DEFINE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DEFINE_2)
#undef ASSAY_MATH_DEFINE_1
#undef ASSAY_MATH_DEFINE_2

}  // namespace assay::math::library
