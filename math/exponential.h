// Guesses of exp and expm1 for the oracles, whose time they take: from additions and products alone, so fast as the C library's.
#pragma once

namespace assay::math {

// high + low is the value; it is within `error` of the exact one.
struct Guess {
  double high;
  double low;
  double error;
};

// Of 2^-exponent e^x, between 1 and 2 or a little beside.
struct ScaledGuess {
  Guess guess;
  int exponent;
};

// For |x| <= kLargestGuessedExp.
inline constexpr double kLargestGuessedExp = 700.0;
[[nodiscard]] ScaledGuess guess_exp(double x);

// For |x| <= kLargestGuessedExpm1.
inline constexpr double kLargestGuessedExpm1 = 0x1p-6;
[[nodiscard]] Guess guess_expm1(double x);

}  // namespace assay::math
