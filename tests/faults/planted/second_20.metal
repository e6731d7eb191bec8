// tqhb_v2: decode attention over a TurboQuant key/value cache of 5, 6 or 8 bits, one byte an index, one query token per head.
//
// A workgroup has NSG simdgroups, each with weights and an accumulator (a bank) of its own: simdgroup g of workgroup w takes
// the chunks w * NSG + g, then every (nwg * NSG)-th. Simdgroup 0 merges the banks at the end. The codebook is a function
// constant; four indices come with one load. With fuse_fwht_pre the query arrives unrotated and is rotated here.
//
// head_dim 256: one norm per position,             value = codebook[index] * (norm * rsqrt(256)).
// head_dim 512: one norm per block of 256 (two),   value = codebook[index] * (norm / scale_factor_d512).

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32
#define PADDED(x, n) (((x) + (n) - 1) / (n) * (n))

// Bits of an index; 8 unless the host says otherwise.
constant int kBitsConstant [[function_constant(50)]];
constant int kBits = is_function_constant_defined(kBitsConstant) ? kBitsConstant : 8;

// Lloyd-Max centroids of the unit normal distribution.
constant float kCodebook5[32] = {
    -3.260679f, -2.6910589f, -2.3176743f, -2.0286608f, -1.7871646f, -1.5761599f, -1.3862739f, -1.211741f,
    -1.0487242f, -0.8945114f, -0.7470884f, -0.6048936f, -0.4666676f, -0.331355f, -0.1980377f, -0.0658849f,
     0.0658849f,  0.1980377f,  0.331355f,  0.4666676f,  0.6048936f,  0.7470884f,  0.8945114f,  1.0487242f,
     1.211741f,  1.3862739f,  1.5761599f,  1.7871646f,  2.0286608f,  2.3176743f,  2.6910589f,  3.260679f,
};

constant float kCodebook6[64] = {
    -3.6996161f, -3.1907215f, -2.8640626f, -2.6161277f, -2.4129324f, -2.2388464f, -2.0853192f, -1.9471373f,
    -1.8208742f, -1.7041502f, -1.5952401f, -1.4928497f, -1.3959804f, -1.3038428f, -1.2157998f, -1.1313277f,
    -1.0499889f, -0.9714118f, -0.8952766f, -0.8213046f, -0.7492492f, -0.6788902f, -0.6100285f, -0.5424819f,
    -0.4760822f, -0.4106724f, -0.3461048f, -0.2822386f, -0.2189392f, -0.1560761f, -0.0935225f, -0.0311537f,
     0.0311537f,  0.0935225f,  0.1560761f,  0.2189392f,  0.2822386f,  0.3461048f,  0.4106724f,  0.4760822f,
     0.5424819f,  0.6100285f,  0.6788902f,  0.7492492f,  0.8213046f,  0.8952766f,  0.9714118f,  1.0499889f,
     1.1313277f,  1.2157998f,  1.3038428f,  1.3959804f,  1.4928497f,  1.5952401f,  1.7041502f,  1.8208742f,
     1.9471373f,  2.0853192f,  2.2388464f,  2.4129324f,  2.6161277f,  2.8640626f,  3.1907215f,  3.6996161f,
};

constant float kCodebook8[256] = {
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

// Additive mask of an invisible slot: the most negative half.
constant float kMasked = -65504.0f;

constant uint kMaskSlidingWindow = 2;

// Bit j % 8 of byte j / 8 set: coordinate j changes its sign. A head_dim of 256 uses the first half.
constant uchar kSigns[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

struct FlashAttnVecTqHbParams {
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

static_assert(sizeof(FlashAttnVecTqHbParams) == 60, "the host fills these 60 bytes");

static inline float centroid(uint index) {
    if (kBits == 5) {
        return kCodebook5[index & 0x1F];
    }
    if (kBits == 6) {
        return kCodebook6[index & 0x3F];
    }
    return kCodebook8[index & 0xFF];
}

static inline float4 centroids(uint packed) {
    return float4(centroid(packed), centroid(packed >> 8), centroid(packed >> 16), centroid(packed >> 24));
}

// R q = H diag(s) q of the row's elements lane * E .. lane * E + E - 1, in the order of operations of fwht_sign_premult_f32.
template <short D>
static inline void rotate(thread float (&x)[D / SIMD_WIDTH], ushort lane) {
    constexpr short E = D / SIMD_WIDTH;

    for (short e = 0; e < E; ++e) {
        const short j = lane * E + e;
        if ((kSigns[j / 8] >> (j % 8)) & 1) {
            x[e] = -x[e];
        }
    }

    for (short stride = 1; stride < E; stride *= 2) {
        for (short e = 0; e < E; ++e) {
            if ((e & stride) == 0) {
                const float a = x[e];
                const float b = x[e + stride];
                x[e]          = a + b;
                x[e + stride] = a - b;
            }
        }
    }

    for (ushort mask = 1; mask < SIMD_WIDTH; mask *= 2) {
        const bool upper = (lane & mask) != 0;
        for (short e = 0; e < E; ++e) {
            const float other = simd_shuffle_xor(x[e], mask);
            x[e] = upper ? other - x[e] : x[e] + other;
        }
    }

    const float scale = rsqrt(float(D));
    for (short e = 0; e < E; ++e) {
        x[e] *= scale;
    }
}

template <short D>
static inline float multiplier(device const float * norms, uint position, short block, float scale_factor_d512) {
    if (D == 256) {
        return norms[position] * rsqrt(float(D));
    }
    return norms[position * 2 + block] / scale_factor_d512;
}

template <short D>
kernel void flash_attn_vec_tq_hb(
        constant FlashAttnVecTqHbParams & params   [[buffer(0)]],
        device const float              * Q        [[buffer(1)]],
        device const uchar              * K_packed [[buffer(2)]],
        device const float              * K_norms  [[buffer(3)]],
        device const uchar              * V_packed [[buffer(4)]],
        device const float              * V_norms  [[buffer(5)]],
        device       float              * dst      [[buffer(6)]],
        threadgroup  half               * shmem    [[threadgroup(0)]],
        uint3  tgpig [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]],
        ushort sg    [[simdgroup_index_in_threadgroup]]) {
    constexpr short D4 = D / 4;              // float4 columns of a row
    constexpr short COLS = D4 / SIMD_WIDTH;  // of those, per lane
    constexpr short PK = PADDED(D, 128);
    constexpr short PV = PADDED(D, 128);
    constexpr short C = SIMD_WIDTH;          // slots per chunk
    constexpr short BLOCKS = D / 256;        // norms per position

    const uint query = tgpig[0];
    const uint head  = tgpig[1];
    const uint wg    = tgpig[2];

    const uint n    = params.kv_seq_len;
    const uint cap  = params.kv_capacity;
    const uint nwg  = params.nwg;
    const uint nsg  = params.nsg;

    const uint kv_head = head / (params.n_heads / params.n_kv_heads);

    // shmem: the query in half | per simdgroup 32 float weights (and as much again unused) | per simdgroup the accumulator in float
    threadgroup half4  * sq4 = (threadgroup half4 *) shmem;
    threadgroup float  * ss  = (threadgroup float *) (shmem + PK + sg * 4 * C);
    threadgroup float4 * so4 = (threadgroup float4 *) (shmem + PK + nsg * 4 * C + sg * 2 * PV);

    device const float * q = Q + (query * params.n_heads + head) * D;

    if (params.fuse_fwht_pre != 0) {
        // Every simdgroup rotates for itself and writes the same bits.
        constexpr short E = D / SIMD_WIDTH;
        float x[E];
        for (short e = 0; e < E; ++e) {
            x[e] = q[lane * E + e];
        }
        rotate<D>(x, lane);
        for (short e = 0; e < E; ++e) {
            shmem[lane * E + e] = half(x[e]);
        }
    } else {
        device const float4 * q4 = (device const float4 *) q;
        for (short i = 0; i < COLS; ++i) {
            sq4[lane + SIMD_WIDTH * i] = half4(q4[lane + SIMD_WIDTH * i]);
        }
    }
    for (short i = 0; i < COLS; ++i) {
        so4[lane + SIMD_WIDTH * i] = float4(0.0f);
    }

    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Four indices at a time.
    device const uint * k_row    = (device const uint *) (K_packed + kv_head * cap * D);
    device const uint * v_row    = (device const uint *) (V_packed + kv_head * cap * D);
    device const float * k_norms = K_norms + kv_head * cap * BLOCKS;
    device const float * v_norms = V_norms + kv_head * cap * BLOCKS;

    uint window_start = 0;
    if (params.mask_type == kMaskSlidingWindow && params.sliding_window > 0 && params.sliding_window < n) {
        window_start = n - params.sliding_window;
    }

    float M = -FLT_MAX / 2;
    float S = 0.0f;

    for (uint chunk = wg * nsg + sg; chunk * C < n; chunk += nwg * nsg) {
        const uint first = chunk * C;
        const uint slot  = first + lane;

        const uint logical = (slot - params.ring_start + cap) % cap;
        const bool masked  = slot >= n || logical >= n || logical < window_start;
        const float mask   = masked ? kMasked : 0.0f;

        if (simd_max(mask) <= kMasked) {
            continue;
        }

        const short live = short(min(uint(C), n - first));

        float qk = 0.0f;
        for (short t = 0; t < live; ++t) {
            device const uint * k = k_row + (first + t) * D4;

            float partial = 0.0f;
            for (short i = 0; i < COLS; ++i) {
                const short column = lane + SIMD_WIDTH * i;
                const float sn = multiplier<D>(k_norms, first + t, column / 64, params.scale_factor_d512);
                partial += dot(centroids(k[column]) * sn, float4(sq4[column]));
            }
            partial = simd_sum(partial);

            if (t == lane) {
                qk = partial;
            }
        }

        const float score = fma(qk, params.scale, mask);
        const float m     = M;

        M = max(M, simd_max(score));

        const float ms = exp(m - M);
        const float vs = exp(score - M);

        S = S * ms + simd_sum(vs);

        ss[lane] = vs;
        for (short i = 0; i < COLS; ++i) {
            so4[lane + SIMD_WIDTH * i] *= ms;
        }

        simdgroup_barrier(mem_flags::mem_threadgroup);

        float4 lo[COLS];
        for (short i = 0; i < COLS; ++i) {
            lo[i] = float4(0.0f);
        }
        // Two slots a turn.
        const short turns = (live + 1) / 2;
        for (short turn = 0; turn < turns; ++turn) {
            for (short t = 2 * turn; t < min(2 * turn + 2, int(live)); ++t) {
                device const uint * v = v_row + (first + t) * D4;

                for (short i = 0; i < COLS; ++i) {
                    const short column = lane + SIMD_WIDTH * i;
                    const float w = multiplier<D>(v_norms, first + t, column / 64, params.scale_factor_d512) * ss[t];
                    lo[i] += centroids(v[column]) * w;
                }
            }
        }
        for (short i = 0; i < COLS; ++i) {
            so4[lane + SIMD_WIDTH * i] += lo[i];
        }

        // The next chunk's weights overwrite those that slower lanes may still be reading.
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

    if (nsg > 1) {
        // The weights are done with: their place holds each bank's denominator and maximum.
        if (lane == 0) {
            ss[0] = S;
            ss[1] = M;
        }

        threadgroup_barrier(mem_flags::mem_threadgroup);

        if (sg != 0) {
            return;
        }

        M = -FLT_MAX / 2;
        for (uint g = 0; g < nsg; ++g) {
            M = max(M, ss[g * 2 * C + 1]);
        }

        S = 0.0f;
        float4 merged[COLS];
        for (short i = 0; i < COLS; ++i) {
            merged[i] = float4(0.0f);
        }
        for (uint g = 0; g < nsg; ++g) {
            const float factor = exp(ss[g * 2 * C + 1] - M);
            S += ss[g * 2 * C] * factor;
            for (short i = 0; i < COLS; ++i) {
                merged[i] += so4[g * (PV / 4) + lane + SIMD_WIDTH * i] * factor;
            }
        }
        for (short i = 0; i < COLS; ++i) {
            so4[lane + SIMD_WIDTH * i] = merged[i];
        }

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

typedef decltype(flash_attn_vec_tq_hb<256>) flash_attn_vec_tq_hb_t;

template [[host_name("flash_attn_vec_tq_hb_dk256")]] kernel flash_attn_vec_tq_hb_t flash_attn_vec_tq_hb<256>;
template [[host_name("flash_attn_vec_tq_hb_dk512")]] kernel flash_attn_vec_tq_hb_t flash_attn_vec_tq_hb<512>;
