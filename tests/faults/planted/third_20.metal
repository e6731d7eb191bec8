// Randomised Hadamard rotation, one 32-thread group per row, N = row length / 32 values in each thread.
#include <metal_stdlib>
using namespace metal;

constant uint kFlips[16] = {
    0xf4913ba7, 0x0e58c26d, 0xd6247fb3, 0x1cea4589, 0x52d8af63, 0x3de10b97, 0xfe19c476, 0xdb2c854a,
    0x17a84ed3, 0x31e65b9c, 0xf50db972, 0xc76e8a43, 0xe1942f58, 0x7c0a3db6, 0x4fd861c5, 0x851e97a3,
};

struct Rows {
    uint head_dim;
    uint num_heads;
};

template <int N>
struct Slice {
    float v[N];

    void load(device const float * p) thread {
        for (int i = 0; i < N; ++i) {
            v[i] = p[i];
        }
    }
    void store(device float * p, float factor) thread {
        for (int i = 0; i < N; ++i) {
            p[i] = v[i] * factor;
        }
    }
    // Thread t owns the bits t * N ... of the sign table, which never straddle a word.
    void flip(uint t) thread {
        const uint bits = kFlips[t * N / 32] >> (t * N % 32);
        for (int i = 0; i < N; ++i) {
            v[i] = (bits >> i & 1) != 0 ? -v[i] : v[i];
        }
    }
    void transform(uint t) thread {
        for (int half_width = 1; half_width < N; half_width <<= 1) {
            for (int start = 0; start < N; start += 2 * half_width) {
                for (int i = start; i < start + half_width; ++i) {
                    const float lower = v[i];
                    v[i] = lower + v[i + half_width];
                    v[i + half_width] = lower - v[i + half_width];
                }
            }
        }
        for (ushort bit = 1; bit <= 16; bit <<= 1) {
            const float sign = (t & bit) != 0 ? -1.0f : 1.0f;
            for (int i = 0; i < N; ++i) {
                v[i] = simd_shuffle_xor(v[i], bit) + sign * v[i];
            }
        }
    }
};

template <int N, bool BEFORE, bool AFTER>
kernel void rotate_rows(
        device float  * data [[buffer(0)]],
        constant Rows & params [[buffer(1)]],
        uint r   [[threadgroup_position_in_grid]],
        ushort t [[thread_index_in_simdgroup]]) {
    if (r < params.num_heads) {
        device float * mine = data + (r * 32 + t) * N;
        Slice<N> s;
        s.load(mine);
        if (BEFORE) {
            s.flip(t);
        }
        s.transform(t);
        if (AFTER) {
            s.flip(t);
        }
        s.store(mine, rsqrt(32.0f * N));
    }
}

template [[host_name("fwht_standalone_f32_d256")]] kernel decltype(rotate_rows<8, false, false>) rotate_rows<8, false, false>;
template [[host_name("fwht_standalone_f32_d512")]] kernel decltype(rotate_rows<16, false, false>) rotate_rows<16, false, false>;
template [[host_name("fwht_sign_premult_f32_d256")]] kernel decltype(rotate_rows<8, true, false>) rotate_rows<8, true, false>;
template [[host_name("fwht_sign_premult_f32_d512")]] kernel decltype(rotate_rows<16, true, false>) rotate_rows<16, true, false>;
template [[host_name("fwht_sign_undo_f32_d256")]] kernel decltype(rotate_rows<8, false, true>) rotate_rows<8, false, true>;
template [[host_name("fwht_sign_undo_f32_d512")]] kernel decltype(rotate_rows<16, false, true>) rotate_rows<16, false, true>;
