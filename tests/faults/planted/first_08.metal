// Cache writer for the 4-bit store. A head's token is rotated, brought to unit variance and coded, sixteen levels a
// coordinate, four codes to a 16-bit word. Each thread of the simdgroup has a run of neighbouring coordinates.

#include <metal_stdlib>
using namespace metal;

struct KvQuantArgs {
    uint  head_dim;
    uint  num_kv_heads;
    uint  write_pos;
    uint  cache_capacity;
    uint  is_sliding;
    float scale_factor_d512;
    uint  rms_probe_enabled;
};

constant uchar rotation_signs[64] = {
    0xa7, 0x3b, 0x91, 0xf4, 0x6d, 0xc2, 0x58, 0x0e, 0xb3, 0x7f, 0x24, 0xd6, 0x89, 0x45, 0xea, 0x1c,
    0x63, 0xaf, 0xd8, 0x52, 0x97, 0x0b, 0xe1, 0x3d, 0x76, 0xc4, 0x19, 0xfe, 0x4a, 0x85, 0x2c, 0xdb,
    0xd3, 0x4e, 0xa8, 0x17, 0x9c, 0x5b, 0xe6, 0x31, 0x72, 0xb9, 0x0d, 0xf5, 0x43, 0x8a, 0x6e, 0xc7,
    0x58, 0x2f, 0x94, 0xe1, 0xb6, 0x3d, 0x0a, 0x7c, 0xc5, 0x61, 0xd8, 0x4f, 0xa3, 0x97, 0x1e, 0x85,
};

constant float levels[16] = {
    -2.7325896f, -2.0690172f, -1.6180464f, -1.2562312f, -0.9423405f, -0.6567591f, -0.3880483f, -0.128395f,
     0.128395f,  0.3880483f,  0.6567591f,  0.9423405f,  1.2562312f,  1.6180464f,  2.0690172f,  2.7325896f,
};

constant float tiny_norm = 1e-10f;

// Cell of v: how many midpoints between neighbouring levels lie under it.
inline uint cell_of(float v) {
    uint cell = 0;
    for (uint edge = 0; edge < 15; ++edge) {
        cell += v > 0.5f * (levels[edge] + levels[edge + 1]) ? 1 : 0;
    }
    return cell;
}

inline bool negated(uint coordinate) {
    return ((rotation_signs[coordinate >> 3] >> (coordinate & 7)) & 1) != 0;
}

template <ushort RUN>
inline void hadamard(thread float * y, ushort tid) {
    for (ushort half_span = 1; half_span < RUN; half_span <<= 1) {
        for (ushort base = 0; base < RUN; base += 2 * half_span) {
            for (ushort i = base; i < base + half_span; ++i) {
                float top = y[i] + y[i + half_span];
                float bottom = y[i] - y[i + half_span];
                y[i] = top;
                y[i + half_span] = bottom;
            }
        }
    }
    for (ushort bit = 0; bit < 5; ++bit) {
        const float direction = ((tid >> bit) & 1) ? -1.0f : 1.0f;
        for (ushort i = 0; i < RUN; ++i) {
            const float partner = simd_shuffle_xor(y[i], ushort(1 << bit));
            y[i] = partner + direction * y[i];
        }
    }
}

template <ushort DIM>
kernel void write_kv4(
        device const float   * src         [[buffer(0)]],
        device uchar         * packed      [[buffer(1)]],
        device float         * norms       [[buffer(2)]],
        constant KvQuantArgs & params      [[buffer(3)]],
        device float         * rms_scratch [[buffer(4)]],
        uint   group [[threadgroup_position_in_grid]],
        ushort tid   [[thread_index_in_simdgroup]]) {
    constexpr ushort RUN = DIM / 32;
    if (group >= params.num_kv_heads) return;

    const uint begin = tid * RUN;
    float y[RUN];
    for (ushort i = 0; i < RUN; ++i) {
        const float raw = src[group * DIM + begin + i];
        y[i] = negated(begin + i) ? -raw : raw;
    }
    hadamard<RUN>(y, tid);

    float energy = 0.0f;
    for (ushort i = 0; i < RUN; ++i) {
        y[i] = y[i] * rsqrt(float(DIM));
        energy += y[i] * y[i];
    }

    uint place = params.write_pos;
    if (params.is_sliding) place %= params.cache_capacity;
    place += group * params.cache_capacity;

    float length, target;
    if (DIM == 512) {
        const bool second = tid > 15;
        const float low = simd_sum(second ? 0.0f : energy);
        const float high = simd_sum(second ? energy : 0.0f);
        length = sqrt((second ? high : low) / 256.0f);
        target = params.scale_factor_d512;
        if (tid == 0) norms[2 * place] = length;
        if (tid == 16) norms[2 * place + 1] = length;
    } else {
        length = sqrt(simd_sum(energy));
        target = 16.0f;
        if (tid == 0) norms[place] = length;
    }
    const float gain = length > tiny_norm ? (1.0f / length) * target : 0.0f;

    device ushort * words = (device ushort *)(packed + place * (DIM / 2)) + tid * (RUN / 4);
    for (ushort w = 0; w < RUN / 4; ++w) {
        ushort word = 0;
        for (short k = 3; k >= 0; --k) {
            word = ushort((word << 4) | cell_of(y[4 * w + k] * gain));
        }
        words[w] = word;
    }

    if (params.rms_probe_enabled) {
        device float * probe = rms_scratch + group * DIM + begin;
        for (ushort i = 0; i < RUN; ++i) probe[i] = y[i] * gain;
    }
}

template [[host_name("hadamard_quantize_kv_fast_d256")]] kernel decltype(write_kv4<256>) write_kv4<256>;
template [[host_name("hadamard_quantize_kv_fast_d512")]] kernel decltype(write_kv4<512>) write_kv4<512>;
