// C's fmod of two floats, exactly.
#pragma once

#include "numbers.h"

namespace assay_mathematics {

inline double fmod(double x, double y) {
  const double divisor = __builtin_fabs(y);
  double rest = __builtin_fabs(x);
  if (!is_finite(rest) || !(divisor > 0)) return invalid();
  if (!is_finite(divisor)) return x;
  const int low = static_cast<int>(bits_of(divisor) >> 52);
  while (rest >= divisor) {
    // A multiple of the divisor by a power of 2, so that the quotient has 30 bits at most. Then its product with the divisor's 24 is exact.
    const int above = static_cast<int>(bits_of(rest) >> 52) - low - 28;
    const double step = above > 0 ? scaled(divisor, above) : divisor;
    rest = __builtin_fma(-__builtin_trunc(rest / step), step, rest);
    if (rest < 0) rest += step;  // the quotient was rounded up to a whole number
  }
  return __builtin_copysign(rest, x);
}

}  // namespace assay_mathematics
