// Runs of a_paged_attention.metal and their expected results. Attention over a paged cache: keys as [block][kv head][head size /
// x][slot][x], values as [block][kv head][head size][slot].
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::paged_attention {
namespace {

enum class Kind { f32, f16, bf16, i8 };

struct Case {
  const char* name;
  const char* function;
  Kind t, cache;
  int hs, bs, heads, kv_heads, part;  // part 0: none
  std::vector<int> lens;
  bool alibi;
  std::uint32_t seed;
};

Run make(const Case& c) {
  Rng rng(c.seed);
  const int seqs = static_cast<int>(c.lens.size());
  const int max_len = *std::max_element(c.lens.begin(), c.lens.end());
  const int max_blocks = (max_len + c.bs - 1) / c.bs + 1;
  const int blocks = seqs * max_blocks + 2;
  const int x = c.cache == Kind::f32 || c.cache == Kind::i8 ? 4 : 8;
  const int parts = c.part == 0 ? 1 : (max_len + c.part - 1) / c.part;

  Run run(c.name, "a_paged_attention.metal", c.function);
  const auto put = [&](std::uint32_t index, Kind kind, std::vector<float> v) {
    std::vector<double> d;
    if (kind == Kind::f32) run.buffer(index, v), d = from_float(v);
    if (kind == Kind::f16) run.buffer(index, to_half(v)), d = from_half(to_half(v));
    if (kind == Kind::bf16) run.buffer(index, to_bfloat(v)), d = from_bfloat(to_bfloat(v));
    if (kind == Kind::i8) {
      std::vector<std::int8_t> q;
      for (float f : v) q.push_back(static_cast<std::int8_t>(std::lround(f * 80))), d.push_back(q.back());
      run.buffer(index, q);
    }
    return d;
  };
  const std::vector<double> q = put(3, c.t, floats(rng, static_cast<std::size_t>(seqs * c.heads * c.hs), -1, 1));
  const std::size_t cache_size = static_cast<std::size_t>(blocks * c.kv_heads * c.hs * c.bs);
  const std::vector<double> kc = put(4, c.cache, floats(rng, cache_size, -1.5f, 1.5f));
  const std::vector<double> vc = put(5, c.cache, floats(rng, cache_size, -1, 1));
  const float kv_scale[2] = {c.cache == Kind::i8 ? 0.0125f : 1.0f, c.cache == Kind::i8 ? 0.0075f : 1.0f};
  const float scale = 1.0f / std::sqrt(static_cast<float>(c.hs));

  // a permutation of the blocks
  std::vector<std::uint32_t> all(static_cast<std::size_t>(blocks));
  std::iota(all.begin(), all.end(), 0u);
  for (int i = blocks - 1; i > 0; --i) std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(rng.below(i + 1))]);
  const std::vector<std::uint32_t> table(all.begin(), all.begin() + seqs * max_blocks);
  std::vector<float> slopes;
  for (int h = 0; h < c.heads; ++h) slopes.push_back(std::ldexp(1.0f, -(h + 2)));

  run.constant(10, c.part != 0).constant(20, c.alibi);
  run.value(6, std::int32_t{c.kv_heads}).value(7, scale).buffer(8, table);
  run.buffer(9, std::vector<std::uint32_t>(c.lens.begin(), c.lens.end())).value(10, std::int32_t{max_blocks});
  if (c.alibi) run.buffer(11, slopes);
  run.value(12, std::array<float, 2>{kv_scale[0], kv_scale[1]});

  const auto at_k = [&](int s, int token, int h, int e) {
    const int b = static_cast<int>(table[static_cast<std::size_t>(s * max_blocks + token / c.bs)]);
    return kc[static_cast<std::size_t>((((b * c.kv_heads + h) * (c.hs / x) + e / x) * c.bs + token % c.bs) * x + e % x)] *
           static_cast<double>(kv_scale[0]);
  };
  const auto at_v = [&](int s, int token, int h, int e) {
    const int b = static_cast<int>(table[static_cast<std::size_t>(s * max_blocks + token / c.bs)]);
    return vc[static_cast<std::size_t>(((b * c.kv_heads + h) * c.hs + e) * c.bs + token % c.bs)] * static_cast<double>(kv_scale[1]);
  };
  const double rounding = c.t == Kind::f32 ? 0x1p-24 : c.t == Kind::f16 ? 0x1p-11 : 0x1p-8;
  const Format format = c.t == Kind::f32 ? Format::f32 : c.t == Kind::f16 ? Format::f16 : Format::bf16;
  for (int s = 0; s < seqs; ++s)
    for (int h = 0; h < c.heads; ++h)
      for (int p = 0; p < parts; ++p) {
        const int len = c.lens[static_cast<std::size_t>(s)];
        const int from = p * c.part, to = c.part == 0 ? len : std::min(len, from + c.part);
        if (from >= to) continue;
        const int hk = h / (c.heads / c.kv_heads);
        std::vector<double> w;
        double top = -1e300, worst = 0, sum = 0;
        for (int t = from; t < to; ++t) {
          double dot = 0, mag = 0;
          for (int e = 0; e < c.hs; ++e) {
            const double m = q[static_cast<std::size_t>((s * c.heads + h) * c.hs + e)] * at_k(s, t, hk, e);
            dot += m, mag += std::fabs(m);
          }
          dot *= static_cast<double>(scale), mag *= static_cast<double>(scale);
          if (c.alibi) dot += static_cast<double>(slopes[static_cast<std::size_t>(h)]) * (t - len + 1);
          w.push_back(dot), top = std::max(top, dot), worst = std::max(worst, mag + std::fabs(dot));
        }
        for (double v : w) sum += std::exp(v - top);
        const double score_error = (c.hs + 8) * 0x1p-24 * worst + 1e-6;
        const double relative = 2 * score_error + 2 * (to - from) * 0x1p-24 + 1e-6;
        const std::size_t row = static_cast<std::size_t>((s * c.heads + h) * parts + p);
        Expectation out{2, row * static_cast<std::size_t>(c.hs), format, {}, {}};
        for (int e = 0; e < c.hs; ++e) {
          double o = 0, mag = 0;
          for (int t = from; t < to; ++t) {
            const double m = std::exp(w[static_cast<std::size_t>(t - from)] - top) * at_v(s, t, hk, e);
            o += m, mag += std::fabs(m);
          }
          out.values.push_back(o / sum);
          out.tolerances.push_back(mag / sum * relative + std::fabs(o / sum) * rounding + 1e-7);
        }
        run.expectations.push_back(out);
        if (c.part != 0) {
          run.expectations.push_back({0, row, Format::f32, {sum}, {sum * relative}});
          run.expectations.push_back({1, row, Format::f32, {top}, {score_error}});
        }
      }
  const std::size_t rows = static_cast<std::size_t>(seqs * c.heads * parts);
  run.fresh(2, rows * static_cast<std::size_t>(c.hs) * (c.t == Kind::f32 ? 4 : 2));
  if (c.part != 0) run.fresh(0, rows * 4).fresh(1, rows * 4);
  run.threadgroup(0, static_cast<std::size_t>((c.part == 0 ? max_len : c.part) * 4 + 15) / 16 * 16);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(c.heads), static_cast<std::uint32_t>(seqs), static_cast<std::uint32_t>(parts)},
                            {64, 1, 1});
  return run;
}

Run reduce(const char* name, int hs, int heads, const std::vector<int>& lens, std::uint32_t seed) {
  Rng rng(seed);
  const int parts = 4, part = 32;
  const std::size_t rows = lens.size() * static_cast<std::size_t>(heads);
  const std::vector<float> sums = floats(rng, rows * parts, 1, 20), tops = floats(rng, rows * parts, -3, 3),
                           tmp = floats(rng, rows * parts * static_cast<std::size_t>(hs), -1, 1);
  std::vector<double> want, tol;
  for (std::size_t r = 0; r < rows; ++r) {
    const int len = lens[r / static_cast<std::size_t>(heads)];
    for (int e = 0; e < hs; ++e) {
      double o = 0, sum = 0, mag = 0;
      for (int p = 0; p * part < len; ++p) {
        const std::size_t at = r * parts + static_cast<std::size_t>(p);
        const double w = sums[at] * std::exp(static_cast<double>(tops[at]));
        const double m = w * static_cast<double>(tmp[at * static_cast<std::size_t>(hs) + static_cast<std::size_t>(e)]);
        o += m, mag += std::fabs(m), sum += w;
      }
      want.push_back(o / sum), tol.push_back(mag / sum * 4e-6 + 1e-8);
    }
  }
  Run run(name, "a_paged_attention.metal", "paged_attention_reduce_float_hs" + std::to_string(hs) + "_nt32_ps32");
  run.constant(10, true).constant(20, false);
  run.fresh(0, want.size() * 4).buffer(1, sums).buffer(2, tops).buffer(3, tmp);
  run.buffer(4, std::vector<std::uint32_t>(lens.begin(), lens.end())).value(5, std::int32_t{parts});
  run.dispatch_threadgroups({static_cast<std::uint32_t>(heads), static_cast<std::uint32_t>(lens.size()), 1}, {32, 1, 1});
  run.expect(0, Format::f32, want, tol);
  return run;
}

std::vector<Run> paged_runs() {
  return {make({"a_paged_f32_hs32_bs8",
                "paged_attention_float_cache_float_hs32_bs8_nt64_ps0",
                Kind::f32,
                Kind::f32,
                32,
                8,
                2,
                1,
                0,
                {13, 1, 40},
                false,
                31}),
          make({"a_paged_f32_hs64_bs16_alibi",
                "paged_attention_float_cache_float_hs64_bs16_nt64_ps0",
                Kind::f32,
                Kind::f32,
                64,
                16,
                4,
                2,
                0,
                {33, 16},
                true,
                32}),
          make({"a_paged_f16_hs64_bs16",
                "paged_attention_half_cache_half_hs64_bs16_nt64_ps0",
                Kind::f16,
                Kind::f16,
                64,
                16,
                2,
                2,
                0,
                {47, 5},
                false,
                33}),
          make({"a_paged_f16_hs32_bs8",
                "paged_attention_half_cache_half_hs32_bs8_nt64_ps0",
                Kind::f16,
                Kind::f16,
                32,
                8,
                2,
                2,
                0,
                {9, 24},
                true,
                34}),
          make({"a_paged_bf16_hs64_bs16",
                "paged_attention_bfloat_cache_bfloat_hs64_bs16_nt64_ps0",
                Kind::bf16,
                Kind::bf16,
                64,
                16,
                2,
                1,
                0,
                {20},
                false,
                35}),
          make({"a_paged_int8_hs32_bs16",
                "paged_attention_float_cache_int8_t_hs32_bs16_nt64_ps0",
                Kind::f32,
                Kind::i8,
                32,
                16,
                2,
                1,
                0,
                {31, 50},
                false,
                36}),
          make({"a_paged_partitioned_hs32",
                "paged_attention_float_cache_float_hs32_bs8_nt64_ps32",
                Kind::f32,
                Kind::f32,
                32,
                8,
                2,
                1,
                32,
                {70, 20, 64},
                false,
                37}),
          reduce("a_paged_reduce_hs32", 32, 2, {100, 32, 33}, 38),
          reduce("a_paged_reduce_hs64", 64, 1, {1, 128}, 39)};
}

const Runs kPaged(paged_runs);

}  // namespace
}  // namespace assay::foreign::a::paged_attention
