// Histograms, scans and the passes of a least-significant-digit radix sort.
#include <metal_stdlib>
using namespace metal;

#ifndef RADIX_BITS
#define RADIX_BITS 4
#endif
#define RADIX (1 << RADIX_BITS)
#define BLOCK 128
#define TG threadgroup

constant bool descending_ [[function_constant(0)]];
constant bool descending = is_function_constant_defined(descending_) ? descending_ : false;
constant uint flip = descending ? uint(RADIX - 1) : 0u;

// Keys as unsigned numbers whose order is the keys' order.
template <typename K> struct KeyOrder;
template <> struct KeyOrder<uint> {
  static uint encode(uint k) { return k; }
};
template <> struct KeyOrder<int> {
  static uint encode(int k) { return uint(k) ^ 0x80000000u; }
};
template <> struct KeyOrder<float> {
  static uint encode(float k) {
    uint u = as_type<uint>(k);
    return u ^ (uint(int(u) >> 31) | 0x80000000u);
  }
};
template <> struct KeyOrder<half> {
  static uint encode(half k) {
    ushort u = as_type<ushort>(k);
    return ushort(u ^ ushort(ushort(short(u) >> 15) | 0x8000u));
  }
};

struct SortArgs {
  uint n;
  uint shift;
  uint blocks;
};

template <typename K>
inline uint digit_of(K key, uint shift) {
  return extract_bits(KeyOrder<K>::encode(key), shift, uint(RADIX_BITS)) ^ flip;
}

template <typename K>
[[kernel, max_total_threads_per_threadgroup(BLOCK)]] void radix_count(
    device const K* keys [[buffer(0)]],
    device uint* counts [[buffer(1)]],  // [RADIX][blocks]
    constant SortArgs& args [[buffer(2)]],
    uint block [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]]) {
  TG atomic_uint bins[RADIX];
  if (lid < RADIX) atomic_store_explicit(&bins[lid], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint at = block * BLOCK + lid;
  if (at < args.n) atomic_fetch_add_explicit(&bins[digit_of(keys[at], args.shift)], 1u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lid < RADIX) counts[lid * args.blocks + block] = atomic_load_explicit(&bins[lid], memory_order_relaxed);
}

template <typename K, bool kPayload>
[[kernel, max_total_threads_per_threadgroup(BLOCK)]] void radix_scatter(
    device const K* keys [[buffer(0)]],
    device const uint* offsets [[buffer(1)]],
    constant SortArgs& args [[buffer(2)]],
    device K* sorted [[buffer(3)]],
    device const uint* payload [[buffer(4)]],
    device uint* sorted_payload [[buffer(5)]],
    uint block [[threadgroup_position_in_grid]],
    uint lid [[thread_position_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]]) {
  TG ushort per_simd[BLOCK / 32][RADIX];
  const uint at = block * BLOCK + lid;
  const bool live = at < args.n;
  const K key = live ? keys[at] : K(0);
  const uint digit = live ? digit_of(key, args.shift) : 0xffffffffu;
  uint rank = 0;
#pragma unroll(RADIX)
  for (uint d = 0; d < RADIX; ++d) {
    const ulong votes = (ulong)(simd_vote::vote_t)simd_ballot(digit == d);
    const uint mask = uint(votes);
    if (digit == d) rank = popcount(mask & ((1u << lane) - 1u));
    if (lane == 0) per_simd[sg][d] = ushort(popcount(mask));
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (!live) return;
  for (uint s = 0; s < sg; ++s) rank += per_simd[s][digit];
  const uint to = offsets[digit * args.blocks + block] + rank;
  sorted[to] = key;
  if (kPayload) sorted_payload[to] = payload[at];
}

#define RADIX_KERNELS_(type)                                                                                         \
  template [[host_name("radix_count_" #type)]] [[kernel]] decltype(radix_count<type>) radix_count<type>;             \
  template [[host_name("radix_scatter_" #type)]] [[kernel]] decltype(radix_scatter<type, false>) radix_scatter<type, false>; \
  template [[host_name("radix_scatter_pairs_" #type)]] [[kernel]] decltype(radix_scatter<type, true>) radix_scatter<type, true>;
#define RADIX_KERNELS(a, b, c, d) RADIX_KERNELS_(a) RADIX_KERNELS_(b) RADIX_KERNELS_(c) RADIX_KERNELS_(d)
RADIX_KERNELS(uint, int, float, half)
#undef RADIX_KERNELS
#undef RADIX_KERNELS_

// Scans with the operator as a functor; one threadgroup walks the whole array.
struct Plus {
  static constexpr constant uint identity = 0;
  uint operator()(uint a, uint b) const { return a + b; }
  uint simd_scan(uint x) const { return simd_prefix_inclusive_sum(x); }
};
struct Maximum {
  static constexpr constant uint identity = 0;
  uint operator()(uint a, uint b) const { return max(a, b); }
  uint simd_scan(uint x) const {
    for (ushort d = 1; d < 32; d <<= 1) x = max(x, simd_shuffle_and_fill_up(x, identity, d));
    return x;
  }
};

template <typename Op, bool Inclusive>
kernel void scan_all(
    device const uint* in [[buffer(0)]],
    device uint* out [[buffer(1)]],
    constant uint& n [[buffer(2)]],
    TG uint* partial [[threadgroup(0)]],
    uint lid [[thread_position_in_threadgroup]],
    uint threads [[threads_per_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]]) {
  Op op;
  const uint groups = threads / 32;
  uint carry = Op::identity;
  for (uint base = 0; base < n; base += threads) {
    const uint at = base + lid;
    const uint x = at < n ? in[at] : Op::identity;
    uint scanned = op.simd_scan(x);
    uint before = simd_shuffle_up(scanned, 1);
    if (lane == 31) partial[sg] = scanned;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint left = carry;
    for (uint s = 0; s < groups; ++s) {
      if (s < sg) left = op(left, partial[s]);
      carry = op(carry, partial[s]);
    }
    if (at < n) {
      if (Inclusive) out[at] = op(left, scanned);
      else out[at] = lane == 0 ? left : op(left, before);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}

template [[host_name("scan_sum_exclusive")]] kernel void scan_all<Plus, false>(
    device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]], TG uint* partial [[threadgroup(0)]],
    uint lid [[thread_position_in_threadgroup]], uint threads [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]]);
template [[host_name("scan_sum_inclusive")]] kernel void scan_all<Plus, true>(
    device const uint*, device uint*, constant uint&, TG uint*, uint, uint, uint, uint);
template [[host_name("scan_max_inclusive")]] kernel void scan_all<Maximum, true>(
    device const uint*, device uint*, constant uint&, TG uint*, uint, uint, uint, uint);

// A histogram of bytes, four at a time, with replicated bins against contention.
kernel void histogram_bytes(
    device const uchar4* pixels [[buffer(0)]],
    device atomic_uint* bins [[buffer(1)]],
    constant uint& n4 [[buffer(2)]],
    uint gid [[thread_position_in_grid]],
    uint total [[threads_per_grid]],
    uint lid [[thread_index_in_threadgroup]],
    uint threads [[threads_per_threadgroup]]) {
  TG atomic_uint replicas[4 * 256];
  for (uint i = lid; i < 1024; i += threads) atomic_store_explicit(replicas + i, 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  TG atomic_uint* mine = replicas + (lid & 3) * 256;
  for (uint i = gid; i < n4; i += total) {
    const uchar4 p = pixels[i];
    for (int k = 0; k < 4; ++k) atomic_fetch_add_explicit(mine + p[k], 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint b = lid; b < 256; b += threads) {
    uint sum = 0;
    for (uint k = 0; k < 4; ++k) sum += atomic_load_explicit(replicas + k * 256 + b, memory_order_relaxed);
    if (sum) atomic_fetch_add_explicit(bins + b, sum, memory_order_relaxed);
  }
}
