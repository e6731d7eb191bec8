// Runs of c_generated_tiny.metal and their expected results. Straight-line kernels in the manner of a tensor-graph compiler; buffers are
// bound by position.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::generated_tiny {
namespace {

const char* const kFile = "c_generated_tiny.metal";

std::vector<float> floats(std::size_t n, unsigned seed, float scale) {
  std::mt19937 g(seed);
  std::vector<float> v(n);
  for (auto& x : v) x = sym(g) * scale;
  return v;
}
std::vector<std::uint16_t> halves(std::size_t n, unsigned seed, float scale) {
  std::vector<std::uint16_t> v;
  for (float x : floats(n, seed, scale)) v.push_back(half_bits(x));
  return v;
}

Run swish() {
  auto x = floats(1280, 1, 6);
  auto w = halves(4, 2, 2);
  std::vector<double> out, tol;
  for (int i = 0; i < 1280; ++i) {
    double v = static_cast<double>(x[i]) * half_value(w[i % 4]);
    out.push_back(v / (1 + std::exp(-v)));
    tol.push_back((16 + std::fabs(v)) * 0x1p-22 * std::fabs(out.back()) + 1e-12);
  }
  Run r("c_tiny_swish", kFile, "E_10_32_4");
  r.fresh(0, 1280 * 4).buffer(1, x).buffer(2, w).dispatch_threadgroups({10, 1, 1}, {32, 1, 1}).expect(0, Format::f32, out, tol);
  return r;
}

Run mean() {
  auto x = floats(2304, 3, 5);
  std::vector<double> out, tol;
  for (int i = 0; i < 12; ++i) {
    double s = 0, a = 0;
    for (int k = 0; k < 192; ++k) s += x[i * 192 + k], a += std::fabs(x[i * 192 + k]);
    out.push_back(s / 192), tol.push_back(32 * 0x1p-24 * a / 192);
  }
  Run r("c_tiny_mean", kFile, "r_12_16_12");
  r.fresh(0, 48).buffer(1, x).dispatch_threadgroups({12, 1, 1}, {16, 1, 1}).expect(0, Format::f32, out, tol);
  return r;
}

Run maximum() {
  auto x = floats(2304, 4, 5);
  std::vector<double> out;
  for (int i = 0; i < 12; ++i) out.push_back(*std::max_element(x.begin() + i * 192, x.begin() + i * 192 + 192));
  Run r("c_tiny_max", kFile, "r_12_16_12n1");
  r.fresh(0, 48).buffer(1, x).dispatch_threadgroups({12, 1, 1}, {16, 1, 1}).expect_equal(0, Format::f32, out);
  return r;
}

Run softmax() {
  auto x = floats(2304, 5, 4);
  std::vector<float> top;
  std::vector<double> out, tol;
  for (int i = 0; i < 12; ++i) {
    top.push_back(*std::max_element(x.begin() + i * 192, x.begin() + i * 192 + 192));
    double s = 0;
    for (int k = 0; k < 192; ++k) s += std::exp(static_cast<double>(x[i * 192 + k]) - top[i]);
    for (int k = 0; k < 192; ++k) {
      double p = std::exp(static_cast<double>(x[i * 192 + k]) - top[i]) / s;
      out.push_back(p), tol.push_back((0x1p-11 + 64 * 0x1p-23) * p + 0x1p-24);
    }
  }
  Run r("c_tiny_softmax", kFile, "r_12_16_12n2");
  r.fresh(0, 2304 * 2).buffer(1, x).buffer(2, top).dispatch_threadgroups({12, 1, 1}, {16, 1, 1}).expect(0, Format::f16, out, tol);
  return r;
}

Run matmul() {
  auto a = halves(24 * 24, 6, 2), b = halves(24 * 16, 7, 2);
  std::vector<double> out, tol;
  for (int i = 0; i < 24; ++i)
    for (int j = 0; j < 16; ++j) {
      double s = 0, m = 0;
      for (int k = 0; k < 24; ++k) {
        double p = static_cast<double>(half_value(a[i * 24 + k])) * half_value(b[k * 16 + j]);
        s += p, m += std::fabs(p);
      }
      out.push_back(s), tol.push_back(24 * 0x1p-24 * m);
    }
  Run r("c_tiny_wmma", kFile, "r_3_2_8_2_2_3_8");
  r.fresh(0, 24 * 16 * 4).buffer(1, a).buffer(2, b).dispatch_threadgroups({2, 3, 1}, {8, 4, 1}).expect(0, Format::f32, out, tol);
  return r;
}

Run embedding() {
  auto w = floats(400, 8, 3);
  std::vector<std::int32_t> ids = {49, 0, 7, 7, 50, -1};
  std::vector<double> out;
  for (int id : ids)
    for (int j = 0; j < 8; ++j) out.push_back(id >= 0 && id < 50 ? w[id * 8 + j] : 0.0);
  Run r("c_tiny_arange_embedding", kFile, "r_6_8_50");
  r.fresh(0, 48 * 4).buffer(1, ids).buffer(2, w).dispatch_threadgroups({6, 1, 1}, {8, 1, 1}).expect_equal(0, Format::f32, out);
  return r;
}

Run conv() {
  auto x = floats(30, 9, 2), w = floats(27, 10, 1), bias = floats(3, 11, 1);
  std::vector<double> out, tol;
  for (int o = 0; o < 3; ++o)
    for (int y = 0; y < 5; ++y)
      for (int c = 0; c < 6; ++c) {
        double s = bias[o], m = std::fabs(s);
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (y + dy < 0 || y + dy > 4 || c + dx < 0 || c + dx > 5) continue;
            double p = static_cast<double>(x[(y + dy) * 6 + c + dx]) * w[o * 9 + (dy + 1) * 3 + dx + 1];
            s += p, m += std::fabs(p);
          }
        out.push_back(std::max(s, 0.0)), tol.push_back(12 * 0x1p-24 * m);
      }
  Run r("c_tiny_conv", kFile, "r_3_5_6_3_3");
  r.fresh(0, 360).buffer(1, x).buffer(2, w).buffer(3, bias).dispatch_threadgroups({5, 3, 1}, {6, 1, 1}).expect(0, Format::f32, out, tol);
  return r;
}

Run mask() {
  std::mt19937 g(12);
  std::vector<std::int32_t> a(63);
  for (auto& v : a) v = g() % 5 ? static_cast<std::int32_t>(g()) : -7;
  std::vector<std::uint16_t> b(9);
  for (auto& v : b) v = static_cast<std::uint16_t>(g());
  std::vector<double> out;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 9; ++j) {
      std::uint32_t h = ((static_cast<std::uint32_t>(a[i * 9 + j]) * 2654435761u) >> 13) ^ (static_cast<std::uint32_t>(b[j]) << 3);
      out.push_back(j <= i + 2 && a[i * 9 + j] != -7 ? h & 255u : 255u);
    }
  Run r("c_tiny_mask", kFile, "E_7_9n1");
  r.fresh(0, 63).buffer(1, a).buffer(2, b).value(3, std::int32_t{2}).dispatch_threadgroups({7, 1, 1}, {9, 1, 1});
  r.expect_equal(0, Format::u8, out);
  return r;
}

std::vector<Run> tiny_runs() { return {swish(), mean(), maximum(), softmax(), matmul(), embedding(), conv(), mask()}; }
const Runs kTiny(tiny_runs);

}  // namespace
}  // namespace assay::foreign::c::generated_tiny
