// Prefix sums of rows: dst[r][i] = src[r][0] + ... + src[r][i]. One threadgroup of 256 threads per row.

#include <metal_stdlib>

using namespace metal;

struct RowShape {
    uint rows;
    uint length;
};

kernel void prefix_sum_rows(
        device const float * src [[buffer(0)]],
        device float       * dst [[buffer(1)]],
        constant RowShape  & shape [[buffer(2)]],
        uint row    [[threadgroup_position_in_grid]],
        uint thread_index [[thread_position_in_threadgroup]]) {
    threadgroup float block[256];
    const device float * from = src + ulong(row) * shape.length;
    device float       * to   = dst + ulong(row) * shape.length;

    float carry = 0.0f;
    for (uint start = 0; start < shape.length; start += 256) {
        const uint i = start + thread_index;
        block[thread_index] = i < shape.length ? from[i] : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);

        for (uint stride = 1; stride < 256; stride *= 2) {
            const float before = thread_index >= stride ? block[thread_index - stride] : 0.0f;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            block[thread_index] += before;
            threadgroup_barrier(mem_flags::mem_threadgroup);
        }

        if (i < shape.length) {
            to[i] = carry + block[thread_index];
        }
        carry += block[255];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
