// Runs of a_norms.metal and their expected results. Root mean square, layer, group and L2 norms; fused scale and addition.
#include "tests/foreign/a_kind.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::norms {
namespace {

struct NormArgs {
  std::int32_t ne00, ne00_t;
  std::uint64_t nb1, nb2;
  float eps;
  std::int32_t nef1[2], pad;
};
static_assert(sizeof(NormArgs) == 40);

Run rms(const char* name, const char* function, int level, int vec, int cols, int rows, int threads, std::uint32_t seed) {
  Rng rng(seed);
  const auto n = static_cast<std::size_t>(cols * rows);
  const std::vector<float> x = floats(rng, n, -3, 3), f = floats(rng, static_cast<std::size_t>(cols), -2, 2),
                           g = floats(rng, static_cast<std::size_t>(2 * cols), -1, 1);
  Run run(name, "a_norms.metal", function);
  const std::size_t row = 4u * static_cast<std::size_t>(cols);
  run.value(0, NormArgs{cols, cols / vec, row, row, 1e-5f, {1, 2}, 0})
      .buffer(1, x)
      .buffer(2, f)
      .buffer(3, g)
      .fresh(4, n * 4)
      .threadgroup(0, 128);
  std::vector<double> want, tol;
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int i = 0; i < cols; ++i) sum += std::pow(static_cast<double>(x[static_cast<std::size_t>(r * cols + i)]), 2);
    const double scale = 1 / std::sqrt(sum / cols + 1e-5);
    for (int i = 0; i < cols; ++i) {
      double y = static_cast<double>(x[static_cast<std::size_t>(r * cols + i)]) * scale;
      if (level >= 2) y *= static_cast<double>(f[static_cast<std::size_t>(i)]);
      const double add = level == 3 ? static_cast<double>(g[static_cast<std::size_t>(r % 2 * cols + i)]) : 0;
      want.push_back(y + add);
      tol.push_back((cols + 8) * 0x1p-24 * std::fabs(y) + std::fabs(add) * 0x1p-23 + 1e-8);
    }
  }
  run.expect(4, Format::f32, want, tol)
      .dispatch_threadgroups({static_cast<std::uint32_t>(rows), 1, 1}, {static_cast<std::uint32_t>(threads), 1, 1});
  return run;
}

Run layer(const char* name, const char* function, Kind kind, int cols, int rows, int threads, bool scalar_bias, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_norms.metal", function);
  const auto n = static_cast<std::size_t>(cols * rows);
  const std::vector<double> x = put(run, 0, kind, floats(rng, n, -1, 5)),
                            w = put(run, 1, kind, floats(rng, static_cast<std::size_t>(cols), -2, 2)),
                            b = put(run, 2, kind, floats(rng, scalar_bias ? 1u : static_cast<std::size_t>(cols), -1, 1));
  run.fresh(3, n * (kind == Kind::f32 ? 4 : 2))
      .value(4, 1e-5f)
      .value(5, static_cast<std::uint32_t>(cols))
      .value(6, std::uint32_t{1})
      .value(7, std::uint32_t{scalar_bias ? 0u : 1u});
  std::vector<double> want, tol;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, var = 0;
    const auto at = [&](int i) { return x[static_cast<std::size_t>(r * cols + i)]; };
    for (int i = 0; i < cols; ++i) mean += at(i) / cols;
    for (int i = 0; i < cols; ++i) var += (at(i) - mean) * (at(i) - mean) / cols;
    const double s = 1 / std::sqrt(var + 1e-5);
    for (int i = 0; i < cols; ++i) {
      const double v = (at(i) - mean) * s * w[static_cast<std::size_t>(i)], c = b[static_cast<std::size_t>(scalar_bias ? 0 : i)];
      want.push_back(v + c);
      // the value, the product and the sum are rounded to the type
      tol.push_back(rounding(kind) * 1.01 * (2 * std::fabs(v) + std::fabs(v + c)) +
                    (cols + 16) * 0x1p-24 * 5 * s * std::fabs(w[static_cast<std::size_t>(i)]) + 1e-7);
    }
  }
  run.expect(3, format(kind), want, tol)
      .dispatch_threadgroups({static_cast<std::uint32_t>(rows), 1, 1}, {static_cast<std::uint32_t>(threads), 1, 1});
  return run;
}

struct GroupArgs {
  std::int32_t n, group;
  float eps;
};

Run group() {
  Rng rng(137);
  const int n = 2 * 300 + 130, size = 300;
  const std::vector<float> x = floats(rng, static_cast<std::size_t>(n), -2, 3);
  std::vector<double> want, tol;
  for (int from = 0; from < n; from += size) {
    const int to = std::min(n, from + size);
    double mean = 0, var = 0;
    for (int i = from; i < to; ++i) mean += static_cast<double>(x[static_cast<std::size_t>(i)]) / (to - from);
    for (int i = from; i < to; ++i) var += std::pow(static_cast<double>(x[static_cast<std::size_t>(i)]) - mean, 2) / (to - from);
    for (int i = from; i < to; ++i) {
      want.push_back((static_cast<double>(x[static_cast<std::size_t>(i)]) - mean) / std::sqrt(var + 1e-6));
      tol.push_back((size + 8) * 0x1p-24 * (3 / std::sqrt(var) + std::fabs(want.back())));
    }
  }
  Run run("a_group_norm_f32", "a_norms.metal", "kernel_group_norm_f32");
  run.value(0, GroupArgs{n, size, 1e-6f})
      .buffer(1, x)
      .fresh(2, want.size() * 4)
      .threadgroup(0, 128)
      .dispatch_threadgroups({3, 1, 1}, {96, 1, 1});
  run.expect(2, Format::f32, want, tol);
  return run;
}

Run rows(const char* name, const char* function, Kind kind, int p, int cols, int n_rows, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_norms.metal", function);
  std::vector<float> raw = floats(rng, static_cast<std::size_t>(cols * n_rows), -1, 1);
  for (int i = 0; i < cols; ++i) raw[static_cast<std::size_t>(i)] = 0;  // a row of zeros: eps decides
  const std::vector<double> x = put(run, 0, kind, raw);
  std::vector<double> want, tol;
  for (int r = 0; r < n_rows; ++r) {
    double a = 0;
    for (int i = 0; i < cols; ++i) {
      const double v = std::fabs(x[static_cast<std::size_t>(r * cols + i)]);
      a = p == 0 ? std::max(a, v) : a + std::pow(v, p);
    }
    if (p == 2) a = std::sqrt(a);
    a = std::max(a, 1e-6);
    for (int i = 0; i < cols; ++i) {
      want.push_back(x[static_cast<std::size_t>(r * cols + i)] / a);
      tol.push_back(std::fabs(want.back()) * ((cols + 8) * 0x1p-24 + (kind == Kind::f16 ? 0x1p-11 : 0)) +
                    (kind == Kind::f16 ? 0x1p-24 : 0));
    }
  }
  run.fresh(1, want.size() * (kind == Kind::f32 ? 4 : 2))
      .value(2, std::array<std::uint32_t, 2>{static_cast<std::uint32_t>(cols), static_cast<std::uint32_t>(n_rows)})
      .value(3, 1e-6f);
  run.expect(1, format(kind), want, tol).dispatch_threadgroups({static_cast<std::uint32_t>((n_rows + 1) / 2), 1, 1}, {64, 1, 1});
  return run;
}

std::vector<Run> norm_runs() {
  return {rms("a_rms_norm_f32", "rms_norm_f32", 1, 1, 67, 3, 64, 131),
          rms("a_rms_norm_mul_add_f32", "rms_norm_mul_add_f32", 3, 1, 130, 4, 32, 132),
          rms("a_rms_norm_mul_f32_4", "rms_norm_mul_f32_4", 2, 4, 100, 3, 96, 133),
          rms("a_rms_norm_mul_add_f32_4", "rms_norm_mul_add_f32_4", 3, 4, 256, 3, 128, 134),
          layer("a_layer_norm_f32", "layer_normfloat32", Kind::f32, 77, 4, 64, false, 135),
          layer("a_layer_norm_f16_8", "layer_norm_8float16", Kind::f16, 300, 3, 64, true, 136),
          layer("a_layer_norm_bf16", "layer_normbfloat16", Kind::bf16, 40, 5, 32, false, 138),
          group(),
          rows("a_l1_norm_f32", "l1_norm_f32", Kind::f32, 1, 45, 5, 139),
          rows("a_l2_norm_f16", "l2_norm_f16", Kind::f16, 2, 33, 4, 140),
          rows("a_linf_norm_f32", "linf_norm_f32", Kind::f32, 0, 70, 3, 141)};
}

const Runs kNorms(norm_runs);

}  // namespace
}  // namespace assay::foreign::a::norms
