// Decode attention with a cache of one byte per coordinate (5, 6 or 8 bits of it in use), several simdgroups to a workgroup.
//
// The simdgroups of all workgroups of a head are numbered through and deal the spans of 32 slots out among themselves. Each one keeps
// its output in registers and lays it down in threadgroup memory at the end only, where the first one adds them up.

#include <metal_stdlib>

using namespace metal;

constant int kAsked [[function_constant(50)]];
constant int kWidth = is_function_constant_defined(kAsked) ? kAsked : 8;

constant constexpr uint kLanes = 32;

constant float kLevelsOf5[32] = {
    -3.260679f, -2.6910589f, -2.3176743f, -2.0286608f, -1.7871646f, -1.5761599f, -1.3862739f, -1.211741f,
    -1.0487242f, -0.8945114f, -0.7470884f, -0.6048936f, -0.4666676f, -0.331355f, -0.1980377f, -0.0658849f,
     0.0658849f,  0.1980377f,  0.331355f,  0.4666676f,  0.6048936f,  0.7470884f,  0.8945114f,  1.0487242f,
     1.211741f,  1.3862739f,  1.5761599f,  1.7871646f,  2.0286608f,  2.3176743f,  2.6910589f,  3.260679f,
};

constant float kLevelsOf6[64] = {
    -3.6996161f, -3.1907215f, -2.8640626f, -2.6161277f, -2.4129324f, -2.2388464f, -2.0853192f, -1.9471373f,
    -1.8208742f, -1.7041502f, -1.5952401f, -1.4928497f, -1.3959804f, -1.3038428f, -1.2157998f, -1.1313277f,
    -1.0499889f, -0.9714118f, -0.8952766f, -0.8213046f, -0.7492492f, -0.6788902f, -0.6100285f, -0.5424819f,
    -0.4760822f, -0.4106724f, -0.3461048f, -0.2822386f, -0.2189392f, -0.1560761f, -0.0935225f, -0.0311537f,
     0.0311537f,  0.0935225f,  0.1560761f,  0.2189392f,  0.2822386f,  0.3461048f,  0.4106724f,  0.4760822f,
     0.5424819f,  0.6100285f,  0.6788902f,  0.7492492f,  0.8213046f,  0.8952766f,  0.9714118f,  1.0499889f,
     1.1313277f,  1.2157998f,  1.3038428f,  1.3959804f,  1.4928497f,  1.5952401f,  1.7041502f,  1.8208742f,
     1.9471373f,  2.0853192f,  2.2388464f,  2.4129324f,  2.6161277f,  2.8640626f,  3.1907215f,  3.6996161f,
};

constant float kLevelsOf8[256] = {
    -5.0652659f, -4.6836997f, -4.4467193f, -4.2715508f, -4.1311907f, -4.0132856f, -3.9111092f, -3.820578f,
    -3.7390194f, -3.6645851f, -3.5959415f, -3.5320936f, -3.4722785f, -3.4158977f, -3.3624729f, -3.3116156f,
    -3.2630056f, -3.2163758f, -3.1715011f, -3.1281899f, -3.086278f, -3.0456229f, -3.0061011f, -2.967604f,
    -2.9300362f, -2.8933131f, -2.8573596f, -2.8221086f, -2.7874999f, -2.7534795f, -2.7199985f, -2.6870129f,
    -2.6544825f, -2.622371f, -2.5906452f, -2.5592748f, -2.5282321f, -2.4974918f, -2.4670306f, -2.436827f,
    -2.4068614f, -2.3771157f, -2.3475732f, -2.3182184f, -2.2890372f, -2.2600165f, -2.231144f, -2.2024086f,
    -2.1737998f, -2.1453081f, -2.1169245f, -2.0886408f, -2.0604493f, -2.032343f, -2.0043154f, -1.9763603f,
    -1.9484722f, -1.9206458f, -1.8928763f, -1.8651592f, -1.8374904f, -1.8098662f, -1.7822828f, -1.7547372f,
    -1.7272261f, -1.6997469f, -1.672297f, -1.6448739f, -1.6174755f, -1.5900996f, -1.5627445f, -1.5354084f,
    -1.5080897f, -1.4807869f, -1.4534986f, -1.4262237f, -1.398961f, -1.3717093f, -1.3444678f, -1.3172356f,
    -1.2900118f, -1.2627956f, -1.2355865f, -1.2083838f, -1.1811868f, -1.1539951f, -1.1268081f, -1.0996255f,
    -1.0724469f, -1.0452718f, -1.0180999f, -0.990931f, -0.9637647f, -0.9366008f, -0.909439f, -0.8822793f,
    -0.8551212f, -0.8279648f, -0.8008098f, -0.7736561f, -0.7465035f, -0.719352f, -0.6922014f, -0.6650517f,
    -0.6379027f, -0.6107544f, -0.5836067f, -0.5564596f, -0.5293129f, -0.5021667f, -0.4750208f, -0.4478753f,
    -0.4207301f, -0.3935852f, -0.3664405f, -0.339296f, -0.3121517f, -0.2850076f, -0.2578636f, -0.2307198f,
    -0.2035761f, -0.1764324f, -0.1492888f, -0.1221453f, -0.0950019f, -0.0678584f, -0.0407151f, -0.0135717f,
     0.0135717f,  0.0407151f,  0.0678584f,  0.0950019f,  0.1221453f,  0.1492888f,  0.1764324f,  0.2035761f,
     0.2307198f,  0.2578636f,  0.2850076f,  0.3121517f,  0.339296f,  0.3664405f,  0.3935852f,  0.4207301f,
     0.4478753f,  0.4750208f,  0.5021667f,  0.5293129f,  0.5564596f,  0.5836067f,  0.6107544f,  0.6379027f,
     0.6650517f,  0.6922014f,  0.719352f,  0.7465035f,  0.7736561f,  0.8008098f,  0.8279648f,  0.8551212f,
     0.8822793f,  0.909439f,  0.9366008f,  0.9637647f,  0.990931f,  1.0180999f,  1.0452718f,  1.0724469f,
     1.0996255f,  1.1268081f,  1.1539951f,  1.1811868f,  1.2083838f,  1.2355865f,  1.2627956f,  1.2900118f,
     1.3172356f,  1.3444678f,  1.3717093f,  1.398961f,  1.4262237f,  1.4534986f,  1.4807869f,  1.5080897f,
     1.5354084f,  1.5627445f,  1.5900996f,  1.6174755f,  1.6448739f,  1.672297f,  1.6997469f,  1.7272261f,
     1.7547372f,  1.7822828f,  1.8098662f,  1.8374904f,  1.8651592f,  1.8928763f,  1.9206458f,  1.9484722f,
     1.9763603f,  2.0043154f,  2.032343f,  2.0604493f,  2.0886408f,  2.1169245f,  2.1453081f,  2.1737998f,
     2.2024086f,  2.231144f,  2.2600165f,  2.2890372f,  2.3182184f,  2.3475732f,  2.3771157f,  2.4068614f,
     2.436827f,  2.4670306f,  2.4974918f,  2.5282321f,  2.5592748f,  2.5906452f,  2.622371f,  2.6544825f,
     2.6870129f,  2.7199985f,  2.7534795f,  2.7874999f,  2.8221086f,  2.8573596f,  2.8933131f,  2.9300362f,
     2.967604f,  3.0061011f,  3.0456229f,  3.086278f,  3.1281899f,  3.1715011f,  3.2163758f,  3.2630056f,
     3.3116156f,  3.3624729f,  3.4158977f,  3.4722785f,  3.5320936f,  3.5959415f,  3.6645851f,  3.7390194f,
     3.820578f,  3.9111092f,  4.0132856f,  4.1311907f,  4.2715508f,  4.4467193f,  4.6836997f,  5.0652659f,
};

// Set bits: coordinates whose sign turns before the transform, eight to a byte.
constant uchar kTurned[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

struct BankArgs {
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
    uint  codebook_bits;
    uint  fuse_fwht_pre;
    uint  nsg;
};

// The level of the index in the lowest byte.
static inline float level(uint word) {
    switch (kWidth) {
        case 5:  return kLevelsOf5[word % 32];
        case 6:  return kLevelsOf6[word % 64];
        default: return kLevelsOf8[word % 256];
    }
}

// A span's slot in the order of time, the oldest first.
static inline uint rank_of(uint slot, uint ring_start, uint cap) {
    const uint turned = slot + (cap - ring_start);
    return turned % cap;
}

template <uint DIM>
static inline float size_of(device const float * norms, uint line, uint quad, float divisor) {
    return DIM == 256 ? norms[line] * rsqrt(256.0f) : norms[2 * line + quad / 64] / divisor;
}

// A lane's stretch of the query, rotated.
template <uint MINE>
static inline void rotate_stretch(thread float * x, uint lane) {
    for (uint e = 0; e < MINE; ++e) {
        const uint coordinate = lane * MINE + e;
        const bool turned = (kTurned[coordinate >> 3] & (1 << (coordinate & 7))) != 0;
        x[e] = turned ? -x[e] : x[e];
    }
    for (uint distance = 1; distance < MINE; distance *= 2) {
        for (uint begin = 0; begin < MINE; begin += 2 * distance) {
            for (uint e = begin; e < begin + distance; ++e) {
                const float low  = x[e];
                const float high = x[e + distance];
                x[e]            = low + high;
                x[e + distance] = low - high;
            }
        }
    }
    for (ushort distance = 1; distance < kLanes; distance *= 2) {
        for (uint e = 0; e < MINE; ++e) {
            const float theirs = simd_shuffle_xor(x[e], distance);
            x[e] = (lane & distance) != 0 ? theirs - x[e] : x[e] + theirs;
        }
    }
    const float orthonormal = rsqrt(float(MINE * kLanes));
    for (uint e = 0; e < MINE; ++e) {
        x[e] *= orthonormal;
    }
}

template <uint DIM>
kernel void attend_banks(
        constant BankArgs   & params   [[buffer(0)]],
        device const float  * Q        [[buffer(1)]],
        device const uchar  * K_packed [[buffer(2)]],
        device const float  * K_norms  [[buffer(3)]],
        device const uchar  * V_packed [[buffer(4)]],
        device const float  * V_norms  [[buffer(5)]],
        device       float  * dst      [[buffer(6)]],
        threadgroup  half   * shmem    [[threadgroup(0)]],
        uint3  place [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort bank  [[simdgroup_index_in_threadgroup]]) {
    constexpr uint QUADS  = DIM / 4;
    constexpr uint MINE   = QUADS / kLanes;  // quads of a lane
    constexpr uint BLOCKS = DIM / 256;

    const uint banks = params.nsg;
    const uint n     = params.kv_seq_len;
    const uint cap   = params.kv_capacity;
    const uint row   = place.x * params.n_heads + place.y;

    // Threadgroup memory: query | 64 floats a bank: shares, in the end denominator and maximum | a row a bank
    threadgroup half4  * query   = (threadgroup half4 *) shmem;
    threadgroup float2 * ledger  = (threadgroup float2 *) (shmem + DIM);
    threadgroup float  * shares  = (threadgroup float *) (ledger + bank * kLanes);
    threadgroup float4 * outputs = (threadgroup float4 *) (ledger + banks * kLanes);

    device const float * q_row = Q + row * DIM;
    if (params.fuse_fwht_pre == 0) {
        for (uint quad = lane; quad < QUADS; quad += kLanes) {
            query[quad] = half4(((device const float4 *) q_row)[quad]);
        }
    } else {
        constexpr uint STRETCH = DIM / kLanes;
        float x[STRETCH];
        for (uint e = 0; e < STRETCH; ++e) {
            x[e] = q_row[lane * STRETCH + e];
        }
        rotate_stretch<STRETCH>(x, lane);
        for (uint e = 0; e < STRETCH; ++e) {
            shmem[lane * STRETCH + e] = half(x[e]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const uint line0 = place.y / (params.n_heads / params.n_kv_heads) * cap;
    device const uchar4 * keys    = (device const uchar4 *) K_packed + line0 * QUADS;
    device const uint   * values  = (device const uint *) V_packed + line0 * QUADS;
    device const float  * k_norms = K_norms + line0 * BLOCKS;
    device const float  * v_norms = V_norms + line0 * BLOCKS;

    uint oldest = 0;
    if (params.mask_type == 2 && params.sliding_window - 1 < n) {
        oldest = n - params.sliding_window;
    }

    float4 output[MINE];
    for (uint c = 0; c < MINE; ++c) {
        output[c] = float4(0.0f);
    }
    float denominator = 0.0f;
    float maximum     = -FLT_MAX / 2;

    const uint step = params.nwg * banks * kLanes;
    for (uint base = (place.z * banks + bank) * kLanes; base < n; base += step) {
        const uint length = min(n - base, kLanes);
        const uint rank   = rank_of(base + lane, params.ring_start, cap);
        const bool hidden = lane >= length || rank >= n || rank < oldest;
        if (simd_all(hidden)) {
            continue;
        }

        float score = 0.0f;
        for (uint t = 0; t < length; ++t) {
            float product = 0.0f;
            for (uint c = 0; c < MINE; ++c) {
                const uint quad = c * kLanes + lane;
                const uchar4 four = keys[(base + t) * QUADS + quad];
                const float4 levels = float4(level(four.x), level(four.y), level(four.z), level(four.w));
                product += dot(levels * size_of<DIM>(k_norms, base + t, quad, params.scale_factor_d512), float4(query[quad]));
            }
            product = simd_sum(product);
            score   = t == lane ? product : score;
        }
        score = fma(score, params.scale, hidden ? -65504.0f : 0.0f);

        const float before = maximum;
        maximum = max(maximum, simd_max(score));
        const float decay = exp(before - maximum);
        const float share = exp(score - maximum);
        denominator = denominator * decay + simd_sum(share);

        shares[lane] = share;
        simdgroup_barrier(mem_flags::mem_threadgroup);

        float4 sum[MINE];
        for (uint c = 0; c < MINE; ++c) {
            sum[c] = float4(0.0f);
        }
        for (uint t = 0; t < length; ++t) {
            for (uint c = 0; c < MINE; ++c) {
                const uint quad = c * kLanes + lane;
                const uint four = values[(base + t) * QUADS + quad];
                const float4 levels = float4(level(four), level(four >> 8), level(four >> 16), level(four >> 24));
                const float weight = size_of<DIM>(v_norms, base + t, quad, params.scale_factor_d512) * shares[t];
                sum[c] += levels * weight;
            }
        }
        for (uint c = 0; c < MINE; ++c) {
            output[c] = output[c] * decay;
            output[c] = output[c] + sum[c];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (banks != 1) {
        for (uint c = 0; c < MINE; ++c) {
            outputs[bank * QUADS + c * kLanes + lane] = output[c];
        }
        if (lane == 0) {
            ledger[bank * kLanes] = float2(denominator, maximum);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        if (bank > 0) {
            return;
        }

        maximum = ledger[0].y;
        for (uint b = 1; b < banks; ++b) {
            maximum = max(maximum, ledger[b * kLanes].y);
        }
        denominator = 0.0f;
        for (uint c = 0; c < MINE; ++c) {
            output[c] = float4(0.0f);
        }
        for (uint b = 0; b < banks; ++b) {
            const float2 entry = ledger[b * kLanes];
            const float factor = exp(entry.y - maximum);
            denominator += entry.x * factor;
            for (uint c = 0; c < MINE; ++c) {
                output[c] += outputs[b * QUADS + c * kLanes + lane] * factor;
            }
        }
    }

    device float4 * out = (device float4 *) dst;
    if (params.nwg == 1) {
        const float inverse = denominator == 0.0f ? 0.0f : 1.0f / denominator;
        for (uint c = 0; c < MINE; ++c) {
            out[row * QUADS + c * kLanes + lane] = output[c] * inverse;
        }
    } else {
        for (uint c = 0; c < MINE; ++c) {
            out[(row * QUADS + c * kLanes + lane) * params.nwg + place.z] = output[c];
        }
        if (lane == 0) {
            device float2 * pairs = (device float2 *) (dst + params.n_heads * DIM * params.nwg);
            pairs[row * params.nwg + place.z] = float2(denominator, maximum);
        }
    }
}

typedef decltype(attend_banks<256>) attend_banks_t;

template [[host_name("flash_attn_vec_tq_hb_dk256")]] kernel attend_banks_t attend_banks<256>;
template [[host_name("flash_attn_vec_tq_hb_dk512")]] kernel attend_banks_t attend_banks<512>;
