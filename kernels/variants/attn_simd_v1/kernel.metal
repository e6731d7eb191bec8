// attn_simd_v1: decode attention with a simdgroup for each key. A threadgroup has the query of one head; its 32 simdgroups take the keys in
// turn, each with a softmax of its own, and merge their results through threadgroup memory.

#include <metal_stdlib>

using namespace metal;

constant bool has_mask    [[function_constant(20)]];
constant bool bool_mask   [[function_constant(21)]];
constant bool do_causal   [[function_constant(22)]];
constant bool has_sinks   [[function_constant(25)]];
constant bool float_mask  = has_mask && !bool_mask;
constant bool byte_mask   = has_mask && bool_mask;

constant constexpr uint kSimdgroups = 32;
constant constexpr uint kLanes = 32;

template <typename T, uint D, uint V>
kernel void attn_simd(
        const device T     * queries        [[buffer(0)]],
        const device T     * keys           [[buffer(1)]],
        const device T     * values         [[buffer(2)]],
        device       T     * out            [[buffer(3)]],
        constant     uint  & gqa_factor     [[buffer(4)]],
        constant     uint  & n              [[buffer(5)]],
        constant     ulong & k_head_stride  [[buffer(6)]],
        constant     ulong & k_seq_stride   [[buffer(7)]],
        constant     ulong & v_head_stride  [[buffer(8)]],
        constant     ulong & v_seq_stride   [[buffer(9)]],
        constant     float & scale          [[buffer(10)]],
        const device uchar * bmask          [[buffer(11), function_constant(byte_mask)]],
        const device T     * fmask          [[buffer(12), function_constant(float_mask)]],
        constant     uint  & mask_head_stride  [[buffer(13), function_constant(has_mask)]],
        constant     uint  & mask_query_stride [[buffer(14), function_constant(has_mask)]],
        constant     uint  & mask_batch_stride [[buffer(15), function_constant(has_mask)]],
        const device float * sinks          [[buffer(16), function_constant(has_sinks)]],
        constant     uint  & heads          [[buffer(17)]],
        uint3 group [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint  simdgroup [[simdgroup_index_in_threadgroup]],
        uint  lane [[thread_index_in_simdgroup]]) {
    constexpr uint kPerLane = (D + kLanes - 1) / kLanes;
    constexpr uint vPerLane = (V + kLanes - 1) / kLanes;

    const uint head  = group.x;        // of all batches
    const uint query = group.y;
    const uint kv    = head / gqa_factor;
    const uint row   = head * groups.y + query;

    threadgroup float merged[kSimdgroups * V];
    threadgroup float maxima[kSimdgroups];
    threadgroup float sums[kSimdgroups];

    const uint mask_row = has_mask ? head / heads * mask_batch_stride + head % heads * mask_head_stride + query * mask_query_stride : 0;

    float q[kPerLane];
    float o[vPerLane];
    for (uint i = 0; i < kPerLane; ++i) {
        const uint d = i * kLanes + lane;
        q[i] = d < D ? scale * static_cast<float>(queries[row * D + d]) : 0.0f;
    }
    for (uint i = 0; i < vPerLane; ++i) {
        o[i] = 0.0f;
    }

    float top = -INFINITY;
    float sum = 0.0f;
    if (has_sinks && simdgroup == 0) {
        top = sinks[head % heads];
        sum = 1.0f;
    }

    const device T * k = keys + kv * k_head_stride;
    const device T * v = values + kv * v_head_stride;
    for (uint j = simdgroup; j < n; j += kSimdgroups) {
        if (do_causal && j + groups.y > n + query) {
            break;
        }
        if (byte_mask && bmask[mask_row + j] == 0) {
            continue;
        }
        float score = 0.0f;
        for (uint i = 0; i < kPerLane; ++i) {
            const uint d = i * kLanes + lane;
            score += d < D ? q[i] * static_cast<float>(k[j * k_seq_stride + d]) : 0.0f;
        }
        score = simd_sum(score);
        if (float_mask) {
            score += static_cast<float>(fmask[mask_row + j]);
            if (score == -INFINITY) {
                continue;
            }
        }
        const float next   = max(top, score);
        const float factor = fast::exp(top - next);
        const float weight = fast::exp(score - next);
        top = next;
        sum = sum * factor + weight;
        for (uint i = 0; i < vPerLane; ++i) {
            const uint d = i * kLanes + lane;
            o[i] = o[i] * factor + weight * (d < V ? static_cast<float>(v[j * v_seq_stride + d]) : 0.0f);
        }
    }

    for (uint i = 0; i < vPerLane; ++i) {
        const uint d = i * kLanes + lane;
        if (d < V) {
            merged[simdgroup * V + d] = o[i];
        }
    }
    if (lane == 0) {
        maxima[simdgroup] = top;
        sums[simdgroup]   = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Every simdgroup computes the factors of all; a simdgroup without a key has none.
    const float highest = simd_max(maxima[lane]);
    const float factor  = maxima[lane] == -INFINITY ? 0.0f : fast::exp(maxima[lane] - highest);
    const float total   = simd_sum(sums[lane] * factor);
    for (uint d = simdgroup; d < V; d += kSimdgroups) {
        const float value = simd_sum(factor * merged[lane * V + d]);
        if (lane == 0) {
            out[row * V + d] = static_cast<T>(total == 0.0f ? 0.0f : value / total);
        }
    }
}

#define INSTANTIATE(name, type, d, v) \
    template [[host_name("attn_simd_" #name "_" #d "_" #v)]] kernel decltype(attn_simd<type, d, v>) attn_simd<type, d, v>;
#define INSTANTIATE_TYPES(d, v) INSTANTIATE(float, float, d, v) INSTANTIATE(half, half, d, v) INSTANTIATE(bfloat, bfloat, d, v)

INSTANTIATE_TYPES(64, 64)
INSTANTIATE_TYPES(80, 80)
INSTANTIATE_TYPES(96, 96)
INSTANTIATE_TYPES(128, 128)
INSTANTIATE_TYPES(192, 128)
