// Names from outside of the Metal library: <simd/simd.h>, and the C++ headers that some kernels share with host code.
#pragma once

#include "array.h"
#include "integer.h"
#include "limits.h"
#include "math.h"
#include "matrix.h"
#include "offered.h"
#include "packed.h"
#include "traits.h"

// clang-format off
#define ASSAY_SIMD(T)                                                                                     \
  typedef T##2 simd_##T##2; typedef T##3 simd_##T##3; typedef T##4 simd_##T##4;                           \
  typedef T##2 vector_##T##2; typedef T##3 vector_##T##3; typedef T##4 vector_##T##4;
ASSAY_SIMD(char) ASSAY_SIMD(uchar) ASSAY_SIMD(short) ASSAY_SIMD(ushort) ASSAY_SIMD(int) ASSAY_SIMD(uint)
ASSAY_SIMD(long) ASSAY_SIMD(ulong) ASSAY_SIMD(float) ASSAY_SIMD(half)
#undef ASSAY_SIMD
#define ASSAY_SIMD(shape) typedef float##shape simd_float##shape; typedef float##shape matrix_float##shape;
ASSAY_SIMD(2x2) ASSAY_SIMD(2x3) ASSAY_SIMD(2x4) ASSAY_SIMD(3x2) ASSAY_SIMD(3x3) ASSAY_SIMD(3x4) ASSAY_SIMD(4x2)
ASSAY_SIMD(4x3) ASSAY_SIMD(4x4)
#undef ASSAY_SIMD

namespace simd {
#define ASSAY_SIMD(T) using ::T##2; using ::T##3; using ::T##4;
ASSAY_SIMD(char) ASSAY_SIMD(uchar) ASSAY_SIMD(short) ASSAY_SIMD(ushort) ASSAY_SIMD(int) ASSAY_SIMD(uint)
ASSAY_SIMD(long) ASSAY_SIMD(ulong) ASSAY_SIMD(float) ASSAY_SIMD(half)
ASSAY_SIMD(float2x) ASSAY_SIMD(float3x) ASSAY_SIMD(float4x)
#undef ASSAY_SIMD
}  // namespace simd

namespace std {
#define ASSAY_STD(name) using metal::name;
#define ASSAY_OFFERED(name) using __assay::offered::name;
ASSAY_STD(bool_constant) ASSAY_STD(conditional) ASSAY_STD(conditional_t) ASSAY_OFFERED(conjunction) ASSAY_STD(decay) ASSAY_STD(decay_t)
ASSAY_STD(declval) ASSAY_OFFERED(disjunction) ASSAY_STD(enable_if) ASSAY_STD(enable_if_t) ASSAY_STD(false_type)
ASSAY_STD(integral_constant) ASSAY_STD(is_arithmetic) ASSAY_STD(is_arithmetic_v) ASSAY_STD(is_convertible) ASSAY_STD(is_convertible_v)
ASSAY_STD(is_floating_point) ASSAY_STD(is_floating_point_v) ASSAY_STD(is_integral) ASSAY_STD(is_integral_v) ASSAY_STD(is_same)
ASSAY_STD(is_same_v) ASSAY_STD(is_signed) ASSAY_STD(is_signed_v) ASSAY_STD(is_unsigned) ASSAY_STD(is_unsigned_v)
ASSAY_STD(make_signed) ASSAY_STD(make_signed_t) ASSAY_STD(make_unsigned) ASSAY_STD(make_unsigned_t) ASSAY_OFFERED(move)
ASSAY_OFFERED(negation) ASSAY_STD(numeric_limits) ASSAY_STD(remove_const) ASSAY_STD(remove_const_t) ASSAY_STD(remove_cv)
ASSAY_STD(remove_cv_t) ASSAY_STD(remove_reference) ASSAY_STD(remove_reference_t) ASSAY_STD(true_type) ASSAY_OFFERED(void_t)
ASSAY_STD(array) ASSAY_STD(int8_t) ASSAY_STD(int16_t) ASSAY_STD(int32_t) ASSAY_STD(int64_t) ASSAY_STD(uint8_t) ASSAY_STD(uint16_t)
ASSAY_STD(uint32_t) ASSAY_STD(uint64_t) ASSAY_STD(size_t) ASSAY_STD(ptrdiff_t)
#undef ASSAY_STD
#undef ASSAY_OFFERED
}  // namespace std
// clang-format on
