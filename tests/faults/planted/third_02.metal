// Single-token attention on 4-bit rotated keys and values. One warp-sized group walks tiles of 32 cache slots.
#include <metal_stdlib>
using namespace metal;

constant float kLevels[8] = {0.1283950f, 0.3880483f, 0.6567591f, 0.9423405f, 1.2562312f, 1.6180464f, 2.0690172f, 2.7325896f};
constant float kHide = -65504.0f;

struct Args {
    uint  n_heads;
    uint  n_kv_heads;
    uint  head_dim;
    uint  kv_seq_len;
    uint  kv_capacity;
    float scale;
    uint  mask_type;
    uint  sliding_window;
    float softcap;
    uint  nwg;
    uint  ring_start;
};

// The upper eight codes are positive, the lower eight mirror them.
static inline float level(uint code) {
    return (code & 8) != 0 ? kLevels[code & 7] : -kLevels[7 - (code & 7)];
}

static inline float4 unpack(device const uchar * bytes) {
    const uint a = bytes[0];
    const uint b = bytes[1];
    return float4(level(a & 15), level(a >> 4), level(b & 15), level(b >> 4));
}

// Age rank of a slot of the ring: 0 for the oldest entry.
static inline uint rank_of(uint slot, uint start, uint size) {
    const uint shifted = slot + size - start;
    return shifted >= size ? shifted % size : shifted;
}

struct Softmax {
    float top;
    float total;
};

template <int D>
kernel void decode(
        constant Args      & a   [[buffer(0)]],
        device const float * Q   [[buffer(1)]],
        device const uchar * K_packed [[buffer(2)]],
        device const float * K_norms  [[buffer(3)]],
        device const uchar * V_packed [[buffer(4)]],
        device const float * V_norms  [[buffer(5)]],
        device float       * dst      [[buffer(6)]],
        threadgroup half   * pool     [[threadgroup(0)]],
        uint3 group [[threadgroup_position_in_grid]],
        ushort tid  [[thread_index_in_simdgroup]]) {
    constexpr int PER = D / 128;
    const uint h = group.y;
    const uint part = group.z;
    const uint parts = a.nwg;
    const uint len = a.kv_seq_len;
    const uint ring = a.kv_capacity;
    const uint out_row = group.x * a.n_heads + h;
    const uint base = (h / (a.n_heads / a.n_kv_heads)) * ring;

    threadgroup float * weights = (threadgroup float *) (pool + D);

    float4 query[PER];
    float4 acc[PER];
    for (int j = 0; j < PER; ++j) {
        device const float4 * src = (device const float4 *) (Q + out_row * D);
        query[j] = float4(half4(src[tid + 32 * j]));
        acc[j] = 0.0f;
    }

    const bool windowed = a.mask_type == 2 && a.sliding_window != 0 && a.sliding_window < len;
    const uint from = windowed ? len - a.sliding_window : 0;
    const float unit = rsqrt(float(D));

    Softmax run = {-FLT_MAX / 2, 0.0f};

    uint tile = part * 32;
    while (tile < len) {
        const uint mine = tile + tid;
        const uint rank = rank_of(mine, a.ring_start, ring);
        const bool seen = mine < len && rank < len && rank >= from;

        if (simd_any(seen)) {
            const uint count = min(32u, len - tile);

            float raw = 0.0f;
            for (uint t = 0; t < count; ++t) {
                const uint pos = base + tile + t;
                const float mul = K_norms[pos] * unit;
                device const uchar * codes = K_packed + pos * (D / 2);
                float s = 0.0f;
                for (int j = 0; j < PER; ++j) {
                    s += dot(unpack(codes + 2 * (tid + 32 * j)) * mul, query[j]);
                }
                s = simd_sum(s);
                raw = tid == t ? s : raw;
            }

            const float logit = fma(raw, a.scale, seen ? 0.0f : kHide);
            const float top = max(run.top, simd_max(logit));
            const float shrink = exp(run.top - top);
            const float p = exp(logit - top);
            run.total = run.total * shrink + simd_sum(p);
            run.top = top;
            weights[tid] = p;
            simdgroup_barrier(mem_flags::mem_threadgroup);

            for (int j = 0; j < PER; ++j) {
                float4 fresh = 0.0f;
                for (uint t = 0; t < count; ++t) {
                    const uint pos = base + tile + t;
                    fresh += unpack(V_packed + pos * (D / 2) + 2 * (tid + 32 * j)) * ((V_norms[pos] * unit) * weights[t]);
                }
                acc[j] = acc[j] * shrink + fresh;
            }
            simdgroup_barrier(mem_flags::mem_threadgroup);
        }
        tile += 32 * parts;
    }

    device float4 * out = (device float4 *) dst + out_row * (D / 4) * parts;
    const float norm = parts > 1 ? 1.0f : (run.total == 0.0f ? 0.0f : 1.0f / run.total);
    for (int j = 0; j < PER; ++j) {
        out[(tid + 32 * j) * parts + part] = acc[j] * norm;
    }
    if (parts > 1 && tid == 0) {
        device float2 * stats = (device float2 *) (dst + a.n_heads * D * parts);
        stats[out_row * parts + part] = float2(run.total, run.top);
    }
}

template [[host_name("flash_attn_vec_tq_dk256")]] kernel decltype(decode<256>) decode<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel decltype(decode<512>) decode<512>;
