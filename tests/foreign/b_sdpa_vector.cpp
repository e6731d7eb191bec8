// Runs of b_sdpa_vector.metal and their expected results. Attention of single queries: one pass over all keys, or two passes with partial
// results of blocks of keys.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::sdpa_vector {
namespace {

constexpr const char* kFile = "b_sdpa_vector.metal";

enum class Mask { none, causal, boolean, added };

Run one_pass(const char* name, const char* function, Format format, int D, int V, Mask mask, bool sinks, bool transposed, unsigned seed) {
  const int heads = 4, gqa = 2, kv = heads / gqa, L = 2, N = 43;
  Run run(name, kFile, function);
  const auto q = store(format, floats(seed, heads * L * D, 2.0f)), k = store(format, floats(seed + 1, kv * N * D)),
             v = store(format, floats(seed + 2, kv * N * V)), s = store(format, floats(seed + 3, heads));
  run.buffers[0] = q.bytes, run.buffers[1] = k.bytes, run.buffers[2] = v.bytes;
  run.fresh(3, std::size_t(heads * L * V) * (format == Format::f32 ? 4 : 2));
  Vec added(heads * L * N, 0.0);
  std::vector<std::uint8_t> kept(added.size(), 1);
  if (mask == Mask::added) {
    auto m = floats(seed + 4, added.size(), 2.0f);
    for (std::size_t i = 0; i < m.size(); i += 7) m[i] = -2048.0f;  // skipped
    const auto stored = store(format, m);
    added = stored.values, run.buffers[12] = stored.bytes;
    for (std::size_t i = 0; i < m.size(); ++i) kept[i] = m[i] > -1000;
  } else if (mask == Mask::boolean) {
    Rng rng(seed + 4);
    for (auto& x : kept) x = rng() & 1;
    run.buffer(11, kept);
  } else if (mask == Mask::causal) {
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < L; ++i)
        for (int j = 0; j < N; ++j) kept[(h * L + i) * N + j] = j <= N - L + i;
  }
  const float scale = 0.125f;
  const double ulp = format == Format::f32 ? 0 : format == Format::f16 ? 0x1p-11 : 0x1p-8;
  Vec out, tol;
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < L; ++i) {
      Vec score(N, -1e300);
      double worst = 0, top = sinks ? s.values[h] : -1e300;
      for (int j = 0; j < N; ++j) {
        if (!kept[(h * L + i) * N + j]) continue;
        double dot = 0, mag = 0;
        for (int d = 0; d < D; ++d) {
          const double x = scale * q.values[(transposed ? i * heads + h : h * L + i) * D + d] * k.values[(h / gqa * N + j) * D + d];
          dot += x, mag += std::fabs(x);
        }
        score[j] = dot + added[(h * L + i) * N + j];
        worst = std::max(worst, mag + std::fabs(score[j])), top = std::max(top, score[j]);
      }
      double total = sinks ? std::exp(s.values[h] - top) : 0;
      for (auto& x : score) x = x < -1e299 ? 0 : std::exp(x - top), total += x;
      for (int d = 0; d < V; ++d) {
        double sum = 0, mag = 0;
        for (int j = 0; j < N; ++j) {
          const double x = score[j] / total * v.values[(h / gqa * N + j) * V + d];
          sum += x, mag += std::fabs(x);
        }
        out.push_back(sum);
        tol.push_back(mag * (2 * (D + 8) * kEps * worst + 0x1p-20 + 3 * N * kEps) + ulp * 1.01 * std::fabs(sum) + 0x1p-25);
      }
    }
  run.value(4, gqa).value(5, N);
  run.value(6, std::uint64_t(N * D)).value(7, std::uint64_t(D)).value(8, std::uint64_t(N * V)).value(9, std::uint64_t(V)).value(10, scale);
  const bool masked = mask == Mask::boolean || mask == Mask::added;
  if (masked) run.value(13, 1).value(14, N).value(15, L * N);
  if (sinks) run.buffers[16] = s.bytes, run.value(17, heads);
  run.constant(20, masked).constant(21, transposed).constant(22, mask == Mask::causal);
  run.constant(23, mask == Mask::boolean).constant(24, mask == Mask::added).constant(25, sinks).constant(26, std::int64_t(1));
  run.dispatch_threadgroups({heads, L, 1}, {256, 1, 1});
  run.expect(3, format, out, tol);
  return run;
}

void all_constants(Run& run, int blocks) {
  for (int i = 20; i <= 25; ++i) run.constant(std::uint32_t(i), false);
  run.constant(26, std::int64_t(blocks));
}

Run first_pass() {
  const int heads = 4, gqa = 2, kv = 2, N = 37, D = 128, V = 64, blocks = 5;
  Run run("b_sdpa_first_pass_f16", kFile, "sdpa_vector_2pass_1_half_128_64");
  all_constants(run, blocks);
  const auto q = store(Format::f16, floats(61, heads * D, 2.0f)), k = store(Format::f16, floats(62, kv * N * D)),
             v = store(Format::f16, floats(63, kv * N * V));
  run.buffers[0] = q.bytes, run.buffers[1] = k.bytes, run.buffers[2] = v.bytes;
  run.fresh(3, heads * blocks * V * 4).fresh(4, heads * blocks * 4).fresh(5, heads * blocks * 4);
  const float scale = 0.125f;
  Vec out, out_tol, sums, sums_tol, maxs, maxs_tol;
  for (int h = 0; h < heads; ++h)
    for (int b = 0; b < blocks; ++b) {
      std::vector<int> mine;
      Vec score;
      double top = -1e300, worst = 0, total = 0;
      for (int j = b; j < N; j += blocks) {
        double dot = 0, mag = 0;
        for (int d = 0; d < D; ++d) {
          const double x = scale * q.values[h * D + d] * k.values[(h / gqa * N + j) * D + d];
          dot += x, mag += std::fabs(x);
        }
        mine.push_back(j), score.push_back(dot), top = std::max(top, dot), worst = std::max(worst, mag);
      }
      const double rel = 2 * (D + 4) * kEps * worst + 0x1p-20 + 3 * N * kEps;
      for (auto& x : score) x = std::exp(x - top), total += x;
      for (int d = 0; d < V; ++d) {
        double sum = 0, mag = 0;
        for (std::size_t j = 0; j < mine.size(); ++j) {
          const double x = score[j] * v.values[(h / gqa * N + mine[j]) * V + d];
          sum += x, mag += std::fabs(x);
        }
        out.push_back(sum), out_tol.push_back(rel * mag);
      }
      sums.push_back(total), sums_tol.push_back(rel * total);
      maxs.push_back(top), maxs_tol.push_back((D + 4) * kEps * worst);
    }
  run.value(7, N)
      .value(8, std::uint64_t(N * D))
      .value(9, std::uint64_t(D))
      .value(10, std::uint64_t(N * V))
      .value(11, std::uint64_t(V))
      .value(12, scale);
  run.dispatch_threadgroups({kv, 1, blocks}, {32, gqa, 1});
  run.expect(3, Format::f32, out, out_tol).expect(4, Format::f32, sums, sums_tol).expect(5, Format::f32, maxs, maxs_tol);
  return run;
}

Run second_pass() {
  const int heads = 3, D = 64, blocks = 41;
  Run run("b_sdpa_second_pass_bf16", kFile, "sdpa_vector_2pass_2_bfloat_64");
  all_constants(run, blocks);
  const auto partials = floats(64, heads * blocks * D), sums = floats(65, heads * blocks, 0.5f, 1.0f),
             maxs = floats(66, heads * blocks, 4.0f);
  run.buffer(0, partials).buffer(1, sums).buffer(2, maxs).fresh(3, heads * D * 2);
  Vec out, tol;
  for (int h = 0; h < heads; ++h) {
    double total = 0;
    for (int b = 0; b < blocks; ++b) total += std::exp(double(maxs[h * blocks + b])) * sums[h * blocks + b];
    for (int d = 0; d < D; ++d) {
      double sum = 0, mag = 0;
      for (int b = 0; b < blocks; ++b) {
        const double x = std::exp(double(maxs[h * blocks + b])) * partials[(h * blocks + b) * D + d];
        sum += x / total, mag += std::fabs(x / total);
      }
      out.push_back(sum), tol.push_back(mag * 0x1p-18 + 0x1p-8 * 1.01 * std::fabs(sum));
    }
  }
  run.dispatch_threadgroups({heads, 1, 1}, {128, 1, 1});
  run.expect(3, Format::bf16, out, tol);
  return run;
}

std::vector<Run> sdpa_runs() {
  return {
      one_pass("b_sdpa_f32_causal", "sdpa_vector_float_64_64", Format::f32, 64, 64, Mask::causal, false, false, 51),
      one_pass("b_sdpa_f16_bool_mask_sinks", "sdpa_vector_half_128_64", Format::f16, 128, 64, Mask::boolean, true, false, 56),
      one_pass("b_sdpa_bf16_float_mask_transposed", "sdpa_vector_bfloat_64_64", Format::bf16, 64, 64, Mask::added, false, true, 71),
      first_pass(),
      second_pass(),
  };
}

static const Runs kSdpa(sdpa_runs);

}  // namespace
}  // namespace assay::foreign::b::sdpa_vector
