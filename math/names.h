// Lists of the functions of math/; declarations, definitions and the names for kernels are generated from them.
#pragma once

// Functions of one argument that Metal has.
#define ASSAY_MATH_KERNEL_FUNCTIONS_1(each) each(exp) ASSAY_MATH_GUESSED_KERNEL_FUNCTIONS_1(each)

#define ASSAY_MATH_GUESSED_KERNEL_FUNCTIONS_1(each)                                                                                 \
  each(exp2) each(exp10) each(log) each(log2) each(log10) each(sin) each(cos) each(tan) each(asin) each(acos) each(atan) each(sinh) \
      each(cosh) each(tanh) each(asinh) each(acosh) each(atanh)

// Functions of two arguments.
#define ASSAY_MATH_KERNEL_FUNCTIONS_2(each) each(pow) each(atan2)
