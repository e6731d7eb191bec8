// Runs of b_gemv_blocks.metal and their expected results. Matrix times vector in blocks: rows across simdgroups, columns across lanes; and
// the transposed product.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::gemv_blocks {
namespace {

std::vector<Run> gemv_runs() {
  std::vector<Run> runs;
  struct Case {
    const char *name, *function;
    Format format;
    int rows, cols, batch, threads, block;
    bool axpby;
  };
  for (const Case& c : {Case{"b_gemv_f32_ragged", "gemv_float32_bm2_sn32_tm4_tn4_axpby0", Format::f32, 21, 301, 2, 64, 8, false},
                        Case{"b_gemv_f16_axpby", "gemv_float16_bm4_sn8_tm1_tn4_axpby1", Format::f16, 35, 70, 2, 128, 16, true},
                        Case{"b_gemv_bf16", "gemv_bfloat16_bm1_sn32_tm4_tn4_axpby0", Format::bf16, 10, 129, 1, 32, 4, false}}) {
    const int ld = c.cols + 3;
    const float alpha = 1.5f, beta = 0.5f;
    const auto m0 = floats(21, std::size_t(c.batch * c.rows * ld)), v0 = floats(22, std::size_t(c.batch * c.cols)),
               b0 = floats(23, std::size_t(c.batch * c.rows));
    Run run(c.name, "b_gemv_blocks.metal", c.function);
    Vec m, v, b;
    const std::size_t count = std::size_t(c.batch * c.rows);
    if (c.format == Format::f32) {
      m = wide(m0), v = wide(v0), b = wide(b0);
      run.buffer(0, m0).buffer(1, v0).buffer(2, b0).fresh(3, count * 4);
    } else {
      const bool half = c.format == Format::f16;
      const auto mb = half ? to_half(m0) : to_bfloat(m0), vb = half ? to_half(v0) : to_bfloat(v0), bb = half ? to_half(b0) : to_bfloat(b0);
      m = half ? wide_half(mb) : wide_bfloat(mb), v = half ? wide_half(vb) : wide_bfloat(vb), b = half ? wide_half(bb) : wide_bfloat(bb);
      run.buffer(0, mb).buffer(1, vb).buffer(2, bb).fresh(3, count * 2);
    }
    const double ulp = c.format == Format::f32 ? 0 : c.format == Format::f16 ? 0x1p-11 : 0x1p-8;
    Vec out, tol;
    for (int z = 0; z < c.batch; ++z)
      for (int r = 0; r < c.rows; ++r) {
        double sum = 0, mag = 0;
        for (int k = 0; k < c.cols; ++k) {
          const double x = m[(z * c.rows + r) * ld + k] * v[z * c.cols + k];
          sum += x, mag += std::fabs(x);
        }
        double t = (c.cols + 2) * kEps * mag + ulp * 1.01 * std::fabs(sum);
        if (c.axpby) {
          const double add = beta * b[z * c.rows + r];
          // alpha * result, beta * bias and the sum are rounded to T
          t = alpha * t + 1.01 * ulp * (std::fabs(alpha * sum) + std::fabs(add) + std::fabs(alpha * sum + add) + 3 * t);
          sum = alpha * sum + add;
        }
        out.push_back(sum), tol.push_back(t + 0x1p-24 * (c.format == Format::f16));
      }
    run.value(4, c.cols).value(5, c.rows).value(6, ld).value(7, alpha).value(8, beta);
    run.buffer(9, std::vector<std::int32_t>{c.rows * ld, c.cols, c.rows});
    run.dispatch_threadgroups({std::uint32_t((c.rows + c.block - 1) / c.block), 1, std::uint32_t(c.batch)},
                              {std::uint32_t(c.threads), 1, 1});
    run.expect(3, c.format, out, tol);
    runs.push_back(run);
  }
  {
    const int rows = 11, cols = 50;
    Rng rng(24);
    std::vector<std::int32_t> m(rows * cols), v(cols), b(rows);
    for (auto* p : {&m, &v, &b})
      for (auto& x : *p) x = int(rng() % 2001) - 1000;
    Vec out;
    for (int r = 0; r < rows; ++r) {
      std::int64_t sum = 0;
      for (int k = 0; k < cols; ++k) sum += std::int64_t(m[r * cols + k]) * v[k];
      out.push_back(double(3 * sum - 2 * b[r]));
    }
    Run run("b_gemv_i32_axpby", "b_gemv_blocks.metal", "gemv_int32_bm2_sn16_tm2_tn1_axpby1");
    run.buffer(0, m).buffer(1, v).buffer(2, b).fresh(3, rows * 4);
    run.value(4, cols).value(5, rows).value(6, cols).value(7, 3.0f).value(8, -2.0f).buffer(9, std::vector<std::int32_t>{0, 0, 0});
    run.dispatch_threadgroups({2, 1, 1}, {64, 1, 1});
    run.expect_equal(3, Format::i32, out);
    runs.push_back(run);
  }
  for (const bool half : {false, true}) {
    const int K = 77, N = 43, ld = 44;
    const auto m0 = floats(25, K * ld), v0 = floats(26, K);
    Run run(half ? "b_gemv_t_f16" : "b_gemv_t_f32", "b_gemv_blocks.metal", half ? "gemv_t_float16_4x8" : "gemv_t_float32_8x4");
    const auto mh = to_half(m0), vh = to_half(v0);
    const Vec m = half ? wide_half(mh) : wide(m0), v = half ? wide_half(vh) : wide(v0);
    if (half)
      run.buffer(0, mh).buffer(1, vh).fresh(3, N * 2);
    else
      run.buffer(0, m0).buffer(1, v0).fresh(3, N * 4);
    Vec out, tol;
    for (int n = 0; n < N; ++n) {
      double sum = 0, mag = 0;
      for (int k = 0; k < K; ++k) sum += m[k * ld + n] * v[k], mag += std::fabs(m[k * ld + n] * v[k]);
      out.push_back(sum), tol.push_back((K + 2) * kEps * mag + (half ? 0x1p-11 * 1.01 * std::fabs(sum) + 0x1p-25 : 0));
    }
    run.value(4, K).value(5, N).value(6, ld).threadgroup(0, 512);
    run.dispatch_threadgroups({3, 1, 1}, {half ? 128u : 64u, 1, 1});
    run.expect(3, half ? Format::f16 : Format::f32, out, tol);
    runs.push_back(run);
  }
  return runs;
}

static const Runs kGemv(gemv_runs);

}  // namespace
}  // namespace assay::foreign::b::gemv_blocks
