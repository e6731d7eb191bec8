// Stockham FFTs in threadgroup memory, radix 2/4/8, over an own complex type with its own operators and functions.
#include <metal_stdlib>

using namespace metal;

constant bool inverse_ [[function_constant(0)]];
constant bool is_power_of_2_ [[function_constant(1)]];
constant int elems_per_thread_ [[function_constant(2)]];
constant float out_scale_ [[function_constant(3)]];
constant float fft_scale = is_function_constant_defined(out_scale_) ? out_scale_ : 1.0f;

struct Cx;

template <typename T, bool itself = is_same_v<T, Cx>>
struct scalar_traits {
  static constexpr constant bool into = false;
  static constexpr constant bool out_of = false;
};
template <typename T>
struct scalar_traits<T, false> {
  static constexpr constant bool into = is_convertible_v<T, float>;
  static constexpr constant bool out_of = is_convertible_v<float, T> || is_convertible_v<int, T>;
};

// A real number goes in, and the real part comes out, in each address space.
#define CX_FOR_EACH_SPACE(what) what(thread) what(threadgroup) what(device) what(constant)
#define CX_FROM_REAL(space)                                                      \
  template <typename T, typename = enable_if_t<scalar_traits<T>::into>>          \
  constexpr Cx(T value) space : x(static_cast<float>(value)), y(0.0f) {}
#define CX_TO_REAL(space)                                                        \
  template <typename T, typename = enable_if_t<scalar_traits<T>::out_of>>        \
  constexpr operator T() const space {                                           \
    return T(x);                                                                 \
  }

struct Cx {
  float x;
  float y;

  constexpr Cx() : x(0.0f), y(0.0f) {}
  constexpr Cx() threadgroup : x(0.0f), y(0.0f) {}
  constexpr Cx(float x_, float y_) : x(x_), y(y_) {}
  CX_FOR_EACH_SPACE(CX_FROM_REAL)
  CX_FOR_EACH_SPACE(CX_TO_REAL)

  METAL_FUNC float2 both() const thread {
    return float2(x, y);
  }
  METAL_FUNC Cx mirrored() const thread { // across the real axis
    return Cx(x, -y);
  }
  METAL_FUNC Cx clockwise() const thread { // by a quarter turn: -i times this
    return Cx(y, -x);
  }
  METAL_FUNC thread Cx& operator*=(Cx by) thread {
    const float2 product = both() * by.x + float2(-y, x) * by.y;
    x = product.x;
    y = product.y;
    return *this;
  }
};

METAL_FUNC Cx cx(float2 v) {
  return Cx(v.x, v.y);
}
METAL_FUNC Cx operator+(Cx a, Cx b) {
  return cx(a.both() + b.both());
}
METAL_FUNC Cx operator-(Cx a, Cx b) {
  return cx(a.both() - b.both());
}
METAL_FUNC Cx operator*(Cx a, Cx b) {
  a *= b;
  return a;
}
METAL_FUNC Cx turn(float angle) {
  float c;
  const float s = metal::precise::sincos(angle, c);
  return Cx(c, s);
}
METAL_FUNC float abs(Cx a) {
  return metal::precise::sqrt(metal::dot(a.both(), a.both()));
}
METAL_FUNC Cx exp(Cx a) {
  return cx(turn(a.y).both() * metal::precise::exp(a.x));
}
METAL_FUNC Cx log(Cx a) {
  return Cx(metal::precise::log(abs(a)), metal::precise::atan2(a.y, a.x));
}

///////////////////////////////////////////////////////////////////////////////
// Small transforms in place, in natural order
///////////////////////////////////////////////////////////////////////////////

METAL_FUNC void small2(thread Cx* v) {
  const Cx second = v[1];
  v[1] = v[0] - second;
  v[0] = v[0] + second;
}

METAL_FUNC void small4(thread Cx* v) {
  Cx even[2] = {v[0], v[2]};
  Cx odd[2] = {v[1], v[3]};
  small2(even);
  small2(odd);
  odd[1] = odd[1].clockwise();
#pragma unroll(2)
  for (int k = 0; k < 2; k++) {
    v[k] = even[k] + odd[k];
    v[k + 2] = even[k] - odd[k];
  }
}

METAL_FUNC void small8(thread Cx* v) {
  Cx even[4], odd[4];
#pragma unroll(4)
  for (int k = 0; k < 4; k++) {
    even[k] = v[2 * k];
    odd[k] = v[2 * k + 1];
  }
  small4(even);
  small4(odd);
  const Cx eighth(M_SQRT1_2_F, -M_SQRT1_2_F);
  odd[1] *= eighth;
  odd[2] = odd[2].clockwise();
  odd[3] = odd[3].clockwise() * eighth;
#pragma unroll(4)
  for (int k = 0; k < 4; k++) {
    v[k] = even[k] + odd[k];
    v[k + 4] = even[k] - odd[k];
  }
}

typedef void (*SmallTransform)(thread Cx*);

// Passes of one radix: `done` is the length of the transforms that are complete, a power of two.
template <int N, int RADIX, SmallTransform transform>
METAL_FUNC int passes(int count, int done, int me, threadgroup Cx* data) {
  constexpr int apart = N / RADIX;
  const bool working = me < apart;
  for (; count > 0; count--, done *= RADIX) {
    Cx held[RADIX];
    const int phase = me % done;
    if (working) {
#pragma unroll
      for (int r = 0; r < RADIX; r++) {
        held[r] = data[me + r * apart];
        if (r > 0 && phase > 0) {
          held[r] *= turn(-2.0f * M_PI_F * float(r * phase) / float(done * RADIX));
        }
      }
      transform(held);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (working) {
      threadgroup Cx* to = data + (me / done) * done * RADIX + phase;
#pragma unroll
      for (int r = 0; r < RADIX; r++) {
        to[r * done] = held[r];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  return done;
}

template <int N, int R8, int R4, int R2>
METAL_FUNC void whole_transform(int me, threadgroup Cx* data) {
  static_assert((1 << (3 * R8 + 2 * R4 + R2)) == N, "the radices make up the length");
  int done = passes<N, 8, small8>(R8, 1, me, data);
  done = passes<N, 4, small4>(R4, done, me, data);
  passes<N, 2, small2>(R2, done, me, data);
}

struct ReadComplex {
  static METAL_FUNC Cx read(const device float2* in, int index) {
    return {in[index].x, in[index].y};
  }
};
struct ReadReal {
  static METAL_FUNC Cx read(const device float2* in, int index) {
    return ((const device float*)in)[index];
  }
};

template <int N, int R8, int R4, int R2, typename Reader>
[[kernel]] void fft(
    const device float2* in [[buffer(0)]],
    device float2* out [[buffer(1)]],
    constant const int& batch_size [[buffer(2)]],
    uint2 elem [[thread_position_in_threadgroup]],
    uint2 group [[threadgroup_position_in_grid]],
    uint2 tptg [[threads_per_threadgroup]]) {
  threadgroup Cx samples[N];
  const int batch = group.y;
  const int i = elem.x;
  const int threads = tptg.x;
  if (batch >= batch_size) {
    return;
  }
  for (int e = 0; e < elems_per_thread_; e++) {
    const int index = i + e * threads;
    if (index < N) {
      Cx v = Reader::read(in, batch * N + index);
      samples[index] = inverse_ ? v.mirrored() : v;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (is_power_of_2_) {
    whole_transform<N, R8, R4, R2>(i, samples);
  }
  const float scale = inverse_ ? fft_scale / float(N) : fft_scale;
  for (int e = 0; e < elems_per_thread_; e++) {
    const int index = i + e * threads;
    if (index < N) {
      Cx v = samples[index];
      v *= Cx(scale);
      v = inverse_ ? v.mirrored() : v;
      out[batch * N + index] = float2(v.x, v.y);
    }
  }
}

#define instantiate_fft(n, r8, r4, r2, reader, rname)                                  \
  template [[host_name("fft_mem_" #n "_" rname)]] [[kernel]] void                      \
  fft<n, r8, r4, r2, reader>(                                                          \
      const device float2*, device float2*, constant const int&, uint2, uint2, uint2);

#define instantiate_ffts(n, r8, r4, r2)                  \
  instantiate_fft(n, r8, r4, r2, ReadComplex, "complex") \
  instantiate_fft(n, r8, r4, r2, ReadReal, "real")

instantiate_ffts(16, 0, 2, 0)
instantiate_ffts(128, 2, 0, 1)
instantiate_ffts(256, 2, 1, 0)

namespace spectrum {

struct LogOp {
  Cx operator()(Cx x) {
    return log(x);
  }
};
struct ExpOp {
  Cx operator()(Cx x) {
    return exp(x);
  }
};
struct SquareOp {
  template <typename T>
  T operator()(T x) {
    return x * x;
  }
};

template <typename Op>
[[kernel]] void map(
    device const Cx* in [[buffer(0)]], device Cx* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = Op()(in[i]);
}

[[kernel]] void magnitude(
    device const Cx* in [[buffer(0)]], device float* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = abs(in[i]) + ::metal::abs(float(in[i]));
}

template [[host_name("complex_log")]] [[kernel]] decltype(map<LogOp>) map<LogOp>;
template [[host_name("complex_exp")]] [[kernel]] decltype(map<ExpOp>) map<ExpOp>;
template [[host_name("complex_square")]] [[kernel]] decltype(map<SquareOp>) map<SquareOp>;

} // namespace spectrum
