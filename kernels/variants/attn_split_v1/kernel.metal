// attn_split_v1: decode attention in two passes. In the first, `blocks` threadgroups of one simdgroup share the keys of a query head and
// store partial outputs, sums and maxima; the second merges them.

#include <metal_stdlib>

using namespace metal;

constant bool has_mask [[function_constant(0)]];
constant bool has_cap  [[function_constant(1)]];

struct SplitParams {
    int   heads;
    int   gqa;
    int   n;
    int   blocks;
    float scale;
    float softcap;
    long  q_strides[3];   // batch, head, query, in elements
    long  k_strides[3];   // batch, head, key
    long  v_strides[3];
    long  mask_strides[3];
};

template <typename T, int D>
kernel void attn_split_partial(
        constant SplitParams & params   [[buffer(0)]],
        const device T       * q        [[buffer(1)]],
        const device T       * k        [[buffer(2)]],
        const device T       * v        [[buffer(3)]],
        const device half    * mask     [[buffer(4), function_constant(has_mask)]],
        const device int     * lengths  [[buffer(5)]],
        device float         * partials [[buffer(6)]],
        device float         * sums     [[buffer(7)]],
        device float         * maxima   [[buffer(8)]],
        uint3 group  [[threadgroup_position_in_grid]],
        uint3 groups [[threadgroups_per_grid]],
        uint  lane   [[thread_index_in_simdgroup]]) {
    constexpr int kPerLane = D / 32;
    const int head  = group.x % params.heads;
    const int batch = group.x / params.heads;
    const int query = group.y;
    const int block = group.z;
    const int kv    = head / params.gqa;
    const int n     = lengths[batch];

    const device T * q_row = q + batch * params.q_strides[0] + head * params.q_strides[1] + query * params.q_strides[2];
    const device T * k_head = k + batch * params.k_strides[0] + kv * params.k_strides[1];
    const device T * v_head = v + batch * params.v_strides[0] + kv * params.v_strides[1];

    float mine[kPerLane];
    float o[kPerLane];
    for (int i = 0; i < kPerLane; ++i) {
        mine[i] = params.scale * float(q_row[lane * kPerLane + i]);
        o[i] = 0.0f;
    }
    float top = -FLT_MAX / 2;
    float sum = 0.0f;
    for (int j = block; j < n; j += params.blocks) {
        float score = 0.0f;
        for (int i = 0; i < kPerLane; ++i) {
            score += mine[i] * float(k_head[j * params.k_strides[2] + lane * kPerLane + i]);
        }
        score = simd_sum(score);
        if (has_cap) {
            score = params.softcap * precise::tanh(score / params.softcap);
        }
        if (has_mask) {
            score += float(mask[batch * params.mask_strides[0] + head * params.mask_strides[1] + query * params.mask_strides[2] + j]);
            if (score == -INFINITY) {
                continue;
            }
        }
        const float next   = max(top, score);
        const float factor = exp(top - next);
        const float weight = exp(score - next);
        top = next;
        sum = sum * factor + weight;
        for (int i = 0; i < kPerLane; ++i) {
            o[i] = o[i] * factor + weight * float(v_head[j * params.v_strides[2] + lane * kPerLane + i]);
        }
    }
    const long place = (long(group.x) * groups.y + query) * params.blocks + block;
    for (int i = 0; i < kPerLane; ++i) {
        partials[place * D + lane * kPerLane + i] = o[i];
    }
    if (lane == 0) {
        sums[place]   = sum;
        maxima[place] = top;
    }
}

// One threadgroup of a simdgroup for each row of the output.
template <typename T, int D>
kernel void attn_split_merge(
        constant int       & blocks   [[buffer(0)]],
        const device float * partials [[buffer(1)]],
        const device float * sums     [[buffer(2)]],
        const device float * maxima   [[buffer(3)]],
        device T           * out      [[buffer(4)]],
        device float       * lse      [[buffer(5)]],
        uint row  [[threadgroup_position_in_grid]],
        uint lane [[thread_index_in_simdgroup]]) {
    float top = -FLT_MAX / 2;
    for (int b = 0; b < blocks; ++b) {
        top = max(top, maxima[row * blocks + b]);
    }
    float sum = 0.0f;
    for (int b = 0; b < blocks; ++b) {
        sum += sums[row * blocks + b] * exp(maxima[row * blocks + b] - top);
    }
    if (lane == 0) {
        lse[row] = sum == 0.0f ? -INFINITY : top + log(sum);
    }
    for (int d = lane; d < D; d += 32) {
        float o = 0.0f;
        for (int b = 0; b < blocks; ++b) {
            o += partials[(row * blocks + b) * D + d] * exp(maxima[row * blocks + b] - top);
        }
        out[row * D + d] = T(sum == 0.0f ? 0.0f : o / sum);
    }
}

#define INSTANTIATE(name, type, d) \
    template [[host_name("attn_split_partial_" #name "_" #d)]] kernel decltype(attn_split_partial<type, d>) attn_split_partial<type, d>; \
    template [[host_name("attn_split_merge_" #name "_" #d)]] kernel decltype(attn_split_merge<type, d>) attn_split_merge<type, d>;
#define INSTANTIATE_DIMS(name, type) INSTANTIATE(name, type, 32) INSTANTIATE(name, type, 64) INSTANTIATE(name, type, 128) INSTANTIATE(name, type, 256)

INSTANTIATE_DIMS(float, float)
INSTANTIATE_DIMS(half, half)
