// Runs of a_moe.metal and their expected results. Mixture of experts: routing, lists of rows per expert, matrix products chosen by id, and
// the weighted sum.
#include "tests/foreign/a_quantised_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::moe {
namespace {

Run route(const char* name, MatrixKind kind, int experts, int used, int tokens, bool normalize, bool bias_on, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_moe.metal", kind == MatrixKind::f32 ? "moe_route_f32" : kind == MatrixKind::f16 ? "moe_route_f16" : "moe_route_bf16");
  // distinct logits, far enough from each other, in any order; exact in 8 bits of mantissa
  std::vector<float> x;
  for (int t = 0; t < tokens; ++t) {
    std::vector<int> v(z(experts));
    std::iota(v.begin(), v.end(), -experts / 2);
    for (int i = experts - 1; i > 0; --i) std::swap(v[z(i)], v[z(rng.below(i + 1))]);
    for (int e : v) x.push_back(static_cast<float>(e) * 0.125f);
  }
  if (kind == MatrixKind::f32) run.buffer(0, x);
  if (kind == MatrixKind::f16) run.buffer(0, to_half(x));
  if (kind == MatrixKind::bf16) run.buffer(0, to_bfloat(x));
  std::vector<float> bias;
  for (int e = 0; e < experts; ++e) bias.push_back(static_cast<float>(e * 37 % 101) * 0.5f);  // decides alone
  run.constant(0, used).constant(2, bias_on);
  if (!normalize) run.constant(1, false);
  if (bias_on) run.buffer(4, bias);
  std::vector<double> ids, weights, tol;
  for (int t = 0; t < tokens; ++t) {
    std::vector<double> p;
    double sum = 0;
    for (int e = 0; e < experts; ++e) p.push_back(std::exp(static_cast<double>(x[z(t * experts + e)]))), sum += p.back();
    for (double& v : p) v /= sum;
    std::vector<int> order(z(experts));
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int e) { return p[z(e)] + (bias_on ? static_cast<double>(bias[z(e)]) : 0); };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return key(a) > key(b); });
    double total = 0;
    for (int k = 0; k < used; ++k) total += p[z(order[z(k)])];
    for (int k = 0; k < used; ++k) {
      ids.push_back(order[z(k)]);
      weights.push_back(p[z(order[z(k)])] / (normalize ? total : 1));
      tol.push_back(weights.back() * 100 * 0x1p-23);
    }
  }
  run.fresh(1, ids.size() * 4).fresh(2, ids.size() * 4).value(3, std::int32_t{experts});
  run.expect_equal(1, Format::i32, ids).expect(2, Format::f32, weights, tol).dispatch_threadgroups({u(tokens), 1, 1}, {32, 1, 1});
  return run;
}

// `used` different experts for every token
std::vector<std::int32_t> random_ids(Rng& rng, int tokens, int used, int experts) {
  std::vector<std::int32_t> ids;
  for (int t = 0; t < tokens; ++t) {
    std::vector<std::int32_t> v(z(experts));
    std::iota(v.begin(), v.end(), 0);
    for (int i = experts - 1; i > 0; --i) std::swap(v[z(i)], v[z(rng.below(i + 1))]);
    ids.insert(ids.end(), v.begin(), v.begin() + used);
  }
  return ids;
}

Run map0(const char* name, int used, int tokens, int experts, int threads, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<std::int32_t> ids = random_ids(rng, tokens, used, experts);
  Run run(name, "a_moe.metal", "mul_mm_id_map0_ne20_" + std::to_string(used));
  run.value(0, std::array<std::int32_t, 2>{experts, tokens}).buffer(1, ids).fresh(2, z(experts) * 4).fresh(3, z(experts * tokens) * 4);
  run.threadgroup(0, (z(threads * used) * 2 + 15) / 16 * 16);
  std::vector<double> counts;
  for (int e = 0; e < experts; ++e) {
    Expectation list{3, z(e * tokens), Format::i32, {}, {}};
    for (int i = 0; i < tokens * used; ++i)
      if (ids[z(i)] == e) list.values.push_back(i), list.tolerances.push_back(0);
    counts.push_back(static_cast<double>(list.values.size()));
    if (!list.values.empty()) run.expectations.push_back(list);
  }
  run.expect_equal(2, Format::u32, counts).dispatch_threadgroups({1, 1, 1}, {u(threads), 1, 1});
  return run;
}

Run mv_id(const char* name, const char* function, MatrixKind kind, int cols, int rows, int experts, int used, int tokens, bool shared,
          std::uint32_t seed) {
  Rng rng(seed);
  const Matrix w = random_matrix(kind, z(experts * rows * cols), rng);
  const int ne11 = shared ? 1 : used;
  const std::vector<float> y = floats(rng, z(tokens * ne11 * cols), -1, 1);
  const std::vector<std::int32_t> ids = random_ids(rng, tokens, used, experts);
  struct Args {
    std::int32_t ne00, ne01, n_used, ne11;
    std::uint64_t nb01, nb02;
  };
  const std::size_t row = w.bytes.size() / z(experts * rows);
  Run run(name, "a_moe.metal", function);
  run.value(0, Args{cols, rows, used, ne11, row, row * z(rows)}).buffer(1, w.bytes).buffer(2, y).buffer(4, ids);
  std::vector<double> want, tol;
  for (int i = 0; i < tokens * used; ++i)
    for (int r = 0; r < rows; ++r) {
      double dot = 0, mag = 0;
      const int input = shared ? i / used : i;
      for (int k = 0; k < cols; ++k) {
        const double p = w.values[z((ids[z(i)] * rows + r) * cols + k)] * static_cast<double>(y[z(input * cols + k)]);
        dot += p, mag += std::fabs(p);
      }
      want.push_back(dot), tol.push_back((cols + 4) * 0x1p-24 * mag + 1e-8);
    }
  run.fresh(3, want.size() * 4)
      .expect(3, Format::f32, want, tol)
      .dispatch_threadgroups({u((rows + 1) / 2), 1, u(tokens * used)}, {64, 1, 1});
  return run;
}

Run glu(const char* name, const char* function, bool h, bool swi, int n, int rows, std::uint32_t seed) {
  Rng rng(seed);
  const std::vector<float> x = floats(rng, z(2 * n * rows), -5, 5);
  const std::vector<double> d = h ? from_half(to_half(x)) : from_float(x);
  Run run(name, "a_moe.metal", function);
  if (h)
    run.buffer(0, to_half(x));
  else
    run.buffer(0, x);
  std::vector<double> want, tol;
  for (int r = 0; r < rows; ++r)
    for (int i = 0; i < n; ++i) {
      const double g = d[z(r * 2 * n + i)], up = d[z(r * 2 * n + n + i)];
      want.push_back(swi ? g / (1 + std::exp(-g)) * up : std::max(g, 0.0) * up);
      tol.push_back(std::fabs(want.back()) * (32 * 0x1p-23 + (h ? 0x1p-11 : 0)) + (h ? 0x1p-24 : 1e-9));
    }
  run.fresh(1, want.size() * (h ? 2 : 4))
      .value(2, u(n))
      .expect(1, h ? Format::f16 : Format::f32, want, tol)
      .dispatch_threads({u(n), u(rows), 1}, {16, 2, 1});
  return run;
}

std::vector<Run> moe_runs() {
  std::vector<Run> runs = {route("a_moe_route_f32", MatrixKind::f32, 60, 6, 5, true, false, 191),
                           route("a_moe_route_f16", MatrixKind::f16, 8, 2, 7, false, false, 192),
                           route("a_moe_route_bf16_bias", MatrixKind::bf16, 40, 4, 3, true, true, 193),
                           map0("a_moe_map0_1", 1, 45, 12, 32, 194),
                           map0("a_moe_map0_2", 2, 70, 64, 64, 195),
                           map0("a_moe_map0_4", 4, 20, 9, 32, 196),
                           mv_id("a_mul_mv_id_f16", "mul_mv_id_f16_f32", MatrixKind::f16, 50, 5, 4, 2, 3, true, 197),
                           mv_id("a_mul_mv_id_q8_0", "mul_mv_id_q8_0_f32", MatrixKind::q8_0, 96, 7, 3, 2, 3, false, 198),
                           mv_id("a_mul_mv_id_q4_0", "mul_mv_id_q4_0_f32", MatrixKind::q4_0, 64, 4, 6, 3, 2, true, 199),
                           glu("a_moe_swiglu_f32", "moe_swiglu_f32", false, true, 21, 3, 200),
                           glu("a_moe_swiglu_f16", "moe_swiglu_f16", true, true, 16, 5, 201),
                           glu("a_moe_reglu_f32", "moe_reglu_f32", false, false, 33, 2, 202)};
  Rng rng(203);
  {
    const int tokens = 90, used = 2, experts = 40;
    const std::vector<std::int32_t> ids = random_ids(rng, tokens, used, experts);
    std::vector<double> counts(40, 0.0);
    for (std::int32_t id : ids) counts[z(id)] += 1;
    Run run("a_moe_histogram", "a_moe.metal", "moe_histogram");
    run.buffer(0, ids)
        .buffer(1, std::vector<std::uint32_t>(40))
        .value(2, std::array<std::uint32_t, 2>{180, 40})
        .dispatch_threadgroups({2, 1, 1}, {64, 1, 1});
    run.expect_equal(1, Format::u32, counts);
    runs.push_back(run);
    std::vector<double> offsets = {0};
    for (double c : counts) offsets.push_back(offsets.back() + c);
    Run scan("a_moe_offsets", "a_moe.metal", "moe_offsets");
    scan.buffer(0, std::vector<std::uint32_t>(counts.begin(), counts.end()))
        .fresh(1, 41 * 4)
        .value(2, std::uint32_t{40})
        .dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
    scan.expect_equal(1, Format::u32, offsets);
    runs.push_back(scan);
  }
  {
    const int n = 19, tokens = 4, used = 3;
    const std::vector<float> x = floats(rng, z(n * tokens * used), -1, 1), w = floats(rng, z(tokens * used), 0, 1);
    std::vector<double> want, tol;
    for (int t = 0; t < tokens; ++t)
      for (int i = 0; i < n; ++i) {
        double y = 0, mag = 0;
        for (int k = 0; k < used; ++k) {
          const double p = static_cast<double>(w[z(t * used + k)]) * static_cast<double>(x[z((t * used + k) * n + i)]);
          y += p, mag += std::fabs(p);
        }
        want.push_back(y), tol.push_back(4 * 0x1p-24 * mag);
      }
    Run run("a_moe_combine_f32", "a_moe.metal", "moe_combine_f32");
    run.constant(0, used).constant(2, false).buffer(0, x).buffer(1, w).fresh(2, want.size() * 4).value(3, std::int32_t{n});
    run.dispatch_threads({u(n), u(tokens), 1}, {8, 2, 1}).expect(2, Format::f32, want, tol);
    runs.push_back(run);
  }
  return runs;
}

const Runs kMoe(moe_runs);

}  // namespace
}  // namespace assay::foreign::a::moe
