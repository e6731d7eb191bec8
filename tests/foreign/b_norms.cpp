// Runs of b_norms.metal and their expected results. Layer norm, rms norm, their gradients, softmax and log-sum-exp: a row for each
// threadgroup, with and without loops.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::norms {
namespace {

constexpr const char* kFile = "b_norms.metal";
constexpr float kEpsilon = 1e-5f;

Run norm(const char* name, const char* function, Format f, bool layer, int rows, int n, int threads, unsigned seed) {
  Run run(name, kFile, function);
  const Stored x = store(f, floats(seed, std::size_t(rows * n), 2.0f, 0.5f)), w = store(f, floats(seed + 1, std::size_t(n), 1.0f, 1.0f)),
               b = store(f, floats(seed + 2, std::size_t(n)));
  Vec out, tol;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; ++i) mean += x.values[r * n + i] / n;
    if (!layer) mean = 0;
    for (int i = 0; i < n; ++i) square += std::pow(x.values[r * n + i] - mean, 2) / n;
    const double s = 1 / std::sqrt(square + double(kEpsilon));
    for (int i = 0; i < n; ++i) {
      const double t = (x.values[r * n + i] - mean) * s, scaled = w.values[i] * t, y = scaled + (layer ? b.values[i] : 0);
      out.push_back(y);
      // sums of n terms, then roundings to the format: of t, of the product, of the sum
      tol.push_back((2 * n + 16) * kEps * (std::fabs(w.values[i]) * (std::fabs(t) + 1) + std::fabs(y)) +
                    1.05 * ulp_of(f) * (2 * std::fabs(scaled) + std::fabs(y)) + 0x1p-24 * (f == Format::f16));
    }
  }
  run.buffers[0] = x.bytes, run.buffers[1] = w.bytes;
  if (layer) run.buffers[2] = b.bytes;
  const std::uint32_t first = layer ? 3 : 2;
  run.fresh(first, out.size() * size_of(f))
      .value(first + 1, kEpsilon)
      .value(first + 2, std::uint32_t(n))
      .value(first + 3, std::uint32_t(1));
  if (layer) run.value(7, std::uint32_t(1));
  run.constant(20, true);
  run.dispatch_threadgroups({std::uint32_t(rows), 1, 1}, {std::uint32_t(threads), 1, 1});
  run.expect(first, f, out, tol);
  return run;
}

// The gradients by the chain rule from the Jacobian, not by the closed form.
Run gradient(const char* name, const char* function, bool layer, bool weights, int rows, int n, int threads, unsigned seed) {
  Run run(name, kFile, function);
  const auto x = floats(seed, std::size_t(rows * n), 2.0f), w = floats(seed + 1, std::size_t(n), 1.0f, 1.0f),
             g = floats(seed + 2, std::size_t(rows * n));
  Vec gx, gw, tx, tw;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, square = 0;
    for (int i = 0; i < n; ++i) mean += double(x[r * n + i]) / n;
    if (!layer) mean = 0;
    for (int i = 0; i < n; ++i) square += std::pow(x[r * n + i] - mean, 2) / n;
    const double s = 1 / std::sqrt(square + double(kEpsilon));
    for (int j = 0; j < n; ++j) {
      // y_i = w_i c_i s with c = x - mean: dc_i/dx_j = [i = j] - layer / n, ds/dx_j = -s^3 c_j / n
      double sum = 0, mag = 0;
      const double cj = x[r * n + j] - mean;
      for (int i = 0; i < n; ++i) {
        const double ci = x[r * n + i] - mean, wg = double(w[i]) * g[r * n + i];
        const double a = wg * s * ((i == j) - (layer ? 1.0 / n : 0.0)), b = -wg * ci * s * s * s * cj / n;
        sum += a + b, mag += std::fabs(a) + std::fabs(b);
      }
      gx.push_back(sum), tx.push_back((2 * n + 32) * kEps * (mag + s));
      gw.push_back(g[r * n + j] * cj * s), tw.push_back((2 * n + 32) * kEps * (std::fabs(gw.back()) + s));
    }
  }
  run.buffer(0, x).buffer(1, w).buffer(2, g).fresh(3, gx.size() * 4);
  if (weights) run.fresh(4, gw.size() * 4);
  run.value(5, kEpsilon).value(6, std::uint32_t(n)).value(7, std::uint32_t(1)).constant(20, weights);
  run.dispatch_threadgroups({std::uint32_t(rows), 1, 1}, {std::uint32_t(threads), 1, 1});
  run.expect(3, Format::f32, gx, tx);
  if (weights) run.expect(4, Format::f32, gw, tw);
  return run;
}

Run lse(const char* name, const char* function, Format f, int rows, int n, int threads, unsigned seed) {
  Run run(name, kFile, function);
  const Stored x = store(f, floats(seed, std::size_t(rows * n), 20.0f));
  Vec out, tol;
  for (int r = 0; r < rows; ++r) {
    double top = -1e300, sum = 0;
    for (int i = 0; i < n; ++i) top = std::max(top, x.values[r * n + i]);
    for (int i = 0; i < n; ++i) sum += std::exp(x.values[r * n + i] - top);
    out.push_back(top + std::log(sum));
    // an exponential of a difference of up to 40 is off by some 2^-18; the chain of factors by n roundings
    tol.push_back(0x1p-17 + 4 * n * kEps + 2 * kEps * std::fabs(out.back()) + (f == Format::f32 ? 0 : ulp_of(f) * std::fabs(out.back())));
  }
  run.buffers[0] = x.bytes;
  run.fresh(1, std::size_t(rows) * size_of(f)).value(2, n).constant(20, false);
  run.dispatch_threadgroups({std::uint32_t(rows), 1, 1}, {std::uint32_t(threads), 1, 1});
  run.expect(1, f, out, tol);
  return run;
}

std::vector<Run> norm_runs() {
  return {
      norm("b_rms_norm_f32", "rms_norm_float32", Format::f32, false, 4, 241, 64, 171),
      norm("b_rms_norm_looped_f16", "rms_norm_looped_float16", Format::f16, false, 3, 700, 64, 174),
      norm("b_layer_norm_bf16", "layer_norm_bfloat16", Format::bf16, true, 3, 256, 64, 177),
      norm("b_layer_norm_looped_f32", "layer_norm_looped_float32", Format::f32, true, 3, 517, 96, 180),
      gradient("b_vjp_rms_norm", "vjp_rms_norm_float32", false, true, 3, 150, 64, 183),
      gradient("b_vjp_layer_norm_looped", "vjp_layer_norm_looped_float32", true, true, 3, 301, 32, 186),
      gradient("b_vjp_layer_norm_no_weights", "vjp_layer_norm_float32", true, false, 2, 100, 32, 189),
      lse("b_logsumexp_f32_looped", "logsumexp_looped_float32", Format::f32, 4, 333, 64, 192),
      lse("b_logsumexp_f16", "logsumexp_float16", Format::f16, 5, 127, 64, 193),
  };
}

static const Runs kNorms(norm_runs);

}  // namespace
}  // namespace assay::foreign::b::norms
