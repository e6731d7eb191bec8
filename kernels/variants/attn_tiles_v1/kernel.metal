// attn_tiles_v1: prefill attention in tiles. A threadgroup has 32 queries of one head, 8 for each of its four simdgroups, and walks over
// tiles of 16 keys with 8x8 matrices; tiles behind the diagonal are skipped.

#include <metal_stdlib>

using namespace metal;

constant bool align_q   [[function_constant(200)]];
constant bool align_k   [[function_constant(201)]];
constant bool do_causal [[function_constant(301)]];

struct TileParams {
    int     H;
    int     gqa_factor;
    int     qL;
    int     kL;
    int     qL_off;
    float   scale;
    int64_t Q_strides[3];   // batch, head, row
    int64_t K_strides[3];
    int64_t V_strides[3];
    int64_t O_strides[3];
};

constant constexpr int BQ = 32;
constant constexpr int BK = 16;

template <typename T, int D>
kernel void attn_tiles(
        const device T      * Q      [[buffer(0)]],
        const device T      * K      [[buffer(1)]],
        const device T      * V      [[buffer(2)]],
        device T            * O      [[buffer(3)]],
        constant TileParams & params [[buffer(4)]],
        uint3 tid  [[threadgroup_position_in_grid]],
        uint  lane [[thread_index_in_simdgroup]],
        uint  sg   [[simdgroup_index_in_threadgroup]]) {
    threadgroup T     q_tile[BQ * D];
    threadgroup T     kv_tile[BK * D];
    threadgroup float scores[BQ * BK];
    threadgroup float factors[BQ];

    const int head  = tid.y;
    const int batch = tid.z;
    const int kv    = head / params.gqa_factor;
    const int first = tid.x * BQ;
    const uint thread = sg * 32 + lane;

    const device T * q = Q + batch * params.Q_strides[0] + head * params.Q_strides[1];
    const device T * k = K + batch * params.K_strides[0] + kv * params.K_strides[1];
    const device T * v = V + batch * params.V_strides[0] + kv * params.V_strides[1];

    for (int i = thread; i < BQ * D; i += 128) {
        const int row = first + i / D;
        q_tile[i] = align_q || row < params.qL ? q[row * params.Q_strides[2] + i % D] : T(0);
    }

    // The output of 8 queries, in registers of the simdgroup.
    simdgroup_matrix<float, 8, 8> o[D / 8];
    for (int i = 0; i < D / 8; ++i) {
        o[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    float top = -FLT_MAX / 2;   // of the query of this lane: lanes 0 to 7 have one each
    float sum = 0.0f;

    int tiles = (params.kL + BK - 1) / BK;
    if (do_causal) {
        const int seen = min(params.kL, first + BQ + params.qL_off);
        tiles = max(0, (seen + BK - 1) / BK);
    }

    for (int tile = 0; tile < tiles; ++tile) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = thread; i < BK * D; i += 128) {
            const int row = tile * BK + i / D;
            kv_tile[i] = align_k || row < params.kL ? k[row * params.K_strides[2] + i % D] : T(0);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (int part = 0; part < BK / 8; ++part) {
            simdgroup_matrix<float, 8, 8> s = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            for (int i = 0; i < D / 8; ++i) {
                simdgroup_matrix<T, 8, 8> a;
                simdgroup_matrix<T, 8, 8> b;
                simdgroup_load(a, q_tile + sg * 8 * D + i * 8, D);
                simdgroup_load(b, kv_tile + part * 8 * D + i * 8, D, ulong2(0, 0), true);
                simdgroup_multiply_accumulate(s, a, b, s);
            }
            simdgroup_store(s, scores + sg * 8 * BK + part * 8, BK);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);

        // Softmax of a row for each of the first 8 lanes.
        if (lane < 8) {
            threadgroup float * row = scores + (sg * 8 + lane) * BK;
            const int query = first + sg * 8 + lane;
            float next = top;
            for (int j = 0; j < BK; ++j) {
                const int key = tile * BK + j;
                const bool hidden = key >= params.kL || (do_causal && key > query + params.qL_off);
                row[j] = hidden ? -INFINITY : row[j] * params.scale;
                next = max(next, row[j]);
            }
            const float factor = exp(top - next);
            float more = 0.0f;
            for (int j = 0; j < BK; ++j) {
                row[j] = exp(row[j] - next);
                more += row[j];
            }
            top = next;
            sum = sum * factor + more;
            factors[sg * 8 + lane] = factor;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = thread; i < BK * D; i += 128) {
            const int row = tile * BK + i / D;
            kv_tile[i] = align_k || row < params.kL ? v[row * params.V_strides[2] + i % D] : T(0);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        // diag(factors) o + p v
        simdgroup_matrix<float, 8, 8> diagonal;
        const int r = (lane & 16) / 4 + (lane & 6) / 2;   // row and first column of this lane's two elements
        const int c = (lane & 8) / 2 + (lane & 1) * 2;
        diagonal.thread_elements()[0] = r == c ? factors[sg * 8 + r] : 0.0f;
        diagonal.thread_elements()[1] = r == c + 1 ? factors[sg * 8 + r] : 0.0f;
        for (int i = 0; i < D / 8; ++i) {
            simdgroup_multiply(o[i], diagonal, o[i]);
            for (int part = 0; part < BK / 8; ++part) {
                simdgroup_matrix<float, 8, 8> p;
                simdgroup_matrix<T, 8, 8> b;
                simdgroup_load(p, scores + sg * 8 * BK + part * 8, BK);
                simdgroup_load(b, kv_tile + part * 8 * D + i * 8, D);
                simdgroup_multiply_accumulate(o[i], p, b, o[i]);
            }
        }
    }

    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (lane < 8) {
        factors[sg * 8 + lane] = sum == 0.0f ? 0.0f : 1.0f / sum;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    device T * out = O + batch * params.O_strides[0] + head * params.O_strides[1];
    for (int i = 0; i < D / 8; ++i) {
        simdgroup_store(o[i], scores + sg * 8 * BK, BK);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (int e = lane; e < 64; e += 32) {
            const int row = first + sg * 8 + e / 8;
            if (align_q || row < params.qL) {
                out[row * params.O_strides[2] + i * 8 + e % 8] = T(scores[(sg * 8 + e / 8) * BK + e % 8] * factors[sg * 8 + e / 8]);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

#define INSTANTIATE(name, type, d) \
    template [[host_name("attn_tiles_" #name "_" #d)]] kernel decltype(attn_tiles<type, d>) attn_tiles<type, d>;

INSTANTIATE(half, half, 64)
INSTANTIATE(half, half, 80)
INSTANTIATE(half, half, 128)
INSTANTIATE(bfloat, bfloat, 64)
INSTANTIATE(bfloat, bfloat, 128)
INSTANTIATE(float, float, 64)
