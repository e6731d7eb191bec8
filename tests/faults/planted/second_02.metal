// reduce_v1: merges the partial results of the workgroups that shared one query head.
//
// htmp holds, per row, head_dim/4 float4 columns with the workgroups' unnormalised outputs interleaved, and behind all
// rows the pairs (S, M) of every workgroup. One threadgroup per row, one simdgroup per workgroup of the attention
// kernel; lane l stands for workgroup l, so a merge is one simd_sum.

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

struct FlashAttnVecReduceParams {
    uint nrows;
};

static_assert(sizeof(FlashAttnVecReduceParams) == 4, "the host fills these 4 bytes");

template <short D>
kernel void flash_attn_vec_reduce(
        constant FlashAttnVecReduceParams & params    [[buffer(0)]],
        device const float                * htmp      [[buffer(1)]],
        device       float                * dst       [[buffer(2)]],
        constant     uint                 & nwg_param [[buffer(3)]],
        uint   row  [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]],
        ushort sg   [[simdgroup_index_in_threadgroup]]) {
    constexpr short D4 = D / 4;

    const uint nwg = nwg_param;

    device const float  * tail  = htmp + params.nrows * D * nwg + row * 2 * nwg;
    device const float4 * htmp4 = (device const float4 *) htmp + row * D4 * nwg;
    device       float4 * dst4  = (device float4 *) dst + row * D4;

    // Lanes without a workgroup are neutral in every sum below.
    float S = 0.0f;
    float M = -FLT_MAX / 2;
    if (lane < nwg) {
        S = tail[2 * lane + 0];
        M = tail[2 * lane + 1];
    }

    const float factor = exp(M - simd_max(M));

    S = simd_sum(S * factor);

    const float inv = S == 0.0f ? 0.0f : 1.0f / S;

    // Columns of a simdgroup; the last turn may be behind the row.
    const uint columns = (D4 + nwg - 1) / nwg;

    for (uint c = 0; c < columns; ++c) {
        const uint i = c * nwg + sg;
        if (i >= uint(D4)) {
            break;
        }

        const float4 o   = lane < nwg ? htmp4[i * nwg + lane] : float4(0.0f);
        const float4 sum = simd_sum(o * factor);

        if (lane == 0) {
            dst4[i] = sum * inv;
        }
    }
}

typedef decltype(flash_attn_vec_reduce<256>) flash_attn_vec_reduce_t;

template [[host_name("flash_attn_vec_reduce_dk256")]] kernel flash_attn_vec_reduce_t flash_attn_vec_reduce<256>;
template [[host_name("flash_attn_vec_reduce_dk512")]] kernel flash_attn_vec_reduce_t flash_attn_vec_reduce<512>;
