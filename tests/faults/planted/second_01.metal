// Decode attention of a single new token against a rotated 4-bit cache.
//
// Each simdgroup of 32 lanes is one of `nwg` helpers of a query head and walks through the cache in strides of nwg * 32 slots. The
// running output stays in registers; a lane always has the same columns of the row in its hands. With one helper the row is finished
// here, with more of them every helper leaves its output, its denominator and its maximum for the reduction.

#include <metal_stdlib>

using namespace metal;

constant constexpr uint kLanes = 32;

constant float kHidden = -65504.0f;

// What the 16 codes stand for.
constant float kLevels[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.1283950f,
    0.1283950f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

struct DecodeArgs {
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

// Four neighbouring coordinates out of two bytes, the lowest four bits first.
static inline float4 spell_out(ushort codes) {
    float4 result;
    for (short place = 0; place < 4; ++place) {
        result[place] = kLevels[(codes >> (4 * place)) & 15];
    }
    return result;
}

// Whether the newest token, which is its own key, may look at what lies in a slot.
static inline bool may_see(constant DecodeArgs & p, uint slot) {
    if (slot >= p.kv_seq_len) {
        return false;
    }
    const uint position = slot < p.ring_start ? slot + p.kv_capacity - p.ring_start : slot - p.ring_start;
    if (position >= p.kv_seq_len) {
        return false;
    }
    if (p.mask_type != 2 || p.sliding_window == 0) {
        return true;
    }
    const uint age = p.kv_seq_len - 1 - position;
    return age < p.sliding_window;
}

template <uint DIM>
kernel void attend(
        constant DecodeArgs & params      [[buffer(0)]],
        device const float  * Q           [[buffer(1)]],
        device const uchar  * K_packed    [[buffer(2)]],
        device const float  * K_norms     [[buffer(3)]],
        device const uchar  * V_packed    [[buffer(4)]],
        device const float  * V_norms     [[buffer(5)]],
        device       float  * dst         [[buffer(6)]],
        threadgroup  half   * shmem       [[threadgroup(0)]],
        uint3  where [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    constexpr uint QUADS = DIM / 4;          // groups of four coordinates in a row
    constexpr uint MINE  = QUADS / kLanes;   // of those, in the hands of a lane

    const uint helper  = where.z;
    const uint helpers = params.nwg;
    const uint row     = where.x * params.n_heads + where.y;
    const uint group   = params.n_heads / params.n_kv_heads;
    const uint line0   = (where.y / group) * params.kv_capacity;
    const uint n       = params.kv_seq_len;

    device const ushort * keys    = (device const ushort *) K_packed + line0 * QUADS;
    device const ushort * values  = (device const ushort *) V_packed + line0 * QUADS;
    device const float  * k_norms = K_norms + line0;
    device const float  * v_norms = V_norms + line0;

    // The query goes through half, as everywhere.
    threadgroup half4 * staged = (threadgroup half4 *) shmem;
    float4 query[MINE];
    float4 output[MINE];
    for (uint c = 0; c < MINE; ++c) {
        const uint quad = c * kLanes + lane;
        staged[quad] = half4(((device const float4 *) (Q + row * DIM))[quad]);
        query[c]     = float4(staged[quad]);
        output[c]    = float4(0.0f);
    }

    const float unit = rsqrt(float(DIM));

    float denominator = 0.0f;
    float highest     = -FLT_MAX / 2;

    for (uint base = helper * kLanes; base < n; base += helpers * kLanes) {
        const bool seen = may_see(params, base + lane);
        if (!simd_any(seen)) {
            continue;
        }

        const uint count = min(n - base, kLanes);

        float mine = 0.0f;
        for (uint t = 0; t < count; ++t) {
            device const ushort * key = keys + (base + t) * QUADS;
            const float size = k_norms[base + t] * unit;

            float product = 0.0f;
            for (uint c = 0; c < MINE; ++c) {
                product += dot(spell_out(key[c * kLanes + lane]) * size, query[c]);
            }
            product = simd_sum(product);
            mine    = t == lane ? product : mine;
        }

        const float s = fma(mine, params.scale, seen ? 0.0f : kHidden);

        const float before = highest;
        highest = max(before, simd_max(s));

        const float shrink = exp(before - highest);
        const float share  = exp(s - highest);

        denominator = denominator * shrink + simd_sum(share);

        float4 gathered[MINE];
        for (uint c = 0; c < MINE; ++c) {
            gathered[c] = float4(0.0f);
        }
        for (uint t = 0; t < count; ++t) {
            device const ushort * value = values + (base + t) * QUADS;
            const float weight = (v_norms[base + t] * unit) * simd_shuffle(share, ushort(t));

            for (uint c = 0; c < MINE; ++c) {
                gathered[c] += spell_out(value[c * kLanes + lane]) * weight;
            }
        }
        for (uint c = 0; c < MINE; ++c) {
            output[c] = output[c] * shrink + gathered[c];
        }
    }

    device float4 * out = (device float4 *) dst + row * QUADS * helpers;

    if (helpers > 1) {
        for (uint c = 0; c < MINE; ++c) {
            out[(c * kLanes + lane) * helpers + helper] = output[c];
        }
        if (lane == 0) {
            device float2 * pairs = (device float2 *) (dst + params.n_heads * DIM * helpers);
            pairs[row * helpers + helper] = float2(denominator, highest);
        }
        return;
    }

    const float inverse = denominator == 0.0f ? 0.0f : 1.0f / denominator;
    for (uint c = 0; c < MINE; ++c) {
        out[c * kLanes + lane] = output[c] * inverse;
    }
}

typedef decltype(attend<256>) attend_t;

template [[host_name("flash_attn_vec_tq_dk256")]] kernel attend_t attend<256>;
template [[host_name("flash_attn_vec_tq_dk512")]] kernel attend_t attend<512>;
