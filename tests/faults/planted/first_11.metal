// Walsh-Hadamard kernels, one simdgroup for a row. Which rows get their signs flipped, and when, is in the entry points at the end.

#include <metal_stdlib>
using namespace metal;

struct RowArgs {
    uint head_dim;
    uint num_heads;
};

constant uchar flip_table[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

template <ushort COUNT>
struct Strip {
    float v[COUNT];
    uint  origin;

    void load(device const float * from) {
        for (ushort i = 0; i < COUNT; ++i) v[i] = from[origin + i];
    }

    void store(device float * to) const {
        for (ushort i = 0; i < COUNT; ++i) to[origin + i] = v[i];
    }

    void flip() {
        for (ushort i = 0; i < COUNT; ++i) {
            const uint at = origin + i;
            const uint bit = 1u << (at & 7);
            v[i] = (flip_table[at >> 3] & bit) ? -v[i] : v[i];
        }
    }

    void inner() {
        for (ushort gap = 1; gap < COUNT; gap *= 2) {
            for (ushort block = 0; block < COUNT; block += 2 * gap) {
                for (ushort i = 0; i < gap; ++i) {
                    const float x0 = v[block + i];
                    const float x1 = v[block + i + gap];
                    v[block + i] = x0 + x1;
                    v[block + i + gap] = x0 - x1;
                }
            }
        }
    }

    void across(ushort lane, ushort gap) {
        for (ushort i = 0; i < COUNT; ++i) {
            const float mine = v[i];
            const float theirs = simd_shuffle_xor(mine, gap);
            v[i] = (lane & gap) == 0 ? mine + theirs : theirs - mine;
        }
    }

    void transform(ushort lane) {
        inner();
        for (ushort gap = 1; gap <= 16; gap += gap) {
            across(lane, gap);
        }
        const float norm = rsqrt(float(COUNT * 32));
        for (ushort i = 0; i < COUNT; ++i) v[i] *= norm;
    }
};

template <ushort LENGTH, bool FLIP_FIRST, bool FLIP_LAST>
kernel void transform_rows(
        device float     * data   [[buffer(0)]],
        constant RowArgs & params [[buffer(1)]],
        uint   which [[threadgroup_position_in_grid]],
        ushort lane  [[thread_index_in_simdgroup]]) {
    if (which < params.num_heads) {
        device float * here = data + which * LENGTH;
        Strip<LENGTH / 32> strip;
        strip.origin = lane * (LENGTH / 32);
        strip.load(here);
        if (FLIP_FIRST) strip.flip();
        strip.transform(lane);
        if (FLIP_LAST) strip.flip();
        strip.store(here);
    }
}

typedef decltype(transform_rows<256, false, false>) transform_rows_t;

template [[host_name("fwht_standalone_f32_d256")]] kernel transform_rows_t transform_rows<256, false, false>;
template [[host_name("fwht_standalone_f32_d512")]] kernel transform_rows_t transform_rows<512, false, false>;
template [[host_name("fwht_sign_premult_f32_d256")]] kernel transform_rows_t transform_rows<256, true, false>;
template [[host_name("fwht_sign_premult_f32_d512")]] kernel transform_rows_t transform_rows<512, true, false>;
template [[host_name("fwht_sign_undo_f32_d256")]] kernel transform_rows_t transform_rows<256, false, true>;
template [[host_name("fwht_sign_undo_f32_d512")]] kernel transform_rows_t transform_rows<512, false, true>;
