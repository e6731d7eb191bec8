// Combines what the workgroups of a split decode left behind. Thread t of a simdgroup speaks for workgroup t; every
// simdgroup takes a run of neighbouring columns.

#include <metal_stdlib>
using namespace metal;

struct MergeArgs {
    uint nrows;
};

// How much a workgroup's partial result weighs in the whole, divided by the whole sum.
static float share_of(device const float2 * stats, uint members, ushort t) {
    const bool present = t < members;
    const float peak = present ? stats[t].y : -FLT_MAX / 2;
    const float mass = present ? stats[t].x : 0.0f;

    const float top = simd_max(peak);
    const float weight = exp(peak - top);
    const float all = simd_sum(mass * weight);

    return all > 0.0f ? weight * (1.0f / all) : 0.0f;
}

template <ushort DIM>
kernel void merge_partials(
        constant MergeArgs & params    [[buffer(0)]],
        device const float * htmp      [[buffer(1)]],
        device float       * dst       [[buffer(2)]],
        constant uint      & nwg_param [[buffer(3)]],
        uint   r [[threadgroup_position_in_grid]],
        ushort t [[thread_index_in_simdgroup]],
        ushort g [[simdgroup_index_in_threadgroup]]) {
    constexpr uint COLUMNS = DIM / 4;
    const uint members = nwg_param;

    device const float2 * stats = (device const float2 *)(htmp + params.nrows * DIM * members) + r * members;
    const float share = share_of(stats, members, t);

    device const float4 * parts = (device const float4 *)htmp + r * COLUMNS * members;
    device float4 * whole = (device float4 *)dst + r * COLUMNS;

    const uint run = (COLUMNS + members - 1) / members;
    const uint begin = min(g * run, COLUMNS);
    const uint end = min(begin + run, COLUMNS);

    for (uint column = begin; column != end; ++column) {
        float4 part = float4(0.0f);
        if (t < members) {
            part = parts[column * members + t];
        }
        part = simd_sum(part * share);
        if (t == 31) {
            whole[column] = part;
        }
    }
}

template [[host_name("flash_attn_vec_reduce_dk256")]] kernel decltype(merge_partials<256>) merge_partials<256>;
template [[host_name("flash_attn_vec_reduce_dk512")]] kernel decltype(merge_partials<512>) merge_partials<512>;
