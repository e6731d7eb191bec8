// <metal_pack>: conversion between vectors and normalised integers in one word.
//
// Packing clamps, scales, and rounds to the nearest integer, ties to even; a NaN packs as 0.
#pragma once

#include "scalar_math.h"

namespace metal {
namespace __detail {

inline uint to_unorm(float x, float scale) { return uint(__builtin_rintf(clamp_fp(x, 0.0f, 1.0f) * scale)); }
inline uint to_snorm(float x, float scale) {
  const float clamped = x != x ? 0.0f : clamp_fp(x, -1.0f, 1.0f);
  return uint(int(__builtin_rintf(clamped * scale)));
}
// -128 and -32768 also mean -1.
inline float from_snorm(int x, float scale) { return fmax(float(x) / scale, -1.0f); }

inline uint pack_unorm4x8(float4 v) {
  return to_unorm(v.x, 255) | to_unorm(v.y, 255) << 8 | to_unorm(v.z, 255) << 16 | to_unorm(v.w, 255) << 24;
}
inline uint pack_snorm4x8(float4 v) {
  return (to_snorm(v.x, 127) & 255u) | (to_snorm(v.y, 127) & 255u) << 8 | (to_snorm(v.z, 127) & 255u) << 16 |
         (to_snorm(v.w, 127) & 255u) << 24;
}
inline uint pack_unorm2x16(float2 v) { return to_unorm(v.x, 65535) | to_unorm(v.y, 65535) << 16; }
inline uint pack_snorm2x16(float2 v) { return (to_snorm(v.x, 32767) & 65535u) | (to_snorm(v.y, 32767) & 65535u) << 16; }

inline uint pack_unorm10a2(float4 v) {
  return to_unorm(v.x, 1023) | to_unorm(v.y, 1023) << 10 | to_unorm(v.z, 1023) << 20 | to_unorm(v.w, 3) << 30;
}

// The transfer function of IEC 61966-2-1 (sRGB), in double. Its constants are quotients, because literals are float in this dialect.
// Alpha is linear.
inline double quotient(int a, int b) { return double(a) / double(b); }
inline float to_srgb(float linear) {
  const double x = clamp_fp(linear, 0.0f, 1.0f);
  if (x <= quotient(31308, 10000000)) return float(x * quotient(1292, 100));
  return float(quotient(1055, 1000) * library::__assay_exact_pow(x, quotient(10, 24)) - quotient(55, 1000));
}
inline float from_srgb(uint code) {
  const double x = quotient(int(code), 255);
  if (x <= quotient(4045, 100000)) return float(x / quotient(1292, 100));
  return float(library::__assay_exact_pow((x + quotient(55, 1000)) / quotient(1055, 1000), quotient(24, 10)));
}
inline uint pack_srgb_unorm4x8(float4 v) { return pack_unorm4x8(float4(to_srgb(v.x), to_srgb(v.y), to_srgb(v.z), v.w)); }

}  // namespace __detail

inline uint pack_float_to_unorm4x8(float4 v) { return __detail::pack_unorm4x8(v); }
inline uint pack_float_to_snorm4x8(float4 v) { return __detail::pack_snorm4x8(v); }
inline uint pack_float_to_unorm2x16(float2 v) { return __detail::pack_unorm2x16(v); }
inline uint pack_float_to_snorm2x16(float2 v) { return __detail::pack_snorm2x16(v); }
inline uint pack_float_to_srgb_unorm4x8(float4 v) { return __detail::pack_srgb_unorm4x8(v); }
inline uint pack_half_to_srgb_unorm4x8(half4 v) { return __detail::pack_srgb_unorm4x8(float4(v)); }
inline uint pack_float_to_unorm10a2(float4 v) { return __detail::pack_unorm10a2(v); }
inline uint pack_half_to_unorm10a2(half4 v) { return __detail::pack_unorm10a2(float4(v)); }
inline uint pack_half_to_unorm4x8(half4 v) { return __detail::pack_unorm4x8(float4(v)); }
inline uint pack_half_to_snorm4x8(half4 v) { return __detail::pack_snorm4x8(float4(v)); }
inline uint pack_half_to_unorm2x16(half2 v) { return __detail::pack_unorm2x16(float2(v)); }
inline uint pack_half_to_snorm2x16(half2 v) { return __detail::pack_snorm2x16(float2(v)); }

inline float4 unpack_unorm4x8_to_float(uint p) {
  return float4(float(p & 255u), float((p >> 8) & 255u), float((p >> 16) & 255u), float(p >> 24)) / 255.0f;
}
inline float4 unpack_snorm4x8_to_float(uint p) {
  return float4(__detail::from_snorm(char(p), 127), __detail::from_snorm(char(p >> 8), 127), __detail::from_snorm(char(p >> 16), 127),
                __detail::from_snorm(char(p >> 24), 127));
}
inline float2 unpack_unorm2x16_to_float(uint p) { return float2(float(p & 65535u), float(p >> 16)) / 65535.0f; }
inline float2 unpack_snorm2x16_to_float(uint p) {
  return float2(__detail::from_snorm(short(p), 32767), __detail::from_snorm(short(p >> 16), 32767));
}
inline float4 unpack_unorm4x8_srgb_to_float(uint p) {
  return float4(__detail::from_srgb(p & 255u), __detail::from_srgb((p >> 8) & 255u), __detail::from_srgb((p >> 16) & 255u),
                float(p >> 24) / 255.0f);
}
inline half4 unpack_unorm4x8_srgb_to_half(uint p) { return half4(unpack_unorm4x8_srgb_to_float(p)); }
inline float4 unpack_unorm10a2_to_float(uint p) {
  return float4(float(p & 1023u) / 1023.0f, float((p >> 10) & 1023u) / 1023.0f, float((p >> 20) & 1023u) / 1023.0f, float(p >> 30) / 3.0f);
}
inline half4 unpack_unorm10a2_to_half(uint p) { return half4(unpack_unorm10a2_to_float(p)); }
inline half4 unpack_unorm4x8_to_half(uint p) { return half4(unpack_unorm4x8_to_float(p)); }
inline half4 unpack_snorm4x8_to_half(uint p) { return half4(unpack_snorm4x8_to_float(p)); }
inline half2 unpack_unorm2x16_to_half(uint p) { return half2(unpack_unorm2x16_to_float(p)); }
inline half2 unpack_snorm2x16_to_half(uint p) { return half2(unpack_snorm2x16_to_float(p)); }

}  // namespace metal
