// Orthonormal Walsh-Hadamard transform of rows, in place: one SIMD-group a row, which lies in threadgroup memory meanwhile.

#include <metal_stdlib>

using namespace metal;

struct HadamardShape {
    uint num_heads;
    uint head_dim;
};

static void transform(device float * row, threadgroup float * shared, uint n, uint thread_index) {
    for (uint i = thread_index; i < n; i += 32) {
        shared[i] = row[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (uint stride = 1; stride < n; stride <<= 1) {
        for (uint pair = thread_index; pair < n / 2; pair += 32) {
            const uint  i = 2 * pair - (pair & (stride - 1));
            const float a = shared[i];
            const float b = shared[i + stride];
            shared[i]          = a + b;
            shared[i + stride] = a - b;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    const float scale = 1.0f / sqrt(float(n));
    for (uint i = thread_index; i < n; i += 32) {
        row[i] = shared[i] * scale;
    }
}

kernel void hadamard_rows_256(
        constant HadamardShape & shape [[buffer(0)]],
        device float           * rows  [[buffer(1)]],
        uint group        [[threadgroup_position_in_grid]],
        uint thread_index [[thread_position_in_threadgroup]]) {
    threadgroup float shared[256];
    if (group < shape.num_heads) {
        transform(rows + group * 256, shared, 256, thread_index);
    }
}

kernel void hadamard_rows_512(
        constant HadamardShape & shape [[buffer(0)]],
        device float           * rows  [[buffer(1)]],
        uint group        [[threadgroup_position_in_grid]],
        uint thread_index [[thread_position_in_threadgroup]]) {
    threadgroup float shared[512];
    if (group < shape.num_heads) {
        transform(rows + group * 512, shared, 512, thread_index);
    }
}
