// Runs of b_gemm_steel.metal and their expected results. Tiled matrix products: block loaders into threadgroup memory, tiles of 8x8
// fragments, epilogue functors.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::gemm_steel {
namespace {

struct GEMMParams {
  std::int32_t M, N, K, lda, ldb, ldd, tiles_n, tiles_m;
};
struct AddMM {
  std::int32_t ldc, fdc;
  float alpha, beta;
};

// op(A) is M x K, op(B) is K x N, both dense in their stored order.
void product(const double* a, const double* b, int M, int N, int K, bool ta, bool tb, Vec& out, Vec& mag) {
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 0, abs = 0;
      for (int k = 0; k < K; ++k) {
        const double x = (ta ? a[k * M + m] : a[m * K + k]) * (tb ? b[n * K + k] : b[k * N + n]);
        sum += x, abs += std::fabs(x);
      }
      out.push_back(sum), mag.push_back(abs);
    }
}

std::vector<Run> gemm_runs() {
  std::vector<Run> runs;
  {
    const int M = 45, N = 37, K = 29, batch = 2;
    const auto a = floats(11, M * K * batch), b = floats(12, K * N * batch);
    Vec out, mag;
    for (int i = 0; i < batch; ++i) product(wide(a).data() + i * M * K, wide(b).data() + i * K * N, M, N, K, false, false, out, mag);
    for (auto& x : mag) x = (K + 2) * kEps * x;
    Run run("b_gemm_nn_f32_batched_ragged", "b_gemm_steel.metal", "steel_gemm_nn_float32");
    run.constant(100, false).constant(10, true).constant(200, false).constant(201, false);
    run.buffer(0, a).buffer(1, b).fresh(3, out.size() * 4);
    run.value(4, GEMMParams{M, N, K, K, N, N, (N + 31) / 32, (M + 31) / 32});
    run.buffer(6, std::vector<std::int64_t>{M * K, K * N, M * N});
    run.dispatch_threadgroups({(N + 31) / 32, (M + 31) / 32, batch}, {32, 2, 2});
    run.expect(3, Format::f32, out, mag);
    runs.push_back(run);
  }
  {
    const int M = 33, N = 40, K = 50;
    const auto a = to_half(floats(13, M * K)), b = to_half(floats(14, K * N)), c = to_half(floats(15, N));
    Vec out, mag;
    product(wide_half(a).data(), wide_half(b).data(), M, N, K, false, true, out, mag);
    const float alpha = 0.75f, beta = -1.5f;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double source = half_value(c[i % N]);  // a row, broadcast: ldc = 0
      out[i] = alpha * out[i] + beta * source;
      mag[i] = (K + 4) * kEps * (std::fabs(alpha) * mag[i] + std::fabs(beta * source)) + 0x1p-11 * std::fabs(out[i]) + 0x1p-25;
    }
    Run run("b_gemm_nt_f16_axpby", "b_gemm_steel.metal", "steel_gemm_nt_float16");
    run.constant(100, true).constant(10, false).constant(200, false).constant(201, false);
    run.buffer(0, a).buffer(1, b).buffer(2, c).fresh(3, out.size() * 2);
    run.value(4, GEMMParams{M, N, K, K, K, N, 2, 2}).value(5, AddMM{0, 1, alpha, beta});
    run.dispatch_threadgroups({3, 2, 1}, {32, 2, 2});  // one column of groups too many: they leave early
    run.expect(3, Format::f16, out, mag);
    runs.push_back(run);
  }
  for (const bool tb : {false, true}) {
    const int M = 64, N = 32, K = 40;
    const auto a = to_bfloat(floats(16, M * K)), b = to_bfloat(floats(17, K * N));
    Vec out, mag;
    product(wide_bfloat(a).data(), wide_bfloat(b).data(), M, N, K, true, tb, out, mag);
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = std::max(out[i], 0.0);
      mag[i] = (K + 2) * kEps * mag[i] + 0x1p-8 * std::fabs(out[i]) + 1e-30;
    }
    Run run(tb ? "b_gemm_tt_bf16_relu" : "b_gemm_tn_bf16_relu", "b_gemm_steel.metal",
            tb ? "steel_gemm_tt_bfloat16_relu" : "steel_gemm_tn_bfloat16_relu");
    run.constant(100, false).constant(10, false).constant(200, true).constant(201, false);
    run.buffer(0, a).buffer(1, b).fresh(3, out.size() * 2);
    run.value(4, GEMMParams{M, N, K, M, tb ? K : N, N, 1, 2});
    run.dispatch_threadgroups({1, 2, 1}, {32, 2, 2});
    run.expect(3, Format::bf16, out, mag);
    runs.push_back(run);
  }
  return runs;
}

static const Runs kGemm(gemm_runs);

}  // namespace
}  // namespace assay::foreign::b::gemm_steel
