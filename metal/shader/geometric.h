// <metal_geometric>: dot, length, cross and similar functions, for vectors of float and half.
//
// Sums run in ascending component order with one rounding per operation: dot of four is ((a0*b0 + a1*b1) + a2*b2) + a3*b3.
#pragma once

#include "scalar_math.h"

namespace metal {

// clang-format off
#define ASSAY_GEOMETRIC(T, V, sum_of_products)                                                                \
  inline T dot(V a, V b) { return sum_of_products; }                                                          \
  inline T length_squared(V a) { return dot(a, a); }                                                          \
  inline T length(V a) { return __detail::sqrt<T>(dot(a, a)); }                                                 \
  inline T distance_squared(V a, V b) { return length_squared(a - b); }                                       \
  inline T distance(V a, V b) { return length(a - b); }                                                       \
  inline V normalize(V a) { return a * __detail::rsqrt<T>(dot(a, a)); }                                         \
  inline V faceforward(V n, V incident, V reference) { return dot(reference, incident) < T(0) ? +n : -n; }    \
  inline V reflect(V incident, V n) { return incident - V(T(2) * dot(n, incident)) * n; }                     \
  inline V refract(V incident, V n, T eta) {                                                                  \
    const T c = dot(n, incident);                                                                             \
    const T k = T(1) - eta * eta * (T(1) - c * c);                                                            \
    return k < T(0) ? V(T(0)) : V(eta) * incident - V(eta * c + __detail::sqrt<T>(k)) * n;                      \
  }
#define ASSAY_GEOMETRIC_TYPE(T)                                                                               \
  ASSAY_GEOMETRIC(T, T##2, a.x * b.x + a.y * b.y)                                                             \
  ASSAY_GEOMETRIC(T, T##3, (a.x * b.x + a.y * b.y) + a.z * b.z)                                               \
  ASSAY_GEOMETRIC(T, T##4, ((a.x * b.x + a.y * b.y) + a.z * b.z) + a.w * b.w)                                 \
  inline T##3 cross(T##3 a, T##3 b) {                                                                         \
    return T##3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);                         \
  }
ASSAY_GEOMETRIC_TYPE(float)
ASSAY_GEOMETRIC_TYPE(half)
#undef ASSAY_GEOMETRIC_TYPE
#undef ASSAY_GEOMETRIC
#define ASSAY_VARIANT(V)                                                   \
  inline float length(V a) { return metal::length(a); }                    \
  inline float distance(V a, V b) { return metal::distance(a, b); }        \
  inline V normalize(V a) { return metal::normalize(a); }
namespace precise {
ASSAY_VARIANT(float2) ASSAY_VARIANT(float3) ASSAY_VARIANT(float4)
}
namespace fast {
ASSAY_VARIANT(float2) ASSAY_VARIANT(float3) ASSAY_VARIANT(float4)
}
#undef ASSAY_VARIANT
// clang-format on

}  // namespace metal
