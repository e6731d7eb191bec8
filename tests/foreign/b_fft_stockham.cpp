// Runs of b_fft_stockham.metal and their expected results. Stockham FFTs in threadgroup memory, radix 2/4/8, over an own complex type with
// its own operators and functions.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::fft_stockham {
namespace {

constexpr const char* kFile = "b_fft_stockham.metal";

Run transform(const char* name, const char* function, int n, int batch, bool real, bool inverse, float scale, int threads, unsigned seed) {
  Run run(name, kFile, function);
  const auto in = floats(seed, std::size_t(n * batch * (real ? 1 : 2)));
  run.buffer(0, in).fresh(1, std::size_t(n * batch) * 8).value(2, batch);
  run.constant(0, inverse).constant(1, true).constant(2, std::int64_t((n + threads - 1) / threads));
  if (scale != 0) run.constant(3, double(scale));
  const double factor = (scale != 0 ? scale : 1.0) / (inverse ? n : 1);
  Vec out, tol;
  for (int b = 0; b < batch; ++b) {
    double energy = 0;
    for (int j = 0; j < n; ++j) energy += real ? std::fabs(in[b * n + j]) : std::hypot(in[(b * n + j) * 2], in[(b * n + j) * 2 + 1]);
    for (int k = 0; k < n; ++k) {
      std::complex<double> sum = 0;
      for (int j = 0; j < n; ++j) {
        const std::complex<double> x =
            real ? std::complex<double>(in[b * n + j]) : std::complex<double>(in[(b * n + j) * 2], in[(b * n + j) * 2 + 1]);
        sum += x * std::polar(1.0, (inverse ? 2 : -2) * std::acos(-1.0) * double(std::int64_t(j) * k % n) / n);
      }
      out.push_back(sum.real() * factor), out.push_back(sum.imag() * factor);
      // each of a few passes multiplies by a twiddle that is off by up to some ten roundings (a product chain of 7)
      const double t = factor * energy * 64 * kEps;
      tol.push_back(t), tol.push_back(t);
    }
  }
  run.dispatch_threadgroups({1, std::uint32_t(batch), 1}, {std::uint32_t(threads), 1, 1});
  run.expect(1, Format::f32, out, tol);
  return run;
}

Run mapped(const char* name, const char* function, std::complex<double> (*f)(const std::complex<double>&), unsigned seed) {
  const int n = 70;
  const auto in = floats(seed, n * 2, 3.0f);
  Run run(name, kFile, function);
  run.buffer(0, in).fresh(1, n * 8);
  Vec out, tol;
  for (int i = 0; i < n; ++i) {
    const std::complex<double> z(in[2 * i], in[2 * i + 1]), r = f(z);
    const double t = 32 * kEps * (std::abs(r) + 1 + std::norm(z));
    out.push_back(r.real()), out.push_back(r.imag()), tol.push_back(t), tol.push_back(t);
  }
  run.constant(0, false).constant(1, true).constant(2, std::int64_t(1));
  run.dispatch_threads({n, 1, 1}, {32, 1, 1});
  run.expect(1, Format::f32, out, tol);
  return run;
}

std::complex<double> log_of(const std::complex<double>& z) { return std::log(z); }
std::complex<double> exp_of(const std::complex<double>& z) { return std::exp(z); }

std::vector<Run> fft_runs() {
  return {
      transform("b_fft_256_complex", "fft_mem_256_complex", 256, 3, false, false, 0, 64, 111),
      transform("b_fft_128_inverse_scaled", "fft_mem_128_complex", 128, 2, false, true, 0.5f, 64, 112),
      transform("b_fft_16_real", "fft_mem_16_real", 16, 5, true, false, 0, 8, 113),
      mapped("b_complex_log", "complex_log", log_of, 114),
      mapped("b_complex_exp", "complex_exp", exp_of, 115),
  };
}

static const Runs kFft(fft_runs);

}  // namespace
}  // namespace assay::foreign::b::fft_stockham
