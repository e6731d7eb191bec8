// Whole kernels from macros: activations and gated units, with erf by a polynomial.
#include <metal_stdlib>
using namespace metal;

#if __METAL_VERSION__ >= 310 && defined(__HAVE_BFLOAT__)
#define WITH_BFLOAT(x) x
#else
#define WITH_BFLOAT(x)
#endif

#define SQRT_2_OVER_PI 0.79788456080286535588f

namespace metal {
// The library has no erf.
template <typename T, typename = enable_if_t<is_floating_point<T>::value>>
inline T poly_erf(T x_) {
  const float x = fabs(float(x_));
  float r;
  if (x < 0.9375f) {
    const float s = x * x;  // Taylor's series
    r = x * (1.1283791671f + s * (-0.3761263890f + s * (0.1128379167f + s * (-0.0268661706f + s * (0.0052239776f + s * (-0.0008548327f + s * (0.0001205533f - s * 0.0000149256f)))))));
  } else {
    const float t = 1.0f / (1.0f + 0.3275911f * x);  // Abramowitz and Stegun 7.1.26
    r = 1.0f - t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f)))) * precise::exp(-x * x);
  }
  return T(copysign(r, float(x_)));
}
}  // namespace metal

enum Activation { ACT_GELU_ERF, ACT_GELU_TANH, ACT_GELU_QUICK, ACT_SILU, ACT_MISH, ACT_HARDSWISH };

template <int ACT> struct Apply;
#define DEFINE_APPLY(act, expr) \
  template <> struct Apply<act> { METAL_FUNC float operator()(float x) const thread { return expr; } }
DEFINE_APPLY(ACT_GELU_ERF, 0.5f * x * (1.0f + poly_erf(x * M_SQRT1_2_F)));
DEFINE_APPLY(ACT_GELU_TANH, 0.5f * x * (1.0f + precise::tanh(SQRT_2_OVER_PI * x * fma(0.044715f * x, x, 1.0f))));
DEFINE_APPLY(ACT_GELU_QUICK, x / (1.0f + exp(-1.702f * x)));
DEFINE_APPLY(ACT_SILU, x / (1.0f + exp(-x)));
DEFINE_APPLY(ACT_MISH, x * precise::tanh(x > 15.0f ? x : log(1.0f + exp(x))));
DEFINE_APPLY(ACT_HARDSWISH, x * saturate(x * (1.0f / 6.0f) + 0.5f));
#undef DEFINE_APPLY

// A kernel over vectors of four, with the ragged end by scalars.
#define UNARY_KERNEL(name, act, T)                                                                                    \
  kernel void act_##name##_##T(device const T* x [[buffer(0)]], device T* y [[buffer(1)]], constant uint& n [[buffer(2)]], \
                               uint gid [[thread_position_in_grid]]) {                                                \
    const Apply<act> f{};                                                                                             \
    const uint at = gid * 4;                                                                                          \
    if (at + 3 < n) {                                                                                                 \
      const float4 v = float4(((device const T##4*)x)[gid]);                                                          \
      ((device T##4*)y)[gid] = T##4(float4(f(v.x), f(v.y), f(v.z), f(v.w)));                                          \
    } else {                                                                                                          \
      for (uint i = at; i < n; ++i) y[i] = T(f(float(x[i])));                                                         \
    }                                                                                                                 \
  }

#define UNARY_KERNELS(T)                     \
  UNARY_KERNEL(gelu, ACT_GELU_ERF, T)        \
  UNARY_KERNEL(gelu_tanh, ACT_GELU_TANH, T)  \
  UNARY_KERNEL(gelu_quick, ACT_GELU_QUICK, T)\
  UNARY_KERNEL(silu, ACT_SILU, T)            \
  UNARY_KERNEL(mish, ACT_MISH, T)            \
  UNARY_KERNEL(hardswish, ACT_HARDSWISH, T)
UNARY_KERNELS(float)
UNARY_KERNELS(half)
WITH_BFLOAT(UNARY_KERNEL(gelu, ACT_GELU_ERF, bfloat))
WITH_BFLOAT(UNARY_KERNEL(silu, ACT_SILU, bfloat))

// Gated units: the halves of a row side by side or interleaved.
template <typename T, int ACT, bool INTERLEAVED>
kernel void glu(
    device const T* in [[buffer(0)]], device T* out [[buffer(1)]], constant uint2& shape [[buffer(2)]], uint2 gid [[thread_position_in_grid]]) {
  const uint half_dim = shape.x, row = gid.y;
  if (gid.x >= half_dim || row >= shape.y) return;
  device const T* local = in + row * half_dim * 2;
  float gate, value;
  if (INTERLEAVED) {
    const vec<T, 2> pair = reinterpret_cast<device const vec<T, 2>*>(local)[gid.x];
    gate = float(pair.x), value = float(pair.y);
  } else {
    gate = float(local[gid.x]), value = float(local[half_dim + gid.x]);
  }
  out[row * half_dim + gid.x] = T(Apply<ACT>{}(gate) * value);
}
#define GLU(name, T, act, inter) template [[host_name(#name "_" #T)]] kernel decltype(glu<T, act, inter>) glu<T, act, inter>;
GLU(swiglu, float, ACT_SILU, false)
GLU(swiglu, half, ACT_SILU, false)
GLU(geglu, float, ACT_GELU_TANH, false)
GLU(geglu, half, ACT_GELU_TANH, true)
GLU(geglu_erf_pairs, float, ACT_GELU_ERF, true)
