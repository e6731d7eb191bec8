// Decode over the byte-coded cache (5, 6 or 8 bits). Split-K: workgroup w of a head looks at pages w, w + W, ... of 32 slots. Weights are
// handed from lane to lane, the running output stays in registers; threadgroup memory only holds the rounded query.

#include <metal_stdlib>
using namespace metal;

constant float levels5[32] = {
    -3.260679f, -2.6910589f, -2.3176743f, -2.0286608f, -1.7871646f, -1.5761599f, -1.3862739f, -1.211741f,
    -1.0487242f, -0.8945114f, -0.7470884f, -0.6048936f, -0.4666676f, -0.331355f, -0.1980377f, -0.0658849f,
     0.0658849f,  0.1980377f,  0.331355f,  0.4666676f,  0.6048936f,  0.7470884f,  0.8945114f,  1.0487242f,
     1.211741f,  1.3862739f,  1.5761599f,  1.7871646f,  2.0286608f,  2.3176743f,  2.6910589f,  3.260679f,
};

constant float levels6[64] = {
    -3.6996161f, -3.1907215f, -2.8640626f, -2.6161277f, -2.4129324f, -2.2388464f, -2.0853192f, -1.9471373f,
    -1.8208742f, -1.7041502f, -1.5952401f, -1.4928497f, -1.3959804f, -1.3038428f, -1.2157998f, -1.1313277f,
    -1.0499889f, -0.9714118f, -0.8952766f, -0.8213046f, -0.7492492f, -0.6788902f, -0.6100285f, -0.5424819f,
    -0.4760822f, -0.4106724f, -0.3461048f, -0.2822386f, -0.2189392f, -0.1560761f, -0.0935225f, -0.0311537f,
     0.0311537f,  0.0935225f,  0.1560761f,  0.2189392f,  0.2822386f,  0.3461048f,  0.4106724f,  0.4760822f,
     0.5424819f,  0.6100285f,  0.6788902f,  0.7492492f,  0.8213046f,  0.8952766f,  0.9714118f,  1.0499889f,
     1.1313277f,  1.2157998f,  1.3038428f,  1.3959804f,  1.4928497f,  1.5952401f,  1.7041502f,  1.8208742f,
     1.9471373f,  2.0853192f,  2.2388464f,  2.4129324f,  2.6161277f,  2.8640626f,  3.1907215f,  3.6996161f,
};

constant float levels8[256] = {
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
    float scale_factor_d512;
    uint  codebook_bits;
};

// Which table, and which bits of a stored byte count.
struct Decoder {
    constant float * table;
    uint keep;

    float4 operator()(device const uchar4 * row, uint column) const {
        const uint4 code = uint4(row[column]) & keep;
        return float4(table[code.x], table[code.y], table[code.z], table[code.w]);
    }
};

static Decoder decoder_for(uint bits) {
    Decoder d;
    d.keep = (1u << bits) - 1;
    if (bits < 6) {
        d.table = levels5;
    } else if (bits < 7) {
        d.table = levels6;
    } else {
        d.table = levels8;
    }
    return d;
}

template <uint DIM>
static float gain_of(device const float * lengths, uint slot, uint column, constant DecodeArgs & params) {
    if (DIM == 512) {
        const uint upper = column >= 64 ? 1 : 0;
        return lengths[2 * slot + upper] / params.scale_factor_d512;
    }
    return lengths[slot] * rsqrt(256.0f);
}

static bool can_see(uint slot, constant DecodeArgs & params) {
    const uint count = params.kv_seq_len;
    if (slot >= count) return false;
    const uint order = (slot + params.kv_capacity - params.ring_start) % params.kv_capacity;
    if (order >= count) return false;
    if (params.mask_type != 2 || params.sliding_window == 0) return true;
    return order + params.sliding_window >= count;
}

template <uint DIM>
kernel void decode_bytes(
        constant DecodeArgs & params   [[buffer(0)]],
        device const float  * Q        [[buffer(1)]],
        device const uchar  * K_packed [[buffer(2)]],
        device const float  * K_norms  [[buffer(3)]],
        device const uchar  * V_packed [[buffer(4)]],
        device const float  * V_norms  [[buffer(5)]],
        device float        * dst      [[buffer(6)]],
        threadgroup half    * shmem    [[threadgroup(0)]],
        uint3  where [[threadgroup_position_in_grid]],
        ushort me    [[thread_index_in_simdgroup]]) {
    constexpr uint QUADS = DIM / 4;
    constexpr uint MINE = QUADS / 32;
    constexpr uint LENGTHS = DIM / 256;

    const uint h = where.y;
    const uint w = where.z;
    const uint kv = h / (params.n_heads / params.n_kv_heads);
    const uint line = where.x * params.n_heads + h;

    threadgroup half4 * query = (threadgroup half4 *)shmem;
    for (uint i = me; i < QUADS; i += 32) {
        query[i] = half4(((device const float4 *)Q)[line * QUADS + i]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    const Decoder decode = decoder_for(params.codebook_bits);
    const uint base = kv * params.kv_capacity;

    float4 out[MINE];
    for (uint i = 0; i < MINE; ++i) out[i] = 0.0f;

    float peak = -FLT_MAX / 2;
    float mass = 0.0f;

    const uint pages = (params.kv_seq_len + 31) / 32;
    for (uint page = w; page < pages; page += params.nwg) {
        const uint start = 32 * page;
        const bool seen = can_see(start + me, params);
        if (!simd_any(seen)) continue;

        const uint held = min(32u, params.kv_seq_len - start);

        float product = 0.0f;
        for (uint j = 0; j < held; ++j) {
            device const uchar4 * row = (device const uchar4 *)K_packed + (base + start + j) * QUADS;
            float sum = 0.0f;
            for (uint i = 0; i < MINE; ++i) {
                const uint column = me + 32 * i;
                const float gain = gain_of<DIM>(K_norms + base * LENGTHS, start + j, column, params);
                sum += dot(decode(row, column) * gain, float4(query[column]));
            }
            sum = simd_sum(sum);
            product = j == me ? sum : product;
        }

        const float score = fma(product, params.scale, seen ? 0.0f : -65504.0f);
        const float risen = max(peak, simd_max(score));
        const float shrink = exp(peak - risen);
        const float weight = exp(score - risen);
        peak = risen;
        mass = mass * shrink + simd_sum(weight);

        float4 fresh[MINE];
        for (uint i = 0; i < MINE; ++i) fresh[i] = 0.0f;
        for (uint j = 0; j < held; ++j) {
            device const uchar4 * row = (device const uchar4 *)V_packed + (base + start + j) * QUADS;
            const float share = simd_shuffle(weight, ushort(j));
            for (uint i = 0; i < MINE; ++i) {
                const uint column = me + 32 * i;
                const float gain = gain_of<DIM>(V_norms + base * LENGTHS, start + j, column, params);
                fresh[i] += decode(row, column) * (gain * share);
            }
        }
        for (uint i = 0; i < MINE; ++i) out[i] = out[i] * shrink + fresh[i];
    }

    device float4 * quads = (device float4 *)dst;
    if (params.nwg > 1) {
        for (uint i = 0; i < MINE; ++i) {
            quads[(line * QUADS + me + 32 * i) * params.nwg + w] = out[i];
        }
        device float2 * stats = (device float2 *)(dst + params.n_heads * DIM * params.nwg);
        if (me == 0) stats[line * params.nwg + w] = float2(mass, peak);
    } else {
        const float scale = mass > 0.0f ? 1.0f / mass : 0.0f;
        for (uint i = 0; i < MINE; ++i) {
            quads[line * QUADS + me + 32 * i] = out[i] * scale;
        }
    }
}

template [[host_name("flash_attn_vec_tq_hb_dk256")]] kernel decltype(decode_bytes<256>) decode_bytes<256>;
template [[host_name("flash_attn_vec_tq_hb_dk512")]] kernel decltype(decode_bytes<512>) decode_bytes<512>;
