// lanekey: decode attention over a 4-bit cache; a lane scores a whole key, then lanes share the coordinates of the values.
#include <metal_stdlib>
using namespace metal;

constant float4 cb4[4] = {
    float4(-2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f),
    float4(-0.9423405f, -0.6567591f, -0.3880483f, -0.1283950f),
    float4(0.1283950f, 0.3880483f, 0.6567591f, 0.9423405f),
    float4(1.2562312f, 1.6180464f, 2.0690172f, 2.7325896f),
};

struct Args {
    uint n_heads, n_kv_heads, head_dim, kv_seq_len, kv_capacity;
    float scale;
    uint mask_type, sliding_window;
    float softcap;
    uint nwg, ring_start;
};

static inline float level(uint code) { return cb4[code >> 2][code & 3]; }

static inline bool seen(constant Args & a, uint slot) {
    if (slot >= a.kv_seq_len) return false;
    const uint age = (slot + a.kv_capacity - a.ring_start) % a.kv_capacity;
    if (age >= a.kv_seq_len) return false;
    if (a.mask_type == 2 && a.sliding_window > 0 && a.kv_seq_len > a.sliding_window) {
        return age >= a.kv_seq_len - a.sliding_window;
    }
    return true;
}

template <int D>
kernel void lanekey(
        constant Args      & a     [[buffer(0)]],
        device const float * q     [[buffer(1)]],
        device const uchar * kc    [[buffer(2)]],
        device const float * kn    [[buffer(3)]],
        device const uchar * vc    [[buffer(4)]],
        device const float * vn    [[buffer(5)]],
        device float       * out   [[buffer(6)]],
        threadgroup half   * pad   [[threadgroup(0)]],
        uint3  where [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    const uint h = where.y;
    const uint part = where.z;
    const uint g = h / (a.n_heads / a.n_kv_heads);
    const float unit = rsqrt(float(D));

    for (int d = lane; d < D; d += 32) pad[d] = half(q[h * D + d]);
    simdgroup_barrier(mem_flags::mem_threadgroup);

    float best = -INFINITY;
    float mass = 0.0f;
    float acc[D / 32];
    for (int i = 0; i < D / 32; ++i) acc[i] = 0.0f;

    for (uint c = part * 32; c < a.kv_seq_len; c += a.nwg * 32) {
        const uint slot = c + lane;
        float s = -INFINITY;
        if (seen(a, slot)) {
            device const uchar * row = kc + (g * a.kv_capacity + slot) * (D / 2);
            float dot = 0.0f;
            for (int d = 0; d < D / 2; ++d) {
                dot += float(pad[2 * d]) * level(row[d] & 15);
                dot += float(pad[2 * d + 1]) * level(row[d] >> 4);
            }
            s = dot * kn[g * a.kv_capacity + slot] * unit * a.scale;
        }
        const float top = simd_max(s);
        if (top == -INFINITY) continue;
        const float now = max(best, top);
        const float fade = exp(best - now);
        const float w = exp(s - now);
        best = now;
        mass = mass * fade + simd_sum(w);
        for (int i = 0; i < D / 32; ++i) acc[i] *= fade;
        const uint count = min(32u, a.kv_seq_len - c);
        for (uint t = 0; t < count; ++t) {
            const float share = simd_shuffle(w, ushort(t)) * vn[g * a.kv_capacity + c + t] * unit;
            device const uchar * row = vc + (g * a.kv_capacity + c + t) * (D / 2);
            for (int i = 0; i < D / 32; ++i) {
                const uint d = i * 32 + lane;
                const uint byte = row[d / 2];
                acc[i] += share * level(d % 2 == 0 ? byte & 15 : byte >> 4);
            }
        }
    }

    if (a.nwg == 1) {
        const float norm = mass > 0.0f ? 1.0f / mass : 0.0f;
        for (int i = 0; i < D / 32; ++i) out[h * D + i * 32 + lane] = acc[i] * norm;
        return;
    }
    for (int i = 0; i < D / 32; ++i) {
        const uint d = i * 32 + lane;
        out[(h * (D / 4) + d / 4) * 4 * a.nwg + part * 4 + d % 4] = acc[i];
    }
    if (lane == 0) {
        device float * tail = out + a.n_heads * D * a.nwg + 2 * (h * a.nwg + part);
        tail[0] = mass;
        tail[1] = mass > 0.0f ? best : -FLT_MAX / 2;
    }
}

template [[host_name("flash_attn_vec_tq_dk256")]] kernel decltype(lanekey<256>) lanekey<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel decltype(lanekey<512>) lanekey<512>;
