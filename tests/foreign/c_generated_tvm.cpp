// Runs of c_generated_tvm.metal and their expected results. Fused kernels in the manner of a schedule compiler: argument structs, unions
// for scalars, explicit vector loads.
#include "tests/foreign/c_tensor.h"

#include <cmath>
#include <random>

namespace assay::foreign::c::generated_tvm {
namespace {

const char* const kFile = "c_generated_tvm.metal";

std::vector<float> floats(std::size_t n, unsigned seed, float scale) {
  std::mt19937 g(seed);
  std::vector<float> v(n);
  for (auto& x : v) x = sym(g) * scale;
  return v;
}

Run rms(const char* name, int batch, int hidden, unsigned seed) {
  struct Args {
    std::int32_t batch, hidden;
    float eps;
    std::int32_t nblk;
  };
  auto x = floats(batch * hidden, seed, 3), w = floats(hidden, seed + 1, 1);
  std::vector<double> out, tol;
  for (int b = 0; b < batch; ++b) {
    double s = 0;
    for (int i = 0; i < hidden; ++i) s += static_cast<double>(x[b * hidden + i]) * x[b * hidden + i];
    double f = 1 / std::sqrt(s / hidden + static_cast<double>(1e-5f));
    for (int i = 0; i < hidden; ++i) {
      out.push_back(x[b * hidden + i] * f * w[i]);
      tol.push_back((hidden / 8 + 16) * 0x1p-24 * std::fabs(out.back()) + 1e-30);
    }
  }
  Run r(name, kFile, "fused_rms_norm_kernel");
  r.buffer(0, x).buffer(1, w).fresh(2, x.size() * 4).value(3, Args{batch, hidden, 1e-5f, 2});
  r.dispatch_threadgroups({static_cast<std::uint32_t>(batch), 1, 1}, {64, 1, 1}).expect(2, Format::f32, out, tol);
  return r;
}

Run dense() {
  const int m = 32, n = 48, k = 32;
  std::mt19937 g(31);
  auto halves = [&](int count) {
    std::vector<std::uint16_t> v(count);
    for (auto& x : v) x = half_bits(sym(g));
    return v;
  };
  auto a = halves(m * k), b = halves(n * k), bias = halves(n);
  std::vector<std::uint32_t> scalars = {k, n, 0x3f400000u, 0};  // 0.75f
  std::vector<double> out, tol;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double s = 0, mag = 0;
      for (int c = 0; c < k; ++c) {
        double p = static_cast<double>(half_value(a[i * k + c])) * half_value(b[j * k + c]);
        s += p, mag += std::fabs(p);
      }
      double v = s * 0.75 + half_value(bias[j]);
      out.push_back(std::fmax(v, 0));
      tol.push_back(k * 0x1p-24 * (mag + 2) + 0x1p-11 * std::fabs(out.back()) + 0x1p-25);
    }
  Run r("c_tvm_dense", kFile, "fused_dense_add_relu_kernel");
  r.fresh(0, m * n * 2).buffer(1, a).buffer(2, b).buffer(3, bias).buffer(4, scalars);
  r.dispatch_threadgroups({n / 16, m / 16, 1}, {64, 1, 1}).expect(0, Format::f16, out, tol);
  return r;
}

Run rope() {
  struct Args {
    std::int32_t nq, nk, hd;
    float theta;
    std::int32_t offset;
  };
  const int nq = 4, nk = 2, hd = 40, seq = 3, heads = nq + 2 * nk, offset = 9;
  auto x = floats(seq * heads * hd, 41, 2);
  std::vector<double> q(seq * nq * hd), k(seq * nk * hd), v(seq * nk * hd), tq(q.size()), tk(k.size());
  for (int p = 0; p < seq; ++p)
    for (int h = 0; h < heads; ++h)
      for (int d = 0; d < hd; ++d) {
        const float* row = &x[(p * heads + h) * hd];
        if (h >= nq + nk) {
          v[(p * nk + h - nq - nk) * hd + d] = row[d];
          continue;
        }
        int i = d % (hd / 2);
        double angle = (p + offset) * std::pow(1000.0, -2.0 * i / hd);
        double lo = row[i], hi = row[i + hd / 2];
        double y = d < hd / 2 ? lo * std::cos(angle) - hi * std::sin(angle) : hi * std::cos(angle) + lo * std::sin(angle);
        double t = (std::fabs(lo) + std::fabs(hi)) * (angle * 24 + 8) * 0x1p-23;
        (h < nq ? q[(p * nq + h) * hd + d] : k[(p * nk + h - nq) * hd + d]) = y;
        (h < nq ? tq[(p * nq + h) * hd + d] : tk[(p * nk + h - nq) * hd + d]) = t;
      }
  Run r("c_tvm_split_rope", kFile, "fused_split_rope_kernel");
  r.fresh(0, q.size() * 4).fresh(1, k.size() * 4).fresh(2, v.size() * 4).buffer(3, x).value(4, Args{nq, nk, hd, 1000.0f, offset});
  r.dispatch_threadgroups({heads, seq, 1}, {32, 1, 1});
  r.expect(0, Format::f32, q, tq).expect(1, Format::f32, k, tk).expect_equal(2, Format::f32, v);
  return r;
}

Run pad() {
  const int rows = 7, cols = 11, p = 2, oc = rows + 2 * p, orows = cols + 2 * p;
  std::mt19937 g(43);
  std::vector<std::uint8_t> in(rows * cols);
  for (auto& x : in) x = static_cast<std::uint8_t>(g());
  std::vector<double> out(orows * oc, -1.0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j) out[(j + p) * oc + i + p] = in[i * cols + j];
  Run r("c_tvm_pad", kFile, "cast_pad_transpose_kernel");
  r.fresh(0, out.size() * 2).buffer(1, in).value(2, std::array<std::int32_t, 4>{rows, cols, p, 0});
  r.dispatch_threadgroups({(orows * oc + 31) / 32, 1, 1}, {32, 1, 1}).expect_equal(0, Format::f16, out);
  return r;
}

Run gemv() {
  const int n = 5, k = 384;
  auto w = floats(n * k, 47, 1), x = floats(k, 48, 2);
  std::vector<double> out, tol;
  for (int i = 0; i < n; ++i) {
    double s = 0, a = 0;
    for (int c = 0; c < k; ++c) s += static_cast<double>(w[i * k + c]) * x[c], a += std::fabs(static_cast<double>(w[i * k + c]) * x[c]);
    out.push_back(s), tol.push_back(24 * 0x1p-24 * a);
  }
  Run r("c_tvm_gemv", kFile, "gemv_pipe_kernel");
  r.fresh(0, n * 4).buffer(1, w).buffer(2, x).value(3, std::array<std::int32_t, 2>{n, k});
  r.dispatch_threadgroups({3, 1, 1}, {32, 2, 1}).expect(0, Format::f32, out, tol);
  return r;
}

Run bf16() {
  const std::uint32_t n = 101;
  auto x = floats(n, 51, 1000);
  x[0] = 0x1.01p0f, x[1] = 0x1.03p0f, x[2] = -0x1.01p-3f, x[3] = 0;  // ties
  std::vector<double> out;
  for (float v : x) out.push_back(bfloat_value(bfloat_bits(v)));
  Run r("c_tvm_bf16", kFile, "cast_bf16_kernel");
  r.fresh(0, n * 2).buffer(1, x).value(2, n).dispatch_threads({51, 1, 1}, {32, 1, 1}).expect_equal(0, Format::bf16, out);
  return r;
}

std::vector<Run> tvm_runs() {
  return {rms("c_tvm_rms", 3, 200, 60), rms("c_tvm_rms_long", 2, 512, 62), dense(), rope(), pad(), gemv(), bf16()};
}
const Runs kTvm(tvm_runs);

}  // namespace
}  // namespace assay::foreign::c::generated_tvm
