// Runs of c_spirv_cross.metal and their expected results. Output in the manner of a SPIR-V to Metal cross compiler, several entry points
// joined in one file.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

namespace assay::foreign::c::spirv_cross {
namespace {

const char* const kFile = "c_spirv_cross.metal";

struct Params {
  std::uint32_t count;
  std::int32_t radius;
  float gain;
  std::uint32_t unused;
};

Run blur(const char* name, int n, int radius, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<float> in(n);
  for (auto& x : in) x = sym(g) * 4;
  const double w[5] = {0.0625, 0.25, 0.375, 0.25, 0.0625};
  std::vector<double> out(n), tol(n);
  for (int i = 0; i < n; ++i) {
    double s = 0, a = 0;
    for (int k = -2; k <= 2; ++k) {
      double v = in[std::clamp(i + k * radius, 0, n - 1)] * w[k + 2];
      s += v;
      a += std::fabs(v);
    }
    out[i] = s * 1.75;
    tol[i] = 8 * 0x1p-24 * a * 1.75;
  }
  Run r(name, kFile, "main0");
  r.value(0, Params{static_cast<std::uint32_t>(n), radius, 1.75f, 0}).buffer(1, in).fresh(2, n * 4);
  r.dispatch_threadgroups({static_cast<std::uint32_t>((n + 63) / 64), 1, 1}, {64, 1, 1});
  r.expect(2, Format::f32, out, tol);
  return r;
}

Run reduce() {
  const int n = 300, groups = 5;
  std::mt19937 g(17);
  std::vector<float> in(n);
  for (auto& x : in) x = sym(g) * 8;
  std::vector<double> out, tol;
  for (int b = 0; b < groups; ++b) {
    double s = 0, a = 0, m = 0, neg = 0;
    for (int i = b * 64; i < std::min(n, b * 64 + 64); ++i) {
      s += in[i], a += std::fabs(in[i]), m = std::max<double>(m, std::fabs(in[i])), neg += in[i] < 0;
    }
    out.insert(out.end(), {s, m, neg});
    tol.insert(tol.end(), {8 * 0x1p-24 * a, 0, 0});
  }
  Run r("c_spirv_reduce", kFile, "reduce_main0");
  r.value(0, Params{n, 0, 0, 0}).buffer(1, in).fresh(2, groups * 12);
  r.dispatch_threadgroups({groups, 1, 1}, {64, 1, 1}).expect(2, Format::f32, out, tol);
  return r;
}

Run cull() {
  struct Particle {
    float p[3], mass, v[3];
    std::uint32_t flags;
  };
  struct Push {
    float m[16], planes[12], limits[2], pad[2];
  };
  const int n = 150;
  std::mt19937 g(23);
  Push push{};
  for (auto& x : push.m) x = std::round(sym(g) * 8) / 8;
  for (auto& x : push.planes) x = std::round(sym(g) * 8) / 8 + 0.0625f;
  for (int k = 0; k < 3; ++k) push.planes[k * 4 + 3] += 1;
  push.limits[0] = 4, push.limits[1] = 2;
  std::vector<Particle> items(n);
  for (auto& it : items) {
    for (auto& x : it.p) x = std::round(sym(g) * 64) / 32;  // dyadic: all products are exact
    it.mass = static_cast<float>(g() % 4000) / 256;
    it.v[0] = it.v[1] = it.v[2] = 0;
    it.flags = 77;
  }
  std::vector<std::byte> bytes(16 + n * sizeof(Particle));
  std::memcpy(bytes.data() + 16, items.data(), n * sizeof(Particle));
  double alive = 0;
  std::vector<double> bins(8, 0.0), flags, vel;
  for (auto& it : items) {
    double q[4];
    for (int row = 0; row < 4; ++row) {
      q[row] = push.m[12 + row];
      for (int c = 0; c < 3; ++c) q[row] += static_cast<double>(push.m[c * 4 + row]) * it.p[c];
    }
    bool visible = true;
    for (int k = 0; k < 3; ++k) {
      double d = 0;
      for (int c = 0; c < 4; ++c) d += push.planes[k * 4 + c] * q[c];
      visible = visible && d > 0;
    }
    if (visible) {
      alive += 1;
      bins[std::min(7, static_cast<int>(std::fmod(it.mass, 2.0) * 4))] += 1;
    }
    flags.push_back(visible);
    for (int c = 0; c < 3; ++c) vel.push_back(q[c] * 0.5);
  }
  Run r("c_spirv_cull", kFile, "cull_main0");
  r.value(0, push).buffer(1, bytes).buffer(2, std::vector<std::uint32_t>(8, 0)).value(3, Params{n, 0, 0.5f, 0});
  r.dispatch_threadgroups({3, 1, 1}, {64, 1, 1});
  r.expect_equal(1, Format::u32, {alive, 0, 0, 0}).expect_equal(2, Format::u32, bins);
  for (int i = 0; i < n; ++i) {
    r.expectations.push_back({1, static_cast<std::size_t>(4 + i * 8 + 7), Format::u32, {flags[i]}, {0}});
    r.expectations.push_back(
        {1, static_cast<std::size_t>(4 + i * 8 + 4), Format::f32, {vel[i * 3], vel[i * 3 + 1], vel[i * 3 + 2]}, {0, 0, 0}});
  }
  return r;
}

Run transpose() {
  const int w = 37, h = 21;
  std::vector<float> in(w * h);
  for (int i = 0; i < w * h; ++i) in[i] = static_cast<float>(i) * 0.5f - 99;
  std::vector<double> out(w * h);
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) out[x * h + y] = in[y * w + x];
  Run r("c_spirv_transpose", kFile, "transpose_main0");
  r.value(0, std::array<std::uint32_t, 2>{w, h}).buffer(1, in).fresh(2, w * h * 4);
  r.dispatch_threadgroups({3, 2, 1}, {16, 16, 1}).expect_equal(2, Format::f32, out);
  return r;
}

Run bits() {
  const std::uint32_t n = 70;
  std::mt19937 g(5);
  std::vector<std::uint32_t> in(n);
  for (auto& x : in) x = g() >> (g() % 32);
  in[0] = 0, in[1] = 0xffffffffu, in[2] = 1, in[3] = 0x80000000u;
  std::vector<double> out;
  for (std::uint32_t v : in) {
    std::uint32_t lsb = v ? std::countr_zero(v) : 0xffffffffu, msb = v ? 31 - std::countl_zero(v) : 0xffffffffu, rev = 0;
    for (int i = 0; i < 32; ++i) rev |= (v >> i & 1u) << (31 - i);
    std::uint32_t acc = (v & 15u) * 961u + (v >> 4 & 0xfffu) * 31u + (v >> 16);
    std::uint32_t ins = (v & ~(0xfffu << 7)) | (2748u << 7);
    std::int32_t field = static_cast<std::int32_t>(v >> 5 & 511u);
    if (field >= 256) field -= 512;
    std::uint32_t mix = (v & 255u) + (v >> 8 & 255u) + ((v >> 16 & 255u) ^ (v >> 24));
    std::uint32_t pc = std::popcount(v) + (static_cast<std::uint32_t>(std::countl_zero(v)) << 8);
    for (std::uint32_t x : {lsb, msb, rev, acc, ins, static_cast<std::uint32_t>(field), mix, pc}) out.push_back(x);
  }
  Run r("c_spirv_bits", kFile, "bits_main0");
  r.buffer(0, in).fresh(1, n * 32).value(2, n).dispatch_threadgroups({2, 1, 1}, {64, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

std::vector<Run> spirv_runs() {
  return {blur("c_spirv_blur", 133, 1, 3), blur("c_spirv_blur_wide", 64, 7, 4), reduce(), cull(), transpose(), bits()};
}
const Runs kSpirv(spirv_runs);

}  // namespace
}  // namespace assay::foreign::c::spirv_cross
