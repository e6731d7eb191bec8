// Counter based random bits (threefry 2x32), gathers and scatters with index arrays and atomic updates.
#include <metal_stdlib>
#include <metal_atomic>

using namespace metal;

// Threefry-2x32 with 20 rounds, after Salmon and others (2011).
constant constexpr uint kTurns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
constant constexpr uint kParity = 0x1BD11BDAu;

union Drawn {
  uint2 words;
  uchar4 bytes[2];
};

template <int round>
METAL_FUNC void threefry_rounds(thread uint2& x, const thread uint3& key) {
  if constexpr (round < 20) {
    x.x += x.y;
    x.y = rotate(x.y, kTurns[round & 7]) ^ x.x;
    if constexpr (round % 4 == 3) {
      constexpr uint injection = round / 4 + 1;
      x += uint2(key[injection % 3], key[(injection + 1) % 3] + injection);
    }
    threefry_rounds<round + 1>(x, key);
  }
}

METAL_FUNC Drawn draw(uint2 key, uint2 counter) {
  const uint3 extended = uint3(key, key.x ^ key.y ^ kParity);
  Drawn drawn;
  uint2 x = counter + key;
  threefry_rounds<0>(x, extended);
  drawn.words = x;
  return drawn;
}

// Words y and y + rows of the row of a key come from the counter (y, y + rows). With an odd number of words the last
// pair lacks its second half and counts (y, 0); the last word of a row may be incomplete.
[[kernel]] void rbitsc(
    device const uint2* keys [[buffer(0)]],
    device uchar* out [[buffer(1)]],
    constant const bool& odd [[buffer(2)]],
    constant const uint& bytes_per_key [[buffer(3)]],
    uint2 size [[threads_per_grid]],
    uint2 at [[thread_position_in_grid]]) {
  device uchar* row = out + at.x * bytes_per_key;
  const bool single = odd && at.y + 1 == size.y;
  const uint2 places = uint2(at.y, single ? 0 : at.y + size.y);
  const Drawn drawn = draw(keys[at.x], places);
  for (int half_ = 0; half_ < (single ? 1 : 2); half_++) {
    const uint first = 4 * places[half_];
    const uint count = min(4u, bytes_per_key - first);
    for (uint i = 0; i < count; i++) {
      row[first + i] = drawn.bytes[half_][i];
    }
  }
}

template <typename T, int SHIFT>
[[kernel]] void uniform_of_bits(
    device const uint2* keys [[buffer(0)]],
    device T* out [[buffer(1)]],
    constant float2& range [[buffer(2)]],
    uint index [[thread_position_in_grid]]) {
  const uint2 key = keys[0];
  const Drawn bits = draw(key, uint2(index, 0u));
  const float u = float(bits.words.x >> SHIFT) * exp2(float(SHIFT - 32));
  out[index] = static_cast<T>(fma(u, range.y - range.x, range.x));
}

template [[host_name("uniform_float")]] [[kernel]] void
uniform_of_bits<float, 8>(device const uint2*, device float*, constant float2&, uint);
template [[host_name("uniform_half")]] [[kernel]] void
uniform_of_bits<half, 22>(device const uint2*, device half*, constant float2&, uint);

///////////////////////////////////////////////////////////////////////////////
// Indices
///////////////////////////////////////////////////////////////////////////////

// N arrays of indices of one shape.
template <typename I, int N>
struct IndexArrays {
  const array<const device I*, N> of_axis;
  const constant int* shape;
  const constant size_t* steps;
  const int rank;

  // the element of the array `which` that has this number in row order
  METAL_FUNC I get(int which, uint number) const thread {
    const constant size_t* step = steps + which * rank;
    size_t at = 0;
    for (int axis = rank; axis-- > 0;) {
      const uint extent = shape[axis];
      at += (number % extent) * step[axis];
      number /= extent;
    }
    return of_axis[which][at];
  }
};

// Signed indices count from the end when they are negative.
template <typename I>
METAL_FUNC enable_if_t<is_unsigned_v<I>, size_t> wrapped(I index, int) {
  return index;
}
template <typename I>
METAL_FUNC enable_if_t<!is_unsigned_v<I>, size_t> wrapped(I index, int extent) {
  return size_t(index + select(0, extent, index < 0));
}

template <typename T, typename I, int N>
METAL_FUNC void gather_element(
    const device T* src,
    device T* out,
    const constant int* src_shape,
    const constant size_t* src_strides,
    const constant int* axes,
    uint slice_size,
    const thread IndexArrays<I, N>& indices,
    uint2 index) {
  const device T* slice = src;
#pragma clang loop unroll(full)
  for (int i = 0; i < N; ++i) {
    slice += wrapped(indices.get(i, index.y), src_shape[axes[i]]) * src_strides[axes[i]];
  }
  out[index.y * size_t(slice_size) + index.x] = slice[index.x];
}

template <typename T, typename IdxT>
[[kernel]] void gather1(
    const device T* src [[buffer(0)]],
    device T* out [[buffer(1)]],
    const constant int* src_shape [[buffer(2)]],
    const constant size_t* src_strides [[buffer(3)]],
    const constant int* axes [[buffer(4)]],
    const constant uint& slice_size [[buffer(5)]],
    const constant int* idx_shapes [[buffer(6)]],
    const constant size_t* idx_strides [[buffer(7)]],
    const constant int& idx_ndim [[buffer(8)]],
    const device IdxT* idx0 [[buffer(20)]],
    uint2 index [[thread_position_in_grid]]) {
  const IndexArrays<IdxT, 1> idxs{{{idx0}}, idx_shapes, idx_strides, idx_ndim};
  gather_element(src, out, src_shape, src_strides, axes, slice_size, idxs, index);
}

template <typename T, typename IdxT>
[[kernel]] void gather2(
    const device T* src [[buffer(0)]],
    device T* out [[buffer(1)]],
    const constant int* src_shape [[buffer(2)]],
    const constant size_t* src_strides [[buffer(3)]],
    const constant int* axes [[buffer(4)]],
    const constant uint& slice_size [[buffer(5)]],
    const constant int* idx_shapes [[buffer(6)]],
    const constant size_t* idx_strides [[buffer(7)]],
    const constant int& idx_ndim [[buffer(8)]],
    const device IdxT* idx0 [[buffer(20)]],
    const device IdxT* idx1 [[buffer(21)]],
    uint2 index [[thread_position_in_grid]]) {
  const IndexArrays<IdxT, 2> idxs{{{idx0, idx1}}, idx_shapes, idx_strides, idx_ndim};
  gather_element(src, out, src_shape, src_strides, axes, slice_size, idxs, index);
}

template [[host_name("gather1_float_int32")]] [[kernel]] decltype(gather1<float, int32_t>) gather1<float, int32_t>;
template [[host_name("gather1_uint64_uint8")]] [[kernel]] decltype(gather1<uint64_t, uint8_t>) gather1<uint64_t, uint8_t>;
template [[host_name("gather2_half_int64")]] [[kernel]] decltype(gather2<half, int64_t>) gather2<half, int64_t>;
template [[host_name("gather2_short_uint32")]] [[kernel]] decltype(gather2<short, uint32_t>) gather2<short, uint32_t>;

#define ATOMIC_IN_DEVICE(T) device atomic<T>*

struct AtomicSum {
  template <typename T>
  static void update(device atomic<T>* out, T value) {
    atomic_fetch_add_explicit(out, value, memory_order_relaxed);
  }
};
struct AtomicMax {
  template <typename T>
  static void update(device atomic<T>* out, T value) {
    atomic_fetch_max_explicit(out, value, memory_order_relaxed);
  }
  // no maximum of floats: compare and exchange
  static void update(device atomic<float>* out, float value) {
    float expected = atomic_load_explicit(out, memory_order_relaxed);
    while (expected < value) {
      if (atomic_compare_exchange_weak_explicit(out, &expected, value, memory_order_relaxed, memory_order_relaxed)) {
        return;
      }
    }
  }
};
struct AtomicProd {
  template <typename T>
  static void update(device atomic<T>* out, T value) {
    T expected = atomic_load_explicit(out, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        out, &expected, T(expected * value), memory_order_relaxed, memory_order_relaxed)) {
    }
  }
};

template <typename T, typename IdxT, typename Op>
[[kernel]] void scatter1(
    const device T* updates [[buffer(1)]],
    device atomic<T>* out [[buffer(2)]],
    const constant int& axis_size [[buffer(3)]],
    const constant int& slice_size [[buffer(4)]],
    const device IdxT* idx0 [[buffer(20)]],
    uint2 gid [[thread_position_in_grid]]) {
  const size_t row = wrapped(idx0[gid.y], axis_size);
  ATOMIC_IN_DEVICE(T) at = out + row * slice_size + gid.x;
  Op::update(at, updates[gid.y * slice_size + gid.x]);
}

#define instantiate_scatter(name, T, I, Op) \
  template [[host_name(name)]] [[kernel]] decltype(scatter1<T, I, Op>) scatter1<T, I, Op>;

instantiate_scatter("scatter_sum_float", float, int, AtomicSum)
instantiate_scatter("scatter_sum_uint", uint, uint, AtomicSum)
instantiate_scatter("scatter_max_float", float, int, AtomicMax)
instantiate_scatter("scatter_max_int", int, int, AtomicMax)
instantiate_scatter("scatter_prod_uint", uint, int, AtomicProd)
