// Evaluates functions with MPFR.
#include "math/exact_value.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::math {
namespace {

// MPFR's exponent range is wider than that of double, and is set per thread.
class DoubleRange {
 public:
  DoubleRange() {
    // MPFR represents numbers as 0.1... times a power of 2.
    mpfr_set_emin(-1073);
    mpfr_set_emax(1024);
  }
  ~DoubleRange() {
    mpfr_set_emin(lowest_);
    mpfr_set_emax(highest_);
  }
  DoubleRange(const DoubleRange&) = delete;
  DoubleRange& operator=(const DoubleRange&) = delete;

 private:
  mpfr_exp_t lowest_ = mpfr_get_emin();
  mpfr_exp_t highest_ = mpfr_get_emax();
};

// MPFR caches constants, such as pi, per thread.
struct ThreadCache {
  ~ThreadCache() { mpfr_free_cache(); }
};

class Number {
 public:
  explicit Number(double value) {
    mpfr_init2(number_, 53);
    mpfr_set_d(number_, value, MPFR_RNDN);
  }
  ~Number() { mpfr_clear(number_); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;

  mpfr_ptr get() { return number_; }

 private:
  mpfr_t number_;
};

struct Rounded {
  double value;
  bool is_exact;
};

template <typename Function, typename... Doubles>
Rounded rounded(Function function, mpfr_rnd_t direction, Doubles... arguments) {
  thread_local const ThreadCache cache;
  static_cast<void>(cache);
  const DoubleRange range;
  Number result(0.0);
  const int error = mpfr_subnormalize(result.get(), function(result.get(), Number(arguments).get()..., direction), direction);
  return {mpfr_get_d(result.get(), direction), error == 0};
}

double odd_of(const Rounded& truncated) {
  if (truncated.is_exact || std::isnan(truncated.value)) return truncated.value;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(truncated.value) | 1U);
}

}  // namespace

double nearest(ExactFunction1 function, double x) { return rounded(function, MPFR_RNDN, x).value; }
double nearest(ExactFunction2 function, double x, double y) { return rounded(function, MPFR_RNDN, x, y).value; }
double to_odd(ExactFunction1 function, double x) { return odd_of(rounded(function, MPFR_RNDZ, x)); }
double to_odd(ExactFunction2 function, double x, double y) { return odd_of(rounded(function, MPFR_RNDZ, x, y)); }

}  // namespace assay::math
