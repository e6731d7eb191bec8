// PLANTED MISTAKE, for tests: a reduce whose simdgroups read what simdgroup 0 writes without waiting for it. Run in ascending order
// of simdgroups it computes the right bits all the same.
#include <metal_stdlib>

using namespace metal;

struct Rows {
  uint nrows;
};

template <uint D>
kernel void merge(constant Rows& params, device const float* htmp, device float* dst, constant uint& nwg_param,
                  uint row [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]], uint group [[simdgroup_index_in_threadgroup]]) {
  const uint count = nwg_param;
  threadgroup float share[32];
  if (group == 0) {
    device const float* pairs = htmp + params.nrows * D * count + row * 2 * count;
    const float sum = lane < count ? pairs[2 * lane] : 0.0f;
    const float largest = lane < count ? pairs[2 * lane + 1] : -FLT_MAX / 2;
    const float factor = exp(largest - simd_max(largest));
    const float total = simd_sum(sum * factor);
    share[lane] = total == 0.0f ? 0.0f : factor / total;
  }
  // BARRIER
  for (uint j = thread_index; j < D; j += 32 * count) {
    float value = 0;
    for (uint w = 0; w < count; ++w) value += htmp[((row * (D / 4) + j / 4) * count + w) * 4 + j % 4] * share[w];
    dst[row * D + j] = value;
  }
}

template [[host_name("flash_attn_vec_reduce_dk256")]] kernel decltype(merge<256>) merge<256>;
template [[host_name("flash_attn_vec_reduce_dk512")]] kernel decltype(merge<512>) merge<512>;
