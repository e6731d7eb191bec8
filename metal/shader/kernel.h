// Everything that stands before a translated kernel: Metal's library, then what the translation itself refers to.
#pragma once

// OpenCL leaves bit-fields out, Metal does not.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

#include "prelude.h"

#include "entry.h"

// By it the pass tells our headers from the user's.
extern "C" {
extern __constant const char __assay_shader_file[];
__constant const char __assay_shader_file[] = __FILE__;
}
