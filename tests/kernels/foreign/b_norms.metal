// Layer norm, rms norm, their gradients, softmax and log-sum-exp: a row for each threadgroup, with and without loops.
#include <metal_stdlib>
#include <metal_common>
#include <metal_simdgroup>

using namespace metal;

#define SIMD_SIZE 32

constant bool has_w [[function_constant(20)]];

// Sums over the threadgroup of a scalar or of several, as a vector: every thread gets them.
template <typename V>
METAL_FUNC V sum_of_all(V mine, threadgroup V (&of_simd)[SIMD_SIZE], uint lane, uint simd, uint simds) {
  const V whole = simd_sum(mine);
  threadgroup_barrier(mem_flags::mem_threadgroup); // earlier sums have been read
  if (lane == 0) {
    of_simd[simd] = whole;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  V total = of_simd[0];
  for (uint s = 1; s < simds; s++) {
    total += of_simd[s];
  }
  return total;
}

// Iterates over the elements of a row: one block of N_READS, or many with a stride.
template <bool looped, int N_READS, typename F>
METAL_FUNC void for_row(uint axis_size, uint lid, uint lsize, F f) {
  if constexpr (looped) {
    for (uint r = 0; r < axis_size; r += lsize * N_READS) {
      for (int i = 0; i < N_READS; i++) {
        const uint at = r + lid * N_READS + i;
        if (at < axis_size) {
          f(at);
        }
      }
    }
  } else {
    if (lid * N_READS + N_READS <= axis_size) {
      _Pragma("clang loop unroll(full)")
      for (int i = 0; i < N_READS; i++) {
        f(lid * N_READS + i);
      }
    } else {
      for (int i = 0; i < N_READS; i++) {
        if ((lid * N_READS + i) < axis_size) {
          f(lid * N_READS + i);
        }
      }
    }
  }
}

template <typename T, bool looped, int N_READS = 4>
[[kernel]] void rms_norm(
    const device T* x [[buffer(0)]],
    const device T* w [[buffer(1)]],
    device T* out [[buffer(2)]],
    constant float& eps [[buffer(3)]],
    constant uint& axis_size [[buffer(4)]],
    constant uint& w_stride [[buffer(5)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup float local_sums[SIMD_SIZE];
  x += gid * size_t(axis_size);
  out += gid * size_t(axis_size);
  float acc = 0;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float value = x[i];
    acc = fma(value, value, acc);
  });
  acc = sum_of_all(acc, local_sums, simd_lane_id, simd_group_id, simds);
  const float r = metal::precise::rsqrt(acc / axis_size + eps);
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const T standard = static_cast<T>(float(x[i]) * r);
    out[i] = standard * w[w_stride * i];
  });
}

template <typename T, bool looped, int N_READS = 4>
[[kernel]] void vjp_rms_norm(
    const device T* x [[buffer(0)]],
    const device T* w [[buffer(1)]],
    const device T* g [[buffer(2)]],
    device T* gx [[buffer(3)]],
    device T* gw [[buffer(4), function_constant(has_w)]],
    constant float& eps [[buffer(5)]],
    constant uint& axis_size [[buffer(6)]],
    constant uint& w_stride [[buffer(7)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  // y_i = w_i x_i r with r = (mean(x^2) + eps)^(-1/2): gx = r (w g - x r^2 mean(w g x))
  threadgroup float2 pairs[SIMD_SIZE];
  const size_t row = gid * size_t(axis_size);
  float2 sums = float2(0.0f); // of x^2 and of w g x
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float value = x[row + i];
    const float pull = float(w[w_stride * i]) * float(g[row + i]);
    sums += value * float2(value, pull);
  });
  const float2 means = sum_of_all(sums, pairs, simd_lane_id, simd_group_id, simds) / float(axis_size);
  const float variance = means.x + eps;
  const float r = metal::precise::rsqrt(variance);
  const float along = means.y / variance;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float value = x[row + i], incoming = g[row + i];
    const float pull = float(w[w_stride * i]) * incoming;
    gx[row + i] = static_cast<T>(r * fma(-value, along, pull));
    if (has_w) {
      gw[row + i] = static_cast<T>(incoming * (value * r));
    }
  });
}

template <typename T, bool looped, int N_READS = 4>
[[kernel]] void layer_norm(
    const device T* x [[buffer(0)]],
    const device T* w [[buffer(1)]],
    const device T* b [[buffer(2)]],
    device T* out [[buffer(3)]],
    constant float& eps [[buffer(4)]],
    constant uint& axis_size [[buffer(5)]],
    constant uint& w_stride [[buffer(6)]],
    constant uint& b_stride [[buffer(7)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[SIMD_SIZE];
  const size_t row = gid * size_t(axis_size);
  const float share = 1.0f / float(axis_size);

  float sum = 0;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) { sum += x[row + i]; });
  const float centre = share * sum_of_all(sum, partial, simd_lane_id, simd_group_id, simds);

  float spread = 0;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float d = x[row + i] - centre;
    spread = fma(d, d, spread);
  });
  spread = share * sum_of_all(spread, partial, simd_lane_id, simd_group_id, simds);
  const float r = metal::precise::rsqrt(spread + eps);

  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const T standard = static_cast<T>((float(x[row + i]) - centre) * r);
    out[row + i] = w[w_stride * i] * standard + b[b_stride * i];
  });
}

template <typename T, bool looped, int N_READS = 4>
[[kernel]] void vjp_layer_norm(
    const device T* x [[buffer(0)]],
    const device T* w [[buffer(1)]],
    const device T* g [[buffer(2)]],
    device T* gx [[buffer(3)]],
    device T* gw [[buffer(4), function_constant(has_w)]],
    constant float& eps [[buffer(5)]],
    constant uint& axis_size [[buffer(6)]],
    constant uint& w_stride [[buffer(7)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  // with d = x - mean(x), r = (mean(d^2) + eps)^(-1/2), p = w g:  gx = r (p - mean(p) - d r^2 mean(p d))
  threadgroup float partial[SIMD_SIZE];
  threadgroup float3 triples[SIMD_SIZE];
  const size_t row = gid * size_t(axis_size);
  const float share = 1.0f / float(axis_size);
  float sum = 0;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) { sum += float(x[row + i]); });
  const float centre = share * sum_of_all(sum, partial, simd_lane_id, simd_group_id, simds);

  float3 means = float3(0.0f); // of d^2, p d and p
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float d = float(x[row + i]) - centre;
    const float pull = float(w[w_stride * i]) * float(g[row + i]);
    means += float3(d * float2(d, pull), pull);
  });
  means = share * sum_of_all(means, triples, simd_lane_id, simd_group_id, simds);
  const float variance = means.x + eps;
  const float r = metal::precise::rsqrt(variance);
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const float d = float(x[row + i]) - centre, incoming = g[row + i];
    const float pull = float(w[w_stride * i]) * incoming;
    gx[row + i] = static_cast<T>(r * (pull - means.z - d * (means.y / variance)));
    if (has_w) {
      gw[row + i] = static_cast<T>(incoming * (d * r));
    }
  });
}

template <typename T, bool looped, typename AccT = float, int N_READS = 4>
[[kernel]] void logsumexp(
    const device T* in [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant int& axis_size [[buffer(2)]],
    uint gid [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lsize [[threads_per_threadgroup]],
    uint simd_lane_id [[thread_index_in_simdgroup]],
    uint simd_group_id [[simdgroup_index_in_threadgroup]],
    uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup AccT tops[SIMD_SIZE];
  threadgroup AccT totals[SIMD_SIZE];
  const size_t row = gid * size_t(axis_size);

  // a thread's own maximum and sum; those of the simdgroup; those of all
  AccT top = metal::numeric_limits<AccT>::lowest();
  AccT total = 0;
  for_row<looped, N_READS>(axis_size, lid, lsize, [&](uint i) {
    const AccT v = in[row + i];
    if (v > top) {
      total = fma(total, fast::exp(top - v), AccT(1));
      top = v;
    } else {
      total += fast::exp(v - top);
    }
  });
  const AccT simd_top = simd_max(top);
  const AccT simd_total = simd_sum(total * fast::exp(top - simd_top));
  if (simd_lane_id == 0) {
    tops[simd_group_id] = simd_top;
    totals[simd_group_id] = simd_total;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid == 0) {
    top = tops[0];
    for (uint s = 1; s < simds; s++) {
      top = max(top, tops[s]);
    }
    total = 0;
    for (uint s = 0; s < simds; s++) {
      total += totals[s] * fast::exp(tops[s] - top);
    }
    out[gid] = static_cast<T>(top + metal::precise::log(total));
  }
}

#define instantiate_as(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;

#define instantiate_norm(op, name, type)           \
  instantiate_as(#op #name, op, type, false)   \
  instantiate_as(#op "_looped" #name, op, type, true)

#define instantiate_norms(name, type)           \
  instantiate_norm(rms_norm, _##name, type)     \
  instantiate_norm(layer_norm, _##name, type)

instantiate_norms(float32, float)
instantiate_norms(float16, half)
instantiate_norms(bfloat16, bfloat)
instantiate_norm(vjp_rms_norm, _float32, float)
instantiate_norm(vjp_layer_norm, _float32, float)
instantiate_norm(logsumexp, _float32, float)
instantiate_norm(logsumexp, _float16, half)
