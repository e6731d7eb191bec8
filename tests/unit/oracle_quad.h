// Arithmetic in 113 bits for tests: the referee of the double-precision oracles. Not fast, and shares nothing with them.
#pragma once

namespace assay::tests {

// Where `long double` has 113 bits, as on 64-bit ARM, no other type has.
#if __LDBL_MANT_DIG__ == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

inline Quad quad_abs(Quad x) { return x < 0 ? -x : x; }

// Newton's iteration from the double root: two steps square the 2^-53 it starts with to below 2^-113.
inline Quad quad_sqrt(double x) {
  if (x == 0.0) return 0;
  Quad root = __builtin_sqrt(x);
  for (int i = 0; i < 3; ++i) root = (root + static_cast<Quad>(x) / root) / 2;
  return root;
}

// e^x for x <= 1: the Taylor series at x / 2^k, squared k times, which costs k of the 113 bits.
inline Quad quad_exp(Quad x) {
  if (x < -11000) return 0;
  int halvings = 0;
  while (quad_abs(x) > static_cast<Quad>(0.125)) {
    x /= 2;
    ++halvings;
  }
  Quad term = 1;
  Quad sum = 1;
  for (int i = 1; i < 40; ++i) {
    term *= x / i;
    sum += term;
  }
  for (; halvings > 0; --halvings) sum *= sum;
  return sum;
}

}  // namespace assay::tests
