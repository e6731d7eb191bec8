// quantize4_v1: writes one token per key/value head into a 4-bit TurboQuant cache.
//
// One simdgroup per head rotates the row, takes its norm (head_dim 256) or the norms of its two blocks of 256 (head_dim 512),
// scales it to unit variance and replaces each coordinate by the index of its cell. Lane l owns head_dim/32 consecutive
// coordinates; two indices make a byte, the even coordinate in the low nibble.

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

// Lloyd-Max centroids of the unit normal distribution, 16 levels.
constant float kCodebook4[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.128395f,
     0.128395f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

// Bit j % 8 of byte j / 8 set: coordinate j changes its sign. A head_dim of 256 uses the first half.
constant uchar kSigns[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

// Norms up to this one count as zero.
constant float kSmallestNorm = 1e-10f;

struct QuantizeParams {
    uint  head_dim;
    uint  num_kv_heads;
    uint  write_pos;
    uint  cache_capacity;
    uint  is_sliding;
    float scale_factor_d512;
    uint  rms_probe_enabled;
};

static_assert(sizeof(QuantizeParams) == 28, "the host fills these 28 bytes");

// R x = H diag(s) x of the row's elements lane * E .. lane * E + E - 1.
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

// Number of boundaries, the midpoints of neighbouring centroids, strictly below x.
static inline uchar quantize(float x) {
    uint low = 0;
    uint high = 15;
    while (low < high) {
        const uint middle = (low + high) / 2;
        const float boundary = 0.5f * (kCodebook4[middle] + kCodebook4[middle + 1]);
        if (boundary < x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return uchar(low);
}

template <short D>
kernel void hadamard_quantize_kv_fast(
        device const float          * src         [[buffer(0)]],
        device       uchar          * packed      [[buffer(1)]],
        device       float          * norms       [[buffer(2)]],
        constant     QuantizeParams & params      [[buffer(3)]],
        device       float          * rms_scratch [[buffer(4)]],
        uint   head [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]]) {
    constexpr short E = D / SIMD_WIDTH;
    constexpr short BLOCKS = D / 256;

    if (head >= params.num_kv_heads) {
        return;
    }

    const uint slot = params.is_sliding != 0 ? params.write_pos % params.cache_capacity : params.write_pos;
    const uint position = head * params.cache_capacity + slot;

    device const float * row = src + head * D + lane * E;

    float x[E];
    for (short e = 0; e < E; ++e) {
        x[e] = row[e];
    }

    rotate<D>(x, lane);

    float squares = 0.0f;
    for (short e = 0; e < E; ++e) {
        squares += x[e] * x[e];
    }

    float norm;
    float unit;
    short block = 0;
    if (D == 256) {
        norm = sqrt(simd_sum(squares));
        unit = sqrt(256.0f);
    } else {
        // Half of the lanes own a block each.
        block = lane < SIMD_WIDTH / 2 ? 0 : 1;
        const float sum0 = simd_sum(block == 0 ? squares : 0.0f);
        const float sum1 = simd_sum(block == 1 ? squares : 0.0f);
        norm = sqrt((block == 0 ? sum0 : sum1) / 256.0f);
        unit = params.scale_factor_d512;
    }

    const float factor = norm > kSmallestNorm ? (1.0f / norm) * unit : 0.0f;
    for (short e = 0; e < E; ++e) {
        x[e] *= factor;
    }

    device uchar * out = packed + position * (D / 2) + lane * (E / 2);
    for (short e = 0; e < E; e += 2) {
        out[e / 2] = quantize(x[e]) | (quantize(x[e + 1]) << 4);
    }

    if (lane % (SIMD_WIDTH / BLOCKS) == 0) {
        norms[position * BLOCKS + block] = norm;
    }

    if (params.rms_probe_enabled != 0) {
        for (short e = 0; e < E; ++e) {
            rms_scratch[head * D + lane * E + e] = x[e];
        }
    }
}

typedef decltype(hadamard_quantize_kv_fast<256>) hadamard_quantize_kv_fast_t;

template [[host_name("hadamard_quantize_kv_fast_d256")]] kernel hadamard_quantize_kv_fast_t hadamard_quantize_kv_fast<256>;
template [[host_name("hadamard_quantize_kv_fast_d512")]] kernel hadamard_quantize_kv_fast_t hadamard_quantize_kv_fast<512>;
