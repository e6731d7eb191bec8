// All that a translated kernel sees of Metal: this header is included ahead of the user's first line.
//
// It is C++ for OpenCL (clang-19, -x clcpp), the dialect that has address spaces, and uses no other header. The macros at the
// end spell Metal's address spaces and give back the names that OpenCL takes; no other macro gets out. The user's own macros were expanded
// before (include/).
#pragma once

#include "array.h"
#include "atomic.h"
#include "builtins.h"
#include "compute.h"
#include "geometric.h"
#include "integer.h"
#include "limits.h"
#include "logging.h"
#include "math.h"
#include "matrix.h"
#include "pack.h"
#include "packed.h"
#include "relational.h"
#include "runtime.h"
#include "simd.h"
#include "simdgroup_matrix.h"
#include "ternary.h"
#include "traits.h"
#include "types.h"
#include "vec.h"
#include "vendor_names.h"

#undef ASSAY_BINARY
#undef ASSAY_BINARY_WITH
#undef ASSAY_EACH_INTEGER
#undef ASSAY_EACH_SCALAR
#undef ASSAY_TERNARY
#undef ASSAY_UNARY
#undef ASSAY_UNARY_OUT
#undef ASSAY_UNARY_TO

#define thread __private
#define device __attribute__((opencl_global_device))
#define constant __global const
#define threadgroup __local
#define restrict __restrict

// OpenCL's own types and keywords that Metal does not have: free for kernels, under another name.
#define atomic_float metal_atomic_float
#define atomic_int metal_atomic_int
#define atomic_long metal_atomic_long
#define atomic_uint metal_atomic_uint
#define atomic_ulong metal_atomic_ulong
#define addrspace_cast metal_name_addrspace_cast
#define generic metal_name_generic
#define global metal_name_global
#define local metal_name_local
#define pipe metal_name_pipe
#define read_only metal_name_read_only
#define read_write metal_name_read_write
#define vec_step metal_name_vec_step
#define write_only metal_name_write_only
