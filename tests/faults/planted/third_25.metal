// Reads one cache entry back into floats.
#include <metal_stdlib>
using namespace metal;

// Lloyd-Max centroids of the unit normal distribution.
constant float lut4[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.128395f,
     0.128395f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

constant float lut5[32] = {
    -3.260679f, -2.6910589f, -2.3176743f, -2.0286608f, -1.7871646f, -1.5761599f, -1.3862739f, -1.211741f,
    -1.0487242f, -0.8945114f, -0.7470884f, -0.6048936f, -0.4666676f, -0.331355f, -0.1980377f, -0.0658849f,
     0.0658849f,  0.1980377f,  0.331355f,  0.4666676f,  0.6048936f,  0.7470884f,  0.8945114f,  1.0487242f,
     1.211741f,  1.3862739f,  1.5761599f,  1.7871646f,  2.0286608f,  2.3176743f,  2.6910589f,  3.260679f,
};

constant float lut6[64] = {
    -3.6996161f, -3.1907215f, -2.8640626f, -2.6161277f, -2.4129324f, -2.2388464f, -2.0853192f, -1.9471373f,
    -1.8208742f, -1.7041502f, -1.5952401f, -1.4928497f, -1.3959804f, -1.3038428f, -1.2157998f, -1.1313277f,
    -1.0499889f, -0.9714118f, -0.8952766f, -0.8213046f, -0.7492492f, -0.6788902f, -0.6100285f, -0.5424819f,
    -0.4760822f, -0.4106724f, -0.3461048f, -0.2822386f, -0.2189392f, -0.1560761f, -0.0935225f, -0.0311537f,
     0.0311537f,  0.0935225f,  0.1560761f,  0.2189392f,  0.2822386f,  0.3461048f,  0.4106724f,  0.4760822f,
     0.5424819f,  0.6100285f,  0.6788902f,  0.7492492f,  0.8213046f,  0.8952766f,  0.9714118f,  1.0499889f,
     1.1313277f,  1.2157998f,  1.3038428f,  1.3959804f,  1.4928497f,  1.5952401f,  1.7041502f,  1.8208742f,
     1.9471373f,  2.0853192f,  2.2388464f,  2.4129324f,  2.6161277f,  2.8640626f,  3.1907215f,  3.6996161f,
};

constant float lut8[256] = {
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

struct Fetch {
    uint  head_dim;
    uint  num_kv_heads;
    uint  read_pos;
    uint  cache_capacity;
    uint  norms_per_pos;
    float scale_factor_d512;
};

struct FetchWide {
    uint  head_dim;
    uint  num_kv_heads;
    uint  read_pos;
    uint  cache_capacity;
    uint  norms_per_pos;
    float scale_factor_d512;
    uint  codebook_bits;
};

static inline float gain(float norm, uint dim, float factor) {
    if (dim == 256) {
        return norm * rsqrt(256.0f);
    }
    return norm / factor;
}

static inline float decode(uint bits, uint code) {
    float level = 0.0f;
    switch (bits) {
        case 4:
            level = lut4[code & 15];
            break;
        case 5:
            level = lut5[code & 31];
            break;
        case 6:
            level = lut6[code & 63];
            break;
        case 8:
            level = lut8[code & 255];
            break;
    }
    return level;
}

kernel void tq_dequantize_kv(
        device const uchar * packed [[buffer(0)]],
        device const float * norms  [[buffer(1)]],
        device float       * dst    [[buffer(2)]],
        constant Fetch     & params [[buffer(3)]],
        uint g [[threadgroup_position_in_grid]],
        uint x [[thread_position_in_threadgroup]]) {
    if (g < params.num_kv_heads && x < params.head_dim) {
        const uint entry = params.read_pos + params.cache_capacity * g;
        const uint which = min(x >> 8, params.norms_per_pos - 1);
        const uint pair = packed[(entry * params.head_dim + x) >> 1];
        const uint code = pair >> ((x & 1) * 4);
        const float mul = gain(norms[entry * params.norms_per_pos + which], params.head_dim, params.scale_factor_d512);
        dst[params.head_dim * g + x] = decode(4, code) * mul;
    }
}

kernel void tq_dequantize_hb_kv(
        device const uchar * packed [[buffer(0)]],
        device const float * norms  [[buffer(1)]],
        device float       * dst    [[buffer(2)]],
        constant FetchWide & params [[buffer(3)]],
        uint g [[threadgroup_position_in_grid]],
        uint x [[thread_position_in_threadgroup]]) {
    if (g < params.num_kv_heads && x < params.head_dim) {
        const uint entry = params.read_pos + params.cache_capacity * g;
        const uint which = min(x >> 8, params.norms_per_pos - 1);
        const float mul = gain(norms[entry * params.norms_per_pos + which], params.head_dim, params.scale_factor_d512);
        dst[params.head_dim * g + x] = decode(params.codebook_bits, packed[entry * params.head_dim + x]) * mul;
    }
}
