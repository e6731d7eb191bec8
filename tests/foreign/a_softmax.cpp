// Runs of a_softmax.metal and their expected results. Softmax in several shapes, with masks, slopes and soft caps; log-sum-exp and the
// cross entropy that goes with it.
#include "tests/foreign/a_kind.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::softmax {
namespace {

std::vector<double> softmax(const std::vector<double>& x) {
  const double top = *std::max_element(x.begin(), x.end());
  std::vector<double> y;
  double sum = 0;
  for (double v : x) y.push_back(std::exp(v - top)), sum += y.back();
  for (double& v : y) v /= sum;
  return y;
}

// acc: the type in which the sums are made
Run plain(const char* name, const char* function, Kind kind, Kind acc, int cols, int rows, int threads, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_softmax.metal", function);
  const std::vector<double> x = put(run, 0, kind, floats(rng, static_cast<std::size_t>(cols * rows), -4, 4));
  std::vector<double> want, tol;
  for (int r = 0; r < rows; ++r) {
    const std::vector<double> y = softmax({x.begin() + r * cols, x.begin() + (r + 1) * cols});
    for (double v : y) {
      want.push_back(v);
      // in half: differences up to 8 are rounded to 2^-9, and so is every step of the sums
      const double chain = acc == Kind::f16 ? 0x1p-8 + (cols / 32.0 + 12) * 0x1p-11 : (cols + 40) * 0x1p-23;
      tol.push_back(v * (chain + rounding(kind)) + (kind == Kind::f16 ? 0x1p-24 : 1e-9) * (acc == Kind::f16 ? 4 : 1));
    }
  }
  run.fresh(1, want.size() * (kind == Kind::f32 ? 4 : 2)).value(2, std::int32_t{cols}).expect(1, format(kind), want, tol);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(rows), 1, 1}, {static_cast<std::uint32_t>(threads), 1, 1});
  return run;
}

struct SoftMaxArgs {
  std::int32_t ne00, ne01, ne02;
  float scale, max_bias, m0, m1;
  std::int32_t n_head_log2;
  float softcap;
};

Run masked(const char* name, const char* function, bool mask_on, bool half_mask, bool bias, float cap, int cols, int rows, int heads,
           int threads, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_softmax.metal", function);
  const std::vector<float> x = floats(rng, static_cast<std::size_t>(cols * rows * heads), -6, 6);
  SoftMaxArgs a{cols, rows, heads, 0.375f, bias ? 8.0f : 0.0f, 0, 0, 4, cap};
  a.m0 = std::exp2(-8.0f / 4), a.m1 = std::exp2(-4.0f / 4);
  std::vector<float> mask;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < cols; ++i) mask.push_back((i + 2 * r) % 5 == 0 ? -60000.0f : -0.25f * static_cast<float>(rng.below(30)));
  run.constant(7, mask_on);
  if (cap != 0) run.constant(8, true);
  run.value(0, a).buffer(1, x);
  if (mask_on) {
    if (half_mask)
      run.buffer(2, to_half(mask));
    else
      run.buffer(2, mask);
  }
  const std::vector<double> m = half_mask ? from_half(to_half(mask)) : from_float(mask);
  std::vector<double> want, tol;
  for (int h = 0; h < heads; ++h) {
    const double slope = !bias ? 1.0 : h < 4 ? std::pow(2.0, -2.0 * (h + 1)) : std::pow(2.0, -1.0 * (2 * (h - 4) + 1));
    for (int r = 0; r < rows; ++r) {
      std::vector<double> s;
      double top = 0;
      for (int i = 0; i < cols; ++i) {
        double v = static_cast<double>(x[static_cast<std::size_t>((h * rows + r) * cols + i)]) * 0.375;
        if (cap != 0) v = static_cast<double>(cap) * std::tanh(v / static_cast<double>(cap));
        if (mask_on) v += slope * m[static_cast<std::size_t>(r * cols + i)];
        s.push_back(v);
        if (v > -1000) top = std::max(top, std::fabs(v));
      }
      for (double v : softmax(s)) want.push_back(v), tol.push_back(v * ((cols + 40) * 0x1p-23 + (top + 8) * 0x1p-21) + 1e-9);
    }
  }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol).threadgroup(0, 128);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(heads), 1},
                            {static_cast<std::uint32_t>(threads), 1, 1});
  return run;
}

std::vector<Run> softmax_runs() {
  std::vector<Run> runs = {
      plain("a_block_softmax_f32", "block_softmax_float32", Kind::f32, Kind::f32, 203, 3, 64, 151),
      plain("a_block_softmax_f16", "block_softmax_float16", Kind::f16, Kind::f16, 60, 2, 32, 152),
      plain("a_block_softmax_precise_f16", "block_softmax_precise_float16", Kind::f16, Kind::f32, 128, 3, 32, 153),
      plain("a_looped_softmax_f32", "looped_softmax_float32", Kind::f32, Kind::f32, 301, 2, 64, 154),
      plain("a_looped_softmax_precise_bf16", "looped_softmax_precise_bfloat16", Kind::bf16, Kind::f32, 150, 3, 32, 155),
      masked("a_soft_max_f32", "soft_max_f32", false, false, false, 0, 75, 3, 2, 32, 156),
      masked("a_soft_max_f16_mask", "soft_max_f16", true, true, true, 0, 41, 3, 6, 64, 157),
      masked("a_soft_max_f32_4_cap", "soft_max_f32_4", true, false, false, 2.0f, 100, 2, 2, 32, 158),
      masked("a_soft_max_f16_4_mask", "soft_max_f16_4", true, true, false, 0, 260, 2, 2, 64, 159)};
  {
    Rng rng(160);
    const int cols = 71, rows = 4;
    const std::vector<float> x = floats(rng, static_cast<std::size_t>(cols * rows), -20, 20);
    const std::vector<std::int32_t> labels = {5, -1, 70, 0};
    std::vector<double> lse, loss;
    for (int r = 0; r < rows; ++r) {
      double sum = 0;
      for (int i = 0; i < cols; ++i) sum += std::exp(static_cast<double>(x[static_cast<std::size_t>(r * cols + i)]));
      lse.push_back(std::log(sum));
      const int l = labels[static_cast<std::size_t>(r)];
      loss.push_back(l < 0 ? 0 : lse.back() - static_cast<double>(x[static_cast<std::size_t>(r * cols + l)]));
    }
    const std::vector<double> tol(4, 40 * 0x1p-21);
    const std::array<std::uint32_t, 2> shape = {71, 4};
    Run a("a_logsumexp_f32", "a_softmax.metal", "logsumexp_f32");
    a.buffer(0, x).fresh(1, 16).value(2, shape).dispatch_threads({32, 4, 1}, {32, 2, 1}).expect(1, Format::f32, lse, tol);
    runs.push_back(a);
    Run b("a_cross_entropy_f32", "a_softmax.metal", "cross_entropy_f32");
    b.buffer(0, x)
        .fresh(1, 16)
        .value(2, shape)
        .buffer(3, labels)
        .buffer(4, std::vector<float>{1.5f})
        .dispatch_threads({32, 4, 1}, {32, 1, 1});
    b.expect(1, Format::f32, loss, tol)
        .expect(4, Format::f32, {1.5 + loss[0] + loss[1] + loss[2] + loss[3]}, {4 * 40 * 0x1p-21 + 200 * 0x1p-22});
    runs.push_back(b);
  }
  {
    Rng rng(161);
    const std::vector<float> x = floats(rng, 99, -90, 90);
    std::vector<double> want, tol;
    for (float v : x) want.push_back(30 * std::tanh(static_cast<double>(v) / 30)), tol.push_back(30 * 0x1p-20);
    Run run("a_softcap_f32", "a_softmax.metal", "kernel_softcap_f32");
    run.buffer(0, x).value(1, 30.0f).value(2, std::uint32_t{99}).dispatch_threads({25, 1, 1}, {8, 1, 1}).expect(0, Format::f32, want, tol);
    runs.push_back(run);
  }
  return runs;
}

const Runs kSoftmax(softmax_runs);

}  // namespace
}  // namespace assay::foreign::a::softmax
