// Writes one token into a byte-per-code cache: rotate, measure, scale, search.
#include <metal_stdlib>
using namespace metal;

// Lloyd-Max centroids of the unit normal distribution.
constant float table5[32] = {
    -3.260679f, -2.6910589f, -2.3176743f, -2.0286608f, -1.7871646f, -1.5761599f, -1.3862739f, -1.211741f,
    -1.0487242f, -0.8945114f, -0.7470884f, -0.6048936f, -0.4666676f, -0.331355f, -0.1980377f, -0.0658849f,
     0.0658849f,  0.1980377f,  0.331355f,  0.4666676f,  0.6048936f,  0.7470884f,  0.8945114f,  1.0487242f,
     1.211741f,  1.3862739f,  1.5761599f,  1.7871646f,  2.0286608f,  2.3176743f,  2.6910589f,  3.260679f,
};

constant float table6[64] = {
    -3.6996161f, -3.1907215f, -2.8640626f, -2.6161277f, -2.4129324f, -2.2388464f, -2.0853192f, -1.9471373f,
    -1.8208742f, -1.7041502f, -1.5952401f, -1.4928497f, -1.3959804f, -1.3038428f, -1.2157998f, -1.1313277f,
    -1.0499889f, -0.9714118f, -0.8952766f, -0.8213046f, -0.7492492f, -0.6788902f, -0.6100285f, -0.5424819f,
    -0.4760822f, -0.4106724f, -0.3461048f, -0.2822386f, -0.2189392f, -0.1560761f, -0.0935225f, -0.0311537f,
     0.0311537f,  0.0935225f,  0.1560761f,  0.2189392f,  0.2822386f,  0.3461048f,  0.4106724f,  0.4760822f,
     0.5424819f,  0.6100285f,  0.6788902f,  0.7492492f,  0.8213046f,  0.8952766f,  0.9714118f,  1.0499889f,
     1.1313277f,  1.2157998f,  1.3038428f,  1.3959804f,  1.4928497f,  1.5952401f,  1.7041502f,  1.8208742f,
     1.9471373f,  2.0853192f,  2.2388464f,  2.4129324f,  2.6161277f,  2.8640626f,  3.1907215f,  3.6996161f,
};

constant float table8[256] = {
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

// Bit j % 8 of byte j / 8 set: coordinate j changes its sign. A head_dim of 256 uses the first half.
constant uchar flips[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

struct Where {
    uint  head_dim;
    uint  num_kv_heads;
    uint  write_pos;
    uint  cache_capacity;
    uint  is_sliding;
    float scale_factor_d512;
    uint  codebook_bits;
};

static inline constant float * levels(uint bits) {
    return bits == 5 ? table5 : bits == 6 ? table6 : table8;
}

// Builds the code from its highest bit down: a bit is set if the value lies above the edge in front of that code.
static inline uchar code_of(constant float * table, uint bits, float value) {
    uint code = 0;
    for (uint bit = 1u << (bits - 1); bit != 0; bit >>= 1) {
        const uint candidate = code | bit;
        const float edge = 0.5f * (table[candidate - 1] + table[candidate]);
        if (value > edge) {
            code = candidate;
        }
    }
    return uchar(code);
}

template <int N>
static inline void rotation(thread float * v, uint t) {
    for (int i = 0; i < N; ++i) {
        const uint c = t * N + i;
        v[i] = (flips[c >> 3] & (1 << (c & 7))) != 0 ? -v[i] : v[i];
    }
    for (int w = 1; w < N; w += w) {
        for (int i = 0; i < N; ++i) {
            if ((i & w) != 0) {
                continue;
            }
            const float lower = v[i];
            const float upper = v[i + w];
            v[i] = lower + upper;
            v[i + w] = lower - upper;
        }
    }
    for (ushort bit = 1; bit <= 16; bit += bit) {
        for (int i = 0; i < N; ++i) {
            const float partner = simd_shuffle_xor(v[i], bit);
            v[i] = (t & bit) == 0 ? v[i] + partner : partner - v[i];
        }
    }
    for (int i = 0; i < N; ++i) {
        v[i] = v[i] * rsqrt(32.0f * N);
    }
}

template <int N>
kernel void put(
        device const float * src    [[buffer(0)]],
        device uchar       * packed [[buffer(1)]],
        device float       * norms  [[buffer(2)]],
        constant Where     & params [[buffer(3)]],
        uint g   [[threadgroup_position_in_grid]],
        ushort t [[thread_index_in_simdgroup]]) {
    constexpr int PARTS = N / 8;
    if (g >= params.num_kv_heads) {
        return;
    }
    uint entry = params.write_pos;
    if (params.is_sliding) {
        entry %= params.cache_capacity;
    }
    entry += g * params.cache_capacity;

    float v[N];
    for (int i = 0; i < N; ++i) {
        v[i] = src[(g * 32 + t) * N + i];
    }
    rotation<N>(v, t);

    float energy = 0.0f;
    for (int i = 0; i < N; ++i) {
        energy += v[i] * v[i];
    }

    const uint part = PARTS == 1 ? 0 : t / 16;
    float length = 0.0f;
    for (uint p = 0; p < PARTS; ++p) {
        const float sum = simd_sum(p == part ? energy : 0.0f);
        length = p == part ? sum : length;
    }
    length = PARTS == 1 ? sqrt(length) : sqrt(length / 256.0f);

    const float target = PARTS == 1 ? 16.0f : params.scale_factor_d512;
    const float gain = length > 1e-10f ? (1.0f / length) * target : 0.0f;

    constant float * table = levels(params.codebook_bits);
    for (int i = 0; i < N; ++i) {
        packed[(entry * 32 + t) * N + i] = code_of(table, params.codebook_bits, v[i] * gain);
    }
    if (t == part * 16) {
        norms[entry * PARTS + part] = length;
    }
}

template [[host_name("hadamard_quantize_kv_hb_d256")]] kernel decltype(put<8>) put<8>;
template [[host_name("hadamard_quantize_kv_hb_d512")]] kernel decltype(put<16>) put<16>;
