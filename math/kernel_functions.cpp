// The functions that kernels call: the fast evaluation, of one element or of 32, and the C library's way for what it leaves in doubt.
//
// Its own compiler options (CMakeLists.txt) contract products and sums, and let loops use vectors of 512 bits.
#include "math/kernel_functions.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "math/approximations.h"
#include "math/functions.h"
#include "math/library_functions.h"

namespace assay::math {
namespace {

constexpr std::size_t kElements = 32;

struct Batch {
  alignas(64) std::array<double, kElements> values;
  alignas(64) std::array<std::uint64_t, kElements> doubts;
};

// Apart, because it is rarely needed.
template <typename Function, typename... Pointers>
[[gnu::noinline]] void settle(Batch& batch, Function function, Pointers... arguments) {
  for (std::size_t i = 0; i < kElements; ++i) {
    if (batch.doubts[i] != 0) batch.values[i] = function(arguments[i]...);
  }
}

// The results are written last, because they may be where the arguments are.
template <auto fast, auto careful, typename... Pointers>
ASSAY_EACH_ELEMENT void evaluate_all(double* results, Pointers... arguments) {
  Batch batch;
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < kElements; ++i) {
    const Approximation found = fast(arguments[i]...);
    const std::uint64_t doubt = found.is_doubtful ? 1 : 0;
    batch.values[i] = found.value;
    batch.doubts[i] = doubt;
    any |= doubt;
  }
  if (any != 0) settle(batch, careful, arguments...);
  for (std::size_t i = 0; i < kElements; ++i) results[i] = batch.values[i];
}

template <auto fast, auto careful, typename... Doubles>
ASSAY_EACH_ELEMENT double evaluate(Doubles... arguments) {
  const Approximation found = fast(arguments...);
  if (found.is_doubtful) [[unlikely]]
    return careful(arguments...);
  return found.value;
}

}  // namespace
}  // namespace assay::math

// Batches are compiled for the widest vectors as well, unless everything is. The processor decides, and no rounded result depends on it.
#if defined(__x86_64__) && !defined(__AVX512DQ__)
#define ASSAY_MATH_WIDE(name, parameters, ...)                              \
  namespace assay::math::wide {                                             \
  [[gnu::target("arch=x86-64-v4")]] static void name parameters {           \
    evaluate_all<approximation::name, library::name>(results, __VA_ARGS__); \
  }                                                                         \
  }
#define ASSAY_MATH_IF_WIDE(name, ...) \
  if (__builtin_cpu_supports("x86-64-v4") != 0) return assay::math::wide::name(__VA_ARGS__, results);
#else
#define ASSAY_MATH_WIDE(name, parameters, ...)
#define ASSAY_MATH_IF_WIDE(name, ...)
#endif

#define ASSAY_MATH_DEFINE_BATCH(name, parameters, ...)                                   \
  ASSAY_MATH_WIDE(name, parameters, __VA_ARGS__)                                         \
  void assay_math_batch_##name parameters {                                              \
    ASSAY_MATH_IF_WIDE(name, __VA_ARGS__)                                                \
    using namespace assay::math;                                                         \
    evaluate_all<approximation::name, assay::math::library::name>(results, __VA_ARGS__); \
  }
#define ASSAY_MATH_DEFINE_1(name)                                                                                                       \
  double assay_math_##name(double x) { return assay::math::evaluate<assay::math::approximation::name, assay::math::library::name>(x); } \
  double assay_math_exact_##name(double x) { return assay::math::name(x); }                                                             \
  ASSAY_MATH_DEFINE_BATCH(name, (const double* x, double* results), x)
#define ASSAY_MATH_DEFINE_2(name)                                                                     \
  double assay_math_##name(double x, double y) {                                                      \
    return assay::math::evaluate<assay::math::approximation::name, assay::math::library::name>(x, y); \
  }                                                                                                   \
  double assay_math_exact_##name(double x, double y) { return assay::math::name(x, y); }              \
  ASSAY_MATH_DEFINE_BATCH(name, (const double* x, const double* y, double* results), x, y)

ASSAY_MATH_KERNEL_FUNCTIONS_1(ASSAY_MATH_DEFINE_1)
ASSAY_MATH_KERNEL_FUNCTIONS_2(ASSAY_MATH_DEFINE_2)
