// Table-based approximations of exp and expm1, as pairs of doubles.
#include "math/exponential.h"

#include <mpfr.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace assay::math {
namespace {

constexpr int kSteps = 128;  // steps of the table between 1 and 2
constexpr int kLogSteps = 7;

// An unevaluated sum of two doubles.
struct Pair {
  double high;
  double low;
};

Pair pair_of(mpfr_t number, double high) {
  Pair pair{high, 0.0};
  mpfr_sub_d(number, number, high, MPFR_RNDN);
  pair.low = mpfr_get_d(number, MPFR_RNDN);
  return pair;
}

// The number without its lowest `cut` of 53 bits.
double leading(double x, int cut) {
  const double spread = x * static_cast<double>((std::uint64_t{1} << cut) + 1);
  return spread - (spread - x);
}

struct Constants {
  std::array<Pair, kSteps> power;  // 2^(j / kSteps), the high part of 26 bits
  Pair step;                       // log(2) / kSteps, the high part of 36 bits: its products with whole numbers up to 2^17 are exact

  Constants() {
    mpfr_t number;
    mpfr_init2(number, 160);
    for (int j = 0; j < kSteps; ++j) {
      mpfr_set_d(number, static_cast<double>(j) / kSteps, MPFR_RNDN);
      mpfr_exp2(number, number, MPFR_RNDN);
      power[static_cast<std::size_t>(j)] = pair_of(number, leading(mpfr_get_d(number, MPFR_RNDN), 27));
    }
    mpfr_const_log2(number, MPFR_RNDN);
    mpfr_div_d(number, number, kSteps, MPFR_RNDN);
    step = pair_of(number, leading(mpfr_get_d(number, MPFR_RNDN), 17));
    mpfr_clear(number);
    mpfr_free_cache();
  }
};

const Constants& constants() {
  static const Constants all;
  return all;
}

// Adding and subtracting this rounds numbers below 2^51 to integers.
constexpr double kWhole = 0x1.8p52;

}  // namespace

// x = (128 e + j) log(2) / 128 + r with |r| < 2^-8.5: e^x = 2^e p e^r, where p = 2^(j / 128) and e^r = 1 + r + r^2/2 + ... to r^6 / 720,
// what is left out being below 2^-71. p and r are pairs whose high parts have an exact product, and the sum of p and that product is kept
// whole. The rest is below 2^-16 in units of p: a dozen roundings of 2^-69 each.
ScaledGuess guess_exp(double x) {
  const Constants& known = constants();
  constexpr double kPerStep = kSteps / std::numbers::ln2;
  const double k = x * kPerStep + kWhole - kWhole;
  const double first = x - k * known.step.high;  // exact
  const double rest = -k * known.step.low;
  const double r = first + rest;
  const double shift = r - first;
  const double lost = (first - (r - shift)) + (rest - shift);  // r + lost is the exact sum (Knuth)
  const double r_high = leading(r, 27);
  const double curved = r * r * (1.0 / 2 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (1.0 / 720)))));
  const auto whole = static_cast<std::int64_t>(k);
  const Pair& power = known.power[static_cast<std::size_t>(whole & (kSteps - 1))];
  const double product = power.high * r_high;  // exact
  const double high = power.high + product;
  const double left = product - (high - power.high);  // exact, because the product is the smaller one (Dekker)
  const double low = left + (power.low + (power.high * (curved + ((r - r_high) + lost)) + power.low * (r + curved)));
  return {{high, low, 0x1p-64}, static_cast<int>(whole >> kLogSteps)};
}

// x + x^2/2 + ... to x^9 / 9!, what is left out being below 2^-70 of the sum. Some ten roundings of the terms from x^2 on.
Guess guess_expm1(double x) {
  const double curved =
      x * x *
      (1.0 / 2 +
       x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x * (1.0 / 720 + x * (1.0 / 5040 + x * (1.0 / 40320 + x * (1.0 / 362880))))))));
  return {x, curved, std::abs(curved) * 0x1p-49 + std::abs(x) * 0x1p-68};
}

}  // namespace assay::math
