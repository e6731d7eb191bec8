// <metal_integer>: integer functions for all integer types and their vectors.
#pragma once

#include "overloads.h"
#include "vec.h"

namespace metal {
namespace __detail {

template <class T>
using unsigned_of = typename make_unsigned<T>::type;

template <class T>
constexpr int bit_width = int(sizeof(T)) * 8;

// A type wide enough for sums and differences of two T, and for products of two T of fewer than 64 bits.
template <class T>
using wide = conditional_t<sizeof(T) == 8, __int128, long>;

template <class T>
constexpr T least = T(-1) < T(0) ? T(unsigned_of<T>(1) << (bit_width<T> - 1)) : T(0);
template <class T>
constexpr T greatest = T(~least<T>);

template <class T>
inline unsigned_of<T> abs_int(T x) {
  return x < T(0) ? unsigned_of<T>(unsigned_of<T>(0) - unsigned_of<T>(x)) : unsigned_of<T>(x);
}
template <class T>
inline T saturated(wide<T> v) {
  return v < wide<T>(least<T>) ? least<T> : v > wide<T>(greatest<T>) ? greatest<T> : T(v);
}

struct Integer {
  // |x|; the least signed value wraps to itself.
  template <class T>
  static T abs(T x) {
    return T(abs_int(x));
  }
  template <class T>
  static unsigned_of<T> absdiff(T x, T y) {
    return x > y ? unsigned_of<T>(unsigned_of<T>(x) - unsigned_of<T>(y)) : unsigned_of<T>(unsigned_of<T>(y) - unsigned_of<T>(x));
  }
  template <class T>
  static T addsat(T x, T y) {
    return saturated<T>(wide<T>(x) + wide<T>(y));
  }
  template <class T>
  static T subsat(T x, T y) {
    return saturated<T>(wide<T>(x) - wide<T>(y));
  }
  // The number of leading zero bits; the width of T for zero.
  template <class T>
  static T clz(T x) {
    return T(x == T(0) ? bit_width<T> : __builtin_clzl(ulong(unsigned_of<T>(x))) - (64 - bit_width<T>));
  }
  template <class T>
  static T ctz(T x) {
    return T(x == T(0) ? bit_width<T> : __builtin_ctzl(ulong(unsigned_of<T>(x))));
  }
  template <class T>
  static T popcount(T x) {
    return T(__builtin_popcountl(ulong(unsigned_of<T>(x))));
  }
  // (x + y) >> 1 without overflow; rhadd rounds up.
  template <class T>
  static T hadd(T x, T y) {
    return T((wide<T>(x) + wide<T>(y)) >> 1);
  }
  template <class T>
  static T rhadd(T x, T y) {
    return T((wide<T>(x) + wide<T>(y) + 1) >> 1);
  }
  template <class T>
  static T mulhi(T x, T y) {
    if constexpr (sizeof(T) == 8 && least<T> == T(0))
      return T((static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(y)) >> 64);
    else
      return T((wide<T>(x) * wide<T>(y)) >> bit_width<T>);
  }
  // The high half of x * y, plus z.
  template <class T>
  static T madhi(T x, T y, T z) {
    return T(unsigned_of<T>(mulhi(x, y)) + unsigned_of<T>(z));
  }
  template <class T>
  static T madsat(T x, T y, T z) {
    // Of n bits: |x * y + z| <= 2^(2n - 2) + 2^(n - 1) with a sign, and x * y + z <= (2^n - 1)^2 + 2^n - 1 < 2^2n without.
    typedef conditional_t<(T(-1) < T(0)), __int128, unsigned __int128> Wide;
    const Wide sum = static_cast<Wide>(x) * static_cast<Wide>(y) + static_cast<Wide>(z);
    const Wide low = least<T>, high = greatest<T>;
    return sum < low ? least<T> : sum > high ? greatest<T> : T(sum);
  }
  template <class T>
  static T max(T x, T y) {
    return x < y ? y : x;
  }
  template <class T>
  static T min(T x, T y) {
    return y < x ? y : x;
  }
  template <class T>
  static T max3(T x, T y, T z) {
    return max(x, max(y, z));
  }
  template <class T>
  static T min3(T x, T y, T z) {
    return min(x, min(y, z));
  }
  template <class T>
  static T median3(T x, T y, T z) {
    return max(min(x, y), min(max(x, y), z));
  }
  template <class T>
  static T clamp(T x, T low, T high) {
    return min(max(x, low), high);
  }
  // The count is taken modulo the width.
  template <class T>
  static T rotate(T x, T n) {
    const int k = int(unsigned_of<T>(n) & unsigned_of<T>(bit_width<T> - 1));
    const unsigned_of<T> u = unsigned_of<T>(x);
    return k == 0 ? x : T(unsigned_of<T>(u << k) | unsigned_of<T>(u >> (bit_width<T> - k)));
  }
  template <class T>
  static T reverse_bits(T x) {
    return T(unsigned_of<T>(__builtin_bitreverse64(ulong(unsigned_of<T>(x))) >> (64 - bit_width<T>)));
  }
  // `bits` bits from `offset`, sign-extended for a signed T; undefined in Metal if offset + bits exceeds the width.
  template <class T>
  static T extract_bits(T x, uint offset, uint bits) {
    const uint width = uint(bit_width<T>);
    if (bits == 0 || offset >= width) return T(0);
    const uint n = bits > width - offset ? width - offset : bits;
    const T high = T(unsigned_of<T>(x) << (width - offset - n));
    return T(high >> (width - n));
  }
  template <class T>
  static T insert_bits(T base, T insert, uint offset, uint bits) {
    const uint width = uint(bit_width<T>);
    if (bits == 0 || offset >= width) return base;
    const uint n = bits > width - offset ? width - offset : bits;
    const unsigned_of<T> ones = unsigned_of<T>(unsigned_of<T>(~unsigned_of<T>(0)) >> (width - n));
    const unsigned_of<T> mask = unsigned_of<T>(ones << offset);
    return T((unsigned_of<T>(base) & unsigned_of<T>(~mask)) | (unsigned_of<T>(unsigned_of<T>(insert) << offset) & mask));
  }
};

// mul24 and mad24 use the low 24 bits of their factors.
inline int low24(int x) { return int(uint(x) << 8) >> 8; }
inline uint low24(uint x) { return x & 0xffffffu; }
template <class T>
inline T mul24(T x, T y) {
  return T(uint(low24(x)) * uint(low24(y)));
}
template <class T>
inline T mad24(T x, T y, T z) {
  return T(uint(mul24(x, y)) + uint(z));
}

}  // namespace __detail

// clang-format off
#define ASSAY_INT1_TO(name, R, T)                                                                            \
  inline R name(T x) { return __detail::Integer::name(x); }                                                    \
  inline R##2 name(T##2 x) { return R##2(__detail::Integer::name(x.x), __detail::Integer::name(x.y)); }          \
  inline R##3 name(T##3 x) { return R##3(name(x.xy), __detail::Integer::name(x.z)); }                          \
  inline R##4 name(T##4 x) { return R##4(name(x.xy), name(x.zw)); }
#define ASSAY_INT2_TO(name, R, T)                                                                            \
  inline R name(T x, T y) { return __detail::Integer::name(x, y); }                                            \
  inline R##2 name(T##2 x, T##2 y) { return R##2(__detail::Integer::name(x.x, y.x), __detail::Integer::name(x.y, y.y)); } \
  inline R##3 name(T##3 x, T##3 y) { return R##3(name(x.xy, y.xy), __detail::Integer::name(x.z, y.z)); }       \
  inline R##4 name(T##4 x, T##4 y) { return R##4(name(x.xy, y.xy), name(x.zw, y.zw)); }
#define ASSAY_INT3(name, T)                                                                                  \
  inline T name(T x, T y, T z) { return __detail::Integer::name(x, y, z); }                                    \
  inline T##2 name(T##2 x, T##2 y, T##2 z) { return T##2(__detail::Integer::name(x.x, y.x, z.x), __detail::Integer::name(x.y, y.y, z.y)); } \
  inline T##3 name(T##3 x, T##3 y, T##3 z) { return T##3(name(x.xy, y.xy, z.xy), __detail::Integer::name(x.z, y.z, z.z)); } \
  inline T##4 name(T##4 x, T##4 y, T##4 z) { return T##4(name(x.xy, y.xy, z.xy), name(x.zw, y.zw, z.zw)); }
#define ASSAY_INT_BITS(T)                                                                                    \
  inline T extract_bits(T x, uint offset, uint bits) { return __detail::Integer::extract_bits(x, offset, bits); } \
  inline T##2 extract_bits(T##2 x, uint offset, uint bits) { return T##2(extract_bits(x.x, offset, bits), extract_bits(x.y, offset, bits)); } \
  inline T##3 extract_bits(T##3 x, uint offset, uint bits) { return T##3(extract_bits(x.xy, offset, bits), extract_bits(x.z, offset, bits)); } \
  inline T##4 extract_bits(T##4 x, uint offset, uint bits) { return T##4(extract_bits(x.xy, offset, bits), extract_bits(x.zw, offset, bits)); } \
  inline T insert_bits(T x, T y, uint offset, uint bits) { return __detail::Integer::insert_bits(x, y, offset, bits); } \
  inline T##2 insert_bits(T##2 x, T##2 y, uint o, uint n) { return T##2(insert_bits(x.x, y.x, o, n), insert_bits(x.y, y.y, o, n)); } \
  inline T##3 insert_bits(T##3 x, T##3 y, uint o, uint n) { return T##3(insert_bits(x.xy, y.xy, o, n), insert_bits(x.z, y.z, o, n)); } \
  inline T##4 insert_bits(T##4 x, T##4 y, uint o, uint n) { return T##4(insert_bits(x.xy, y.xy, o, n), insert_bits(x.zw, y.zw, o, n)); }

#define ASSAY_INTEGER_FUNCTIONS(T, U)                                                                        \
  ASSAY_INT1_TO(abs, T, T) ASSAY_INT2_TO(absdiff, U, T) ASSAY_INT2_TO(addsat, T, T) ASSAY_INT2_TO(subsat, T, T) \
  ASSAY_INT1_TO(clz, T, T) ASSAY_INT1_TO(ctz, T, T) ASSAY_INT1_TO(popcount, T, T) ASSAY_INT1_TO(reverse_bits, T, T) \
  ASSAY_INT2_TO(hadd, T, T) ASSAY_INT2_TO(rhadd, T, T) ASSAY_INT2_TO(mulhi, T, T) ASSAY_INT2_TO(rotate, T, T) \
  ASSAY_INT2_TO(max, T, T) ASSAY_INT2_TO(min, T, T)                                                          \
  ASSAY_INT3(madhi, T) ASSAY_INT3(madsat, T) ASSAY_INT3(max3, T) ASSAY_INT3(min3, T) ASSAY_INT3(median3, T)  \
  ASSAY_INT3(clamp, T) ASSAY_INT_BITS(T)
ASSAY_INTEGER_FUNCTIONS(char, uchar)
ASSAY_INTEGER_FUNCTIONS(uchar, uchar)
ASSAY_INTEGER_FUNCTIONS(short, ushort)
ASSAY_INTEGER_FUNCTIONS(ushort, ushort)
ASSAY_INTEGER_FUNCTIONS(int, uint)
ASSAY_INTEGER_FUNCTIONS(uint, uint)
ASSAY_INTEGER_FUNCTIONS(long, ulong)
ASSAY_INTEGER_FUNCTIONS(ulong, ulong)
#undef ASSAY_INTEGER_FUNCTIONS
#undef ASSAY_INT1_TO
#undef ASSAY_INT2_TO
#undef ASSAY_INT3
#undef ASSAY_INT_BITS
// clang-format on

ASSAY_BINARY(mul24, int)
ASSAY_BINARY(mul24, uint)
ASSAY_TERNARY(mad24, int)
ASSAY_TERNARY(mad24, uint)

}  // namespace metal
