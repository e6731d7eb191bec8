// The softmax of each row. One SIMD-group computes one row.
#include <metal_stdlib>
using namespace metal;

kernel void softmax_rows(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& length [[buffer(2)]],
                         uint row [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
  device const float* in = x + row * length;
  device float* out = y + row * length;
  float top = -INFINITY;
  for (uint i = lane; i < length; i += 32) top = max(top, in[i]);
  top = simd_max(top);
  float sum = 0.0f;
  for (uint i = lane; i < length; i += 32) sum += exp(in[i] - top);
  sum = simd_sum(sum);
  for (uint i = lane; i < length; i += 32) out[i] = exp(in[i] - top) / sum;
}
