// The functions of the runtime that the headers of this folder call: points at which the lanes of a SIMD-group meet.
//
// Only this file declares them. The lockstep pass replaces the calls. Every pointer is to storage of the calling lane, and results are
// written in place.
#pragma once

#include "types.h"

namespace metal {
namespace __detail {

// The runtime's numbers of scalar types.
enum ScalarCode : uint {
  code_int8 = 0,
  code_uint8 = 1,
  code_int16 = 2,
  code_uint16 = 3,
  code_int32 = 4,
  code_uint32 = 5,
  code_int64 = 6,
  code_uint64 = 7,
  code_half = 8,
  code_bfloat = 9,
  code_float = 10
};

enum ReduceOp : uint {
  reduce_sum = 0,
  reduce_product = 1,
  reduce_min = 2,
  reduce_max = 3,
  reduce_and = 4,
  reduce_or = 5,
  reduce_xor = 6,
  reduce_prefix_inclusive_sum = 7,
  reduce_prefix_exclusive_sum = 8,
  reduce_prefix_inclusive_product = 9,
  reduce_prefix_exclusive_product = 10
};

enum ShuffleMode : uint {
  shuffle_index = 0,
  shuffle_xor = 1,
  shuffle_up = 2,
  shuffle_down = 3,
  shuffle_rotate_up = 4,
  shuffle_rotate_down = 5,
  shuffle_fill_up = 6,
  shuffle_fill_down = 7,
  shuffle_broadcast = 8,
  shuffle_broadcast_first = 9
};

enum AtomicOp : uint {
  atomic_op_load = 0,
  atomic_op_store = 1,
  atomic_op_exchange = 2,
  atomic_op_compare_exchange = 3,
  atomic_op_add = 4,
  atomic_op_sub = 5,
  atomic_op_and = 6,
  atomic_op_or = 7,
  atomic_op_xor = 8,
  atomic_op_min = 9,
  atomic_op_max = 10
};

enum BarrierScope : uint { barrier_simdgroup = 0, barrier_threadgroup = 1 };

// Number of lanes that meet, for a SIMD-group and a quad-group.
constexpr uint simd_width = 32;
constexpr uint quad_width = 4;

}  // namespace __detail
}  // namespace metal

extern "C" {

// Replaces each of the `count` scalars at `value` by its reduction (or prefix) over the active lanes of the caller's group
// of `width` lanes. `op` is a ReduceOp, `type` a ScalarCode.
__attribute__((convergent)) void __assay_simd_reduce(uint op, uint type, uint count, uint width, __private void* value);

// Moves `bytes` bytes between lanes, in place. `mode` is a ShuffleMode; `argument` is the lane, mask or delta; `fill` is read
// by the fill modes only, which treat the group as runs of `modulo` lanes.
__attribute__((convergent)) void __assay_simd_shuffle(uint mode, uint bytes, uint width, __private void* value, const __private void* fill,
                                                      uint argument, uint modulo);

// Bit l is set if lane l of the caller's group is active and passed a nonzero predicate.
__attribute__((convergent)) ulong __assay_simd_ballot(uint predicate, uint width);

// Bit l is set if lane l of the caller's group is active.
__attribute__((convergent)) ulong __assay_simd_active(uint width);

// `scope` is a BarrierScope, `flags` are the bits of mem_flags.
__attribute__((convergent)) void __assay_barrier(uint scope, uint flags);

// Computes a * b + c for 8x8 matrices of float. A lane holds two neighbouring elements of each, the first in the lower half of the
// word, and gets the same two elements of the result. Callers convert from and to other types.
__attribute__((convergent)) ulong __assay_matrix_multiply(ulong a, ulong b, ulong c);

// Orders the caller's earlier accesses before its later atomic operations; `flags` as above. It does not wait for other lanes.
void __assay_fence(uint flags);

// Performs one atomic operation on `object`. `operand` holds the operand (for a compare-exchange: the expected value) and receives the
// old value. `desired` is null except for a compare-exchange.
__attribute__((convergent)) void __assay_atomic(uint op, uint type, __generic void* object, __private void* operand,
                                                const __private void* desired);

// Return `value`. `exact` is the result without any rounding of this function, given the caller's operands.
__attribute__((const)) float __assay_without_rounding_float(float value, double exact);
__attribute__((const)) half __assay_without_rounding_half(half value, double exact);
__attribute__((const)) bfloat __assay_without_rounding_bfloat(bfloat value, double exact);
__attribute__((const)) double __assay_without_rounding_double(double value, double exact);

// The caller's index in its SIMD-group.
__attribute__((const)) uint __assay_lane();
}
