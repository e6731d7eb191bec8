// Own small floats: a bfloat16 of 16 bits with operators from macros, E4M3, E8M0 scales, E2M1 pairs, packed int4.
#include <metal_stdlib>

using namespace metal;

/////////////////////////////////////////////////////////////////////////////
// bfloat16
/////////////////////////////////////////////////////////////////////////////

// The upper half of a float, to nearest, ties to even; what is not a number stays so.
METAL_FUNC ushort upper_half(float f) {
  const ushort2 halves = as_type<ushort2>(f);
  if (as_type<uint>(f) << 1 > 0xff000000u) {
    return halves.y | ushort(0x40);
  }
  const bool up = halves.x > 0x8000 || (halves.x == 0x8000 && (halves.y & 1));
  return halves.y + ushort(up);
}

struct Brain16;

template <typename T>
struct brain_partner {
  static constexpr constant bool value = is_convertible_v<T, float> && is_convertible_v<float, T>;
};
template <>
struct brain_partner<Brain16> {
  static constexpr constant bool value = false;
};

struct Raw {
  ushort bits;
};

#define BRAIN_IN(space)                                                        \
  Brain16() space = default;                                                   \
  template <typename T, enable_if_t<brain_partner<T>::value, bool> = true>     \
  METAL_FUNC Brain16(T number) space : word(upper_half(float(number))) {}      \
  template <typename T, enable_if_t<brain_partner<T>::value, bool> = true>     \
  METAL_FUNC operator T() const space {                                        \
    return T(as_type<float>(uint(word) << 16));                                \
  }

struct Brain16 {
  ushort word;

  METAL_FUNC explicit Brain16(Raw raw) thread : word(raw.bits) {}
  BRAIN_IN(thread)
  BRAIN_IN(threadgroup)
  BRAIN_IN(device)
  BRAIN_IN(constant)

  METAL_FUNC Brain16 operator-() const thread {
    return Brain16(Raw{ushort(word ^ 0x8000)});
  }
};

// Everything is computed in float: with a float the result stays one, otherwise it is rounded back.
#define BRAIN_PAIR(symbol, result, left, right)                                \
  METAL_FUNC result operator symbol(left a, right b) {                         \
    return result(float(a) symbol float(b));                                   \
  }
#define BRAIN_ASSIGN(symbol, space, right)                                     \
  METAL_FUNC space Brain16& operator symbol##=(space Brain16& target, right by) { \
    target = Brain16(float(target) symbol float(by));                          \
    return target;                                                             \
  }
#define BRAIN_OPERATOR(symbol)                                                 \
  BRAIN_PAIR(symbol, Brain16, Brain16, Brain16)                                \
  BRAIN_PAIR(symbol, Brain16, Brain16, int)                                    \
  BRAIN_PAIR(symbol, Brain16, int, Brain16)                                    \
  BRAIN_PAIR(symbol, float, Brain16, float)                                    \
  BRAIN_PAIR(symbol, float, float, Brain16)
#define BRAIN_ASSIGN_IN(space) BRAIN_ASSIGN(+, space, Brain16) BRAIN_ASSIGN(*, space, float)

BRAIN_OPERATOR(+)
BRAIN_OPERATOR(-)
BRAIN_OPERATOR(*)
BRAIN_OPERATOR(/)
BRAIN_ASSIGN_IN(thread)
BRAIN_ASSIGN_IN(threadgroup)
BRAIN_ASSIGN_IN(device)

#pragma METAL internals : enable
namespace metal {
template <>
struct is_floating_point<Brain16> : true_type {};
} // namespace metal
#pragma METAL internals : disable

namespace metal {
METAL_FUNC Brain16 abs(Brain16 a) {
  a.word &= ushort(0x7fff);
  return a;
}
METAL_FUNC Brain16 max(Brain16 a, Brain16 b) {
  return float(b) > float(a) ? b : a;
}
METAL_FUNC Brain16 simd_shuffle_xor(Brain16 a, ushort mask) {
  a.word = simd_shuffle_xor(a.word, mask);
  return a;
}
} // namespace metal

/////////////////////////////////////////////////////////////////////////////
// eight bits and fewer
/////////////////////////////////////////////////////////////////////////////

// Four bits of exponent (bias 7), three of fraction, no infinities: what is too large becomes 448.
struct E4M3 {
  uchar bits;

  template <typename T>
  explicit E4M3(T number) {
    const float f = float(number);
    const float size = min(fabs(f), 448.0f);
    // the exponent of the last place: below 2^-6 all numbers share that of the smallest normal one
    const int place = max(int(as_type<uint>(size) >> 23) - 127, -6) - 3;
    const uint places = uint(rint(ldexp(size, -place)));
    // 8 places are the hidden bit; 16 carry into the exponent by themselves
    const uint code = places + (uint(place + 9) << 3);
    bits = uchar(code | (signbit(f) ? 0x80u : 0u));
  }
};

METAL_FUNC float value_of_e4m3(uchar bits) {
  const uint exponent = extract_bits(uint(bits), 3u, 4u);
  const uint fraction = extract_bits(uint(bits), 0u, 3u);
  const float size = exponent == 0 ? ldexp(float(fraction), -9) : ldexp(float(fraction + 8), int(exponent) - 10);
  return bits & 0x80 ? -size : size;
}

struct ScaleE8M0 {
  uint8_t bits;
  operator float() const thread {
    return as_type<float>(bits == 0 ? 0x00400000u : uint(bits) << 23);
  }
};

// the sizes of E2M1; the fourth bit is the sign
constant constexpr float kE2M1Sizes[8] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

struct PairE2M1 {
  uint8_t bits;
  template <typename T>
  vec<T, 2> unpack() const {
    const uint2 code = uint2(bits & 15, bits >> 4);
    const float2 sizes = float2(kE2M1Sizes[code.x & 7], kE2M1Sizes[code.y & 7]);
    return vec<T, 2>(select(sizes, -sizes, code > 7));
  }
};

/////////////////////////////////////////////////////////////////////////////
// kernels
/////////////////////////////////////////////////////////////////////////////

template <typename T>
[[kernel]] void axpy_small(
    device const T* x [[buffer(0)]],
    device T* y [[buffer(1)]],
    constant float& a [[buffer(2)]],
    uint i [[thread_position_in_grid]]) {
  T t = x[i];
  t *= a;
  y[i] += t;
}

template <typename T>
[[kernel]] void max_abs(
    device const T* x [[buffer(0)]],
    device T* out [[buffer(1)]],
    uint i [[thread_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]],
    uint n [[threads_per_threadgroup]]) {
  threadgroup T best[32];
  static_assert(is_floating_point<T>::value, "the trait is ours");
  T v = abs(x[i]);
  for (ushort m = 16; m > 0; m >>= 1) {
    v = max(v, simd_shuffle_xor(v, m));
  }
  if (lid % 32 == 0) {
    best[lid / 32] = v;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid == 0) {
    for (uint s = 1; s < n / 32; s++) {
      v = max(v, T(best[s]));
    }
    out[group] = -v;
  }
}

template <typename T>
[[kernel]] void sum_rows(
    device const T* x [[buffer(0)]], device T* out [[buffer(1)]], constant int& size [[buffer(2)]], uint row [[thread_position_in_grid]]) {
  float sum = 0;
  for (int i = 0; i < size; i++) {
    sum = sum + x[row * size + i] * 2;
  }
  out[row] = sum / 2;
}

template [[host_name("axpy_bfloat16_t")]] [[kernel]] decltype(axpy_small<Brain16>) axpy_small<Brain16>;
template [[host_name("max_abs_bfloat16_t")]] [[kernel]] decltype(max_abs<Brain16>) max_abs<Brain16>;
template [[host_name("sum_rows_bfloat16_t")]] [[kernel]] decltype(sum_rows<Brain16>) sum_rows<Brain16>;

[[kernel]] void to_e4m3(device const float* x [[buffer(0)]], device uchar* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  out[i] = E4M3(x[i]).bits;
}

[[kernel]] void from_e4m3(device const uchar4* x [[buffer(0)]], device float4* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  const uchar4 v = x[i];
  out[i] = float4(value_of_e4m3(v.x), value_of_e4m3(v.y), value_of_e4m3(v.z), value_of_e4m3(v.w));
}

template <typename T, int group = 32>
[[kernel]] void dequantize_mxfp4(
    device const PairE2M1* w [[buffer(0)]],
    device const ScaleE8M0* scales [[buffer(1)]],
    device vec<T, 2>* out [[buffer(2)]],
    uint i [[thread_position_in_grid]]) {
  const thread ScaleE8M0 scale = scales[2 * i / group];
  const PairE2M1 pair = w[i];
  out[i] = vec<T, 2>(float(scale) * pair.unpack<float>());
}
template [[host_name("dequantize_mxfp4_float")]] [[kernel]] void dequantize_mxfp4<float>(
    device const PairE2M1*, device const ScaleE8M0*, device float2*, uint);
template [[host_name("dequantize_mxfp4_half")]] [[kernel]] void dequantize_mxfp4<half>(
    device const PairE2M1*, device const ScaleE8M0*, device half2*, uint);

struct int4x8 {
  uint word;
  METAL_FUNC int operator[](int i) const device {
    return extract_bits(as_type<int>(word), uint(4 * i), 4u);
  }
  METAL_FUNC int operator[](int i) const thread {
    return extract_bits(as_type<int>(word), uint(4 * i), 4u);
  }
  METAL_FUNC void set(int i, int v) thread {
    word = insert_bits(word, as_type<uint>(v), uint(4 * i), 4u);
  }
};

// Clamps to int4 and packs eight to a word.
[[kernel]] void pack_int4(device const int* x [[buffer(0)]], device int4x8* out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
  int4x8 packed{0};
  for (int k = 0; k < 8; k++) {
    packed.set(k, clamp(x[8 * i + k], -8, 7));
  }
  out[i] = packed;
}

// Products of packed rows with a packed vector.
[[kernel]] void dot_int4(
    device const int4x8* a [[buffer(0)]],
    device const int4x8* b [[buffer(1)]],
    device int* out [[buffer(2)]],
    constant int& words [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]],
    ushort lane [[thread_index_in_simdgroup]]) {
  int sum = 0;
  for (int w = lane; w < words; w += 32) {
    const int4x8 right = b[w];
    for (int k = 0; k < 8; k++) {
      sum += mul24(a[row * words + w][k], right[k]);
    }
  }
  sum = simd_sum(sum);
  if (lane == 0) {
    out[row] = sum;
  }
}
