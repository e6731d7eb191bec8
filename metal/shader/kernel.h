// Everything that stands before a translated kernel: Metal's library, then what the translation itself refers to.
#pragma once

// OpenCL leaves bit-fields out, Metal does not.
#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

#include "prelude.h"

#include "entry.h"
