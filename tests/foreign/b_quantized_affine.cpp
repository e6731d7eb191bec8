// Runs of b_quantized_affine.metal and their expected results. Affine quantised weights: w = scale * q + bias for each group of 32, 64 or
// 128 values of 2, 4 or 8 bits.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::quantized_affine {
namespace {

constexpr const char* kFile = "b_quantized_affine.metal";

struct Weights {
  std::vector<std::uint32_t> words;
  Stored scales, biases;
  Vec values, levels;  // levels: |scale| * q + |bias|
};
// rows x columns, packed and grouped along the columns
Weights weights(Format f, int rows, int columns, int group, int bits, unsigned seed) {
  Weights w;
  Rng rng(seed);
  w.words.assign(std::size_t(rows * columns * bits / 32), 0);
  const std::size_t groups = std::size_t(rows * columns / group);
  w.scales = store(f, floats(seed + 1, groups, 0.4f / float(1 << bits), 0.6f / float(1 << bits)));
  w.biases = store(f, floats(seed + 2, groups, 0.5f));
  for (int i = 0; i < rows * columns; ++i) {
    const std::uint32_t q = rng() >> (32 - bits);
    w.words[i * bits / 32] |= q << (i * bits % 32);
    const double s = w.scales.values[i / group], b = w.biases.values[i / group];
    w.values.push_back(s * q + b), w.levels.push_back(std::fabs(s) * q + std::fabs(b));
  }
  return w;
}

Run matrix(const char* name, const char* function, Format f, int M, int N, int K, int group, int bits, bool transposed, bool tiled,
           unsigned seed) {
  Run run(name, kFile, function);
  const Weights w = transposed ? weights(f, N, K, group, bits, seed) : weights(f, K, N, group, bits, seed);
  const Stored x = store(f, floats(seed + 3, std::size_t(M * K)));
  run.buffer(0, w.words);
  run.buffers[1] = w.scales.bytes, run.buffers[2] = w.biases.bytes, run.buffers[3] = x.bytes;
  run.fresh(4, std::size_t(M * N) * size_of(f)).value(5, K).value(6, N);
  if (tiled) run.value(7, M);
  Vec out, tol;
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      double sum = 0, mag = 0;
      for (int k = 0; k < K; ++k) {
        const std::size_t i = transposed ? n * K + k : k * N + n;
        sum += x.values[m * K + k] * w.values[i], mag += std::fabs(x.values[m * K + k]) * w.levels[i];
      }
      out.push_back(sum);
      // tiled: each weight is itself rounded to the format, twice
      tol.push_back((K + 16) * kEps * mag + (tiled ? 2.1 * ulp_of(f) * mag : 0) +
                    (f == Format::f32 ? 0 : 1.01 * ulp_of(f) * std::fabs(sum) + 0x1p-25));
    }
  run.expect(4, f, out, tol);
  return run;
}

std::vector<Run> quantized_runs() {
  std::vector<Run> runs;
  struct Qmv {
    const char *name, *function;
    Format f;
    int N, K, group, bits;
  };
  for (const Qmv& c : {Qmv{"b_qmv_f16_b2_gs128", "affine_qmv_half_gs_128_b_2", Format::f16, 13, 640, 128, 2},
                       Qmv{"b_qmv_f16_b2_gs32", "affine_qmv_half_gs_32_b_2", Format::f16, 9, 96, 32, 2},
                       Qmv{"b_qmv_f32_b4_gs64", "affine_qmv_float_gs_64_b_4", Format::f32, 18, 320, 64, 4},
                       Qmv{"b_qmv_bf16_b8_gs32", "affine_qmv_bfloat_gs_32_b_8", Format::bf16, 11, 160, 32, 8}}) {
    Run run = matrix(c.name, c.function, c.f, 2, c.N, c.K, c.group, c.bits, true, false, 81);
    run.dispatch_threadgroups({2, std::uint32_t((c.N + 7) / 8), 1}, {64, 1, 1});
    runs.push_back(run);
  }
  {
    Run run = matrix("b_qvm_f32_b2_gs32", "affine_qvm_float_gs_32_b_2", Format::f32, 2, 96, 75, 32, 2, false, false, 85);
    run.dispatch_threadgroups({2, 3, 1}, {64, 1, 1});
    runs.push_back(run);
    run = matrix("b_qvm_f16_b4_gs64", "affine_qvm_half_gs_64_b_4", Format::f16, 1, 128, 45, 64, 4, false, false, 89);
    run.dispatch_threadgroups({1, 6, 1}, {96, 1, 1});
    runs.push_back(run);
    run = matrix("b_qmm_f32_b2_gs32", "affine_qmm_t_float_gs_32_b_2", Format::f32, 35, 41, 96, 32, 2, true, true, 93);
    run.dispatch_threadgroups({2, 2, 1}, {128, 1, 1});
    runs.push_back(run);
    run = matrix("b_qmm_f16_b4_gs64", "affine_qmm_t_half_gs_64_b_4", Format::f16, 17, 40, 64, 64, 4, true, true, 97);
    run.dispatch_threadgroups({2, 1, 1}, {128, 1, 1});
    runs.push_back(run);
  }
  {  // scale and minimum are chosen, so that every value is a level
    const int groups = 6, group = 64;
    Rng rng(101);
    std::vector<float> w;
    Vec packed(groups * group / 2, 0.0), scales, scale_tol, biases;
    for (int g = 0; g < groups; ++g) {
      const float s = std::ldexp(1.0f, int(rng() % 4) - 6), b = -float(rng() % 16) / 16.0f;
      scales.push_back(s), biases.push_back(b), scale_tol.push_back(s * 0x1p-11);
      for (int i = 0; i < group; ++i) {
        const unsigned q = i == 3 ? 0 : i == 40 ? 15 : rng() % 16;
        w.push_back(s * float(q) + b);
        packed[(g * group + i) / 2] += q << (4 * (i % 2));
      }
    }
    Run run("b_quantize_f16_b4", kFile, "affine_quantize_half_gs_64_b_4");
    run.buffer(0, to_half(w)).fresh(1, packed.size()).fresh(2, groups * 2).fresh(3, groups * 2);
    run.dispatch_threadgroups({3, 1, 1}, {64, 1, 1});
    run.expect_equal(1, Format::u8, packed).expect(2, Format::f16, scales, scale_tol).expect_equal(3, Format::f16, biases);
    runs.push_back(run);
  }
  {
    const Weights w = weights(Format::f32, 5, 96, 32, 2, 105);
    Run run("b_dequantize_f32_b2", kFile, "affine_dequantize_float_gs_32_b_2");
    run.buffer(0, w.words);
    run.buffers[1] = w.scales.bytes, run.buffers[2] = w.biases.bytes;
    run.fresh(3, w.values.size() * 4);
    Vec tol;
    for (double x : w.levels) tol.push_back(2.1 * kEps * x);
    run.dispatch_threads({24, 5, 1}, {16, 2, 1});
    run.expect(3, Format::f32, w.values, tol);
    runs.push_back(run);
  }
  return runs;
}

static const Runs kQuantized(quantized_runs);

}  // namespace
}  // namespace assay::foreign::b::quantized_affine
