// The functions of math/, once each: what is declared, defined and handed to kernels follows from these lists.
#pragma once

// Of one argument, those that Metal has.
#define ASSAY_MATH_KERNEL_FUNCTIONS_1(each) each(exp) ASSAY_MATH_GUESSED_KERNEL_FUNCTIONS_1(each)

#define ASSAY_MATH_GUESSED_KERNEL_FUNCTIONS_1(each)                                                                                 \
  each(exp2) each(exp10) each(log) each(log2) each(log10) each(sin) each(cos) each(tan) each(asin) each(acos) each(atan) each(sinh) \
      each(cosh) each(tanh) each(asinh) each(acosh) each(atanh)

// Of two.
#define ASSAY_MATH_KERNEL_FUNCTIONS_2(each) each(pow) each(atan2)
