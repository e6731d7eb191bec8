// Runs of a_elementwise.metal and their expected results. Unary and binary operations with broadcasting over four dimensions.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::elementwise {
namespace {

struct UnaryArgs {
  std::int32_t ne0, ne1;
  std::uint64_t nb01, nb1;
};

// ulps: the relative error of the formula in float; absolute: that of a cancellation or an approximation
Run unary(const char* op, bool h, double (*f)(double), double ulps, double absolute, float low, float high, std::uint32_t seed) {
  Rng rng(seed);
  const int n = 45, rows = 3, stride = 48;
  std::vector<float> x = floats(rng, z(stride * rows), low, high);
  x[0] = 0.0f, x[1] = 1.0f, x[2] = -2.5f;
  const std::vector<double> d = h ? from_half(to_half(x)) : from_float(x);
  const std::string type = h ? "f16" : "f32";
  Run run(std::string("a_unary_") + op + "_" + type, "a_elementwise.metal", std::string("unary_") + op + "_" + type);
  const std::size_t e = h ? 2 : 4;
  run.value(0, UnaryArgs{n, rows, e * z(stride), e * z(n)});
  if (h)
    run.buffer(1, to_half(x));
  else
    run.buffer(1, x);
  std::vector<double> want, tol;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < n; ++i) {
      want.push_back(f(d[z(r * stride + i)]));
      tol.push_back(std::fabs(want.back()) * (ulps * 0x1p-23 + (h && ulps > 0 ? 0x1p-11 : 0)) + absolute + (h && ulps > 0 ? 0x1p-24 : 0));
    }
  run.fresh(2, want.size() * e).expect(2, h ? Format::f16 : Format::f32, want, tol).dispatch_threadgroups({2, 3, 1}, {32, 1, 1});
  return run;
}

struct BinArgs {
  std::int32_t ne00, ne01, ne02, ne03;
  std::uint64_t nb00, nb01, nb02, nb03;
  std::int32_t ne10, ne11, ne12, ne13;
  std::uint64_t nb10, nb11, nb12, nb13;
  std::int32_t ne0, ne1, ne2, ne3;
  std::uint64_t nb0, nb1, nb2, nb3;
  std::uint64_t offs;
  std::uint64_t o1[4];
};
static_assert(sizeof(BinArgs) == 3 * 48 + 40);

Run binary(const char* name, const char* function, bool h0, bool h1, bool hd, int vec, int op, int fused, bool row, std::array<int, 4> n,
           std::array<int, 4> m, std::uint32_t seed) {
  Rng rng(seed);
  const std::size_t e0 = h0 ? 2 : 4, e1 = h1 ? 2 : 4, ed = hd ? 2 : 4;
  const int size0 = n[0] * n[1] * n[2] * n[3], size1 = m[0] * m[1] * m[2] * m[3];
  const std::vector<float> a = floats(rng, z(size0), -4, 4);
  std::vector<float> b = floats(rng, z(size1 * fused), 0.5f, 2.0f);
  for (std::size_t i = 0; i < b.size(); i += 3) b[i] = -b[i];
  const std::vector<double> da = h0 ? from_half(to_half(a)) : from_float(a), db = h1 ? from_half(to_half(b)) : from_float(b);
  BinArgs g{};
  g.ne00 = g.ne0 = n[0] / vec, g.ne01 = g.ne1 = n[1], g.ne02 = g.ne2 = n[2], g.ne03 = g.ne3 = n[3];
  g.ne10 = m[0] / vec, g.ne11 = m[1], g.ne12 = m[2], g.ne13 = m[3];
  g.nb00 = e0, g.nb01 = e0 * z(n[0]), g.nb02 = g.nb01 * z(n[1]), g.nb03 = g.nb02 * z(n[2]);
  g.nb10 = e1, g.nb11 = e1 * z(m[0]), g.nb12 = g.nb11 * z(m[1]), g.nb13 = g.nb12 * z(m[2]);
  g.nb0 = ed, g.nb1 = ed * z(n[0]), g.nb2 = g.nb1 * z(n[1]), g.nb3 = g.nb2 * z(n[2]);
  for (int j = 0; j < fused; ++j) g.o1[j] = e1 * z(size1 * j);
  Run run(name, "a_elementwise.metal", function);
  run.constant(600, op).constant(601, fused).constant(602, row).value(0, g);
  if (h0)
    run.buffer(1, to_half(a));
  else
    run.buffer(1, a);
  if (h1)
    run.buffer(2, to_half(b));
  else
    run.buffer(2, b);
  std::vector<double> want, tol;
  for (int l = 0; l < n[3]; ++l)
    for (int k = 0; k < n[2]; ++k)
      for (int j = 0; j < n[1]; ++j)
        for (int i = 0; i < n[0]; ++i) {
          double v = da[z(((l * n[2] + k) * n[1] + j) * n[0] + i)], error = 0;
          const double unit = hd ? 0x1p-11 : 0x1p-23;
          for (int s = 0; s < fused; ++s) {
            const double w = db[z(s * size1 + (((l % m[3]) * m[2] + k % m[2]) * m[1] + j % m[1]) * m[0] + i % m[0])];
            if (op == 0) v += w;
            if (op == 1) v -= w;
            if (op == 2) v *= w, error *= std::fabs(w);
            if (op == 3) v /= w, error /= std::fabs(w);
            error += std::fabs(v) * unit * (op == 3 ? 2 : 1) * 1.01 + (hd ? 0x1p-24 : 0);
          }
          want.push_back(v), tol.push_back(error);
        }
  run.fresh(3, want.size() * ed).expect(3, hd ? Format::f16 : Format::f32, want, tol);
  run.dispatch_threadgroups({1, u(n[1]), u(n[2] * n[3])}, {8, 1, 1});
  return run;
}

// strides of `m` seen with the shape `n`: 0 where it is 1
std::vector<std::int64_t> broadcast(const std::vector<int>& m) {
  std::vector<std::int64_t> s(m.size());
  std::int64_t step = 1;
  for (std::size_t i = m.size(); i-- > 0;) s[i] = m[i] == 1 ? 0 : step, step *= m[i];
  return s;
}

template <typename T, typename U>
Run general(const char* name, const char* function, Format format, const std::vector<int>& shape, const std::vector<int>& sa,
            const std::vector<int>& sb, double (*draw)(Rng&, int), double (*f)(double, double), double ulps, std::uint32_t seed) {
  Rng rng(seed);
  const auto fill = [&](const std::vector<int>& s, int which, std::vector<double>& d) {
    std::vector<T> x;
    for (int i = std::accumulate(s.begin(), s.end(), 1, std::multiplies<>()); i > 0; --i) {
      const double v = draw(rng, which);
      if constexpr (std::is_same_v<T, std::uint16_t>)
        x.push_back(half_bits(static_cast<float>(v))), d.push_back(half_value(x.back()));
      else
        x.push_back(static_cast<T>(v)), d.push_back(static_cast<double>(x.back()));
    }
    return x;
  };
  std::vector<double> da, db, want, tol;
  const std::vector<T> a = fill(sa, 0, da), b = fill(sb, 1, db);
  const std::vector<std::int64_t> ta = broadcast(sa), tb = broadcast(sb);
  const int n = std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<>());
  for (int i = 0; i < n; ++i) {
    std::int64_t at = 0, bt = 0;
    int rest = i;
    for (std::size_t k = shape.size(); k-- > 0; rest /= shape[k]) at += ta[k] * (rest % shape[k]), bt += tb[k] * (rest % shape[k]);
    want.push_back(f(da[static_cast<std::size_t>(at)], db[static_cast<std::size_t>(bt)]));
    tol.push_back(ulps * 0x1p-23 * std::max(1.0, std::fabs(want.back())));
  }
  Run run(name, "a_elementwise.metal", function);
  run.buffer(0, a)
      .buffer(1, b)
      .fresh(2, z(n) * sizeof(U))
      .buffer(3, std::vector<std::int32_t>(shape.begin(), shape.end()))
      .buffer(4, ta)
      .buffer(5, tb);
  run.value(6, static_cast<std::int32_t>(shape.size())).expect(2, format, want, tol).dispatch_threads({u(n), 1, 1}, {32, 1, 1});
  return run;
}

double pi() { return std::acos(-1.0); }
double draw_small(Rng& rng, int) { return rng.below(200) - 100; }
double draw_float(Rng& rng, int) { return static_cast<double>(rng.uniform(-5, 5)); }
double draw_divisor(Rng& rng, int which) {
  const int v = rng.below(40) + 1;
  return which == 0 ? rng.below(1000) - 500 : rng.below(2) ? v : -v;
}
double draw_byte(Rng& rng, int which) { return which == 0 ? rng.below(256) : 1 + rng.below(30); }
double draw_long(Rng& rng, int) { return (static_cast<double>(rng.engine()) - 0x1p31) * 0x1p18 + rng.below(1000); }
double floor_mod(double a, double b) { return a - b * std::floor(a / b); }

std::vector<Run> elementwise_runs() {
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  const auto gelu = [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi()) * x * (1 + 0.044715 * x * x))); };
  const auto gelu_erf = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
  return {unary(
              "abs", true, [](double x) { return std::fabs(x); }, 0, 0, -5, 5, 251),
          unary(
              "sgn", false, [](double x) { return x > 0   ? 1.0
                                                  : x < 0 ? -1.0
                                                          : 0.0; }, 0, 0, -1, 1, 252),
          unary(
              "relu", false, [](double x) { return std::max(x, 0.0); }, 0, 0, -3, 3, 253),
          unary(
              "relu", true, [](double x) { return std::max(x, 0.0); }, 0, 0, -3, 3, 254),
          unary("sigmoid", false, logistic, 32, 0, -8, 8, 255),
          unary("silu", true, silu, 32, 0, -8, 8, 256),
          unary("gelu", false, gelu, 8, 5 * 0x1p-22, -5, 5, 257),
          unary("gelu", true, gelu, 8, 5 * 0x1p-22, -5, 5, 258),
          unary("gelu_erf", false, gelu_erf, 8, 5 * 4e-7, -5, 5, 259),
          unary(
              "hardswish", false, [](double x) { return x * std::min(1.0, std::max(0.0, (x + 3) / 6)); }, 4, 0x1p-21, -5, 5, 260),
          unary("softplus", false, softplus, 32, 0x1p-21, -10, 30, 261),
          unary(
              "step", false, [](double x) { return x > 0 ? 1.0 : 0.0; }, 0, 0, -1, 1, 262),
          unary(
              "round", false, [](double x) { return std::nearbyint(x); }, 0, 0, -20, 20, 263),
          binary("a_bin_add_f32", "bin_fuse_f32_f32_f32", false, false, false, 1, 0, 1, false, {10, 6, 4, 2}, {5, 3, 1, 2}, 264),
          binary("a_bin_mul_fused_f32", "bin_fuse_f32_f32_f32", false, false, false, 1, 2, 3, true, {17, 3, 2, 1}, {17, 1, 1, 1}, 265),
          binary("a_bin_sub_f32_4", "bin_fuse_f32_f32_f32_4", false, false, false, 4, 1, 2, false, {48, 4, 1, 2}, {16, 2, 1, 1}, 266),
          binary("a_bin_div_f16", "bin_fuse_f16_f16_f16", true, true, true, 1, 3, 1, false, {9, 4, 3, 1}, {1, 4, 3, 1}, 267),
          binary("a_bin_add_f16_f32", "bin_fuse_f16_f32_f32", true, false, false, 1, 0, 1, false, {12, 2, 2, 2}, {12, 1, 2, 1}, 268),
          general<std::uint16_t, std::uint16_t>(
              "a_g_maximum_f16", "g_maximum_f16", Format::f16, {3, 4, 5}, {3, 1, 5}, {1, 4, 5}, draw_small,
              [](double a, double b) { return std::max(a, b); }, 0, 269),
          general<std::int64_t, std::int64_t>(
              "a_g_maximum_i64", "g_maximum_i64", Format::i64, {2, 3, 4, 2}, {2, 3, 1, 2}, {1, 3, 4, 1}, draw_long,
              [](double a, double b) { return std::max(a, b); }, 0, 270),
          general<std::int32_t, std::int32_t>("a_g_floormod_i32", "g_floormod_i32", Format::i32, {7, 9}, {7, 9}, {1, 9}, draw_divisor,
                                              floor_mod, 0, 271),
          general<std::uint8_t, std::uint8_t>("a_g_floormod_u8", "g_floormod_u8", Format::u8, {5, 11}, {5, 1}, {5, 11}, draw_byte,
                                              floor_mod, 0, 272),
          general<float, std::uint8_t>(
              "a_g_less_f32", "g_less_f32", Format::u8, {2, 6, 3}, {2, 6, 1}, {1, 6, 3}, draw_small,
              [](double a, double b) { return a < b ? 1.0 : 0.0; }, 0, 273),
          general<float, float>(
              "a_g_logaddexp_f32", "g_logaddexp_f32", Format::f32, {8, 5}, {8, 1}, {1, 5}, draw_float,
              [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); }, 32, 274)};
}

const Runs kElementwise(elementwise_runs);

}  // namespace
}  // namespace assay::foreign::a::elementwise
