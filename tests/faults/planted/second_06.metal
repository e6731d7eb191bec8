// tq4_v1: decode attention over a 4-bit TurboQuant key/value cache, one query token per head.
//
// One threadgroup of one simdgroup is one of `nwg` workgroups that share a query head. It visits every nwg-th chunk of
// 32 physical cache slots, keeps an online softmax (maximum M, denominator S) and an unnormalised output in float, and
// writes either the finished row (nwg == 1) or its raw partial result for flash_attn_vec_reduce_dk* to merge.
//
// Keys, values and the query are in the rotated domain. A cache row is head_dim/2 bytes, two indices a byte with the
// even coordinate in the low nibble, and one norm: value = kCodebook[index] * (norm * rsqrt(head_dim)).

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32
#define PADDED(x, n) (((x) + (n) - 1) / (n) * (n))

// Lloyd-Max centroids of the unit normal distribution, 16 levels.
constant float kCodebook[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.1283950f,
    0.1283950f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

// Additive mask of an invisible slot: the most negative half.
constant float kMasked = -65504.0f;

constant uint kMaskSlidingWindow = 2;

struct FlashAttnVecTqParams {
    uint  n_heads;
    uint  n_kv_heads;
    uint  head_dim;
    uint  kv_seq_len;
    uint  kv_capacity;
    float scale;
    uint  mask_type;
    uint  sliding_window;
    float softcap;
    uint  nwg;
    uint  ring_start;
};

static_assert(sizeof(FlashAttnVecTqParams) == 44, "the host fills these 44 bytes");

// The centroids of four consecutive coordinates: two packed bytes, read as one little-endian ushort.
static inline float4 centroids(ushort packed) {
    return float4(kCodebook[packed & 0xF], kCodebook[(packed >> 4) & 0xF], kCodebook[(packed >> 8) & 0xF], kCodebook[packed >> 12]);
}

template <short D>
kernel void flash_attn_vec_tq(
        constant FlashAttnVecTqParams & params   [[buffer(0)]],
        device const float            * Q        [[buffer(1)]],
        device const uchar            * K_packed [[buffer(2)]],
        device const float            * K_norms  [[buffer(3)]],
        device const uchar            * V_packed [[buffer(4)]],
        device const float            * V_norms  [[buffer(5)]],
        device       float            * dst      [[buffer(6)]],
        threadgroup  half             * shmem    [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    constexpr short D4 = D / 4;             // float4 columns of a row
    constexpr short COLS = D4 / SIMD_WIDTH;  // of those, per lane
    constexpr short PK = PADDED(D, 128);
    constexpr short C = SIMD_WIDTH;          // slots per chunk
    constexpr short ROW = D4;                // ushorts of a packed row

    const uint query = tgpig[0];
    const uint head  = tgpig[1];
    const uint wg    = tgpig[2];

    const uint n   = params.kv_seq_len;
    const uint cap = params.kv_capacity;
    const uint nwg = params.nwg;

    const uint kv_head = head / (params.n_heads / params.n_kv_heads);

    // shmem: the query in half | 32 float weights (and as much again unused) | the accumulator in float
    threadgroup half4  * sq4 = (threadgroup half4 *) shmem;
    threadgroup float  * ss  = (threadgroup float *) (shmem + PK);
    threadgroup float4 * so4 = (threadgroup float4 *) (shmem + PK + 4 * C);

    device const float4 * q4 = (device const float4 *) (Q + (query * params.n_heads + head) * D);

    for (short i = 0; i < COLS; ++i) {
        sq4[lane + SIMD_WIDTH * i] = half4(q4[lane + SIMD_WIDTH * i]);
        so4[lane + SIMD_WIDTH * i] = float4(0.0f);
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);

    // A lane multiplies the same columns of the query with every key.
    float4 mq[COLS];
    for (short i = 0; i < COLS; ++i) {
        mq[i] = float4(sq4[lane + SIMD_WIDTH * i]);
    }

    device const ushort * k_row   = (device const ushort *) (K_packed + kv_head * cap * (D / 2));
    device const ushort * v_row   = (device const ushort *) (V_packed + kv_head * cap * (D / 2));
    device const float  * k_norms = K_norms + kv_head * cap;
    device const float  * v_norms = V_norms + kv_head * cap;

    const float norm_scale = rsqrt(float(D));

    uint window_start = 0;
    if (params.mask_type == kMaskSlidingWindow && params.sliding_window > 0 && params.sliding_window < n) {
        window_start = n - params.sliding_window;
    }

    float M = -FLT_MAX / 2;
    float S = 0.0f;

    for (uint chunk = wg; chunk * C < n; chunk += nwg) {
        const uint first = chunk * C;
        const uint slot  = first + lane;

        // Where this lane's slot stands in time: 0 is the oldest position.
        const uint logical = (slot - params.ring_start + cap) % cap;
        const bool masked  = slot >= n || logical >= n || logical < window_start;
        const float mask   = masked ? kMasked : 0.0f;

        if (simd_max(mask) <= kMasked) {
            continue;
        }

        const short live = short(min(uint(C), n - first));

        // Q*K^T: the lanes share one key at a time, and lane t keeps the product of slot t.
        float qk = 0.0f;
        for (short t = 0; t < live; ++t) {
            const float sn = k_norms[first + t] * norm_scale;
            device const ushort * k = k_row + (first + t) * ROW;

            float partial = 0.0f;
            for (short i = 0; i < COLS; ++i) {
                partial += dot(centroids(k[lane + SIMD_WIDTH * i]) * sn, mq[i]);
            }
            partial = simd_sum(partial);

            if (t == lane) {
                qk = partial;
            }
        }

        // Online softmax. Slots behind the last position score the mask value, which vanishes beside any visible slot.
        const float score = fma(qk, params.scale, mask);
        const float m     = M;

        M = max(M, simd_max(score));

        const float ms = exp(m - M);
        const float vs = exp(score - M);

        S = S * ms + simd_sum(vs);

        ss[lane] = vs;
        // Most chunks leave the maximum where it is, and the output with it.
        if (ms != 1.0f) {
            for (short i = 0; i < COLS; ++i) {
                so4[lane + SIMD_WIDTH * i] *= ms;
            }
        }

        simdgroup_barrier(mem_flags::mem_threadgroup);

        // O += P*V: a lane gathers its own columns over the slots of the chunk before it touches the accumulator.
        float4 lo[COLS];
        for (short i = 0; i < COLS; ++i) {
            lo[i] = float4(0.0f);
        }
        for (short t = 0; t < live; ++t) {
            const float w = (v_norms[first + t] * norm_scale) * ss[t];
            device const ushort * v = v_row + (first + t) * ROW;

            for (short i = 0; i < COLS; ++i) {
                lo[i] += centroids(v[lane + SIMD_WIDTH * i]) * w;
            }
        }
        for (short i = 0; i < COLS; ++i) {
            so4[lane + SIMD_WIDTH * i] += lo[i];
        }

        // The next chunk's weights overwrite those that slower lanes may still be reading.
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    const uint row = head + query * params.n_heads;

    device float4 * dst4 = (device float4 *) dst;

    if (nwg == 1) {
        const float inv = S == 0.0f ? 0.0f : 1.0f / S;
        for (short i = lane; i < D4; i += SIMD_WIDTH) {
            dst4[row * D4 + i] = so4[i] * inv;
        }
    } else {
        for (short i = lane; i < D4; i += SIMD_WIDTH) {
            dst4[row * D4 * nwg + nwg * i + wg] = so4[i];
        }
        if (lane == 0) {
            device float * tail = dst + params.n_heads * D * nwg;
            tail[row * 2 * nwg + 2 * wg + 0] = S;
            tail[row * 2 * nwg + 2 * wg + 1] = M;
        }
    }
}

typedef decltype(flash_attn_vec_tq<256>) flash_attn_vec_tq_t;

template [[host_name("flash_attn_vec_tq_dk256")]] kernel flash_attn_vec_tq_t flash_attn_vec_tq<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel flash_attn_vec_tq_t flash_attn_vec_tq<512>;
