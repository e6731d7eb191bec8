// Runs of a_mul_mm_q.metal and their expected results. Quantised matrix times matrix with 8x8 simdgroup matrices: dst[n][m] = sum over k of
// A[m][k]*B[n][k].
#include "tests/foreign/a_quantised_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::mul_mm_q {
namespace {

struct MmArgs {
  std::int32_t K, M, N, ne02, ne12, pad;
  std::uint64_t nb01, nb02, nb11, nb12;
};
static_assert(sizeof(MmArgs) == 56);

Run make(const char* name, const char* function, MatrixKind kind, bool half_tiles, int M, int N, int K, int mats, int ratio,
         std::uint32_t seed) {
  Rng rng(seed);
  const Matrix a = random_matrix(kind, static_cast<std::size_t>(mats * M * K), rng);
  const Matrix b = random_matrix(MatrixKind::f32, static_cast<std::size_t>(mats * ratio * N * K), rng);
  const std::size_t row = a.bytes.size() / static_cast<std::size_t>(mats * M);
  const std::size_t K4 = 4u * static_cast<std::size_t>(K);
  const MmArgs args{K, M, N, mats, mats * ratio, 0, row, row * static_cast<std::size_t>(M), K4, K4 * static_cast<std::size_t>(N)};
  Run run(name, "a_mul_mm_q.metal", function);
  run.value(0, args).buffer(1, a.bytes).buffer(2, b.bytes);
  std::vector<double> want, tol;
  for (int m = 0; m < mats * ratio; ++m)
    for (int n = 0; n < N; ++n)
      for (int r = 0; r < M; ++r) {
        double dot = 0, mag = 0;
        for (int k = 0; k < K; ++k) {
          const double p =
              a.values[static_cast<std::size_t>((m / ratio * M + r) * K + k)] * b.values[static_cast<std::size_t>((m * N + n) * K + k)];
          dot += p, mag += std::fabs(p);
        }
        want.push_back(dot);
        // both factors are rounded to the type of the tiles
        tol.push_back(mag * ((half_tiles ? 2 * 0x1p-11 + 0x1p-20 : 0x1p-22) + (K + 4) * 0x1p-24) + 1e-5);
      }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol).threadgroup(0, 8192);
  run.dispatch_threadgroups(
      {static_cast<std::uint32_t>((N + 31) / 32), static_cast<std::uint32_t>((M + 31) / 32), static_cast<std::uint32_t>(mats * ratio)},
      {128, 1, 1});
  return run;
}

Run frag(const char* name, const char* function, MatrixKind kind, bool relu, float p, int M, int N, int K, std::uint32_t seed) {
  Rng rng(seed);
  const Matrix a = random_matrix(kind, static_cast<std::size_t>(M * K), rng), b = random_matrix(kind, static_cast<std::size_t>(K * N), rng);
  const std::vector<float> bias = floats(rng, static_cast<std::size_t>(N), -1, 1);
  Run run(name, "a_mul_mm_q.metal", function);
  run.buffer(0, a.bytes).buffer(1, b.bytes).buffer(2, bias).value(4, std::array<std::int32_t, 4>{M, N, K, 0}).value(5, p);
  std::vector<double> want, tol;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double dot = 0, mag = 0;
      for (int k = 0; k < K; ++k) {
        const double v = a.values[static_cast<std::size_t>(m * K + k)] * b.values[static_cast<std::size_t>(k * N + n)];
        dot += v, mag += std::fabs(v);
      }
      const double c = static_cast<double>(bias[static_cast<std::size_t>(n)]);
      const double x = relu ? (dot + c > 0 ? dot + c : static_cast<double>(p) * (dot + c)) : static_cast<double>(p) * dot + c;
      want.push_back(x), tol.push_back((K + 4) * 0x1p-23 * (mag + 1) * std::max(1.0, std::fabs(static_cast<double>(p))));
    }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(N / 8), static_cast<std::uint32_t>(M / 8), 1}, {32, 1, 1});
  return run;
}

std::vector<Run> mm_runs() {
  return {make("a_mul_mm_f32", "mul_mm_f32_f32", MatrixKind::f32, false, 37, 33, 64, 1, 1, 71),
          make("a_mul_mm_f16", "mul_mm_f16_f32", MatrixKind::f16, true, 32, 32, 96, 1, 2, 72),
          make("a_mul_mm_q4_0", "mul_mm_q4_0_f32", MatrixKind::q4_0, true, 40, 7, 64, 1, 1, 73),
          make("a_mul_mm_q4_1", "mul_mm_q4_1_f32", MatrixKind::q4_1, true, 64, 32, 32, 1, 1, 74),
          make("a_mul_mm_q5_0", "mul_mm_q5_0_f32", MatrixKind::q5_0, true, 5, 40, 96, 2, 1, 75),
          make("a_mul_mm_q8_0", "mul_mm_q8_0_f32", MatrixKind::q8_0, true, 33, 32, 64, 1, 1, 76),
          make("a_mul_mm_q8_0_full", "mul_mm_q8_0_full", MatrixKind::q8_0, false, 32, 35, 64, 1, 1, 77),
          make("a_mul_mm_s6", "mul_mm_s6_f32", MatrixKind::s6, true, 20, 20, 256, 1, 1, 78),
          frag("a_gemm_frag_f32_relu", "gemm_frag_f32_relu", MatrixKind::f32, true, 0.125f, 16, 24, 40, 79),
          frag("a_gemm_frag_f16_relu", "gemm_frag_f16_relu", MatrixKind::f16, true, 0.0f, 8, 16, 24, 80),
          frag("a_gemm_frag_bf16_scale", "gemm_frag_bf16_scale", MatrixKind::bf16, false, -1.5f, 16, 8, 16, 81)};
}

const Runs kMm(mm_runs);

}  // namespace
}  // namespace assay::foreign::a::mul_mm_q
