// Runs of a_mul_mv_q.metal and their expected results. Quantised matrix times vector: blocks of 32 with half scales, super-blocks of 256
// with packed 6-bit scales.
#include "tests/foreign/a_quantised_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::mul_mv_q {
namespace {

struct MvArgs {
  std::int32_t ne00, ne01, ne02, ne12;
  std::uint64_t nb01, nb02, nb11, nb12;
  std::int32_t ne0, ne1;
  std::int16_t r2, pad[3];
};
static_assert(sizeof(MvArgs) == 64);

Run make(const char* name, const char* function, MatrixKind kind, MatrixKind y_kind, int cols, int rows, int vectors, int mats, int r2,
         int rows_per_simd, int nsg, std::uint32_t seed) {
  Rng rng(seed);
  const Matrix x = random_matrix(kind, static_cast<std::size_t>(mats * rows * cols), rng);
  const Matrix y = random_matrix(y_kind, static_cast<std::size_t>(mats * r2 * vectors * cols), rng);
  const std::size_t row_bytes = x.bytes.size() / static_cast<std::size_t>(mats * rows),
                    y_bytes = y.bytes.size() / static_cast<std::size_t>(mats * r2 * vectors);
  MvArgs args{cols,
              rows,
              mats,
              mats * r2,
              row_bytes,
              row_bytes * static_cast<std::size_t>(rows),
              y_bytes,
              y_bytes * static_cast<std::size_t>(vectors),
              rows,
              vectors,
              static_cast<std::int16_t>(r2),
              {}};
  Run run(name, "a_mul_mv_q.metal", function);
  run.value(0, args).buffer(1, x.bytes).buffer(2, y.bytes);
  std::vector<double> want, tol;
  for (int m = 0; m < mats * r2; ++m)
    for (int v = 0; v < vectors; ++v)
      for (int r = 0; r < rows; ++r) {
        double dot = 0, mag = 0, sum_y = 0;
        for (int k = 0; k < cols; ++k) {
          const double a = x.values[static_cast<std::size_t>((m / r2 * rows + r) * cols + k)],
                       b = y.values[static_cast<std::size_t>((m * vectors + v) * cols + k)];
          dot += a * b, mag += std::fabs(a * b), sum_y += std::fabs(b);
        }
        // the offsets of the format are subtracted at the end: the magnitudes summed are those of code and offset apart
        double largest = 0;
        for (int k = 0; k < cols; ++k)
          largest = std::max(largest, std::fabs(x.values[static_cast<std::size_t>((m / r2 * rows + r) * cols + k)]));
        want.push_back(dot), tol.push_back((cols + 16) * 0x1p-24 * (mag + 4 * largest * sum_y) + 1e-7);
      }
  run.fresh(3, want.size() * 4).expect(3, Format::f32, want, tol);
  const int per_group = rows_per_simd * nsg;
  run.dispatch_threadgroups({static_cast<std::uint32_t>((rows + per_group - 1) / per_group), static_cast<std::uint32_t>(vectors),
                             static_cast<std::uint32_t>(mats * r2)},
                            {32, static_cast<std::uint32_t>(nsg), 1});
  return run;
}

std::vector<Run> mv_runs() {
  return {make("a_mul_mv_q4_0", "mul_mv_q4_0_f32", MatrixKind::q4_0, MatrixKind::f32, 96, 13, 2, 1, 1, 4, 2, 51),
          make("a_mul_mv_q4_0_long", "mul_mv_q4_0_f32", MatrixKind::q4_0, MatrixKind::f32, 32 * 19, 5, 1, 1, 2, 4, 1, 52),
          make("a_mul_mv_q4_1", "mul_mv_q4_1_f32", MatrixKind::q4_1, MatrixKind::f32, 128, 9, 1, 2, 1, 4, 2, 53),
          make("a_mul_mv_q5_0", "mul_mv_q5_0_f32", MatrixKind::q5_0, MatrixKind::f32, 64, 7, 3, 1, 1, 2, 2, 54),
          make("a_mul_mv_q8_0", "mul_mv_q8_0_f32", MatrixKind::q8_0, MatrixKind::f32, 32 * 17, 6, 1, 1, 1, 1, 4, 55),
          make("a_mul_mv_s4_nr1", "mul_mv_s4_f32_nr1", MatrixKind::s4, MatrixKind::f32, 512, 3, 1, 1, 1, 1, 2, 56),
          make("a_mul_mv_s4_nr2", "mul_mv_s4_f32_nr2", MatrixKind::s4, MatrixKind::f32, 256, 5, 2, 1, 2, 2, 2, 57),
          make("a_mul_mv_s6", "mul_mv_s6_f32", MatrixKind::s6, MatrixKind::f32, 512, 5, 1, 1, 1, 1, 2, 58),
          make("a_mul_mv_f32", "mul_mv_f32_f32", MatrixKind::f32, MatrixKind::f32, 140, 5, 2, 1, 1, 1, 4, 59),
          make("a_mul_mv_f16_f16", "mul_mv_f16_f16", MatrixKind::f16, MatrixKind::f16, 52, 9, 1, 2, 2, 1, 2, 60),
          make("a_mul_mv_bf16", "mul_mv_bf16_f32", MatrixKind::bf16, MatrixKind::f32, 72, 4, 1, 1, 1, 1, 4, 61)};
}

const Runs kMv(mv_runs);

}  // namespace
}  // namespace assay::foreign::a::mul_mv_q
