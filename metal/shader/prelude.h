// Everything of Metal that a translated kernel sees; included before the user's first line.
//
// It is C++ for OpenCL (clang-19, -x clcpp), the dialect that has address spaces, and uses no other header. The translator spells
// Metal's address spaces in that dialect. The user's macros are already expanded (include/). Only the macros at the end stay defined.
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
#include "offered.h"
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

// OpenCL has global types of these names with another meaning.
#define atomic_float metal_atomic_float
#define atomic_int metal_atomic_int
#define atomic_long metal_atomic_long
#define atomic_uint metal_atomic_uint
#define atomic_ulong metal_atomic_ulong
