// SIMD-group functions on an NVIDIA GPU, over the lanes of `mask`: the bits that metal/execute/ computes for the same lanes.
//
// A value travels as a word whose upper bits are unused. Every lane of `mask` calls with the same mask.
#pragma once

#include "../integer.h"
#include "../simd.h"
#include "launch.h"
#include "memory.h"

namespace __assay {
namespace nvptx {

constexpr uint every_lane = 0xffffffffu;
constexpr uint last_lane = 31;

inline uint word_from(uint mask, uint word, uint lane) {
  return uint(__nvvm_shfl_sync_idx_i32(mask, int(word), int(lane), int(last_lane)));
}

template <class T>
inline T value_from(uint mask, T value, uint lane) {
  const ulong word = word_of(value);
  const ulong low = word_from(mask, uint(word), lane);
  if constexpr (sizeof(T) == 8) return value_of<T>(low | ulong(word_from(mask, uint(word >> 32), lane)) << 32);
  return value_of<T>(low);
}
// The value of the lane whose number differs in the bit `stride`, if all lanes are here.
template <class T>
inline T value_across(T value, uint stride) {
  const ulong word = word_of(value);
  const ulong low = uint(__nvvm_shfl_sync_bfly_i32(every_lane, int(uint(word)), int(stride), int(last_lane)));
  if constexpr (sizeof(T) == 8) {
    const uint high = uint(__nvvm_shfl_sync_bfly_i32(every_lane, int(uint(word >> 32)), int(stride), int(last_lane)));
    return value_of<T>(low | ulong(high) << 32);
  }
  return value_of<T>(low);
}

template <class T>
constexpr bool is_float = metal::is_floating_point<T>::value;

inline bool is_product(uint op) { return op == reduce_product || op >= reduce_prefix_inclusive_product; }

// metal/execute/scalars.h and reductions.cpp: half and bfloat are added as floats, which rounds like their own addition.
template <class T>
inline T combined(uint op, T a, T b) {
  if constexpr (is_float<T>) {
    const float x = a, y = b;
    if (op == reduce_min) return x != x || y < x ? b : a;
    if (op == reduce_max) return x != x || x < y ? b : a;
    return is_product(op) ? T(x * y) : T(x + y);
  } else {
    switch (op) {
      case reduce_min:
        return b < a ? b : a;
      case reduce_max:
        return a < b ? b : a;
      case reduce_and:
        return T(a & b);
      case reduce_or:
        return T(a | b);
      case reduce_xor:
        return T(a ^ b);
      default:
        return is_product(op) ? T(ulong(a) * ulong(b)) : T(ulong(a) + ulong(b));
    }
  }
}

template <class T>
inline T identity(uint op) {
  if (is_product(op)) return T(1);
  if constexpr (is_float<T>) {
    if (op == reduce_min || op == reduce_max) return nan_of<T>();
  } else {
    if (op == reduce_min) return greatest<T>;
    if (op == reduce_max) return least<T>;
    if (op == reduce_and) return T(~T(0));
  }
  return T(0);
}

// A butterfly of strides 1, 2, 4 ... Each step combines the lower half with the upper one, in this order.
template <class T>
inline T butterfly(uint op, uint width, T value) {
  for (uint stride = 1; stride < width; stride *= 2) {
    const T other = value_across(value, stride);
    value = (lane_index() & stride) != 0 ? combined(op, other, value) : combined(op, value, other);
  }
  return value;
}

// The same with absent lanes: all lanes of one half have the same value, so that the first one present stands for them.
template <class T>
inline T butterfly_of(uint mask, uint op, uint width, T value) {
  for (uint stride = 1; stride < width; stride *= 2) {
    const uint sibling = (lane_index() & ~(stride - 1)) ^ stride;
    const uint there = mask & (((1u << stride) - 1) << sibling);
    T other = value_from(mask, value, there == 0 ? lane_index() : uint(__builtin_ctz(there)));
    if (there == 0) other = identity<T>(op);
    value = (lane_index() & stride) != 0 ? combined(op, other, value) : combined(op, value, other);
  }
  return value;
}

// In the order of lanes, because the rounding of a sum depends on it.
template <class T>
inline T scan(uint mask, uint op, uint width, T value) {
  const bool is_inclusive = op == reduce_prefix_inclusive_sum || op == reduce_prefix_inclusive_product;
  const uint first = lane_index() & ~(width - 1);
  T running = identity<T>(op);
  for (uint lane = 0; lane <= last_lane; ++lane) {
    const T other = value_from(mask, value, lane);
    const bool counts = lane >= first && (mask >> lane & 1u) != 0 && (lane < lane_index() || (is_inclusive && lane == lane_index()));
    if (counts) running = combined(op, running, other);
  }
  return running;
}

template <class T>
inline ulong reduced(uint mask, uint op, uint width, ulong word) {
  const T value = value_of<T>(word);
  if (op >= reduce_prefix_inclusive_sum) return word_of(scan(mask, op, width, value));
  if (mask == every_lane) return word_of(butterfly(op, width, value));
  return word_of(butterfly_of(mask, op, width, value));
}

struct Source {
  uint lane;
  bool is_fill;
};

// The lane that a value comes from; the lane itself where Metal leaves the result undefined (shuffle_source() in
// metal/execute/shuffles.cpp).
inline Source shuffle_source(uint mask, uint mode, uint width, uint argument, uint modulo) {
  const uint lane = lane_index();
  const uint base = lane & ~(width - 1);
  const uint within = lane - base;
  const ulong wanted = mode == shuffle_xor           ? ulong(within ^ argument)
                       : mode == shuffle_up          ? ulong(within) - ulong(argument)
                       : mode == shuffle_down        ? ulong(within) + ulong(argument)
                       : mode == shuffle_rotate_up   ? ulong((within + width - argument % width) % width)
                       : mode == shuffle_rotate_down ? (ulong(within) + ulong(argument)) % width
                                                     : ulong(argument);
  if (mode == shuffle_broadcast_first) return {base + uint(__builtin_ctz(mask >> base)), false};
  if (mode != shuffle_fill_up && mode != shuffle_fill_down) return {wanted < width ? base + uint(wanted) : lane, false};
  const uint length = modulo < 1 ? 1 : modulo > width ? width : modulo;
  const uint segment = base + within / length * length;
  const uint position = within % length;
  if (argument > length) return {lane, false};
  if (mode == shuffle_fill_up)
    return argument <= position ? Source{segment + position - argument, false} : Source{segment + position + length - argument, true};
  return position + argument < length ? Source{segment + position + argument, false} : Source{segment + position + argument - length, true};
}

inline uint lanes_of(uint mask, uint width) {
  const uint group = mask >> (lane_index() & ~(width - 1));
  return width == 32 ? group : group & ((1u << width) - 1);
}

}  // namespace nvptx
}  // namespace __assay

extern "C" {

__attribute__((used)) inline ulong __assay_nvptx_reduce(uint mask, uint op, uint type, uint width, ulong word) {
  using namespace __assay::nvptx;
  switch (type) {
    case code_int8:
      return reduced<char>(mask, op, width, word);
    case code_uint8:
      return reduced<uchar>(mask, op, width, word);
    case code_int16:
      return reduced<short>(mask, op, width, word);
    case code_uint16:
      return reduced<ushort>(mask, op, width, word);
    case code_int32:
      return reduced<int>(mask, op, width, word);
    case code_uint32:
      return reduced<uint>(mask, op, width, word);
    case code_int64:
      return reduced<long>(mask, op, width, word);
    case code_uint64:
      return reduced<ulong>(mask, op, width, word);
    case code_half:
      return reduced<half>(mask, op, width, word);
    case code_bfloat:
      return reduced<bfloat>(mask, op, width, word);
    default:
      return reduced<float>(mask, op, width, word);
  }
}

__attribute__((used)) inline uint __assay_nvptx_shuffle(uint mask, uint mode, uint width, uint word, uint fill, uint argument,
                                                        uint modulo) {
  using namespace __assay::nvptx;
  const Source source = shuffle_source(mask, mode, width, argument, modulo);
  uint result = word_from(mask, word, source.lane);
  if (mode == shuffle_fill_up || mode == shuffle_fill_down) {
    const uint other = word_from(mask, fill, source.lane);
    result = source.is_fill ? other : result;
  }
  return (mask >> source.lane & 1u) != 0 ? result : word;
}

__attribute__((used)) inline ulong __assay_nvptx_ballot(uint mask, uint predicate, uint width) {
  return __assay::nvptx::lanes_of(uint(__nvvm_vote_ballot_sync(mask, predicate != 0)), width);
}

__attribute__((used)) inline ulong __assay_nvptx_active(uint mask, uint width) { return __assay::nvptx::lanes_of(mask, width); }

// A word is row (l4 l2 l1) and columns (l3 l0 0) and (l3 l0 1) of a matrix, where l is the lane. For each element, the products are added
// by fma over ascending k.
__attribute__((used)) inline ulong __assay_nvptx_matrix_multiply(uint mask, ulong a, ulong b, ulong c) {
  using namespace __assay::nvptx;
  const uint row = lane_index() & 0x16u, column = lane_index() & 0x09u;
  float first = value_of<float>(c), second = value_of<float>(c >> 32);
  for (uint k = 0; k < 8; ++k) {
    const uint holds_a = row | (k & 4u) << 1 | (k & 2u) >> 1;
    const uint holds_b = column | (k & 4u) << 2 | (k & 3u) << 1;
    uint of_a = word_from(mask, uint((k & 1u) != 0 ? a >> 32 : a), holds_a);
    uint of_first = word_from(mask, uint(b), holds_b), of_second = word_from(mask, uint(b >> 32), holds_b);
    if ((mask >> holds_a & 1u) == 0) of_a = 0;
    if ((mask >> holds_b & 1u) == 0) of_first = of_second = 0;
    first = __builtin_fmaf(value_of<float>(of_a), value_of<float>(of_first), first);
    second = __builtin_fmaf(value_of<float>(of_a), value_of<float>(of_second), second);
  }
  return word_of(first) | word_of(second) << 32;
}
}
