// Second pass of split decode: combines the partial rows that the splits left behind.
#include <metal_stdlib>
using namespace metal;

struct Shape {
    uint nrows;
};

struct Partial {
    float sum;
    float peak;
};

static inline Partial fetch(device const float * pairs, uint which, bool present) {
    Partial p = {0.0f, -FLT_MAX / 2};
    if (present) {
        p.sum  = pairs[which * 2];
        p.peak = pairs[which * 2 + 1];
    }
    return p;
}

static inline void combine(
        device const float * partials, device float * result, uint nrows, uint splits, uint width, uint r, uint tid, uint warp) {
    const bool present = tid < splits;

    device const float * pairs = partials + nrows * width * splits + 2 * splits * r;
    const Partial mine = fetch(pairs, tid, present);

    const float peak   = simd_max(mine.peak);
    const float weight = exp(mine.peak - peak);
    const float total  = simd_sum(mine.sum * weight);
    const float scale  = total != 0.0f ? 1.0f / total : 0.0f;

    const uint columns = width / 4;
    device const float4 * from = (device const float4 *) partials + r * columns * splits;
    device float4 * to = (device float4 *) result + r * columns;

    uint c = warp;
    while (c < columns) {
        float4 part = 0.0f;
        if (present) {
            part = from[c * splits + tid] * weight;
        }
        part = simd_sum(part);
        if (simd_is_first()) {
            to[c] = part * scale;
        }
        c += splits;
    }
}

kernel void flash_attn_vec_reduce_dk256(
        constant Shape     & params    [[buffer(0)]],
        device const float * htmp      [[buffer(1)]],
        device float       * dst       [[buffer(2)]],
        constant uint      & nwg_param [[buffer(3)]],
        uint   group [[threadgroup_position_in_grid]],
        ushort tid   [[thread_index_in_simdgroup]],
        ushort warp  [[simdgroup_index_in_threadgroup]]) {
    combine(htmp, dst, params.nrows, nwg_param, 256, group, tid, warp);
}

kernel void flash_attn_vec_reduce_dk512(
        constant Shape     & params    [[buffer(0)]],
        device const float * htmp      [[buffer(1)]],
        device float       * dst       [[buffer(2)]],
        constant uint      & nwg_param [[buffer(3)]],
        uint   group [[threadgroup_position_in_grid]],
        ushort tid   [[thread_index_in_simdgroup]],
        ushort warp  [[simdgroup_index_in_threadgroup]]) {
    combine(htmp, dst, params.nrows, nwg_param, 512, group, tid, warp);
}
