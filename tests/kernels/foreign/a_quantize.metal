// Copies between float rows and rows of quantised blocks, in both directions.
#include <metal_stdlib>

using namespace metal;

namespace quant {

constant constexpr int kBlock = 32;

struct q4_0 {
    half  d;
    uchar qs[kBlock/2];

    static constexpr constant int size = kBlock;

    // the value of the largest magnitude becomes -8
    METAL_FUNC void encode(const device float * src) device {
        float amax = 0.0f;
        float vmax = 0.0f;
        for (int j = 0; j < kBlock; j++) {
            const float v = src[j];
            if (amax < fabs(v)) {
                amax = fabs(v);
                vmax = v;
            }
        }
        const float dd = vmax / -8;
        const float id = dd ? 1.0f/dd : 0.0f;
        d = dd;
        for (int j = 0; j < kBlock/2; ++j) {
            const float x0 = src[j]*id;
            const float x1 = src[kBlock/2 + j]*id;
            const uint8_t xi0 = min(15, (int)(x0 + 8.5f));
            const uint8_t xi1 = min(15, (int)(x1 + 8.5f));
            qs[j] = xi0 | (xi1 << 4);
        }
    }
    METAL_FUNC float decode(int i) const device {
        return float(d)*((i < 16 ? qs[i] & 0xF : qs[i - 16] >> 4) - 8);
    }
};

struct q4_1 {
    half  d;
    half  m;
    uchar qs[kBlock/2];

    static constexpr constant int size = kBlock;

    METAL_FUNC void encode(const device float * src) device {
        float lo = MAXFLOAT;
        float hi = -MAXFLOAT;
        for (int j = 0; j < kBlock; j++) {
            lo = min(lo, src[j]);
            hi = max(hi, src[j]);
        }
        const float dd = (hi - lo)/((1 << 4) - 1);
        const float id = dd ? 1.0f/dd : 0.0f;
        d = dd;
        m = lo;
        for (int j = 0; j < kBlock/2; ++j) {
            const uchar2 q = uchar2(min(float2(15.0f), (float2(src[j], src[kBlock/2 + j]) - lo)*id + 0.5f));
            qs[j] = q.x | (q.y << 4);
        }
    }
    METAL_FUNC float decode(int i) const device {
        const uchar b = qs[i%16];
        return float(d)*(i < 16 ? b & 0xF : b >> 4) + float(m);
    }
};

struct q5_0 {
    half  d;
    uchar qh[4];
    uchar qs[kBlock/2];

    static constexpr constant int size = kBlock;

    METAL_FUNC void encode(const device float * src) device {
        float amax = 0.0f;
        float vmax = 0.0f;
        for (int j = 0; j < kBlock; j++) {
            const bool larger = fabs(src[j]) > amax;
            amax = select(amax, fabs(src[j]), larger);
            vmax = larger ? src[j] : vmax;
        }
        const float dd = vmax / -16;
        const float id = dd ? 1.0f/dd : 0.0f;
        d = dd;
        uint h = 0;
        for (int j = 0; j < kBlock/2; ++j) {
            const uint a = min(31, (int) (src[j]*id + 16.5f));
            const uint b = min(31, (int) (src[kBlock/2 + j]*id + 16.5f));
            qs[j] = (a & 0xf) | ((b & 0xf) << 4);
            h |= ((a & 0x10u) >> 4) << j;
            h |= ((b & 0x10u) >> 4) << (j + kBlock/2);
        }
        thread const uint8_t * h8 = (thread const uint8_t *) &h;
        for (int j = 0; j < 4; ++j) {
            qh[j] = h8[j];
        }
    }
    METAL_FUNC float decode(int i) const device {
        const int lo = i < 16 ? qs[i] & 0xF : qs[i - 16] >> 4;
        const int hi = (qh[i/8] >> (i%8)) & 1;
        return float(d)*((lo | hi << 4) - 16);
    }
};

struct q8_0 {
    half d;
    char qs[kBlock];

    static constexpr constant int size = kBlock;

    METAL_FUNC void encode(const device float * src) device {
        float amax = 0.0f;
        for (int j = 0; j < kBlock; j++) {
            amax = max(amax, fabs(src[j]));
        }
        const float dd = amax/((1 << 7) - 1);
        const float id = dd ? 1.0f/dd : 0.0f;
        d = dd;
        for (int j = 0; j < kBlock; ++j) {
            qs[j] = round(src[j]*id);
        }
    }
    METAL_FUNC float decode(int i) const device { return float(d)*qs[i]; }
};

} // namespace quant

typedef struct {
    int      ne00;
    int      ne01;
    int      ne02;
    int      reserved;
    ulong    nb01;
    ulong    nb02;
    ulong    nb1;
    ulong    nb2;
} cpy_args;

namespace quant {

// x: blocks of the row, y: rows, z: matrices
template <typename block>
[[kernel]] void cpy_f32_q(
        constant cpy_args & args,
        device const char * src0,
        device       char * dst,
        uint3   tgpig [[threadgroup_position_in_grid]],
        ushort3 tpitg [[thread_position_in_threadgroup]],
        ushort3 ntg   [[threads_per_threadgroup]]) {
    const int i02 = tgpig.z;
    const int i01 = tgpig.y*ntg.y + tpitg.y;
    if (i01 >= args.ne01) {
        return;
    }
    device const float * row = (device const float *) (src0 + i01*args.nb01 + i02*args.nb02);
    device block       * out = (device block *) (dst + i01*args.nb1 + i02*args.nb2);

    for (int i = tpitg.x; i < args.ne00/block::size; i += ntg.x) {
        out[i].encode(row + i*block::size);
    }
}

template <typename block, typename T>
[[kernel]] void cpy_q_float(
        constant cpy_args & args,
        device const char * src0,
        device       char * dst,
        uint3 gid [[thread_position_in_grid]]) {
    device const block * row = (device const block *) (src0 + gid.y*args.nb01 + gid.z*args.nb02);
    device T * out = (device T *) (dst + gid.y*args.nb1 + gid.z*args.nb2);

    out[gid.x] = (T) row[gid.x/block::size].decode(gid.x%block::size);
}

typedef decltype(cpy_f32_q<q8_0>)         cpy_f32_q_t;
typedef decltype(cpy_q_float<q8_0, float>) cpy_q_float_t;

template [[host_name("cpy_f32_q4_0")]] [[kernel]] cpy_f32_q_t cpy_f32_q<q4_0>;
template [[host_name("cpy_f32_q4_1")]] [[kernel]] cpy_f32_q_t cpy_f32_q<q4_1>;
template [[host_name("cpy_f32_q5_0")]] [[kernel]] cpy_f32_q_t cpy_f32_q<q5_0>;
template [[host_name("cpy_f32_q8_0")]] [[kernel]] cpy_f32_q_t cpy_f32_q<q8_0>;

#define INSTANTIATE_DECODE(b) \
    template [[host_name("cpy_" #b "_f32")]] [[kernel]] cpy_q_float_t cpy_q_float<b, float>; \
    template [[host_name("cpy_" #b "_f16")]] [[kernel]] cpy_q_float_t cpy_q_float<b, half>;

INSTANTIATE_DECODE(q4_0)
INSTANTIATE_DECODE(q4_1)
INSTANTIATE_DECODE(q5_0)
INSTANTIATE_DECODE(q8_0)

} // namespace quant

// ---------------------------------------------------------------- affine groups packed into 32-bit words, a simdgroup per group of 32

template <typename T, const int group_size, const int bits>
[[kernel]] void affine_quantize(
    const device T* w [[buffer(0)]],
    device uint32_t* out [[buffer(1)]],
    device T* scales [[buffer(2)]],
    device T* biases [[buffer(3)]],
    uint2 index [[thread_position_in_grid]],
    uint2 grid_dim [[threads_per_grid]]) {
  constexpr float eps = 1e-7;
  constexpr int simd_size = 32;
  constexpr float n_bins = (1 << bits) - 1;
  constexpr int pack_factor = 32 / bits;
  static_assert(group_size == simd_size, "one lane per value");

  const size_t offset = index.x + grid_dim.x * size_t(index.y);
  const size_t g_index = offset / group_size;
  const float x = w[offset];

  const float w_min = simd_min(x);
  const float w_max = simd_max(x);
  const float scale = max((w_max - w_min) / n_bins, eps);

  uint32_t word = min(uint32_t(rint((x - w_min) / scale)), uint32_t(n_bins));
  const uint lane = offset % simd_size;
  word <<= bits * (lane % pack_factor);
#pragma clang loop unroll(full)
  for (int step = 1; step < pack_factor; step <<= 1) {
    word |= simd_shuffle_xor(word, step);
  }
  if (lane % pack_factor == 0) {
    out[offset / pack_factor] = word;
  }
  if (lane == 0) {
    scales[g_index] = static_cast<T>(scale);
    biases[g_index] = static_cast<T>(w_min);
  }
}

template <typename T, const int group_size, const int bits>
[[kernel]] void affine_dequantize(
    const device uint32_t* w [[buffer(0)]],
    const device T* scales [[buffer(1)]],
    const device T* biases [[buffer(2)]],
    device T* out [[buffer(3)]],
    uint index [[thread_position_in_grid]]) {
  constexpr uint pack_factor = 32 / bits;
  const uint32_t word = w[index];
  out += index * pack_factor;
  const uint g = index * pack_factor / group_size;
  const T scale = scales[g], bias = biases[g];
  for (uint i = 0; i < pack_factor; ++i) {
    out[i] = scale * static_cast<T>(extract_bits(word, i * bits, bits)) + bias;
  }
}

#define instantiate_affine(name, type, bits)                                                      \
  template [[host_name("affine_quantize_" #name "_b_" #bits)]] [[kernel]] decltype(               \
      affine_quantize<type, 32, bits>) affine_quantize<type, 32, bits>;                            \
  template [[host_name("affine_dequantize_" #name "_b_" #bits)]] [[kernel]] decltype(              \
      affine_dequantize<type, 32, bits>) affine_dequantize<type, 32, bits>;

#define instantiate_affine_bits(name, type) \
  instantiate_affine(name, type, 2)         \
  instantiate_affine(name, type, 4)         \
  instantiate_affine(name, type, 8)

instantiate_affine_bits(float32, float)
instantiate_affine_bits(float16, half)
