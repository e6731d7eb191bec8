// Runs of c_algebra.metal and their expected results. Small algebraic types with operators: complex numbers, dual numbers, quaternions,
// rays.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <random>

namespace assay::foreign::c::algebra {
namespace {

const char* const kFile = "c_algebra.metal";
using u32 = std::uint32_t;
using C = std::complex<double>;

Run mandelbrot() {
  const u32 w = 41, h = 23;
  const std::uint16_t limit = 40;
  const float view[4] = {-2.0f, -1.0f, 0.0703125f, 0.0859375f};
  std::vector<double> out, tol;
  for (u32 y = 0; y < h; ++y)
    for (u32 x = 0; x < w; ++x) {
      C c(view[0] + x * static_cast<double>(view[2]), view[1] + y * static_cast<double>(view[3])), z = c;
      // err bounds what rounding to float may have done to z so far; a comparison within it may go either way.
      double err = 0;
      bool sure = true;
      int i = 0;
      while (i < limit) {
        if (std::fabs(std::norm(z) - 4) <= 2 * std::abs(z) * err + err * err + 0x1p-20) sure = false;
        if (std::norm(z) > 4) break;
        err = 2 * std::abs(z) * err + err * err + 0x1p-22 * (std::norm(z) + std::abs(c));
        z = z * z + c, ++i;
      }
      out.push_back(i), tol.push_back(sure ? 0 : limit);
    }
  Run r("c_mandelbrot", kFile, "mandelbrot");
  r.fresh(0, w * h * 2).value(1, std::array<float, 4>{view[0], view[1], view[2], view[3]}).value(2, limit);
  r.dispatch_threads({w, h, 1}, {16, 8, 1}).expect(0, Format::u16, out, tol);
  return r;
}

Run dft() {
  const int n = 45, rows = 3;
  std::mt19937 g(111);
  std::vector<float> in(n * rows * 2);
  for (auto& x : in) x = sym(g);
  std::vector<double> out;
  for (int r = 0; r < rows; ++r)
    for (int k = 0; k < n; ++k) {
      C s = 0;
      for (int j = 0; j < n; ++j) s += C(in[(r * n + j) * 2], in[(r * n + j) * 2 + 1]) * std::polar(1.0, -2 * M_PI * j * k / n);
      out.push_back(s.real()), out.push_back(s.imag());
    }
  Run r("c_dft", kFile, "dft_rows");
  r.buffer(0, in).fresh(1, n * rows * 8).value(2, u32{n}).dispatch_threadgroups({rows, 1, 1}, {64, 1, 1});
  r.expect(1, Format::f32, out, std::vector<double>(out.size(), 2 * n * 0x1p-24 * n));
  return r;
}

Run reduce() {
  const int n = 50, rows = 4;
  std::mt19937 g(112);
  std::vector<float> a(n * rows * 2), b(n * rows * 2);
  for (auto& x : a) x = sym(g);
  for (auto& x : b) x = sym(g), x += x < 0 ? -0.5f : 0.5f;
  std::vector<double> out, tol;
  for (int r = 0; r < rows; ++r) {
    C s = 0;
    double mag = 0;
    for (int i = r * n; i < r * n + n; ++i) {
      C x(a[2 * i], a[2 * i + 1]), y(b[2 * i], b[2 * i + 1]);
      s += x / y - 0.5 * y, mag += 2 * std::abs(x / y) + std::abs(y);
    }
    out.insert(out.end(), {s.real(), s.imag(), std::abs(s)});
    tol.insert(tol.end(), 3, 24 * 0x1p-24 * mag);
  }
  Run r("c_complex_reduce", kFile, "complex_reduce");
  r.buffer(0, a)
      .buffer(1, b)
      .fresh(2, rows * 12)
      .value(3, u32{n})
      .dispatch_threadgroups({rows, 1, 1}, {32, 1, 1})
      .expect(2, Format::f32, out, tol);
  return r;
}

Run gradient(const char* name, const char* function, bool waves) {
  const u32 n = 70;
  std::mt19937 g(113);
  std::vector<float> at(n * 2);
  for (auto& x : at) x = sym(g) * 2;
  Run r(name, kFile, function);
  r.buffer(0, at).fresh(1, n * 16).value(2, n).dispatch_threads({n, 1, 1}, {32, 1, 1});
  for (u32 i = 0; i < n; ++i) {
    double x = at[2 * i], y = at[2 * i + 1], v, dx, dy;
    if (waves) {
      double e = std::exp(x - y);
      v = std::sin(x * y) + e, dx = y * std::cos(x * y) + e, dy = x * std::cos(x * y) - e;
    } else {
      double s = std::sqrt(x * x + 2 * y * y);
      v = s * y, dx = x * y / s, dy = 2 * y * y / s + s;
    }
    double t = 64 * 0x1p-24 * (waves ? 3 + std::exp(x - y) : 8.0);
    r.expectations.push_back({1, i * 4u, Format::f32, {v, dx, dy}, {t, t, t}});
  }
  return r;
}

Run rotation() {
  const u32 n = 40;
  std::mt19937 g(114);
  std::vector<float> a(n * 4), p(n * 3);
  for (auto& x : a) x = sym(g) * 3;
  for (auto& x : p) x = sym(g) * 2;
  std::vector<double> out;
  for (u32 i = 0; i < n; ++i) {
    double k[3], v[3], len = 0, kv = 0, angle = a[i * 4 + 3];
    for (int c = 0; c < 3; ++c) k[c] = a[i * 4 + c], v[c] = p[i * 3 + c], len += k[c] * k[c];
    for (int c = 0; c < 3; ++c) k[c] /= std::sqrt(len), kv += k[c] * v[c];
    for (int c = 0; c < 3; ++c) {  // Rodrigues
      double cross = k[(c + 1) % 3] * v[(c + 2) % 3] - k[(c + 2) % 3] * v[(c + 1) % 3];
      out.push_back(v[c] * std::cos(angle) + cross * std::sin(angle) + k[c] * kv * (1 - std::cos(angle)));
    }
  }
  std::vector<double> tol(out.size(), 64 * 0x1p-24 * 4);
  Run r("c_quaternion", kFile, "rotate_points");
  r.buffer(0, a).buffer(1, p).fresh(2, n * 12).fresh(3, n * 12).value(4, n).dispatch_threads({n, 1, 1}, {32, 1, 1});
  r.expect(2, Format::f32, out, tol).expect(3, Format::f32, out, tol);
  return r;
}

Run trace() {
  const u32 w = 30, h = 20;
  std::vector<float> s = {0, 0, 0, 1, 1.25f, 0.5f, 1, 0.75f, -1, -0.5f, -1, 0.5f, 0.25f, 0.25f, 4, 3, 0.25f, -0.125f, -5, 0.0625f};
  const int count = 5;
  const float eye[2] = {0.25f, -0.125f};
  Run r("c_ray_spheres", kFile, "trace");
  r.fresh(0, w * h * 8)
      .buffer(1, s)
      .value(2, count - 1)
      .value(3, std::array<float, 2>{eye[0], eye[1]})
      .dispatch_threads({w, h, 1}, {8, 8, 1});
  for (u32 y = 0; y < h; ++y)
    for (u32 x = 0; x < w; ++x) {
      double d[3] = {(x + 0.5) / w * 2 - 1, (y + 0.5) / h * 2 - 1, 2}, o[3] = {eye[0], eye[1], -5};
      double len = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), best = 1e30, second = 1e30, tol = 0;
      int which = -1;
      bool sure = true;
      for (int i = 0; i < count - 1; ++i) {
        double b = 0, c = -static_cast<double>(s[i * 4 + 3]) * s[i * 4 + 3];
        for (int k = 0; k < 3; ++k) {
          double m = o[k] - s[i * 4 + k];
          b += m * d[k] / len, c += m * m;
        }
        double disc = b * b - c, slack = 16 * 0x1p-24 * (b * b + std::fabs(c) + 1);
        if (std::fabs(disc) < slack * 64) sure = false;
        if (disc < 0) continue;
        double root = std::sqrt(disc), t = -b - root > 0 ? -b - root : root - b;
        if (t > 0 && t < best)
          second = best, best = t, which = i, tol = slack + slack / root;
        else if (t > 0)
          second = std::min(second, t);
      }
      if (!sure || (which >= 0 && second - best < 1e-3)) continue;
      const std::size_t at = y * w + x;
      r.expectations.push_back({0, at * 2, Format::f32, {which < 0 ? -1.0 : best}, {which < 0 ? 0.0 : tol}});
      r.expectations.push_back({0, at * 2 + 1, Format::i32, {static_cast<double>(which)}, {0}});
    }
  return r;
}

std::vector<Run> algebra_runs() {
  return {mandelbrot(),
          dft(),
          reduce(),
          gradient("c_gradient_waves", "gradient_waves", true),
          gradient("c_gradient_norm", "gradient_norm", false),
          rotation(),
          trace()};
}
const Runs kAlgebra(algebra_runs);

}  // namespace
}  // namespace assay::foreign::c::algebra
