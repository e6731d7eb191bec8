// Brings together what the workgroups of one query row have found: a softmax over their maxima, folded over the lanes of a simdgroup.
//
// partials, per row: DIM/4 columns of four floats, each with the workgroups side by side; behind all rows (denominator, maximum) pairs.

#include <metal_stdlib>

using namespace metal;

constant constexpr ushort kLanes = 32;

struct MergeArgs {
    uint nrows;
};

// Adds up the lanes; lane 0 has the sum of all of them.
template <typename T>
static inline T fold(T value, ushort distance) {
    while (distance > 0) {
        value += simd_shuffle_xor(value, distance);
        distance /= 2;
    }
    return value;
}

template <uint DIM>
kernel void merge_partials(
        constant MergeArgs   & params    [[buffer(0)]],
        device const float   * htmp      [[buffer(1)]],
        device       float   * dst       [[buffer(2)]],
        constant     uint    & nwg_param [[buffer(3)]],
        uint   row       [[threadgroup_position_in_grid]],
        ushort workgroup [[thread_index_in_simdgroup]],
        ushort team      [[simdgroup_index_in_threadgroup]]) {
    constexpr uint QUADS = DIM / 4;

    const uint nwg  = nwg_param;
    const bool busy = workgroup < nwg;

    device const float4 * columns = (device const float4 *) htmp + row * QUADS * nwg;
    device const float2 * pairs   = (device const float2 *) (htmp + params.nrows * DIM * nwg) + row * nwg;

    const float2 pair = busy ? pairs[workgroup] : float2(0.0f, -FLT_MAX / 2);
    const float share = pair.x;
    const float weight = exp(pair.y - simd_max(pair.y));

    const ushort widest = kLanes / 2;

    const float denominator = simd_broadcast(fold(weight * share, widest), 0);
    const float inverse     = denominator != 0.0f ? 1.0f / denominator : 0.0f;

    uint quad = team;
    while (quad < QUADS) {
        const float4 part  = busy ? columns[quad * nwg + workgroup] : float4(0.0f);
        const float4 whole = fold(part * weight, widest);
        if (workgroup == 0) {
            ((device float4 *) dst)[row * QUADS + quad] = whole * inverse;
        }
        quad += nwg;
    }
}

typedef decltype(merge_partials<256>) merge_partials_t;

template [[host_name("flash_attn_vec_reduce_dk256")]] kernel merge_partials_t merge_partials<256>;
template [[host_name("flash_attn_vec_reduce_dk512")]] kernel merge_partials_t merge_partials<512>;
