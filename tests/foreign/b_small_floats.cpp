// Runs of b_small_floats.metal and their expected results. Own small floats: a bfloat16 of 16 bits with operators from macros, E4M3, E8M0
// scales, E2M1 pairs, packed int4.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::small_floats {
namespace {

constexpr const char* kFile = "b_small_floats.metal";

double e4m3(unsigned bits) {  // of the format's definition: bias 7, no infinities, S.1111.111 is not a number
  const unsigned exponent = bits >> 3 & 15, fraction = bits & 7;
  const double value = exponent == 0 ? fraction * 0x1p-9 : std::ldexp(1.0 + fraction / 8.0, int(exponent) - 7);
  return bits & 128 ? -value : value;
}

std::vector<Run> small_float_runs() {
  std::vector<Run> runs;
  {
    const int n = 150;
    const auto x = to_bfloat(floats(231, n, 3.0f)), y = to_bfloat(floats(232, n, 3.0f));
    const float a = 0.7f;
    Vec out, tol;
    for (int i = 0; i < n; ++i) {
      const double t = double(a) * bfloat_value(x[i]), s = t + bfloat_value(y[i]);
      out.push_back(s), tol.push_back(1.02 * 0x1p-8 * (std::fabs(t) + std::fabs(s) + 0x1p-8 * std::fabs(t)));
    }
    Run run("b_own_bfloat_axpy", kFile, "axpy_bfloat16_t");
    run.buffer(0, x).buffer(1, y).value(2, a).dispatch_threads({n, 1, 1}, {64, 1, 1});
    runs.push_back(run.expect(1, Format::bf16, out, tol));
  }
  {
    const int n = 3 * 96;
    const auto x = to_bfloat(floats(233, n, 3.0f));
    Vec out(3, 0.0);
    for (int i = 0; i < n; ++i) out[i / 96] = std::min(out[i / 96], -std::fabs(double(bfloat_value(x[i]))));
    Run run("b_own_bfloat_max_abs", kFile, "max_abs_bfloat16_t");
    run.buffer(0, x).fresh(1, 6).dispatch_threadgroups({3, 1, 1}, {96, 1, 1});
    runs.push_back(run.expect_equal(1, Format::bf16, out));
  }
  {
    const int rows = 40, size = 33;
    const auto x = to_bfloat(floats(234, rows * size));
    Vec out(rows, 0.0), tol(rows, 0.0);
    for (int i = 0; i < rows * size; ++i) out[i / size] += bfloat_value(x[i]), tol[i / size] += size * kEps * std::fabs(bfloat_value(x[i]));
    for (int r = 0; r < rows; ++r) tol[r] += 1.01 * 0x1p-8 * std::fabs(out[r]);
    Run run("b_own_bfloat_sum", kFile, "sum_rows_bfloat16_t");
    run.buffer(0, x).fresh(1, rows * 2).value(2, size).dispatch_threads({rows, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect(1, Format::bf16, out, tol));
  }
  {
    std::vector<float> x{0.0f, 448.0f, 500.0f, -1000.0f, 0x1p-9f, 0x1p-6f, 17.0f, 19.0f, -0x1.8p-9f, 0.015f};
    for (float v : floats(235, 100, 300.0f)) x.push_back(v);
    for (float v : floats(236, 90, 0.05f)) x.push_back(v);
    Vec out;
    for (float v : x) {  // the nearest of the finite values, the even one of two
      unsigned best = 0;
      for (unsigned b = 1; b < 0x7f; ++b) {
        const double d = std::fabs(std::fabs(double(v)) - e4m3(b)), e = std::fabs(std::fabs(double(v)) - e4m3(best));
        if (d < e || (d == e && b % 2 == 0)) best = b;
      }
      out.push_back(best | (std::signbit(v) ? 128u : 0u));
    }
    Run run("b_to_e4m3", kFile, "to_e4m3");
    run.buffer(0, x).fresh(1, x.size()).dispatch_threads({std::uint32_t(x.size()), 1, 1}, {32, 1, 1});
    runs.push_back(run.expect_equal(1, Format::u8, out));
  }
  {
    std::vector<std::uint8_t> bits;
    Vec out;
    for (unsigned b = 0; b < 256; ++b) {
      const unsigned finite = (b & 127) == 127 ? b - 1 : b;
      bits.push_back(std::uint8_t(finite)), out.push_back(e4m3(finite));
    }
    Run run("b_from_e4m3", kFile, "from_e4m3");
    run.buffer(0, bits).fresh(1, 1024).dispatch_threads({64, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect_equal(1, Format::f32, out));
  }
  for (const bool half : {false, true}) {
    const int groups = 7;
    Rng rng(237);
    std::vector<std::uint8_t> w(groups * 16), scales(groups);
    for (auto& b : w) b = std::uint8_t(rng());
    for (auto& s : scales) s = std::uint8_t(127 - 5 + rng() % 10);
    static const double level[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    Vec out;
    for (int i = 0; i < groups * 32; ++i) {
      const unsigned q = w[i / 2] >> (4 * (i % 2)) & 15;
      out.push_back((q & 8 ? -1 : 1) * level[q & 7] * std::ldexp(1.0, int(scales[i / 32]) - 127));
    }
    Run run(half ? "b_dequantize_mxfp4_f16" : "b_dequantize_mxfp4_f32", kFile, half ? "dequantize_mxfp4_half" : "dequantize_mxfp4_float");
    run.buffer(0, w).buffer(1, scales).fresh(2, out.size() * (half ? 2 : 4)).dispatch_threads({groups * 16, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect_equal(2, half ? Format::f16 : Format::f32, out));
  }
  {
    const int words = 50;
    Rng rng(238);
    std::vector<std::int32_t> x(words * 8);
    for (auto& v : x) v = int(rng() % 31) - 15;
    Vec out;
    for (int i = 0; i < words; ++i) {
      std::uint32_t word = 0;
      for (int k = 0; k < 8; ++k) word |= (std::uint32_t(std::clamp(x[i * 8 + k], -8, 7)) & 15u) << (4 * k);
      out.push_back(word);
    }
    Run run("b_pack_int4", kFile, "pack_int4");
    run.buffer(0, x).fresh(1, words * 4).dispatch_threads({words, 1, 1}, {32, 1, 1});
    runs.push_back(run.expect_equal(1, Format::u32, out));

    const int rows = 6;
    std::vector<std::uint32_t> a(rows * words), b(words);
    for (auto& v : a) v = std::uint32_t(rng());
    for (auto& v : b) v = std::uint32_t(rng());
    Vec dots;
    const auto nibble = [](std::uint32_t word, int k) { return (int(word >> (4 * k) & 15) ^ 8) - 8; };
    for (int r = 0; r < rows; ++r) {
      int sum = 0;
      for (int w = 0; w < words; ++w)
        for (int k = 0; k < 8; ++k) sum += nibble(a[r * words + w], k) * nibble(b[w], k);
      dots.push_back(sum);
    }
    Run dot("b_dot_int4", kFile, "dot_int4");
    dot.buffer(0, a).buffer(1, b).fresh(2, rows * 4).value(3, words).dispatch_threadgroups({rows, 1, 1}, {32, 1, 1});
    runs.push_back(dot.expect_equal(2, Format::i32, dots));
  }
  return runs;
}

static const Runs kSmallFloats(small_float_runs);

}  // namespace
}  // namespace assay::foreign::b::small_floats
