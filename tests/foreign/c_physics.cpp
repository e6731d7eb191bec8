// Runs of c_physics.metal and their expected results. Particles and grids.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::physics {
namespace {

const char* const kFile = "c_physics.metal";
using u32 = std::uint32_t;

struct Sim {
  u32 n;
  float dt, eps2, h;
};

Run nbody(const char* name, const char* function, u32 n, u32 tile) {
  std::mt19937 g(91);
  std::vector<float> in(n * 8);
  for (u32 i = 0; i < n * 8; ++i) in[i] = i % 8 == 3 ? 0.5f + std::fabs(sym(g)) : sym(g) * 2;
  Sim sim{n, 0.125f, 0.25f, 0};
  std::vector<double> out(in.begin(), in.end()), tol(n * 8, 0.0);
  for (u32 i = 0; i < n; ++i) {
    double acc[3] = {}, mag = 0;
    for (u32 j = 0; j < n; ++j) {
      double d[3], d2 = sim.eps2;
      for (int c = 0; c < 3; ++c) d[c] = static_cast<double>(in[j * 8 + c]) - in[i * 8 + c], d2 += d[c] * d[c];
      double f = in[j * 8 + 3] / (d2 * std::sqrt(d2));
      for (int c = 0; c < 3; ++c) acc[c] += f * d[c];
      mag += f * std::sqrt(d2);
    }
    for (int c = 0; c < 3; ++c) {
      double v = in[i * 8 + 4 + c] + acc[c] * sim.dt, t = (n + 24) * 0x1p-24 * (mag * sim.dt + 4);
      out[i * 8 + 4 + c] = v, tol[i * 8 + 4 + c] = t;
      out[i * 8 + c] = in[i * 8 + c] + v * sim.dt, tol[i * 8 + c] = t + 0x1p-21;
    }
  }
  Run r(name, kFile, function);
  r.buffer(0, in).fresh(1, n * 32).value(2, sim).threadgroup(0, tile * 16);
  r.dispatch_threadgroups({(n + tile - 1) / tile, 1, 1}, {tile, 1, 1}).expect(1, Format::f32, out, tol);
  return r;
}

Run heat(const char* name, const char* function, int mode, int w, int h) {
  std::mt19937 g(92);
  std::vector<float> in(w * h);
  for (auto& x : in) x = sym(g) * 10;
  auto at = [&](int y, int x) -> double {
    if (mode == 0) x = std::clamp(x, 0, w - 1), y = std::clamp(y, 0, h - 1);
    if (mode == 1) x = (x + w) % w, y = (y + h) % h;
    return x < 0 || y < 0 || x >= w || y >= h ? 0.0 : in[y * w + x];
  };
  std::vector<double> out;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      out.push_back(at(y, x) + 0.125 * (at(y - 1, x) + at(y + 1, x) + at(y, x - 1) + at(y, x + 1) - 4 * at(y, x)));
  Run r(name, kFile, function);
  r.buffer(0, in).fresh(1, w * h * 4).value(2, std::array<std::int32_t, 2>{w, h}).value(3, 0.125f);
  r.dispatch_threadgroups({static_cast<u32>((w + 15) / 16), static_cast<u32>((h + 7) / 8), 1}, {16, 8, 1});
  r.expect(1, Format::f32, out, std::vector<double>(out.size(), 8 * 0x1p-24 * 80));
  return r;
}

// The particles lie on multiples of 1/64 with h = 0.5, so that cells and squares of distances are exact.
struct Cloud {
  std::vector<float> p;
  std::vector<u32> cell;
};
Cloud cloud(u32 n) {
  std::mt19937 g(93);
  Cloud c;
  for (u32 i = 0; i < n; ++i) {
    u32 hash = 0;
    const u32 primes[3] = {73856093u, 19349663u, 83492791u};
    for (int k = 0; k < 3; ++k) {
      float x = static_cast<float>(static_cast<int>(g() % 129) - 64) / 64;
      c.p.push_back(x);
      hash ^= static_cast<u32>(static_cast<std::int32_t>(std::floor(x * 2))) * primes[k];
    }
    c.cell.push_back(hash & 63);
  }
  return c;
}

Run link() {
  const u32 n = 90;
  Cloud c = cloud(n);
  std::vector<double> counts(64, 0.0);
  for (u32 x : c.cell) counts[x] += 1;
  Run r("c_sph_link", kFile, "sph_link");
  r.buffer(0, c.p)
      .buffer(1, std::vector<std::int32_t>(64, -1))
      .fresh(2, n * 4)
      .buffer(3, std::vector<u32>(64, 0))
      .value(4, Sim{n, 0, 0, 0.5f});
  r.dispatch_threadgroups({3, 1, 1}, {32, 1, 1}).expect_equal(3, Format::u32, counts);
  return r;
}

Run density() {
  const u32 n = 90;
  Cloud c = cloud(n);
  std::vector<std::int32_t> heads(64, -1), next(n);
  for (u32 i = 0; i < n; ++i) next[i] = heads[c.cell[i]], heads[c.cell[i]] = static_cast<std::int32_t>(i);
  std::vector<double> out, tol;
  double total = 0;
  for (u32 i = 0; i < n; ++i) {
    double rho = 0;
    for (u32 j = 0; j < n; ++j) {
      double d2 = 0;
      for (int k = 0; k < 3; ++k) d2 += std::pow(static_cast<double>(c.p[i * 3 + k]) - c.p[j * 3 + k], 2);
      if (d2 < 0.25) rho += std::pow(1 - d2 / 0.25, 3);
    }
    out.push_back(rho), tol.push_back(40 * 0x1p-24 * rho), total += rho;
  }
  Run r("c_sph_density", kFile, "sph_density");
  r.buffer(0, c.p).buffer(1, heads).buffer(2, next).fresh(3, n * 4).value(4, Sim{n, 0, 0, 0.5f}).buffer(5, std::vector<float>{0});
  r.dispatch_threadgroups({3, 1, 1}, {32, 1, 1}).expect(3, Format::f32, out, tol).expect(5, Format::f32, {total}, {80 * 0x1p-24 * total});
  return r;
}

Run bounds() {
  const u32 n = 150;
  std::mt19937 g(94);
  std::vector<float> in(n * 4);
  for (auto& x : in) x = std::fabs(sym(g)) * 3 + 0.125f;
  double lo = 1e30, hi = 0;
  for (u32 i = 0; i < n; ++i) {
    lo = std::min<double>(lo, in[i * 4 + 3]);
    hi = std::max<double>(hi, std::hypot(static_cast<double>(in[i * 4]), in[i * 4 + 1], in[i * 4 + 2]));
  }
  Run r("c_bounds", kFile, "bounds");
  r.buffer(0, in).buffer(1, std::vector<float>{3.0e38f, 0}).value(2, n).dispatch_threadgroups({3, 1, 1}, {64, 1, 1});
  r.expect(1, Format::f32, {lo, hi}, {0, 16 * 0x1p-24 * hi});
  return r;
}

std::vector<Run> physics_runs() {
  return {nbody("c_nbody_32", "nbody_step_32", 75, 32),
          nbody("c_nbody_64", "nbody_step_64", 64, 64),
          heat("c_heat_clamp", "heat_clamp", 0, 37, 19),
          heat("c_heat_wrap", "heat_wrap", 1, 21, 9),
          heat("c_heat_zero", "heat_zero", 2, 16, 8),
          link(),
          density(),
          bounds()};
}
const Runs kPhysics(physics_runs);

}  // namespace
}  // namespace assay::foreign::c::physics
