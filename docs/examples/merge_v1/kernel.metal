// Merges the partial results that the workgroups of one query row left in `htmp`.
#include <metal_stdlib>
using namespace metal;

struct MergeParams {
    uint nrows;
};

kernel void flash_attn_vec_reduce_dk256(
        constant MergeParams & params [[buffer(0)]],
        device const float   * htmp   [[buffer(1)]],
        device       float4  * dst    [[buffer(2)]],
        constant     uint    & nwg    [[buffer(3)]],
        uint   row  [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]],
        ushort sg   [[simdgroup_index_in_threadgroup]]) {
    device const float4 * O  = (device const float4 *) htmp + row * 64 * nwg;
    device const float2 * SM = (device const float2 *) (htmp + params.nrows * 256 * nwg) + row * nwg;

    const float S = lane < nwg ? SM[lane].x : 0.0f;
    const float M = lane < nwg ? SM[lane].y : -FLT_MAX / 2;
    const float factor = exp(M - simd_max(M));
    const float total  = simd_sum(S * factor);

    for (uint i = sg; i < 64; i += nwg) {
        const float4 o   = lane < nwg ? O[i * nwg + lane] : float4(0.0f);
        const float4 sum = simd_sum(o * factor);
        if (lane == 0) {
            dst[row * 64 + i] = total == 0.0f ? float4(0.0f) : sum / total;
        }
    }
}
