// <metal_limits> and <metal_numeric>: numeric_limits<T> of Metal's scalar types.
#pragma once

#include "traits.h"

namespace metal {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero = 0,
  round_to_nearest = 1,
  round_toward_infinity = 2,
  round_toward_neg_infinity = 3
};
enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };

// The bases have the names under which kernels specialise them for types of their own.
struct _numeric_limits_impl_base {
#define ASSAY_LIMIT static constexpr __global const
  ASSAY_LIMIT bool is_specialized = false;
  ASSAY_LIMIT bool is_signed = false;
  ASSAY_LIMIT bool is_integer = false;
  ASSAY_LIMIT bool is_exact = false;
  ASSAY_LIMIT bool has_infinity = false;
  ASSAY_LIMIT bool has_quiet_NaN = false;
  ASSAY_LIMIT bool has_signaling_NaN = false;
  ASSAY_LIMIT float_denorm_style has_denorm = denorm_absent;
  ASSAY_LIMIT bool has_denorm_loss = false;
  ASSAY_LIMIT float_round_style round_style = round_toward_zero;
  ASSAY_LIMIT bool is_iec559 = false;
  ASSAY_LIMIT bool is_bounded = false;
  ASSAY_LIMIT bool is_modulo = false;
  ASSAY_LIMIT int digits = 0;
  ASSAY_LIMIT int digits10 = 0;
  ASSAY_LIMIT int max_digits10 = 0;
  ASSAY_LIMIT int radix = 0;
  ASSAY_LIMIT int min_exponent = 0;
  ASSAY_LIMIT int min_exponent10 = 0;
  ASSAY_LIMIT int max_exponent = 0;
  ASSAY_LIMIT int max_exponent10 = 0;
  ASSAY_LIMIT bool traps = false;
  ASSAY_LIMIT bool tinyness_before = false;
};

struct _int_numeric_limits_impl_base : _numeric_limits_impl_base {
  ASSAY_LIMIT bool is_specialized = true;
  ASSAY_LIMIT bool is_integer = true;
  ASSAY_LIMIT bool is_exact = true;
  ASSAY_LIMIT bool is_bounded = true;
  ASSAY_LIMIT int radix = 2;
};

struct _fp_numeric_limits_impl_base : _numeric_limits_impl_base {
  ASSAY_LIMIT bool is_specialized = true;
  ASSAY_LIMIT bool is_signed = true;
  ASSAY_LIMIT bool has_infinity = true;
  ASSAY_LIMIT bool has_quiet_NaN = true;
  ASSAY_LIMIT float_denorm_style has_denorm = denorm_present;
  ASSAY_LIMIT float_round_style round_style = round_to_nearest;
  ASSAY_LIMIT bool is_iec559 = true;
  ASSAY_LIMIT bool is_bounded = true;
  ASSAY_LIMIT int radix = 2;
};

template <class T>
struct _numeric_limits_impl : _numeric_limits_impl_base {};

#define ASSAY_INT_LIMITS(T, low, high, bits, decimals)             \
  template <>                                                      \
  struct _numeric_limits_impl<T> : _int_numeric_limits_impl_base { \
    ASSAY_LIMIT bool is_signed = (low) < 0;                        \
    ASSAY_LIMIT bool is_modulo = (low) == 0 && (bits) > 1;         \
    ASSAY_LIMIT int digits = bits;                                 \
    ASSAY_LIMIT int digits10 = decimals;                           \
    static constexpr T min() { return T(low); }                    \
    static constexpr T lowest() { return T(low); }                 \
    static constexpr T max() { return T(high); }                   \
    static constexpr T epsilon() { return T(0); }                  \
    static constexpr T round_error() { return T(0); }              \
    static constexpr T infinity() { return T(0); }                 \
    static constexpr T quiet_NaN() { return T(0); }                \
    static constexpr T signaling_NaN() { return T(0); }            \
    static constexpr T denorm_min() { return T(0); }               \
  };
ASSAY_INT_LIMITS(bool, 0, 1, 1, 0)
ASSAY_INT_LIMITS(char, -128, 127, 7, 2)
ASSAY_INT_LIMITS(uchar, 0, 255, 8, 2)
ASSAY_INT_LIMITS(short, -32768, 32767, 15, 4)
ASSAY_INT_LIMITS(ushort, 0, 65535, 16, 4)
ASSAY_INT_LIMITS(int, -2147483647 - 1, 2147483647, 31, 9)
ASSAY_INT_LIMITS(uint, 0u, 0xffffffffu, 32, 9)
ASSAY_INT_LIMITS(long, -9223372036854775807l - 1, 9223372036854775807l, 63, 18)
ASSAY_INT_LIMITS(ulong, 0ul, 0xfffffffffffffffful, 64, 19)
#undef ASSAY_INT_LIMITS

// `Bits` is the unsigned type of the same size; values are given by their encodings.
#define ASSAY_FP_LIMITS(T, Bits, precision, decimals, max_decimals, emin, emin10, emax, emax10, least, greatest, eps, inf, nan, snan) \
  template <>                                                                                                                         \
  struct _numeric_limits_impl<T> : _fp_numeric_limits_impl_base {                                                                     \
    ASSAY_LIMIT int digits = precision;                                                                                               \
    ASSAY_LIMIT int digits10 = decimals;                                                                                              \
    ASSAY_LIMIT int max_digits10 = max_decimals;                                                                                      \
    ASSAY_LIMIT int min_exponent = emin;                                                                                              \
    ASSAY_LIMIT int min_exponent10 = emin10;                                                                                          \
    ASSAY_LIMIT int max_exponent = emax;                                                                                              \
    ASSAY_LIMIT int max_exponent10 = emax10;                                                                                          \
    static constexpr T min() { return __builtin_bit_cast(T, Bits(least)); }                                                           \
    static constexpr T lowest() { return -__builtin_bit_cast(T, Bits(greatest)); }                                                    \
    static constexpr T max() { return __builtin_bit_cast(T, Bits(greatest)); }                                                        \
    static constexpr T epsilon() { return __builtin_bit_cast(T, Bits(eps)); }                                                         \
    static constexpr T round_error() { return T(0.5f); }                                                                              \
    static constexpr T infinity() { return __builtin_bit_cast(T, Bits(inf)); }                                                        \
    static constexpr T quiet_NaN() { return __builtin_bit_cast(T, Bits(nan)); }                                                       \
    static constexpr T signaling_NaN() { return __builtin_bit_cast(T, Bits(snan)); }                                                  \
    static constexpr T denorm_min() { return __builtin_bit_cast(T, Bits(1)); }                                                        \
  };
ASSAY_FP_LIMITS(float, uint, 24, 6, 9, -125, -37, 128, 38, 0x00800000u, 0x7f7fffffu, 0x34000000u, 0x7f800000u, 0x7fc00000u, 0x7fa00000u)
ASSAY_FP_LIMITS(half, ushort, 11, 3, 5, -13, -4, 16, 4, 0x0400, 0x7bff, 0x1400, 0x7c00, 0x7e00, 0x7d00)
ASSAY_FP_LIMITS(bfloat, ushort, 8, 2, 4, -125, -37, 128, 38, 0x0080, 0x7f7f, 0x3c00, 0x7f80, 0x7fc0, 0x7fa0)
#undef ASSAY_FP_LIMITS
#undef ASSAY_LIMIT

// Masks for the encoding of a type, under the internal names that kernels use to round by hand.
template <class T>
struct _fp_encoding_traits;
#define ASSAY_ENCODING(T, Bits, sign, exponent, mantissa)          \
  template <>                                                      \
  struct _fp_encoding_traits<T> {                                  \
    static constexpr __global const Bits sign_mask = sign;         \
    static constexpr __global const Bits exponent_mask = exponent; \
    static constexpr __global const Bits mantissa_mask = mantissa; \
    static constexpr __global const Bits inf_mask = exponent;      \
  };
ASSAY_ENCODING(float, uint, 0x80000000u, 0x7f800000u, 0x007fffffu)
ASSAY_ENCODING(half, ushort, 0x8000, 0x7c00, 0x03ff)
ASSAY_ENCODING(bfloat, ushort, 0x8000, 0x7f80, 0x007f)
#undef ASSAY_ENCODING

template <class T>
struct numeric_limits : _numeric_limits_impl<T> {};
template <class T>
struct numeric_limits<const T> : _numeric_limits_impl<T> {};

}  // namespace metal
