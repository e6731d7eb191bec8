// The scalar functions behind math.h, common.h and relational.h, for float and half.
//
// Transcendental functions come from math/kernel_functions.h as doubles that are rounded once. A result is the representable number
// nearest to the exact result, with the same bits on every machine. Functions that are exact in the type itself (floor, fmod, ...)
// are exact here.
#pragma once

#include "vec.h"

namespace metal {
namespace __detail {

// Declared under names that no kernel uses. Under the names of the C library, the compiler would evaluate calls itself, with the
// library of the machine that it runs on. The const attribute tells it that the functions do not set errno.
namespace library {
#define ASSAY_LIBRARY1(name) extern "C" __attribute__((const)) double __assay_##name(double) __asm__("assay_math_" #name);
#define ASSAY_LIBRARY2(name) extern "C" __attribute__((const)) double __assay_##name(double, double) __asm__("assay_math_" #name);
ASSAY_LIBRARY1(exp)
ASSAY_LIBRARY1(exp2)
ASSAY_LIBRARY1(exp10)
ASSAY_LIBRARY1(log)
ASSAY_LIBRARY1(log2)
ASSAY_LIBRARY1(log10)
ASSAY_LIBRARY1(sin)
ASSAY_LIBRARY1(cos)
ASSAY_LIBRARY1(tan)
ASSAY_LIBRARY1(asin)
ASSAY_LIBRARY1(acos)
ASSAY_LIBRARY1(atan)
ASSAY_LIBRARY1(sinh)
ASSAY_LIBRARY1(cosh)
ASSAY_LIBRARY1(tanh)
ASSAY_LIBRARY1(asinh)
ASSAY_LIBRARY1(acosh)
ASSAY_LIBRARY1(atanh)
ASSAY_LIBRARY2(pow)
ASSAY_LIBRARY2(atan2)
#undef ASSAY_LIBRARY1
#undef ASSAY_LIBRARY2
// The results of these are used as doubles.
extern "C" __attribute__((const)) double __assay_exact_sin(double) __asm__("assay_math_exact_sin");
extern "C" __attribute__((const)) double __assay_exact_cos(double) __asm__("assay_math_exact_cos");
extern "C" __attribute__((const)) double __assay_exact_pow(double, double) __asm__("assay_math_exact_pow");
// The function of the C library, which is exact.
extern "C" __attribute__((const)) double __assay_fmod(double, double) __asm__("fmod");
}  // namespace library

constexpr __global const ulong pi_bits = 0x400921fb54442d18ul;  // as bits, because literals are float in this dialect

template <class T>
struct fp_bits {};
template <>
struct fp_bits<float> {
  typedef uint type;
  static constexpr __global const uint exponent = 0x7f800000u, mantissa = 0x007fffffu, sign = 0x80000000u;
};
template <>
struct fp_bits<half> {
  typedef ushort type;
  static constexpr __global const ushort exponent = 0x7c00, mantissa = 0x03ff, sign = 0x8000;
};
template <>
struct fp_bits<bfloat> {
  typedef ushort type;
  static constexpr __global const ushort exponent = 0x7f80, mantissa = 0x007f, sign = 0x8000;
};

// The float next to d. Its last bit is set if d lies strictly between two floats ("round to odd"). Rounding it again, to a type with at
// most 22 bits of precision, gives the same as rounding d directly (Boldo and Melquiond, 2008).
inline float round_to_odd(double d) {
  const float nearest = float(d);
  const double back = nearest;
  if (!(back != d) || d != d) return nearest;
  uint bits = __builtin_bit_cast(uint, nearest);
  if ((bits & 1u) == 0u) bits += ((back < d) == ((bits >> 31) == 0u)) ? 1u : ~0u;
  return __builtin_bit_cast(float, bits);
}

// Supplies the exact value to the policy `shadow` where a function computes with bits, which the policy cannot follow.
inline float without_rounding(float value, double exact) { return __assay_without_rounding_float(value, exact); }
inline half without_rounding(half value, double exact) { return __assay_without_rounding_half(value, exact); }
inline bfloat without_rounding(bfloat value, double exact) { return __assay_without_rounding_bfloat(value, exact); }
inline double without_rounding(double value, double exact) { return __assay_without_rounding_double(value, exact); }

template <class T>
inline T round_once(double d);
template <>
inline float round_once<float>(double d) {
  return float(d);
}
template <>
inline half round_once<half>(double d) {
  return half(without_rounding(round_to_odd(d), d));
}

template <class T>
constexpr T nan_of() {
  return T(__builtin_bit_cast(float, 0x7fc00000u));
}

template <class T>
inline bool isnan(T x) {
  return x != x;
}
template <class T>
inline bool isinf(T x) {
  typedef fp_bits<T> B;
  return (__builtin_bit_cast(typename B::type, x) & (B::exponent | B::mantissa)) == B::exponent;
}
template <class T>
inline bool isfinite(T x) {
  typedef fp_bits<T> B;
  return (__builtin_bit_cast(typename B::type, x) & B::exponent) != B::exponent;
}
template <class T>
inline bool isnormal(T x) {
  typedef fp_bits<T> B;
  const uint e = __builtin_bit_cast(typename B::type, x) & B::exponent;
  return e != 0 && e != B::exponent;
}
template <class T>
inline bool signbit(T x) {
  typedef fp_bits<T> B;
  return (__builtin_bit_cast(typename B::type, x) & B::sign) != 0;
}
template <class T>
inline bool isordered(T x, T y) {
  return x == x && y == y;
}
template <class T>
inline bool isunordered(T x, T y) {
  return !isordered(x, y);
}
template <class T>
inline T copysign(T x, T y) {
  typedef fp_bits<T> B;
  typedef typename B::type Bits;
  const T result =
      __builtin_bit_cast(T, Bits((__builtin_bit_cast(Bits, x) & (B::exponent | B::mantissa)) | (__builtin_bit_cast(Bits, y) & B::sign)));
  return without_rounding(result, __builtin_copysign(double(x), double(y)));
}
template <class T>
inline T fabs(T x) {
  typedef fp_bits<T> B;
  typedef typename B::type Bits;
  return without_rounding(__builtin_bit_cast(T, Bits(__builtin_bit_cast(Bits, x) & (B::exponent | B::mantissa))),
                          __builtin_fabs(double(x)));
}

#define ASSAY_BY_LIBRARY1(name)                               \
  template <class T>                                          \
  inline T name(T x) {                                        \
    return round_once<T>(library::__assay_##name(double(x))); \
  }
ASSAY_BY_LIBRARY1(exp)
ASSAY_BY_LIBRARY1(exp2)
ASSAY_BY_LIBRARY1(exp10)
ASSAY_BY_LIBRARY1(log)
ASSAY_BY_LIBRARY1(log2)
ASSAY_BY_LIBRARY1(log10)
ASSAY_BY_LIBRARY1(sin)
ASSAY_BY_LIBRARY1(cos)
ASSAY_BY_LIBRARY1(tan)
ASSAY_BY_LIBRARY1(asin)
ASSAY_BY_LIBRARY1(acos)
ASSAY_BY_LIBRARY1(atan)
ASSAY_BY_LIBRARY1(sinh)
ASSAY_BY_LIBRARY1(cosh)
ASSAY_BY_LIBRARY1(tanh)
ASSAY_BY_LIBRARY1(asinh)
ASSAY_BY_LIBRARY1(acosh)
ASSAY_BY_LIBRARY1(atanh)
#undef ASSAY_BY_LIBRARY1
#define ASSAY_BY_LIBRARY2(name)                                          \
  template <class T>                                                     \
  inline T name(T x, T y) {                                              \
    return round_once<T>(library::__assay_##name(double(x), double(y))); \
  }
ASSAY_BY_LIBRARY2(pow)
ASSAY_BY_LIBRARY2(atan2)
ASSAY_BY_LIBRARY2(fmod)
#undef ASSAY_BY_LIBRARY2

// Defined for x >= 0 only.
template <class T>
inline T powr(T x, T y) {
  return x < T(0) ? nan_of<T>() : pow(x, y);
}

// sin and cos of pi * r for |r| <= 1/4. The reductions are exact, so results keep their relative accuracy.
struct rounded_next {
  static double sine(double x) { return library::__assay_sin(x); }
  static double cosine(double x) { return library::__assay_cos(x); }
};
struct divided_next {
  static double sine(double x) { return library::__assay_exact_sin(x); }
  static double cosine(double x) { return library::__assay_exact_cos(x); }
};
template <class Library>
inline double sinpi_double(double x) {
  const double pi = __builtin_bit_cast(double, pi_bits);
  double r = x - 2 * __builtin_rint(x / 2);     // [-1, 1]
  if (r == 0) return __builtin_copysign(r, x);  // as in IEEE 754: -0 at -0 and at negative integers
  if (__builtin_fabs(r) > (double)0.5f) r = __builtin_copysign((double)1.0f, r) - r;
  if (__builtin_fabs(r) <= (double)0.25f) return Library::sine(pi * r);
  return __builtin_copysign(Library::cosine(pi * ((double)0.5f - __builtin_fabs(r))), r);
}
template <class Library>
inline double cospi_double(double x) {
  const double pi = __builtin_bit_cast(double, pi_bits);
  const double r = __builtin_fabs(x - 2 * __builtin_rint(x / 2));  // [0, 1]
  const double s = r > (double)0.5f ? 1 - r : r;
  const double c = s <= (double)0.25f ? Library::cosine(pi * s) : Library::sine(pi * ((double)0.5f - s));
  return r > (double)0.5f ? -c : c;
}
template <class T>
inline T sinpi(T x) {
  return round_once<T>(sinpi_double<rounded_next>(double(x)));
}
template <class T>
inline T cospi(T x) {
  return round_once<T>(cospi_double<rounded_next>(double(x)));
}
template <class T>
inline T tanpi(T x) {
  return round_once<T>(sinpi_double<divided_next>(double(x)) / cospi_double<divided_next>(double(x)));
}
template <class T>
inline T sincos(T x, __private T& cosine) {
  cosine = cos(x);
  return sin(x);
}

template <class T>
inline T sqrt(T x) {
  return round_once<T>(__builtin_sqrt(double(x)));
}
template <>
inline float sqrt(float x) {
  return __builtin_sqrtf(x);
}
template <class T>
inline T rsqrt(T x) {
  return round_once<T>((double)1.0f / __builtin_sqrt(double(x)));
}
template <class T>
inline T divide(T x, T y) {
  return x / y;
}

// half goes through float: every half is a float, and these results need no rounding.
#define ASSAY_BY_BUILTIN(name)        \
  template <class T>                  \
  inline T name(T x) {                \
    return T(__builtin_##name##f(x)); \
  }
ASSAY_BY_BUILTIN(floor)
ASSAY_BY_BUILTIN(ceil)
ASSAY_BY_BUILTIN(trunc)
ASSAY_BY_BUILTIN(rint)
ASSAY_BY_BUILTIN(round)
#undef ASSAY_BY_BUILTIN
// x - floor(x), in [0, 1): limited to values below 1 where the difference would round up to 1.
template <class T>
inline T fract(T x) {
  if (isinf(x)) return copysign(T(0), x);
  const T f = x - floor(x);
  const T below_one = is_same<T, half>::value ? T(0x1.ffcp-1f) : T(0x1.fffffep-1f);
  return f < below_one || f != f ? f : below_one;
}
template <class T>
inline T modf(T x, __private T& whole) {
  whole = trunc(x);
  const T rest = isinf(x) ? T(0) : T(x - whole);
  return without_rounding(copysign(rest, x), double(rest));
}

inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
// The product is exact in double, and the sum is rounded to odd. So the conversion to half is the only rounding.
inline half fma(half x, half y, half z) {
  const double p = double(x) * double(y), c = double(z);
  const double s = p + c;
  const double c_part = s - p;
  const double error = (p - (s - c_part)) + (c - c_part);
  ulong bits = __builtin_bit_cast(ulong, s);
  if (error == error && error != 0 && (bits & 1ul) == 0ul) bits += ((error > 0) == ((bits >> 63) == 0ul)) ? 1ul : ~0ul;
  return round_once<half>(without_rounding(__builtin_bit_cast(double, bits), s));
}
template <class T>
inline T mad(T x, T y, T z) {
  return x * y + z;
}

// If one operand is NaN, the other one.
template <class T>
inline T fmin(T x, T y) {
  return (y < x || x != x) ? y : x;
}
template <class T>
inline T fmax(T x, T y) {
  return (x < y || x != x) ? y : x;
}
template <class T>
inline T fmin3(T x, T y, T z) {
  return fmin(x, fmin(y, z));
}
template <class T>
inline T fmax3(T x, T y, T z) {
  return fmax(x, fmax(y, z));
}
// A NaN counts as absent. The result is then the smaller of the remaining numbers, as in OpenCL's median of three.
template <class T>
inline T fmedian3(T x, T y, T z) {
  if (x != x) return fmin(y, z);
  if (y != y) return fmin(x, z);
  if (z != z) return fmin(x, y);
  return fmax(fmin(x, y), fmin(fmax(x, y), z));
}
template <class T>
inline T fdim(T x, T y) {
  if (x != x || y != y) return nan_of<T>();
  return x > y ? T(x - y) : T(0);
}
template <class T>
inline T nextafter(T x, T y) {
  typedef typename fp_bits<T>::type Bits;
  if (x != x || y != y) return nan_of<T>();
  if (x == y) return y;
  if (x == T(0)) return __builtin_bit_cast(T, Bits((y < x ? fp_bits<T>::sign : Bits(0)) | Bits(1)));
  const Bits bits = __builtin_bit_cast(Bits, x);
  return __builtin_bit_cast(T, Bits((x < y) == (x > T(0)) ? bits + 1 : bits - 1));
}

// 2^k, made from its encoding; -1022 <= k <= 1023.
inline double power_of_two(int k) { return __builtin_bit_cast(double, ulong(k + 1023) << 52); }

template <class T>
inline T ldexp(T x, int k) {
  // Beyond these limits every finite nonzero x overflows or becomes zero; within them the product is exact in double.
  const int bounded = k < -400 ? -400 : k > 400 ? 400 : k;
  return round_once<T>(double(x) * power_of_two(bounded));
}
// The mantissa in [0.5, 1) and the exponent. For zero, infinity and NaN: the argument itself and exponent 0.
template <class T>
inline T frexp(T x, __private int& exponent) {
  exponent = 0;
  if (x == T(0) || !isfinite(x)) return x;
  const ulong bits = __builtin_bit_cast(ulong, double(x));  // a normal double, whatever x is
  exponent = int((bits >> 52) & 2047ul) - 1022;
  return T(float(__builtin_bit_cast(double, (bits & 0x800ffffffffffffful) | (1022ul << 52))));
}
// The unbiased exponent; INT_MIN for zero and NaN, INT_MAX for infinity.
template <class T>
inline int ilogb(T x) {
  if (x == T(0) || x != x) return -2147483647 - 1;
  if (isinf(x)) return 2147483647;
  return int((__builtin_bit_cast(ulong, double(x)) >> 52) & 2047ul) - 1023;
}

// common.h
template <class T>
inline T clamp_fp(T x, T low, T high) {
  return fmin(fmax(x, low), high);
}
template <class T>
inline T saturate(T x) {
  return clamp_fp(x, T(0), T(1));
}
template <class T>
inline T mix(T x, T y, T a) {
  return x + (y - x) * a;
}
template <class T>
inline T sign(T x) {
  return x > T(0) ? T(1) : x < T(0) ? T(-1) : x != x ? T(0) : x;
}
template <class T>
inline T step(T edge, T x) {
  return x < edge ? T(0) : T(1);
}
template <class T>
inline T smoothstep(T edge0, T edge1, T x) {
  const T t = clamp_fp(T((x - edge0) / (edge1 - edge0)), T(0), T(1));
  return t * t * (T(3) - T(2) * t);
}

}  // namespace __detail
}  // namespace metal
