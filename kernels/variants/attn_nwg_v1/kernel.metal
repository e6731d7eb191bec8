// attn_nwg_v1: decode attention of wide heads. NWG threadgroups of one simdgroup share the chunks of 32 keys of a query head: a lane has the
// score of a key, and all lanes the output. Partial results are laid out as family `reduce` takes them; the second function merges them.

#include <metal_stdlib>

using namespace metal;

constant bool has_mask [[function_constant(10)]];

struct DecodeParams {
    uint  n_heads;
    uint  n_kv_heads;
    uint  kv_len;
    uint  kv_capacity;
    uint  ring_start;
    uint  sliding_window;
    uint  nwg;
    float scale;
};

template <typename T, uint D>
kernel void attn_nwg(
        constant DecodeParams & params [[buffer(0)]],
        const device float    * q      [[buffer(1)]],
        const device T        * k      [[buffer(2)]],
        const device T        * v      [[buffer(3)]],
        device float          * htmp   [[buffer(4)]],
        uint2 group [[threadgroup_position_in_grid]],
        uint2 groups [[threadgroups_per_grid]],
        uint  lane  [[thread_index_in_simdgroup]]) {
    constexpr uint kPerLane = D / 32;
    const uint head = group.x;
    const uint wg   = group.y;
    const uint kv   = head / (params.n_heads / params.n_kv_heads);
    const uint n    = params.kv_len;

    threadgroup float query[D];
    for (uint i = lane; i < D; i += 32) {
        query[i] = q[head * D + i];
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);

    float o[kPerLane];
    for (uint i = 0; i < kPerLane; ++i) {
        o[i] = 0.0f;
    }
    float top = -FLT_MAX / 2;
    float sum = 0.0f;
    const uint chunks = (n + 31) / 32;
    for (uint chunk = wg; chunk < chunks; chunk += params.nwg) {
        const uint key = chunk * 32 + lane;
        const bool seen = key < n && (!has_mask || n - 1 - key < params.sliding_window);
        const uint slot = (params.ring_start + key) % params.kv_capacity;
        float score = -FLT_MAX / 2;
        if (seen) {
            const device T * row = k + (ulong(kv) * params.kv_capacity + slot) * D;
            float dot = 0.0f;
            for (uint i = 0; i < D; ++i) {
                dot += query[i] * float(row[i]);
            }
            score = dot * params.scale;
        }
        const float next = max(top, simd_max(score));
        const float factor = exp(top - next);
        const float weight = seen ? exp(score - next) : 0.0f;
        top = next;
        sum = sum * factor + simd_sum(weight);
        for (uint i = 0; i < kPerLane; ++i) {
            o[i] *= factor;
        }
        for (uint j = 0; j < 32; ++j) {
            const float w = simd_shuffle(weight, j);
            if (w == 0.0f) {
                continue;
            }
            const uint s = (params.ring_start + chunk * 32 + j) % params.kv_capacity;
            const device T * row = v + (ulong(kv) * params.kv_capacity + s) * D;
            for (uint i = 0; i < kPerLane; ++i) {
                o[i] += w * float(row[4 * (i / 4 * 32 + lane) + i % 4]);
            }
        }
    }

    // Columns of four coordinates, the workgroups' next to each other; behind all rows the pairs of sum and maximum.
    for (uint i = 0; i < kPerLane; ++i) {
        const uint column = i / 4 * 32 + lane;
        htmp[head * D * params.nwg + (column * params.nwg + wg) * 4 + i % 4] = o[i];
    }
    if (lane == 0) {
        device float * tail = htmp + ulong(groups.x) * D * params.nwg + (head * params.nwg + wg) * 2;
        tail[0] = sum;
        tail[1] = top;
    }
}

template <uint D>
kernel void attn_nwg_merge(
        constant uint      & rows [[buffer(0)]],
        constant uint      & nwg  [[buffer(1)]],
        const device float * htmp [[buffer(2)]],
        device float       * dst  [[buffer(3)]],
        uint   row  [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]],
        ushort sg   [[simdgroup_index_in_threadgroup]]) {
    const device float * tail = htmp + ulong(rows) * D * nwg + row * nwg * 2;
    const float S = lane < nwg ? tail[2 * lane] : 0.0f;
    const float M = lane < nwg ? tail[2 * lane + 1] : -FLT_MAX / 2;
    const float factor = exp(M - simd_max(M));
    const float total = simd_sum(S * factor);
    for (uint column = sg; column < D / 4; column += nwg) {
        for (uint i = 0; i < 4; ++i) {
            const float o = lane < nwg ? htmp[row * D * nwg + (column * nwg + lane) * 4 + i] : 0.0f;
            const float value = simd_sum(o * factor);
            if (lane == 0) {
                dst[row * D + column * 4 + i] = total == 0.0f ? 0.0f : value / total;
            }
        }
    }
}

#define INSTANTIATE(name, type, d) \
    template [[host_name("attn_nwg_" #name "_" #d)]] kernel decltype(attn_nwg<type, d>) attn_nwg<type, d>;

INSTANTIATE(float, float, 256)
INSTANTIATE(float, float, 512)
INSTANTIATE(half, half, 256)
INSTANTIATE(half, half, 512)
template [[host_name("attn_nwg_merge_256")]] kernel decltype(attn_nwg_merge<256>) attn_nwg_merge<256>;
template [[host_name("attn_nwg_merge_512")]] kernel decltype(attn_nwg_merge<512>) attn_nwg_merge<512>;
