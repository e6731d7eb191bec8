// Runs of c_activations.metal and their expected results. Whole kernels from macros: activations and gated units, with erf by a polynomial.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::activations {
namespace {

const char* const kFile = "c_activations.metal";
using u32 = std::uint32_t;

double activate(const std::string& name, double x) {
  if (name == "gelu") return 0.5 * x * (1 + std::erf(x * M_SQRT1_2));
  if (name == "gelu_tanh") return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  if (name == "gelu_quick") return x / (1 + std::exp(-1.702 * x));
  if (name == "silu") return x / (1 + std::exp(-x));
  if (name == "mish") return x * std::tanh(std::log1p(std::exp(x)));
  return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
}
// The polynomials for erf are good to about 2e-6 (the series) and 1.5e-7 (the rational one); the rest is rounding.
double slack(const std::string& name, double x) { return std::fabs(x) * (name == "gelu" ? 3e-6 : 2e-6) + 1e-7; }
double rounding(Format f, double v) { return f == Format::f32 ? 0 : (f == Format::f16 ? 0x1p-11 : 0x1p-8) * std::fabs(v) + 0x1p-25; }

Run unary(const std::string& name, Format f, u32 n) {
  const std::string type = f == Format::f32 ? "float" : f == Format::f16 ? "half" : "bfloat";
  Tensor x(n, 181, 7, f);
  std::vector<double> y, tol;
  for (float v : x.values) y.push_back(activate(name, v)), tol.push_back(slack(name, v) + rounding(f, y.back()));
  Run r("c_act_" + name + "_" + type, kFile, "act_" + name + "_" + type);
  x.bind(r, 0);
  r.fresh(1, n * (f == Format::f32 ? 4 : 2)).value(2, n).dispatch_threadgroups({(n + 127) / 128, 1, 1}, {32, 1, 1}).expect(1, f, y, tol);
  return r;
}

Run glu(const std::string& name, const std::string& act, Format f, bool pairs) {
  const u32 half_dim = 37, rows = 3;
  Tensor x(half_dim * rows * 2, 182, 3, f);
  std::vector<double> y, tol;
  for (u32 r = 0; r < rows; ++r)
    for (u32 i = 0; i < half_dim; ++i) {
      const float* row = &x.values[r * half_dim * 2];
      double gate = pairs ? row[2 * i] : row[i], value = pairs ? row[2 * i + 1] : row[half_dim + i];
      y.push_back(activate(act, gate) * value),
          tol.push_back(slack(act, gate) * std::fabs(value) + 0x1p-22 * std::fabs(y.back()) + rounding(f, y.back()));
    }
  Run r("c_" + name + (f == Format::f32 ? "_float" : "_half"), kFile, name + (f == Format::f32 ? "_float" : "_half"));
  x.bind(r, 0);
  r.fresh(1, y.size() * (f == Format::f32 ? 4 : 2))
      .value(2, std::array<u32, 2>{half_dim, rows})
      .dispatch_threadgroups({2, 2, 1}, {32, 2, 1})
      .expect(1, f, y, tol);
  return r;
}

std::vector<Run> activation_runs() {
  std::vector<Run> runs;
  for (const char* name : {"gelu", "gelu_tanh", "gelu_quick", "silu", "mish", "hardswish"}) {
    runs.push_back(unary(name, Format::f32, 203));
    runs.push_back(unary(name, Format::f16, 130));
  }
  runs.push_back(unary("gelu", Format::bf16, 129)), runs.push_back(unary("silu", Format::bf16, 64));
  runs.push_back(glu("swiglu", "silu", Format::f32, false)), runs.push_back(glu("swiglu", "silu", Format::f16, false));
  runs.push_back(glu("geglu", "gelu_tanh", Format::f32, false)), runs.push_back(glu("geglu", "gelu_tanh", Format::f16, true));
  runs.push_back(glu("geglu_erf_pairs", "gelu", Format::f32, true));
  return runs;
}
const Runs kActivations(activation_runs);

}  // namespace
}  // namespace assay::foreign::c::activations
