// Runs of a_im2col_pool.metal and their expected results. Unfolding for convolutions, pooling, padding, upscaling, transposed convolution.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::im2col_pool {
namespace {

struct Im2colArgs {
  std::uint64_t ofs0, ofs1;
  std::int32_t IW, IH, CHW, s0, s1, p0, p1, d0, d1, N, KH, KW, KHW, pad;
};
static_assert(sizeof(Im2colArgs) == 72);

Run im2col(const char* name, bool h, int N, int IC, int IH, int IW, int KH, int KW, int s0, int s1, int p0, int p1, int d0, int d1,
           std::uint32_t seed) {
  Rng rng(seed);
  const int OW = (IW + 2 * p0 - d0 * (KW - 1) - 1) / s0 + 1, OH = (IH + 2 * p1 - d1 * (KH - 1) - 1) / s1 + 1;
  const std::vector<float> x = floats(rng, z(N * IC * IH * IW), -1, 1);
  std::vector<double> want;
  for (int n = 0; n < N; ++n)
    for (int oh = 0; oh < OH; ++oh)
      for (int ow = 0; ow < OW; ++ow)
        for (int c = 0; c < IC; ++c)
          for (int kh = 0; kh < KH; ++kh)
            for (int kw = 0; kw < KW; ++kw) {
              const int y = oh * s1 + kh * d1 - p1, w = ow * s0 + kw * d0 - p0;
              const float v = y < 0 || y >= IH || w < 0 || w >= IW ? 0.0f : x[z(((n * IC + c) * IH + y) * IW + w)];
              want.push_back(h ? half_value(half_bits(v)) : v);
            }
  Run run(name, "a_im2col_pool.metal", h ? "im2col_f16" : "im2col_f32");
  run.value(0, Im2colArgs{z(IC * IH * IW), z(IH * IW), IW, IH, IC * KH * KW, s0, s1, p0, p1, d0, d1, N, KH, KW, KH * KW, 0}).buffer(1, x);
  run.fresh(2, want.size() * (h ? 2 : 4)).expect_equal(2, h ? Format::f16 : Format::f32, want);
  run.dispatch_threadgroups({u((N + 1) / 2), u(OH), u(OW * IC)}, {2, u(KH), u(KW)});
  return run;
}

struct PoolArgs {
  std::int32_t k0, k1, s0, s1, p0, p1, IW, IH, OW, OH, np;
};

Run pool(const char* name, const char* function, int mode, int C, int IH, int IW, int k0, int k1, int s0, int s1, int p0, int p1,
         std::uint32_t seed) {
  Rng rng(seed);
  const int OW = (IW + 2 * p0 - k0) / s0 + 1, OH = (IH + 2 * p1 - k1) / s1 + 1;
  const std::vector<float> x = floats(rng, z(C * IH * IW), -2, 2);
  std::vector<double> want, tol;
  for (int c = 0; c < C; ++c)
    for (int oh = 0; oh < OH; ++oh)
      for (int ow = 0; ow < OW; ++ow) {
        double best = -1e300, sum = 0, mag = 0;
        int count = 0;
        for (int a = 0; a < k1; ++a)
          for (int b = 0; b < k0; ++b) {
            const int y = oh * s1 - p1 + a, w = ow * s0 - p0 + b;
            if (y < 0 || y >= IH || w < 0 || w >= IW) continue;
            const double v = static_cast<double>(x[z((c * IH + y) * IW + w)]);
            best = std::max(best, v), sum += v, mag += std::fabs(v), ++count;
          }
        const int divisor = mode == 1 ? k0 * k1 : count;
        want.push_back(mode == 0 ? best : sum / divisor);
        tol.push_back(mode == 0 ? 0 : (k0 * k1 + 4) * 0x1p-24 * mag / divisor);
      }
  Run run(name, "a_im2col_pool.metal", function);
  const int n = static_cast<int>(want.size());
  run.value(0, PoolArgs{k0, k1, s0, s1, p0, p1, IW, IH, OW, OH, n})
      .buffer(1, x)
      .fresh(2, want.size() * 4)
      .expect(2, Format::f32, want, tol);
  run.dispatch_threadgroups({u((n + 31) / 32), 1, 1}, {32, 1, 1});
  return run;
}

struct Tensor4 {
  std::int32_t ne[4];
  std::uint64_t nb[4];
};
Tensor4 dense(int a, int b, int c, int d, std::size_t elem) {
  return {{a, b, c, d}, {elem, elem * z(a), elem * z(a * b), elem * z(a * b * c)}};
}

Run pad(const char* name, const char* function, int mode, bool h, int W, int H, int C, int B, int left, int right, int up, int down,
        std::uint32_t seed) {
  Rng rng(seed);
  std::vector<float> x;
  for (int i = 0; i < W * H * C * B; ++i) x.push_back(static_cast<float>(rng.below(2000) - 1000));
  const int OW = W + left + right, OH = H + up + down;
  const std::size_t e = h ? 2 : 4;
  Run run(name, "a_im2col_pool.metal", function);
  run.value(0, dense(W, H, C, B, e))
      .value(1, dense(OW, OH, C, B, e))
      .value(2, std::array<std::int16_t, 2>{static_cast<std::int16_t>(left), static_cast<std::int16_t>(up)});
  if (h)
    run.buffer(3, to_half(x));
  else
    run.buffer(3, x);
  const auto source = [mode](int i, int n) {
    if (i >= 0 && i < n) return i;
    if (mode == 1) return i < 0 ? -i : 2 * n - 2 - i;
    if (mode == 2) return i < 0 ? 0 : n - 1;
    if (mode == 3) return i < 0 ? i + n : i - n;
    return -1;
  };
  std::vector<double> want;
  for (int p = 0; p < C * B; ++p)
    for (int y = 0; y < OH; ++y)
      for (int w = 0; w < OW; ++w) {
        const int a = source(w - left, W), b = source(y - up, H);
        want.push_back(a < 0 || b < 0 ? 0.0 : static_cast<double>(x[z((p * H + b) * W + a)]));
      }
  run.fresh(4, want.size() * e).expect_equal(4, h ? Format::f16 : Format::f32, want).dispatch_threads({u(OW), u(OH), u(C * B)}, {8, 4, 1});
  return run;
}

Run upscale(const char* name, const char* function, bool bilinear, int W, int H, int C, int fx, int fy, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<float> x = floats(rng, z(W * H * C), -1, 1);
  std::vector<double> want, tol;
  const auto at = [&](int c, int y, int w) {
    return static_cast<double>(x[z((c * H + std::clamp(y, 0, H - 1)) * W + std::clamp(w, 0, W - 1))]);
  };
  for (int c = 0; c < C; ++c)
    for (int y = 0; y < H * fy; ++y)
      for (int w = 0; w < W * fx; ++w) {
        if (!bilinear) {
          want.push_back(at(c, y / fy, w / fx)), tol.push_back(0);
          continue;
        }
        const double py = (y + 0.5) / fy - 0.5, px = (w + 0.5) / fx - 0.5;
        const int y0 = static_cast<int>(std::floor(py)), x0 = static_cast<int>(std::floor(px));
        const double ty = py - y0, tx = px - x0;
        want.push_back((1 - ty) * ((1 - tx) * at(c, y0, x0) + tx * at(c, y0, x0 + 1)) +
                       ty * ((1 - tx) * at(c, y0 + 1, x0) + tx * at(c, y0 + 1, x0 + 1)));
        tol.push_back(16 * 0x1p-22);
      }
  Run run(name, "a_im2col_pool.metal", function);
  run.value(0, dense(W, H, C, 1, 4))
      .value(1, dense(W * fx, H * fy, C, 1, 4))
      .value(2, std::array<float, 2>{static_cast<float>(fx), static_cast<float>(fy)})
      .buffer(3, x);
  run.fresh(4, want.size() * 4).expect(4, Format::f32, want, tol).dispatch_threads({u(W * fx), u(H * fy), u(C)}, {8, 4, 1});
  return run;
}

Run conv(const char* name, bool h, int IC, int OC, int IL, int K, int s, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<float> w = floats(rng, z(IC * OC * K), -1, 1), x = floats(rng, z(IC * IL), -1, 1);
  const std::vector<double> dw = h ? from_half(to_half(w)) : from_float(w);
  const int OL = (IL - 1) * s + K;
  std::vector<double> want(z(OC * OL), 0.0), mag(want.size(), 0.0);
  for (int c = 0; c < IC; ++c)
    for (int o = 0; o < OC; ++o)
      for (int i = 0; i < IL; ++i)
        for (int k = 0; k < K; ++k) {
          const double p = dw[z((c * OC + o) * K + k)] * static_cast<double>(x[z(c * IL + i)]);
          want[z(o * OL + i * s + k)] += p, mag[z(o * OL + i * s + k)] += std::fabs(p);
        }
  for (double& m : mag) m *= (IC * K + 8) * 0x1p-24;
  Run run(name, "a_im2col_pool.metal", h ? "conv_transpose_1d_f16_f32" : "conv_transpose_1d_f32_f32");
  run.value(0, std::array<std::int32_t, 4>{IC, IL, K, s}).buffer(2, x);
  if (h)
    run.buffer(1, to_half(w));
  else
    run.buffer(1, w);
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, mag).dispatch_threadgroups({u(OL), u(OC), 1}, {32, 1, 1});
  return run;
}

std::vector<Run> im2col_runs() {
  return {im2col("a_im2col_f32", false, 3, 2, 7, 9, 3, 3, 1, 1, 1, 1, 1, 1, 211),
          im2col("a_im2col_f16_dilated", true, 2, 3, 8, 6, 2, 3, 2, 1, 2, 0, 1, 3, 212),
          pool("a_pool_max", "pool_2d_max_f32", 0, 2, 7, 8, 3, 3, 2, 2, 1, 1, 213),
          pool("a_pool_avg", "pool_2d_avg_f32", 1, 3, 6, 6, 2, 3, 1, 2, 1, 0, 214),
          pool("a_pool_avg_valid", "pool_2d_avg_valid_f32", 2, 1, 9, 11, 4, 3, 3, 2, 2, 1, 215),
          pad("a_pad_zero_f16", "pad_zero_f16", 0, true, 5, 4, 2, 2, 2, 1, 0, 3, 216),
          pad("a_pad_reflect", "pad_reflect_f32", 1, false, 6, 5, 1, 2, 3, 5, 2, 4, 217),
          pad("a_pad_replicate", "pad_replicate_f32", 2, false, 3, 3, 2, 1, 4, 2, 1, 5, 218),
          pad("a_pad_circular", "pad_circular_f32", 3, false, 4, 5, 2, 1, 3, 4, 2, 1, 219),
          upscale("a_upscale_nearest", "kernel_upscale_nearest_f32", false, 5, 3, 2, 2, 4, 220),
          upscale("a_upscale_bilinear", "kernel_upscale_bilinear_f32", true, 6, 4, 2, 2, 4, 221),
          conv("a_conv_transpose_1d_f32", false, 37, 2, 6, 5, 2, 222),
          conv("a_conv_transpose_1d_f16", true, 4, 3, 9, 3, 3, 223)};
}

const Runs kIm2col(im2col_runs);

}  // namespace
}  // namespace assay::foreign::a::im2col_pool
