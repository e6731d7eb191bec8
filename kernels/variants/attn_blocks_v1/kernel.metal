// attn_blocks_v1: decode attention with one argument struct whose strides are bytes, over keys and values in half or in blocks of 32 signed
// bytes with a scale in half, dequantised in registers.

#include <metal_stdlib>

using namespace metal;

constant bool has_mask [[function_constant(300)]];

struct attn_args {
    int32_t  ne01;       // queries
    int32_t  ne02;       // query heads
    int32_t  ne11;       // keys
    int32_t  ne_12_2;    // key/value heads
    uint64_t nb01, nb02, nb03;
    uint64_t nb11, nb12, nb13;
    uint64_t nb21, nb22, nb23;
    uint64_t nb31, nb32, nb33;
    float    scale;
    float    max_bias;
    float    m0, m1;
    int32_t  n_head_log2;
};

struct block_q8_0 {
    half   d;
    int8_t qs[32];
};

// Coordinates i and i + 1 of a row.
struct row_f16 {
    const device half * data;
    row_f16(const device char * at) : data((const device half *) at) {}
    float2 at(int i) const { return float2(data[i], data[i + 1]); }
};
struct row_q8_0 {
    const device block_q8_0 * data;
    row_q8_0(const device char * at) : data((const device block_q8_0 *) at) {}
    float2 at(int i) const {
        const device block_q8_0 & block = data[i / 32];
        return float(block.d) * float2(block.qs[i % 32], block.qs[i % 32 + 1]);
    }
};

template <typename Row, int D>
kernel void attn_blocks(
        constant attn_args & args     [[buffer(0)]],
        device const char  * q        [[buffer(1)]],
        device const char  * k        [[buffer(2)]],
        device const char  * v        [[buffer(3)]],
        device const char  * mask     [[buffer(4)]],
        device       char  * dst      [[buffer(5)]],
        threadgroup  float * shared   [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort nsg   [[simdgroups_per_threadgroup]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort sg    [[simdgroup_index_in_threadgroup]]) {
    constexpr int kPairs = (D / 2 + 31) / 32;

    const int iq1 = tgpig[0];
    const int iq2 = tgpig[1];
    const int iq3 = tgpig[2];
    const int ik2 = iq2 / (args.ne02 / args.ne_12_2);

    device const float * q_row = (device const float *) (q + iq1 * args.nb01 + iq2 * args.nb02 + iq3 * args.nb03);
    device const half  * m_row = (device const half *) (mask + iq1 * args.nb31 + iq2 * args.nb32 + iq3 * args.nb33);

    float slope = 1.0f;
    if (args.max_bias > 0.0f) {
        const float base = iq2 < args.n_head_log2 ? args.m0 : args.m1;
        const int   power = iq2 < args.n_head_log2 ? iq2 + 1 : 2 * (iq2 - args.n_head_log2) + 1;
        slope = pow(base, power);
    }

    float2 mine[kPairs];
    float2 o[kPairs];
    for (int p = 0; p < kPairs; ++p) {
        const int i = 2 * (p * 32 + lane);
        mine[p] = i < D ? float2(q_row[i], q_row[i + 1]) : float2(0.0f);
        o[p] = float2(0.0f);
    }

    float S = 0.0f;
    float M = -FLT_MAX / 2;
    for (int ic = sg; ic < args.ne11; ic += nsg) {
        const Row key(k + ic * args.nb11 + ik2 * args.nb12 + iq3 * args.nb13);
        float score = 0.0f;
        for (int p = 0; p < kPairs; ++p) {
            const int i = 2 * (p * 32 + lane);
            if (i < D) {
                score += dot(mine[p], key.at(i));
            }
        }
        score = simd_sum(score) * args.scale;
        if (has_mask) {
            score += slope * m_row[ic];
        }
        if (score == -INFINITY) {
            continue;
        }
        const float m = M;
        M = max(M, score);
        const float ms = exp(m - M);
        const float vs = exp(score - M);
        S = S * ms + vs;
        const Row value(v + ic * args.nb21 + ik2 * args.nb22 + iq3 * args.nb23);
        for (int p = 0; p < kPairs; ++p) {
            const int i = 2 * (p * 32 + lane);
            o[p] *= ms;
            if (i < D) {
                o[p] += vs * value.at(i);
            }
        }
    }

    // Per simdgroup: S, M, and its output.
    threadgroup float * own = shared + sg * (D + 2);
    if (lane == 0) {
        own[0] = S;
        own[1] = M;
    }
    for (int p = 0; p < kPairs; ++p) {
        const int i = 2 * (p * 32 + lane);
        if (i < D) {
            own[2 + i] = o[p].x;
            own[3 + i] = o[p].y;
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float top = -FLT_MAX / 2;
    for (int s = 0; s < nsg; ++s) {
        top = max(top, shared[s * (D + 2) + 1]);
    }
    float total = 0.0f;
    for (int s = 0; s < nsg; ++s) {
        total += shared[s * (D + 2)] * exp(shared[s * (D + 2) + 1] - top);
    }
    // The output is [batch, query, head, D].
    device float * row = (device float *) dst + ((iq3 * args.ne01 + iq1) * args.ne02 + iq2) * D;
    for (int i = sg * 32 + lane; i < D; i += nsg * 32) {
        float sum = 0.0f;
        for (int s = 0; s < nsg; ++s) {
            sum += shared[s * (D + 2) + 2 + i] * exp(shared[s * (D + 2) + 1] - top);
        }
        row[i] = total == 0.0f ? 0.0f : sum / total;
    }
}

#define INSTANTIATE(d) \
    template [[host_name("attn_blocks_half_" #d)]] kernel decltype(attn_blocks<row_f16, d>) attn_blocks<row_f16, d>; \
    template [[host_name("attn_blocks_q8_0_" #d)]] kernel decltype(attn_blocks<row_q8_0, d>) attn_blocks<row_q8_0, d>;

INSTANTIATE(64)
INSTANTIATE(96)
INSTANTIATE(128)
INSTANTIATE(256)
INSTANTIATE(512)
