// Runs of c_solvers.metal and their expected results. Sparse products and small linear systems.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::solvers {
namespace {

const char* const kFile = "c_solvers.metal";
using u32 = std::uint32_t;

// Gauss with pivoting, in double.
std::vector<double> solve(std::vector<double> a, std::vector<double> b, double* determinant = nullptr) {
  const int n = static_cast<int>(b.size());
  double det = 1;
  for (int c = 0; c < n; ++c) {
    int p = c;
    for (int r = c; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[p * n + c])) p = r;
    if (p != c) {
      for (int k = 0; k < n; ++k) std::swap(a[p * n + k], a[c * n + k]);
      std::swap(b[p], b[c]);
      det = -det;
    }
    det *= a[c * n + c];
    for (int r = c + 1; r < n; ++r) {
      double f = a[r * n + c] / a[c * n + c];
      for (int k = c; k < n; ++k) a[r * n + k] -= f * a[c * n + k];
      b[r] -= f * b[c];
    }
  }
  for (int r = n - 1; r >= 0; --r) {
    for (int k = r + 1; k < n; ++k) b[r] -= a[r * n + k] * b[k];
    b[r] /= a[r * n + r];
  }
  if (determinant) *determinant = det;
  return b;
}

Run spmv(const char* name, const std::string& kind, bool is_half) {
  const u32 rows = 45, columns = 60;
  std::mt19937 g(101);
  std::vector<u32> start = {0}, column;
  std::vector<float> value, x(columns);
  auto quantise = [&](float v) { return is_half ? half_value(half_bits(v)) : v; };
  for (auto& v : x) v = quantise(sym(g));
  std::vector<double> out, tol;
  for (u32 r = 0; r < rows; ++r) {
    double s = 0, a = 0;
    u32 density = r % 5 == 2 ? 0 : 1 + r % 9;
    u32 entries = 0;
    for (u32 c = 0; c < columns; ++c) {
      if (density == 0 || g() % density != 0) continue;
      column.push_back(c), value.push_back(quantise(sym(g) * 2)), ++entries;
      double p = static_cast<double>(value.back()) * x[c];
      s += p, a += std::fabs(p);
    }
    start.push_back(static_cast<u32>(column.size()));
    out.push_back(s), tol.push_back(entries * 0x1p-24 * a + (is_half ? 0x1p-11 * std::fabs(s) + 0x1p-25 : 0.0));
  }
  Run r(name, kFile, "spmv_" + kind + (is_half ? "_half" : "_float"));
  r.buffer(0, start).buffer(1, column).value(5, rows).fresh(4, rows * (is_half ? 2 : 4));
  auto put = [&](u32 index, const std::vector<float>& v) {
    std::vector<std::uint16_t> h;
    for (float f : v) h.push_back(half_bits(f));
    if (is_half)
      r.buffer(index, h);
    else
      r.buffer(index, v);
  };
  put(2, value), put(3, x);
  if (kind == "vector")
    r.dispatch_threadgroups({12, 1, 1}, {128, 1, 1});
  else
    r.dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
  r.expect(4, is_half ? Format::f16 : Format::f32, out, tol);
  return r;
}

Run jacobi() {
  const int n = 20, sweeps = 31;
  std::mt19937 g(102);
  std::vector<float> a(n * n), b(n);
  for (int i = 0; i < n * n; ++i) a[i] = i / n == i % n ? 40 + sym(g) : sym(g);
  for (auto& x : b) x = sym(g) * 50;
  auto x = solve({a.begin(), a.end()}, {b.begin(), b.end()});  // 31 sweeps shrink the error by far more than 2^31
  Run r("c_jacobi", kFile, "jacobi_dense");
  r.buffer(0, a).buffer(1, b).fresh(2, n * 4).value(3, std::array<u32, 2>{n, sweeps}).threadgroup(0, 160);
  r.dispatch_threadgroups({1, 1, 1}, {32, 1, 1}).expect(2, Format::f32, x, std::vector<double>(n, 64 * 0x1p-24 * 2));
  return r;
}

Run tridiagonal(const char* name, bool pcr, int n, int systems) {
  std::mt19937 g(103);
  std::vector<float> rows(systems * n * 4);
  std::vector<double> out;
  for (int s = 0; s < systems; ++s) {
    std::vector<double> a(n * n, 0.0), b(n);
    for (int i = 0; i < n; ++i) {
      float* r = &rows[(s * n + i) * 4];
      r[0] = i ? sym(g) : 0, r[1] = 3 + sym(g) * 0.5f, r[2] = i + 1 < n ? sym(g) : 0, r[3] = sym(g) * 4;
      if (i) a[i * n + i - 1] = r[0];
      a[i * n + i] = r[1];
      if (i + 1 < n) a[i * n + i + 1] = r[2];
      b[i] = r[3];
    }
    auto x = solve(a, b);
    out.insert(out.end(), x.begin(), x.end());
  }
  Run r(name, kFile, pcr ? "tridiagonal_pcr" : "tridiagonal_thomas");
  r.buffer(0, rows).fresh(1, out.size() * 4);
  if (pcr)
    r.value(2, static_cast<u32>(n)).dispatch_threadgroups({static_cast<u32>(systems), 1, 1}, {128, 1, 1});
  else
    r.fresh(2, out.size() * 8)
        .value(3, std::array<u32, 2>{static_cast<u32>(n), static_cast<u32>(systems)})
        .dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
  r.expect(1, Format::f32, out, std::vector<double>(out.size(), 64 * 0x1p-23 * 8));
  return r;
}

Run cholesky(const char* name, const char* function, int n) {
  const int count = 50;
  std::mt19937 g(104);
  std::vector<float> m, b;
  std::vector<double> out, dets, tol;
  for (int s = 0; s < count; ++s) {
    std::vector<double> f(n * n), a(n * n);
    for (auto& x : f) x = sym(g);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        double v = i == j ? 1.5 : 0;
        for (int k = 0; k < n; ++k) v += f[i * n + k] * f[j * n + k];
        a[i * n + j] = static_cast<float>(v);
      }
    for (double v : a) m.push_back(static_cast<float>(v));
    std::vector<double> rhs;
    for (int i = 0; i < n; ++i) b.push_back(sym(g) * 3), rhs.push_back(b.back());
    double det = 0;
    auto x = solve(a, rhs, &det);
    out.insert(out.end(), x.begin(), x.end());
    dets.push_back(det), tol.push_back(0x1p-17 * std::fabs(det));
  }
  Run r(name, kFile, function);
  r.buffer(0, m).buffer(1, b).fresh(2, b.size() * 4).fresh(3, count * 4).value(4, u32{count}).dispatch_threads({64, 1, 1}, {32, 1, 1});
  r.expect(2, Format::f32, out, std::vector<double>(out.size(), 256 * 0x1p-24 * 3)).expect(3, Format::f32, dets, tol);
  return r;
}

std::vector<Run> solver_runs() {
  return {spmv("c_spmv_scalar", "scalar", false),
          spmv("c_spmv_scalar_half", "scalar", true),
          spmv("c_spmv_vector", "vector", false),
          spmv("c_spmv_vector_half", "vector", true),
          jacobi(),
          tridiagonal("c_thomas", false, 13, 40),
          tridiagonal("c_pcr", true, 100, 2),
          tridiagonal("c_pcr_full", true, 128, 1),
          cholesky("c_cholesky_3", "cholesky_solve_3", 3),
          cholesky("c_cholesky_4", "cholesky_solve_4", 4)};
}
const Runs kSolvers(solver_runs);

}  // namespace
}  // namespace assay::foreign::c::solvers
