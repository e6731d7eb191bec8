// Unary, binary and ternary functors over contiguous, scalar and strided arrays; copies between any two types.
#include <metal_integer>
#include <metal_math>
#include <metal_stdlib>

using namespace metal;

struct Complex;

// What may stand for a real number: everything that a float is converted from, or to, except the type itself.
template <typename T>
struct is_real {
  static constexpr constant bool value = is_convertible_v<T, float> && is_convertible_v<float, T>;
};
template <>
struct is_real<Complex> {
  static constexpr constant bool value = false;
};

#define REAL_PART_IN(space)                                    \
  template <typename T, enable_if_t<is_real<T>::value, int> = 0> \
  operator T() const space {                                   \
    return T(re);                                              \
  }

struct Complex {
  float re;
  float im;

  constexpr Complex() : re(0.0f), im(0.0f) {}
  constexpr Complex(float x, float y) : re(x), im(y) {}
  template <typename T, enable_if_t<is_real<T>::value, int> = 0>
  constexpr Complex(T x) thread : re(static_cast<float>(x)), im(0.0f) {}

  REAL_PART_IN(thread)
  REAL_PART_IN(device)

  METAL_FUNC float2 pair() const thread {
    return float2(re, im);
  }
  METAL_FUNC float norm() const thread {
    return fma(re, re, im * im);
  }
  static METAL_FUNC Complex of(float2 v) {
    return Complex(v.x, v.y);
  }
};

METAL_FUNC Complex operator*(Complex a, Complex b) {
  return Complex::of(a.pair() * b.re + float2(-a.im, a.re) * b.im);
}
METAL_FUNC Complex operator/(Complex a, Complex b) {
  // a / b = a conj(b) / |b|^2
  return Complex::of((a * Complex(b.re, -b.im)).pair() / b.norm());
}
// Ordered by the real part, by the imaginary one among equals.
METAL_FUNC bool operator<(Complex a, Complex b) {
  return a.re == b.re ? a.im < b.im : a.re < b.re;
}

///////////////////////////////////////////////////////////////////////////////
// Functors
///////////////////////////////////////////////////////////////////////////////

// After Abramowitz and Stegun 7.1.26, good to 1.5e-7.
METAL_FUNC float erf(float a) {
  const float x = metal::abs(a);
  const float t = 1.0f / (1.0f + 0.3275911f * x);
  float p = 1.061405429f;
  p = fma(p, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  return metal::copysign(1.0f - p * t * metal::precise::exp(-x * x), a);
}

struct Abs {
  Complex operator()(Complex z) {
    return metal::precise::sqrt(z.norm());
  }
  template <typename T>
  enable_if_t<is_signed_v<T>, T> operator()(T x) {
    return x < 0 ? T(-x) : x;
  }
  template <typename T>
  enable_if_t<is_unsigned_v<T>, T> operator()(T x) {
    return x;
  }
};

// Through a hyperbolic tangent, which does not overflow on either side.
struct Sigmoid {
  template <typename T>
  T operator()(T x) {
    return fma(T(0.5), metal::precise::tanh(T(0.5) * x), T(0.5));
  }
};

struct Erf {
  template <typename T>
  T operator()(T x) {
    return static_cast<T>(erf(static_cast<float>(x)));
  }
};

struct BitInvert {
  template <typename T>
  T operator()(T x) {
    return ~x;
  }
};

struct Divide {
  template <typename T>
  T operator()(T x, T y) {
    return x / y;
  }
};

// The remainder that has the sign of the divisor.
struct Remainder {
  template <typename T>
  enable_if_t<is_unsigned_v<T>, T> operator()(T x, T y) {
    return x % y;
  }
  template <typename T>
  enable_if_t<!is_unsigned_v<T>, T> operator()(T x, T y) {
    const T rest = truncated(x, y);
    const bool astray = y < 0 ? rest > 0 : rest < 0;
    return astray ? T(rest + y) : rest;
  }

 private:
  template <typename T>
  static METAL_FUNC enable_if_t<is_integral_v<T>, T> truncated(T x, T y) {
    return x % y;
  }
  template <typename T>
  static METAL_FUNC enable_if_t<is_floating_point_v<T>, T> truncated(T x, T y) {
    return metal::fmod(x, y);
  }
};

struct Power {
  template <typename T>
  T operator()(T x, T n) {
    if constexpr (is_floating_point_v<T>) {
      return metal::precise::pow(x, n);
    } else {
      // the exponent's bits from the highest down
      T power = 1;
      for (int bit = int(8 * sizeof(T)) - 1; bit >= 0; --bit) {
        power *= power;
        power *= extract_bits(n, uint(bit), 1u) ? x : T(1);
      }
      return power;
    }
  }
};

struct Multiply {
  template <typename T>
  T operator()(T x, T y) {
    return x * y;
  }
};

struct Less {
  template <typename T>
  bool operator()(T x, T y) {
    return x < y;
  }
};

struct Select {
  template <typename T>
  T operator()(bool condition, T x, T y) {
    return condition ? x : y;
  }
};

///////////////////////////////////////////////////////////////////////////////
// Kernels
///////////////////////////////////////////////////////////////////////////////

template <typename T, typename U, typename Op, int N = 4>
[[kernel]] void unary_v(
    device const T* in [[buffer(0)]],
    device U* out [[buffer(1)]],
    constant uint& size [[buffer(2)]],
    uint position [[thread_position_in_grid]]) {
  Op apply;
  const uint first = position * N;
  const uint end = min(first + N, size);
  for (uint at = first; at < end; ++at) {
    out[at] = static_cast<U>(apply(in[at]));
  }
}

template <typename T, typename U, typename Op>
[[kernel]] void binary_vv(
    device const T* a, device const T* b, device U* c, constant uint& size, uint index [[thread_position_in_grid]]) {
  if (index < size) {
    c[index] = Op()(a[index], b[index]);
  }
}

template <typename T, typename U, typename Op>
[[kernel]] void binary_sv(
    device const T* a, device const T* b, device U* c, constant uint& size, uint index [[thread_position_in_grid]]) {
  if (index < size) {
    c[index] = Op()(a[0], b[index]);
  }
}

METAL_FUNC int64_t strided(uint3 at, constant const int64_t steps[3]) {
  int64_t where = 0;
  for (int axis = 0; axis < 3; ++axis) {
    where += at[2 - axis] * steps[axis];
  }
  return where;
}

template <typename T, typename U, typename Op>
[[kernel]] void binary_g_nd3(
    device const T* a [[buffer(0)]],
    device const T* b [[buffer(1)]],
    device U* c [[buffer(2)]],
    constant const int64_t a_steps[3] [[buffer(4)]],
    constant const int64_t b_steps[3] [[buffer(5)]],
    uint3 at [[thread_position_in_grid]],
    uint3 size [[threads_per_grid]]) {
  device U* row = c + (size_t(at.z) * size.y + at.y) * size.x;
  row[at.x] = Op()(a[strided(at, a_steps)], b[strided(at, b_steps)]);
}

template <typename T, typename Op>
[[kernel]] void ternary_v(
    device const bool* a, device const T* b, device const T* c, device T* d, uint index [[thread_position_in_grid]]) {
  d[index] = Op()(a[index], b[index], c[index]);
}

// Copies a strided array of any type into a dense one of another.
template <typename T, typename U>
[[kernel]] void copy_g_nd2(
    device const T* src [[buffer(0)]],
    device U* dst [[buffer(1)]],
    constant const int64_t* steps [[buffer(3)]],
    uint2 at [[thread_position_in_grid]],
    uint2 size [[threads_per_grid]]) {
  device const T* from = src + (at.y * steps[0] + at.x * steps[1]);
  dst[size_t(at.y) * size.x + at.x] = static_cast<U>(*from);
}

#define instantiate_as(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

instantiate_as("v_abs_int16", unary_v, int16_t, int16_t, Abs)
instantiate_as("v_abs_complex64_float32", unary_v, Complex, float, Abs)
instantiate_as("v_sigmoid_float32", unary_v, float, float, Sigmoid)
instantiate_as("v_erf_half", unary_v, half, half, Erf, 2)
instantiate_as("v_invert_uint8", unary_v, uint8_t, uint8_t, BitInvert)
instantiate_as("vv_divide_complex64", binary_vv, Complex, Complex, Divide)
instantiate_as("vv_remainder_int32", binary_vv, int32_t, int32_t, Remainder)
instantiate_as("vv_remainder_float32", binary_vv, float, float, Remainder)
instantiate_as("sv_power_uint32", binary_sv, uint32_t, uint32_t, Power)
instantiate_as("g_less_complex64", binary_g_nd3, Complex, bool, Less)
instantiate_as("g_multiply_int64", binary_g_nd3, int64_t, int64_t, Multiply)
instantiate_as("v_select_bfloat16", ternary_v, bfloat, Select)
instantiate_as("v_select_complex64", ternary_v, Complex, Select)

typedef decltype(copy_g_nd2<float, half>) copy_float_half_t;
template [[host_name("copy_float32_float16")]] [[kernel]] copy_float_half_t copy_g_nd2<float, half>;
instantiate_as("copy_int64_bool", copy_g_nd2, int64_t, bool)
instantiate_as("copy_bool_complex64", copy_g_nd2, bool, Complex)
instantiate_as("copy_complex64_bfloat16", copy_g_nd2, Complex, bfloat)
instantiate_as("copy_bfloat16_int8", copy_g_nd2, bfloat, int8_t)
instantiate_as("copy_uint16_float32", copy_g_nd2, uint16_t, float)
instantiate_as("copy_half_int64", copy_g_nd2, half, int64_t)
