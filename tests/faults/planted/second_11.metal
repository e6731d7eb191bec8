// One new token attends to a 4-bit cache. A row of 256 coordinates has one norm, a row of 512 has one for each half.
//
// A simdgroup works through spans of 32 slots, every nwg-th span of the cache being its own. It first scores the span, then moves the
// softmax on, then adds the values. All of its state but the query and the shares of the span is in registers.

#include <metal_stdlib>

using namespace metal;

constant constexpr uint kLanes = 32;

constant float kLevels[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.1283950f,
    0.1283950f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

struct SpanArgs {
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
    float scale_factor_d512;
};

// Denominator and maximum of an online softmax.
struct Softmax {
    float sum;
    float top;
};

static inline float4 decode(uchar2 bytes) {
    return float4(kLevels[bytes.x & 15], kLevels[bytes.x >> 4], kLevels[bytes.y & 15], kLevels[bytes.y >> 4]);
}

// What the levels of each block of a row are multiplied with.
template <uint DIM>
static inline void load_sizes(thread float * sizes, device const float * norms, uint line, float divisor) {
    if (DIM == 256) {
        sizes[0] = rsqrt(256.0f) * norms[line];
    } else {
        for (uint b = 0; b < DIM / 256; ++b) {
            sizes[b] = norms[line * (DIM / 256) + b] / divisor;
        }
    }
}

// Takes in one score a lane; returns the factor for what was gathered so far, and turns the score into its share.
static inline float advance(thread Softmax & state, thread float & score) {
    const float top   = max(state.top, simd_max(score));
    const float decay = exp(state.top - top);
    score     = exp(score - top);
    state.sum = state.sum * decay + simd_sum(score);
    state.top = top;
    return decay;
}

template <uint DIM>
kernel void attend_spans(
        constant SpanArgs    & params   [[buffer(0)]],
        device const float   * Q        [[buffer(1)]],
        device const uchar   * K_packed [[buffer(2)]],
        device const float   * K_norms  [[buffer(3)]],
        device const uchar   * V_packed [[buffer(4)]],
        device const float   * V_norms  [[buffer(5)]],
        device       float   * dst      [[buffer(6)]],
        threadgroup  half    * shmem    [[threadgroup(0)]],
        uint3  place [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    constexpr uint QUADS     = DIM / 4;
    constexpr uint MINE      = QUADS / kLanes;  // quads of a lane
    constexpr uint BLOCKS    = DIM / 256;
    constexpr uint PER_BLOCK = MINE / BLOCKS;   // of those, in one block

    const uint row   = place.y + place.x * params.n_heads;
    const uint nwg   = params.nwg;
    const uint n     = params.kv_seq_len;
    const uint cap   = params.kv_capacity;
    const uint first_line = place.y / (params.n_heads / params.n_kv_heads) * cap;

    threadgroup half4 * q_half = (threadgroup half4 *) shmem;
    threadgroup float * shares = (threadgroup float *) (q_half + QUADS);

    device const float4 * q_row = (device const float4 *) Q + row * QUADS;
    for (uint quad = lane; quad < QUADS; quad += kLanes) {
        q_half[quad] = half4(q_row[quad]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    float4 o[MINE];
    for (uint c = 0; c < MINE; ++c) {
        o[c] = float4(0.0f);
    }
    Softmax state = {0.0f, -FLT_MAX / 2};

    const bool windowed = params.mask_type == 2 && params.sliding_window != 0;
    const uint oldest   = windowed ? n - min(n, params.sliding_window) : 0;

    const uint spans = (n + kLanes - 1) / kLanes;
    for (uint span = place.z; span < spans; span += nwg) {
        const uint start  = span * kLanes;
        const uint length = min(kLanes, n - start);

        const uint age_rank = (start + lane + cap - params.ring_start) % cap;
        const bool counts   = lane < length && age_rank < n && age_rank >= oldest;
        if (!simd_any(counts)) {
            continue;
        }

        // Scores.
        float score = 0.0f;
        for (uint t = 0; t < length; ++t) {
            const uint line = first_line + start + t;
            device const uchar2 * k_line = (device const uchar2 *) K_packed + line * QUADS;
            float sizes[BLOCKS];
            load_sizes<DIM>(sizes, K_norms, line, params.scale_factor_d512);

            float product = 0.0f;
            for (uint c = 0; c < MINE; ++c) {
                const uint quad = lane + kLanes * c;
                product += dot(decode(k_line[quad]) * sizes[c / PER_BLOCK], float4(q_half[quad]));
            }
            product = simd_sum(product);
            if (lane == t) {
                score = product;
            }
        }
        score = fma(score, params.scale, counts ? 0.0f : -65504.0f);

        // Softmax.
        const float decay = advance(state, score);
        shares[lane] = score;
        simdgroup_barrier(mem_flags::mem_threadgroup);

        // Values.
        float4 gathered[MINE];
        for (uint c = 0; c < MINE; ++c) {
            gathered[c] = float4(0.0f);
        }
        for (uint t = 0; t < length; ++t) {
            const uint line = first_line + start + t;
            device const uchar2 * v_line = (device const uchar2 *) V_packed + line * QUADS;
            float sizes[BLOCKS];
            load_sizes<DIM>(sizes, V_norms, line, params.scale_factor_d512);

            const float weight = shares[t];
            for (uint c = 0; c < MINE; ++c) {
                gathered[c] += decode(v_line[lane + kLanes * c]) * (sizes[c / PER_BLOCK] * weight);
            }
        }
        for (uint c = 0; c < MINE; ++c) {
            o[c] *= decay;
            o[c] += gathered[c];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    device float4 * result = (device float4 *) dst;
    const float inverse = state.sum == 0.0f ? 0.0f : 1.0f / state.sum;
    for (uint c = 0; c < MINE; ++c) {
        const uint quad = row * QUADS + lane + kLanes * c;
        if (nwg == 1) {
            result[quad] = o[c] * inverse;
        } else {
            result[quad * nwg + place.z] = o[c];
        }
    }
    if (nwg != 1 && lane < 2) {
        dst[nwg * (params.n_heads * DIM + 2 * row) + 2 * place.z + lane] = lane == 0 ? state.sum : state.top;
    }
}

typedef decltype(attend_spans<256>) attend_spans_t;

template [[host_name("flash_attn_vec_tq_dk256")]] kernel attend_spans_t attend_spans<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel attend_spans_t attend_spans<512>;
