// The library functions that scalar_math.h declares, for a GPU without a C library.
#pragma once

#include "mathematics/exponential.h"
#include "mathematics/hyperbolic.h"
#include "mathematics/logarithm.h"
#include "mathematics/remainder.h"
#include "mathematics/trigonometric.h"

#ifdef ASSAY_FAST_MATHEMATICS
// The hardware's approximations, as Metal's fast mathematics has them. Arguments are floats, so that the conversions lose nothing.
namespace __assay {
namespace nvptx {

constexpr float log2_of_e = 0x1.715476p+0f;
constexpr float log2_of_10 = 0x1.a934fp+1f;
constexpr float log_of_2 = 0x1.62e43p-1f;
constexpr float log10_of_2 = 0x1.344136p-2f;

inline float binary_power(float x) { return __nvvm_ex2_approx_ftz_f(x); }
inline float binary_log(float x) { return __nvvm_lg2_approx_ftz_f(x); }

inline double fast_exp(double x) { return binary_power(float(x) * log2_of_e); }
inline double fast_exp2(double x) { return binary_power(float(x)); }
inline double fast_exp10(double x) { return binary_power(float(x) * log2_of_10); }
inline double fast_log(double x) { return binary_log(float(x)) * log_of_2; }
inline double fast_log2(double x) { return binary_log(float(x)); }
inline double fast_log10(double x) { return binary_log(float(x)) * log10_of_2; }
inline double fast_sin(double x) { return __nvvm_sin_approx_ftz_f(float(x)); }
inline double fast_cos(double x) { return __nvvm_cos_approx_ftz_f(float(x)); }

}  // namespace nvptx
}  // namespace __assay
#define ASSAY_QUICK(name) __assay::nvptx::fast_##name
#else
#define ASSAY_QUICK(name) assay_mathematics::name
#endif

extern "C" {
#define ASSAY_PROVIDE(name, function) \
  __attribute__((const, used)) inline double assay_math_##name(double x) { return function(x); }
ASSAY_PROVIDE(exp, ASSAY_QUICK(exp))
ASSAY_PROVIDE(exp2, ASSAY_QUICK(exp2))
ASSAY_PROVIDE(exp10, ASSAY_QUICK(exp10))
ASSAY_PROVIDE(log, ASSAY_QUICK(log))
ASSAY_PROVIDE(log2, ASSAY_QUICK(log2))
ASSAY_PROVIDE(log10, ASSAY_QUICK(log10))
ASSAY_PROVIDE(sin, ASSAY_QUICK(sin))
ASSAY_PROVIDE(cos, ASSAY_QUICK(cos))
ASSAY_PROVIDE(tan, assay_mathematics::tan)
ASSAY_PROVIDE(asin, assay_mathematics::asin)
ASSAY_PROVIDE(acos, assay_mathematics::acos)
ASSAY_PROVIDE(atan, assay_mathematics::atan)
ASSAY_PROVIDE(sinh, assay_mathematics::sinh)
ASSAY_PROVIDE(cosh, assay_mathematics::cosh)
ASSAY_PROVIDE(tanh, assay_mathematics::tanh)
ASSAY_PROVIDE(asinh, assay_mathematics::asinh)
ASSAY_PROVIDE(acosh, assay_mathematics::acosh)
ASSAY_PROVIDE(atanh, assay_mathematics::atanh)
#undef ASSAY_PROVIDE
#undef ASSAY_QUICK

__attribute__((const, used)) inline double assay_math_pow(double x, double y) { return assay_mathematics::pow(x, y); }
__attribute__((const, used)) inline double assay_math_atan2(double y, double x) { return assay_mathematics::atan2(y, x); }

// tanpi uses those of sin and cos, conversions from and to sRGB that of pow: their errors are a few units in the last place.
__attribute__((const, used)) inline double assay_math_exact_sin(double x) { return assay_mathematics::sin(x); }
__attribute__((const, used)) inline double assay_math_exact_cos(double x) { return assay_mathematics::cos(x); }
__attribute__((const, used)) inline double assay_math_exact_pow(double x, double y) { return assay_mathematics::pow(x, y); }

__attribute__((const, used)) inline double __assay_nvptx_fmod(double x, double y) { return assay_mathematics::fmod(x, y); }
}
