// Approximations of exp and expm1 with error bounds, for the oracles. They use only additions and products, and are as fast as the C
// library.
#pragma once

namespace assay::math {

// high + low is the value; it is within `error` of the exact one.
struct Guess {
  double high;
  double low;
  double error;
};

// Approximates 2^-exponent e^x, which is between 1 and 2, or slightly outside.
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
