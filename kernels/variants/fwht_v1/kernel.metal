// fwht_v1: fast Walsh-Hadamard transform of every head's row, in place, alone or as one half of the random rotation.
//
// The rotation of TurboQuant is R = H diag(s), H the orthonormal Walsh-Hadamard matrix in natural order and s a fixed
// vector of signs. `premult` computes R x (a query on its way into the rotated domain), `undo` computes R^T y (an output
// on its way back), `standalone` H x.
//
// Lane l owns head_dim/32 consecutive elements: butterflies with a shorter stride stay inside the lane, the others meet
// their partner through simd_shuffle_xor.

#include <metal_stdlib>

using namespace metal;

#define SIMD_WIDTH 32

// Bit j % 8 of byte j / 8 set: coordinate j changes its sign. A head_dim of 256 uses the first half.
constant uchar kSigns[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

struct FwhtParams {
    uint head_dim;
    uint num_heads;
};

static_assert(sizeof(FwhtParams) == 8, "the host fills these 8 bytes");

enum FwhtSigns : short {
    SIGNS_NONE,
    SIGNS_BEFORE,
    SIGNS_AFTER,
};

template <short E>
static inline void flip_signs(thread float (&x)[E], ushort lane) {
    for (short e = 0; e < E; ++e) {
        const short j = lane * E + e;
        if ((kSigns[j / 8] >> (j % 8)) & 1) {
            x[e] = -x[e];
        }
    }
}

template <short D, short SIGNS>
kernel void fwht_f32(
        device   float      * data   [[buffer(0)]],
        constant FwhtParams & params [[buffer(1)]],
        uint   head [[threadgroup_position_in_grid]],
        ushort lane [[thread_index_in_simdgroup]]) {
    constexpr short E = D / SIMD_WIDTH;

    if (head >= params.num_heads) {
        return;
    }

    device float * row = data + head * D + lane * E;

    float x[E];
    for (short e = 0; e < E; ++e) {
        x[e] = row[e];
    }

    if (SIGNS == SIGNS_BEFORE) {
        flip_signs<E>(x, lane);
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

    if (SIGNS == SIGNS_AFTER) {
        flip_signs<E>(x, lane);
    }

    for (short e = 0; e < E; ++e) {
        row[e] = x[e];
    }
}

typedef decltype(fwht_f32<256, SIGNS_NONE>) fwht_f32_t;

#define INSTANTIATE_FWHT(name, D, SIGNS) template [[host_name(name "_d" #D)]] kernel fwht_f32_t fwht_f32<D, SIGNS>;

INSTANTIATE_FWHT("fwht_standalone_f32", 256, SIGNS_NONE)
INSTANTIATE_FWHT("fwht_standalone_f32", 512, SIGNS_NONE)
INSTANTIATE_FWHT("fwht_sign_premult_f32", 256, SIGNS_BEFORE)
INSTANTIATE_FWHT("fwht_sign_premult_f32", 512, SIGNS_BEFORE)
INSTANTIATE_FWHT("fwht_sign_undo_f32", 256, SIGNS_AFTER)
INSTANTIATE_FWHT("fwht_sign_undo_f32", 512, SIGNS_AFTER)
