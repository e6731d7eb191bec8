// Evaluates functions with MPFR: the exact value, rounded once.
#pragma once

#include <mpfr.h>

namespace assay::math {

using ExactFunction1 = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using ExactFunction2 = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

// The nearest double, ties to even.
double nearest(ExactFunction1 function, double x);
double nearest(ExactFunction2 function, double x, double y);

// Rounded to odd: the exact value if it is a double, else the neighbour whose last bit is set. Rounding that again to 51 bits or fewer
// gives the same as rounding the exact value once.
double to_odd(ExactFunction1 function, double x);
double to_odd(ExactFunction2 function, double x, double y);

}  // namespace assay::math
