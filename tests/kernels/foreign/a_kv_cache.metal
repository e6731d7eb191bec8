// Maintenance of a paged cache: scatter by slot mapping, block copies, gather, and an 8-bit float storage format.
#include <metal_stdlib>
#include <metal_atomic>
using namespace metal;

// ---- e4m3: sign, 4 bits of exponent with bias 7, 3 of mantissa; no infinities, 0x7f is NaN, largest 448
struct fp8_e4m3 {
  uint8_t bits;

  fp8_e4m3() thread = default;
  fp8_e4m3() threadgroup = default;

  static METAL_FUNC uint8_t encode(float x) {
    const uint sign = (as_type<uint>(x) >> 24) & 0x80u;
    const float a = fabs(x);
    if (a >= 464.0f) {
      return uint8_t(sign | 0x7eu);
    }
    if (a < 0x1p-6f) {
      // subnormal: multiples of 2^-9
      return uint8_t(sign | uint(rint(a * 512.0f)));
    }
    uint u = as_type<uint>(a);
    u += 0x7ffffu + ((u >> 20) & 1u); // to nearest even at bit 20
    const uint e = (u >> 23) - 127u + 7u;
    const uint m = extract_bits(u, 20u, 3u);
    return uint8_t(sign | min((e << 3) | m, 0x7eu));
  }

  static METAL_FUNC float decode(uint8_t b) {
    const uint e = (b >> 3) & 15u;
    const uint m = b & 7u;
    const float mag = e == 0 ? float(m) * 0x1p-9f : as_type<float>(((e + 120u) << 23) | (m << 20));
    return (b & 0x80) ? -mag : mag;
  }

  METAL_FUNC fp8_e4m3(float x) thread : bits(encode(x)) {}

  METAL_FUNC operator float() const thread { return decode(bits); }
  METAL_FUNC operator float() const device { return decode(bits); }
  METAL_FUNC operator float() const threadgroup { return decode(bits); }
  METAL_FUNC operator float() const constant { return decode(bits); }
};

// ---- how an element travels into and out of the cache
template <typename From, typename To>
METAL_FUNC To convert(From v, float) {
  return static_cast<To>(v);
}
template <>
METAL_FUNC uchar convert<float, uchar>(float v, float scale) {
  return fp8_e4m3::encode(v / scale);
}
template <>
METAL_FUNC uchar convert<half, uchar>(half v, float scale) {
  return fp8_e4m3::encode(float(v) / scale);
}
template <>
METAL_FUNC float convert<uchar, float>(uchar v, float scale) {
  return fp8_e4m3::decode(v) * scale;
}
template <>
METAL_FUNC half convert<uchar, half>(uchar v, float scale) {
  return half(fp8_e4m3::decode(v) * scale);
}

struct CacheParams {
  int key_stride;
  int value_stride;
  int num_heads;
  int head_size;
  int block_size;
  int x;
};

template <typename KV_T, typename CACHE_T>
[[kernel]] void reshape_and_cache(
    const device KV_T* __restrict key [[buffer(0)]],
    const device KV_T* __restrict value [[buffer(1)]],
    device CACHE_T* __restrict key_cache [[buffer(2)]],
    device CACHE_T* __restrict value_cache [[buffer(3)]],
    const device int64_t* __restrict slot_mapping [[buffer(4)]],
    constant CacheParams& p [[buffer(5)]],
    constant float& k_scale [[buffer(6)]],
    constant float& v_scale [[buffer(7)]],
    uint gid [[threadgroup_position_in_grid]],
    uint tid [[thread_position_in_threadgroup]],
    uint threads_per_threadgroup [[threads_per_threadgroup]]) {
  const int64_t token_idx = gid;
  const int64_t slot_idx = slot_mapping[token_idx];
  if (slot_idx < 0) {
    // a padding token
    return;
  }
  const int64_t block_idx = slot_idx / p.block_size;
  const int64_t block_offset = slot_idx % p.block_size;

  const int n = p.num_heads * p.head_size;
  for (int i = tid; i < n; i += threads_per_threadgroup) {
    const int head_idx = i / p.head_size;
    const int head_offset = i % p.head_size;
    const int x_idx = head_offset / p.x;
    const int x_offset = head_offset % p.x;

    const int64_t tgt_key = block_idx * n * p.block_size + head_idx * (p.head_size / p.x) * p.block_size * p.x +
        x_idx * p.block_size * p.x + block_offset * p.x + x_offset;
    const int64_t tgt_value = block_idx * n * p.block_size + head_idx * p.head_size * p.block_size +
        head_offset * p.block_size + block_offset;
    key_cache[tgt_key] = convert<KV_T, CACHE_T>(key[token_idx * p.key_stride + i], k_scale);
    value_cache[tgt_value] = convert<KV_T, CACHE_T>(value[token_idx * p.value_stride + i], v_scale);
  }
}

#define instantiate_reshape_and_cache(kv_name, kv_type, c_name, c_type)                    \
  template [[host_name("reshape_and_cache_kv_" #kv_name "_cache_" #c_name)]] [[kernel]] void \
  reshape_and_cache<kv_type, c_type>(                                                      \
      const device kv_type* __restrict,                                                    \
      const device kv_type* __restrict,                                                    \
      device c_type* __restrict,                                                           \
      device c_type* __restrict,                                                           \
      const device int64_t* __restrict,                                                    \
      constant CacheParams&,                                                               \
      constant float&,                                                                     \
      constant float&,                                                                     \
      uint,                                                                                \
      uint,                                                                                \
      uint);

instantiate_reshape_and_cache(f32, float, f32, float)
instantiate_reshape_and_cache(f16, half, f16, half)
instantiate_reshape_and_cache(bf16, bfloat, bf16, bfloat)
instantiate_reshape_and_cache(f32, float, u8, uchar)
instantiate_reshape_and_cache(f16, half, u8, uchar)

// ---- copy whole blocks: pairs (source, destination)
template <typename T>
[[kernel]] void copy_blocks(
    device T* key_cache [[buffer(0)]],
    device T* value_cache [[buffer(1)]],
    const device int64_t* block_mapping [[buffer(2)]],
    device const int& numel_per_block [[buffer(3)]],
    uint gid [[thread_position_in_grid]],
    uint pair [[threadgroup_position_in_grid]],
    uint tid [[thread_position_in_threadgroup]],
    uint tpg [[threads_per_threadgroup]]) {
  struct mapping_pair {
    int64_t src;
    int64_t dst;
  };
  const mapping_pair m = reinterpret_cast<const device mapping_pair*>(block_mapping)[pair];
  device T* caches[2] = {key_cache, value_cache};

#pragma clang loop unroll(full)
  for (int c = 0; c < 2; ++c) {
    const device T* src = caches[c] + m.src * numel_per_block;
    device T* dst = caches[c] + m.dst * numel_per_block;
    for (int i = tid; i < numel_per_block; i += tpg) {
      dst[i] = src[i];
    }
  }
  (void)gid;
}

template [[host_name("copy_blocks_f32")]] [[kernel]] decltype(copy_blocks<float>) copy_blocks<float>;
template [[host_name("copy_blocks_f16")]] [[kernel]] decltype(copy_blocks<half>) copy_blocks<half>;
template [[host_name("copy_blocks_u8")]] [[kernel]] decltype(copy_blocks<uchar>) copy_blocks<uchar>;

// ---- gather the keys of a sequence into a dense [token][head][head size] array
struct GatherParams {
  CacheParams c;
  int num_tokens;
  float scale;
};

template <typename CACHE_T, typename OUT_T>
using gather_fn = void(
    const device CACHE_T*, device OUT_T*, const device uint*, constant GatherParams&, uint3);

template <typename CACHE_T, typename OUT_T>
[[kernel]] void gather_keys(
    const device CACHE_T* key_cache [[buffer(0)]],
    device OUT_T* out [[buffer(1)]],
    const device uint* block_table [[buffer(2)]],
    constant GatherParams& p [[buffer(3)]],
    uint3 pos [[thread_position_in_grid]]) {
  const int e = pos.x, h = pos.y, t = pos.z;
  const constant CacheParams& c = p.c;
  const long block = block_table[t / c.block_size];
  const long src = (((block * c.num_heads + h) * (c.head_size / c.x) + e / c.x) * c.block_size + t % c.block_size) * c.x + e % c.x;
  out[(t * c.num_heads + h) * c.head_size + e] = convert<CACHE_T, OUT_T>(key_cache[src], p.scale);
}

template [[host_name("gather_keys_f32")]] [[kernel]] gather_fn<float, float> gather_keys<float, float>;
template [[host_name("gather_keys_u8_f32")]] [[kernel]] gather_fn<uchar, float> gather_keys<uchar, float>;
template [[host_name("gather_keys_u8_f16")]] [[kernel]] gather_fn<uchar, half> gather_keys<uchar, half>;

// ---- the scale of a tensor: the largest magnitude / 448, through an atomic maximum on the bits of non-negative floats
[[kernel]] void fp8_absmax(
    const device float* x [[buffer(0)]],
    device atomic_uint* best [[buffer(1)]],
    constant uint& n [[buffer(2)]],
    uint gid [[thread_position_in_grid]],
    uint grid [[threads_per_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  float m = 0.0f;
  for (uint i = gid; i < n; i += grid) {
    m = max(m, abs(x[i]));
  }
  m = simd_max(m);
  if (lane == 0) {
    atomic_fetch_max_explicit(best, as_type<uint>(m), memory_order_relaxed);
  }
}

// through an array of the type itself
[[kernel]] void fp8_roundtrip(
    const device float* x [[buffer(0)]],
    device float* y [[buffer(1)]],
    device fp8_e4m3* stored [[buffer(2)]],
    constant uint& n [[buffer(3)]],
    uint gid [[thread_position_in_grid]],
    uint tid [[thread_position_in_threadgroup]]) {
  threadgroup fp8_e4m3 staged[32];
  if (gid < n) {
    fp8_e4m3 f(x[gid]);
    staged[tid].bits = f.bits;
    stored[gid].bits = f.bits;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (gid < n) {
    // the neighbour's, from the threadgroup
    const uint first = gid - tid;
    const uint other = min(n - 1 - first, tid ^ 1u);
    y[gid] = float(staged[other]);
  }
}
