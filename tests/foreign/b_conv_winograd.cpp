// Runs of b_conv_winograd.metal and their expected results. Convolutions: naive in one and two dimensions, and F(2x2, 3x3) through constant
// transforms; and small generators.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::conv_winograd {
namespace {

constexpr const char* kFile = "b_conv_winograd.metal";

template <int D>
struct Params {
  std::int32_t N, C, O;
  std::int32_t iS[D], wS[D], oS[D], str[D], pad[D], kdil[D];
  std::int32_t groups;
  bool flip;
};
static_assert(sizeof(Params<1>) == 44 && sizeof(Params<2>) == 68);

// Two dimensions; in one, the heights are 1.
struct Conv {
  int N, C, O, ih, iw, kh, kw, sh, sw, ph, pw, dh, dw, groups;
  bool flip;
  int oh() const { return (ih + 2 * ph - dh * (kh - 1) - 1) / sh + 1; }
  int ow() const { return (iw + 2 * pw - dw * (kw - 1) - 1) / sw + 1; }
};

void convolve(const Conv& p, const Vec& in, const Vec& wt, const Vec& bias, Vec& out, Vec& mag) {
  const int C = p.C / p.groups;
  for (int n = 0; n < p.N; ++n)
    for (int y = 0; y < p.oh(); ++y)
      for (int x = 0; x < p.ow(); ++x)
        for (int o = 0; o < p.O; ++o) {
          double sum = bias.empty() ? 0 : bias[o], abs = std::fabs(sum);
          for (int i = 0; i < p.kh; ++i)
            for (int j = 0; j < p.kw; ++j)
              for (int c = 0; c < C; ++c) {
                const int h = y * p.sh - p.ph + i * p.dh, w = x * p.sw - p.pw + j * p.dw;
                if (h < 0 || h >= p.ih || w < 0 || w >= p.iw) continue;
                const int a = p.flip ? p.kh - 1 - i : i, b = p.flip ? p.kw - 1 - j : j;
                const double v =
                    in[((n * p.ih + h) * p.iw + w) * p.C + o / (p.O / p.groups) * C + c] * wt[((o * p.kh + a) * p.kw + b) * C + c];
                sum += v, abs += std::fabs(v);
              }
          out.push_back(sum), mag.push_back(abs);
        }
}

Params<2> params_of(const Conv& p) {
  return {p.N, p.C, p.O, {p.ih, p.iw}, {p.kh, p.kw}, {p.oh(), p.ow()}, {p.sh, p.sw}, {p.ph, p.pw}, {p.dh, p.dw}, p.groups, p.flip};
}

std::vector<Run> conv_runs() {
  std::vector<Run> runs;
  for (const bool flip : {false, true}) {
    const Conv p{2, 6, 4, 1, 23, 1, 5, 1, 2, 0, 3, 1, 2, 2, flip};
    const auto in = to_half(floats(241, p.N * p.iw * p.C)), wt = to_half(floats(242, p.O * p.kw * p.C / p.groups)),
               bias = to_half(floats(243, p.O));
    Vec out, tol;
    convolve(p, wide_half(in), wide_half(wt), flip ? wide_half(bias) : Vec(), out, tol);
    for (std::size_t i = 0; i < out.size(); ++i) tol[i] = 18 * kEps * tol[i] + 1.01 * 0x1p-11 * std::fabs(out[i]) + 0x1p-25;
    Run run(flip ? "b_conv_1d_f16_flip_bias" : "b_conv_1d_f16_groups", kFile, "naive_conv_1d_float16");
    run.buffer(0, in).buffer(1, wt).fresh(2, out.size() * 2);
    run.value(3, Params<1>{p.N, p.C, p.O, {p.iw}, {p.kw}, {p.ow()}, {p.sw}, {p.pw}, {p.dw}, p.groups, p.flip});
    if (flip) run.buffer(4, bias);
    run.constant(0, flip).dispatch_threadgroups({1, std::uint32_t((p.ow() + 7) / 8), 2}, {8, 8, 1});
    runs.push_back(run.expect(2, Format::f16, out, tol));
  }
  {
    const Conv p{2, 5, 7, 9, 8, 3, 2, 2, 1, 1, 1, 1, 2, 1, false};
    const auto in = floats(244, p.N * p.ih * p.iw * p.C), wt = floats(245, p.O * p.kh * p.kw * p.C);
    Vec out, tol;
    convolve(p, wide(in), wide(wt), {}, out, tol);
    for (auto& t : tol) t *= 32 * kEps;
    const std::uint32_t tiles = std::uint32_t((p.oh() * p.ow() + 1) / 2);
    Run run("b_conv_2d_f32", kFile, "naive_conv_2d_float32_tm2_tn4");
    run.buffer(0, in).buffer(1, wt).fresh(2, out.size() * 4).value(3, params_of(p)).constant(0, false);
    run.dispatch_threads({tiles, 2, 2}, {8, 2, 1});
    runs.push_back(run.expect(2, Format::f32, out, tol));
  }
  {
    const int C = 5, O = 6;
    const auto wt = floats(246, O * 9 * C);
    static const double G[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    Vec out(16 * C * O), tol(out.size());
    for (int e = 0; e < 16; ++e)
      for (int c = 0; c < C; ++c)
        for (int o = 0; o < O; ++o) {
          double sum = 0;
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) sum += G[e / 4][i] * G[e % 4][j] * wt[(o * 9 + i * 3 + j) * C + c];
          out[(e * C + c) * O + o] = sum, tol[(e * C + c) * O + o] = 9 * 6 * kEps;
        }
    Run run("b_winograd_weights", kFile, "winograd_weights_float32");
    run.buffer(0, wt).fresh(1, out.size() * 4).value(2, C).value(3, O).constant(0, false);
    run.dispatch_threads({C, O, 1}, {5, 2, 1});
    runs.push_back(run.expect(1, Format::f32, out, tol));
  }
  for (const bool half : {false, true}) {
    const Conv p{2, 11, 13, 5, 6, 3, 3, 1, 1, 1, 1, 1, 1, 1, false};
    const auto in = floats(247, p.N * p.ih * p.iw * p.C), wt = floats(248, p.O * 9 * p.C);
    const auto in_half = to_half(in);
    // the transformed weights are an input: rounded to float
    std::vector<float> transformed(16 * p.C * p.O);
    static const double G[4][3] = {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}};
    for (int e = 0; e < 16; ++e)
      for (int c = 0; c < p.C; ++c)
        for (int o = 0; o < p.O; ++o) {
          double sum = 0;
          for (int i = 0; i < 9; ++i) sum += G[e / 4][i / 3] * G[e % 4][i % 3] * wt[(o * 9 + i) * p.C + c];
          transformed[(e * p.C + c) * p.O + o] = float(sum);
        }
    Vec out, mag, tol;
    convolve(p, half ? wide_half(in_half) : wide(in), wide(wt), {}, out, mag);
    // an output has nine products of up to 4 * 2.25 for each channel, each off by some roundings
    for (double x : out) tol.push_back((p.C + 12) * kEps * p.C * 81 + (half ? 1.01 * 0x1p-11 * std::fabs(x) : 0));
    Run run(half ? "b_winograd_conv_f16" : "b_winograd_conv_f32", kFile, half ? "winograd_conv_float16" : "winograd_conv_float32");
    if (half)
      run.buffer(0, in_half);
    else
      run.buffer(0, in);
    run.buffer(1, transformed).fresh(2, out.size() * (half ? 2 : 4)).value(3, params_of(p)).constant(0, false);
    run.dispatch_threadgroups({3, 3, 2}, {32, 1, 1});
    runs.push_back(run.expect(2, half ? Format::f16 : Format::f32, out, tol));
  }
  {
    Vec out;
    for (int i = 0; i < 100; ++i) out.push_back(double((7 + 250 * i) % 256));
    Run run("b_arange_u8_wraps", kFile, "arange_uint8");
    run.value(0, std::uint8_t(7)).value(1, std::uint8_t(250)).fresh(2, 100).constant(0, false).dispatch_threads({100, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect_equal(2, Format::u8, out));
    Vec longs;
    for (int i = 0; i < 70; ++i) longs.push_back(double(-(std::int64_t(1) << 40) + i * (std::int64_t(1) << 35)));
    Run large("b_arange_i64", kFile, "arange_int64");
    large.value(0, -(std::int64_t(1) << 40))
        .value(1, std::int64_t(1) << 35)
        .fresh(2, 560)
        .constant(0, false)
        .dispatch_threads({70, 1, 1}, {32, 1, 1});
    runs.push_back(large.expect_equal(2, Format::i64, longs));
  }
  {
    const int batch = 2, rows = 9, columns = 14, k = -2;
    std::vector<std::int16_t> x;
    Rng rng(249);
    for (int i = 0; i < batch * rows * columns; ++i) x.push_back(std::int16_t(rng()));
    Vec out;
    for (int i = 0; i < batch * rows * columns; ++i) out.push_back(i % columns >= i / columns % rows + k ? x[i] : 0);
    Run run("b_triu_i16", kFile, "triu_short");
    run.buffer(0, x).fresh(1, out.size() * 2).value(2, k).constant(0, false).dispatch_threads({columns, rows, batch}, {8, 4, 1});
    runs.push_back(run.expect_equal(1, Format::i16, out));
  }
  return runs;
}

static const Runs kConv(conv_runs);

}  // namespace
}  // namespace assay::foreign::b::conv_winograd
