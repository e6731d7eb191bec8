// <metal_simdgroup>, <metal_quadgroup>: functions over the active lanes of a SIMD-group (32) or quad-group (4).
//
// As in Metal they take scalars and vectors of 8-, 16- and 32-bit integers, half and float. Functions of bool, bfloat and 64-bit
// integers are left to kernels, which define their own.
#pragma once

#include "runtime.h"
#include "vec.h"

namespace metal {
namespace __detail {

template <class T>
struct scalar_code {};
#define ASSAY_CODE(T, c)                            \
  template <>                                       \
  struct scalar_code<T> {                           \
    static constexpr __global const uint value = c; \
  };
ASSAY_CODE(bool, code_uint8)
ASSAY_CODE(char, code_int8)
ASSAY_CODE(uchar, code_uint8)
ASSAY_CODE(short, code_int16)
ASSAY_CODE(ushort, code_uint16)
ASSAY_CODE(int, code_int32)
ASSAY_CODE(uint, code_uint32)
ASSAY_CODE(long, code_int64)
ASSAY_CODE(ulong, code_uint64)
ASSAY_CODE(half, code_half)
ASSAY_CODE(bfloat, code_bfloat)
ASSAY_CODE(float, code_float)
#undef ASSAY_CODE

template <class T, int N>
struct scalar_code<vec<T, N>> : scalar_code<T> {};
template <class T>
struct component_count {
  static constexpr __global const uint value = 1;
};
template <class T, int N>
struct component_count<vec<T, N>> {
  static constexpr __global const uint value = N;
};

template <class T>
inline T reduce(uint op, uint width, T value) {
  __assay_simd_reduce(op, scalar_code<T>::value, component_count<T>::value, width, &value);
  return value;
}
template <class T>
inline T shuffle(uint mode, uint width, T value, uint argument) {
  __assay_simd_shuffle(mode, sizeof(T), width, &value, 0, argument, width);
  return value;
}
template <class T>
inline T shuffle_fill(uint mode, uint width, T value, T fill, uint delta, uint modulo) {
  __assay_simd_shuffle(mode, sizeof(T), width, &value, &fill, delta, modulo);
  return value;
}
// One meeting point for a predicate of the whole group.
inline bool agree(uint op, uint width, bool predicate) { return reduce(op, width, uint(predicate)) != 0; }

}  // namespace __detail

// clang-format off
#define ASSAY_EACH_WIDTH(X, T, prefix, width) X(T, prefix, width) X(T##2, prefix, width) X(T##3, prefix, width) X(T##4, prefix, width)

#define ASSAY_DATA_PARALLEL(T, prefix, width)                                                                                    \
  inline T prefix##_sum(T data) { return __detail::reduce(__detail::reduce_sum, width, data); }                                      \
  inline T prefix##_product(T data) { return __detail::reduce(__detail::reduce_product, width, data); }                              \
  inline T prefix##_min(T data) { return __detail::reduce(__detail::reduce_min, width, data); }                                      \
  inline T prefix##_max(T data) { return __detail::reduce(__detail::reduce_max, width, data); }                                      \
  inline T prefix##_prefix_inclusive_sum(T data) { return __detail::reduce(__detail::reduce_prefix_inclusive_sum, width, data); }    \
  inline T prefix##_prefix_exclusive_sum(T data) { return __detail::reduce(__detail::reduce_prefix_exclusive_sum, width, data); }    \
  inline T prefix##_prefix_inclusive_product(T data) {                                                                           \
    return __detail::reduce(__detail::reduce_prefix_inclusive_product, width, data);                                                 \
  }                                                                                                                              \
  inline T prefix##_prefix_exclusive_product(T data) {                                                                           \
    return __detail::reduce(__detail::reduce_prefix_exclusive_product, width, data);                                                 \
  }                                                                                                                              \
  inline T prefix##_broadcast(T data, ushort lane) { return __detail::shuffle(__detail::shuffle_broadcast, width, data, lane); }     \
  inline T prefix##_broadcast_first(T data) { return __detail::shuffle(__detail::shuffle_broadcast_first, width, data, 0); }         \
  inline T prefix##_shuffle(T data, ushort lane) { return __detail::shuffle(__detail::shuffle_index, width, data, lane); }           \
  inline T prefix##_shuffle_xor(T data, ushort mask) { return __detail::shuffle(__detail::shuffle_xor, width, data, mask); }         \
  inline T prefix##_shuffle_up(T data, ushort delta) { return __detail::shuffle(__detail::shuffle_up, width, data, delta); }         \
  inline T prefix##_shuffle_down(T data, ushort delta) { return __detail::shuffle(__detail::shuffle_down, width, data, delta); }     \
  inline T prefix##_shuffle_rotate_up(T data, ushort delta) {                                                                    \
    return __detail::shuffle(__detail::shuffle_rotate_up, width, data, delta);                                                       \
  }                                                                                                                              \
  inline T prefix##_shuffle_rotate_down(T data, ushort delta) {                                                                  \
    return __detail::shuffle(__detail::shuffle_rotate_down, width, data, delta);                                                     \
  }                                                                                                                              \
  inline T prefix##_shuffle_and_fill_up(T data, T filling, ushort delta, ushort modulo = width) {                                \
    return __detail::shuffle_fill(__detail::shuffle_fill_up, width, data, filling, delta, modulo);                                   \
  }                                                                                                                              \
  inline T prefix##_shuffle_and_fill_down(T data, T filling, ushort delta, ushort modulo = width) {                              \
    return __detail::shuffle_fill(__detail::shuffle_fill_down, width, data, filling, delta, modulo);                                 \
  }
#define ASSAY_DATA_PARALLEL_BITS(T, prefix, width)                                                                               \
  inline T prefix##_and(T data) { return __detail::reduce(__detail::reduce_and, width, data); }                                      \
  inline T prefix##_or(T data) { return __detail::reduce(__detail::reduce_or, width, data); }                                        \
  inline T prefix##_xor(T data) { return __detail::reduce(__detail::reduce_xor, width, data); }

#define ASSAY_GROUP(prefix, width)                                                                                               \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, char, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, uchar, prefix, width)         \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, short, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, ushort, prefix, width)       \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, int, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, uint, prefix, width)           \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, half, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL, float, prefix, width)         \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, char, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, uchar, prefix, width) \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, short, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, ushort, prefix, width) \
  ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, int, prefix, width) ASSAY_EACH_WIDTH(ASSAY_DATA_PARALLEL_BITS, uint, prefix, width)
// clang-format on
ASSAY_GROUP(simd, 32)
ASSAY_GROUP(quad, 4)
#undef ASSAY_GROUP
#undef ASSAY_DATA_PARALLEL_BITS
#undef ASSAY_DATA_PARALLEL
#undef ASSAY_EACH_WIDTH

// The lanes that voted: bit l is lane l.
#define ASSAY_VOTE(name, prefix, width)                                                                                  \
  class name {                                                                                                           \
   public:                                                                                                               \
    typedef ulong vote_t;                                                                                                \
    explicit constexpr name(vote_t votes = 0) : votes_(votes) {}                                                         \
    explicit constexpr operator vote_t() const { return votes_; }                                                        \
    constexpr bool all() const { return (votes_ & every) == every; }                                                     \
    constexpr bool any() const { return votes_ != 0; }                                                                   \
    friend constexpr bool operator==(name a, name b) { return a.votes_ == b.votes_; }                                    \
    friend constexpr bool operator!=(name a, name b) { return a.votes_ != b.votes_; }                                    \
    friend constexpr name operator&(name a, name b) { return name(a.votes_ & b.votes_); }                                \
    friend constexpr name operator|(name a, name b) { return name(a.votes_ | b.votes_); }                                \
    friend constexpr name operator^(name a, name b) { return name(a.votes_ ^ b.votes_); }                                \
    friend constexpr name operator~(name a) { return name(~a.votes_ & every); }                                          \
                                                                                                                         \
   private:                                                                                                              \
    static constexpr __global const vote_t every = (vote_t(1) << width) - 1;                                             \
    vote_t votes_;                                                                                                       \
  };                                                                                                                     \
  inline name prefix##_ballot(bool predicate) { return name(name::vote_t(__assay_simd_ballot(predicate, width))); }      \
  inline name prefix##_active_threads_mask() { return name(name::vote_t(__assay_simd_active(width))); }                  \
  inline bool prefix##_all(bool predicate) { return __detail::agree(__detail::reduce_and, width, predicate); }           \
  inline bool prefix##_any(bool predicate) { return __detail::agree(__detail::reduce_or, width, predicate); }            \
  inline bool prefix##_is_first() { return uint(__builtin_ctzl(__assay_simd_active(width))) == __assay_lane() % width; } \
  inline bool prefix##_is_helper_thread() { return false; }
ASSAY_VOTE(simd_vote, simd, 32)
ASSAY_VOTE(quad_vote, quad, 4)
#undef ASSAY_VOTE

}  // namespace metal
