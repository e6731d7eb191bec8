// Puts one token into a rotated 4-bit cache: rotation, norm, codes.
//
// The 32 lanes of a threadgroup hold the row of one head between them, in stretches of DIM/32 coordinates. A row of 256 has one norm,
// a row of 512 has one for either half; a half belongs to 16 lanes.

#include <metal_stdlib>

using namespace metal;

constant constexpr uint kLanes = 32;
constant constexpr uint kBlock = 256;  // coordinates that share a norm

constant float kLevels[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.128395f,
     0.128395f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

// One bit per coordinate, 32 to a word: set where the sign turns.
constant uint kTurned[16] = {
    0xf4913ba7, 0x0e58c26d, 0xd6247fb3, 0x1cea4589, 0x52d8af63, 0x3de10b97, 0xfe19c476, 0xdb2c854a,
    0x17a84ed3, 0x31e65b9c, 0xf50db972, 0xc76e8a43, 0xe1942f58, 0x7c0a3db6, 0x4fd861c5, 0x851e97a3,
};

struct WriteArgs {
    uint  head_dim;
    uint  num_kv_heads;
    uint  write_pos;
    uint  cache_capacity;
    uint  is_sliding;
    float scale_factor_d512;
    uint  rms_probe_enabled;
};

// The cell a value falls into: one up for each of the 15 edges it has passed.
static inline uchar cell_of(float value) {
    uchar cell = 0;
    for (short i = 0; i < 15; ++i) {
        const float edge = 0.5f * (kLevels[i] + kLevels[i + 1]);
        cell += value > edge ? 1 : 0;
    }
    return cell;
}

static inline void butterfly(thread float & upper, thread float & lower) {
    const float sum        = upper + lower;
    const float difference = upper - lower;
    upper = sum;
    lower = difference;
}

template <uint DIM>
kernel void put(
        device const float     * src         [[buffer(0)]],
        device       uchar     * packed      [[buffer(1)]],
        device       float     * norms       [[buffer(2)]],
        constant     WriteArgs & params      [[buffer(3)]],
        device       float     * rms_scratch [[buffer(4)]],
        uint   head [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]]) {
    constexpr uint MINE      = DIM / kLanes;
    constexpr uint BLOCKS    = DIM / kBlock;
    constexpr uint PER_BLOCK = kLanes / BLOCKS;  // lanes

    if (head >= params.num_kv_heads) {
        return;
    }

    const uint begin = lane * MINE;

    // Signs, with the row.
    float mine[MINE];
    for (uint e = 0; e < MINE; ++e) {
        const uint coordinate = begin + e;
        const float value = src[head * DIM + coordinate];
        mine[e] = (kTurned[coordinate >> 5] >> (coordinate & 31)) & 1 ? -value : value;
    }

    // Hadamard: first what a lane has to itself, then lane against lane.
    for (uint distance = 1; distance < MINE; distance <<= 1) {
        for (uint pair = 0; pair < MINE / 2; ++pair) {
            const uint first = (pair / distance) * 2 * distance + pair % distance;
            butterfly(mine[first], mine[first + distance]);
        }
    }
    for (ushort distance = 1; distance < kLanes; distance <<= 1) {
        for (uint e = 0; e < MINE; ++e) {
            const float theirs = simd_shuffle_xor(mine[e], distance);
            mine[e] = (lane & distance) == 0 ? mine[e] + theirs : theirs - mine[e];
        }
    }

    const float orthonormal = rsqrt(float(DIM));
    float squares = 0.0f;
    for (uint e = 0; e < MINE; ++e) {
        mine[e] *= orthonormal;
        squares += mine[e] * mine[e];
    }

    // Norm and target of the block this lane belongs to.
    const uint block = lane / PER_BLOCK;
    float size   = 0.0f;
    float target = 0.0f;
    if (BLOCKS == 1) {
        size   = sqrt(simd_sum(squares));
        target = 16.0f;
    } else {
        for (uint b = 0; b < BLOCKS; ++b) {
            const float sum = simd_sum(b == block ? squares : 0.0f);
            if (b == block) {
                size = sqrt(sum / float(kBlock));
            }
        }
        target = params.scale_factor_d512;
    }

    float stretch = 0.0f;
    if (size > 1e-10f) {
        stretch = (1.0f / size) * target;
    }
    for (uint e = 0; e < MINE; ++e) {
        mine[e] *= stretch;
    }

    uint slot = params.write_pos;
    if (params.is_sliding != 0) {
        slot %= params.cache_capacity;
    }
    const uint line = head * params.cache_capacity + slot;

    if (lane % PER_BLOCK == 0) {
        norms[line * BLOCKS + block] = size;
    }

    for (uint pair = 0; pair < MINE / 2; ++pair) {
        const uchar low_code  = cell_of(mine[2 * pair]);
        const uchar high_code = cell_of(mine[2 * pair + 1]);
        packed[(line * DIM + begin) / 2 + pair] = uchar(low_code | high_code << 4);
    }

    if (params.rms_probe_enabled != 0) {
        device float * probe = rms_scratch + head * DIM + begin;
        for (uint e = 0; e < MINE; ++e) {
            probe[e] = mine[e];
        }
    }
}

typedef decltype(put<256>) put_t;

template [[host_name("hadamard_quantize_kv_fast_d256")]] kernel put_t put<256>;
template [[host_name("hadamard_quantize_kv_fast_d512")]] kernel put_t put<512>;
