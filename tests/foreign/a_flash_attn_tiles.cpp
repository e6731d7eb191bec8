// Runs of a_flash_attn_tiles.metal and their expected results. Tiled attention: every simdgroup owns eight query rows, the threadgroup
// shares tiles of K and V.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::flash_attn_tiles {
namespace {

struct FlashArgs {
  std::int32_t n_q, n_kv, n_head, n_head_kv;
  std::uint64_t nb01, nb02, nb11, nb12, nb21, nb22;
  float scale, logit_softcap;
  std::int32_t mask_stride, reserved;
};
static_assert(sizeof(FlashArgs) == 80);

enum class Kind { f32, f16, bf16 };

struct Case {
  const char* name;
  const char* function;
  Kind kind;
  int d, bk, n_q, n_kv, n_head, n_head_kv, nsg;
  bool causal, mask;
  float softcap;      // 0: none
  double p_rounding;  // relative error of a stored probability
  std::size_t p_bytes;
  std::uint32_t seed;
};

Run make(const Case& c) {
  Rng rng(c.seed);
  const std::size_t elem = c.kind == Kind::f32 ? 4 : 2;
  // q: [n_head][n_q][d]; k, v: [n_kv][n_head_kv][d] (rows interleaved by head)
  std::vector<float> q = floats(rng, static_cast<std::size_t>(c.n_head * c.n_q * c.d), -1, 1);
  std::vector<float> k = floats(rng, static_cast<std::size_t>(c.n_kv * c.n_head_kv * c.d), -1, 1);
  std::vector<float> v = floats(rng, static_cast<std::size_t>(c.n_kv * c.n_head_kv * c.d), -2, 2);
  Run run(c.name, "a_flash_attn_tiles.metal", c.function);
  std::vector<double> dq, dk, dv;
  const auto put = [&](std::uint32_t index, const std::vector<float>& x, std::vector<double>& y) {
    if (c.kind == Kind::f32)
      run.buffer(index, x), y = from_float(x);
    else if (c.kind == Kind::f16)
      run.buffer(index, to_half(x)), y = from_half(to_half(x));
    else
      run.buffer(index, to_bfloat(x)), y = from_bfloat(to_bfloat(x));
  };
  put(1, q, dq);
  put(2, k, dk);
  put(3, v, dv);

  std::vector<std::uint16_t> mask;
  if (c.mask) {
    for (int i = 0; i < c.n_q; ++i)
      for (int j = 0; j < c.n_kv; ++j) mask.push_back(half_bits(j % 7 == i % 5 && j != 0 ? -65504.0f : rng.uniform(-1.0f, 1.0f)));
    run.buffer(4, mask);
  }

  FlashArgs args{};
  args.n_q = c.n_q, args.n_kv = c.n_kv, args.n_head = c.n_head, args.n_head_kv = c.n_head_kv;
  args.nb01 = elem * static_cast<std::size_t>(c.d);
  args.nb02 = args.nb01 * static_cast<std::size_t>(c.n_q);
  args.nb12 = args.nb22 = elem * static_cast<std::size_t>(c.d);
  args.nb11 = args.nb21 = args.nb12 * static_cast<std::size_t>(c.n_head_kv);
  args.scale = 1.0f / std::sqrt(static_cast<float>(c.d));
  args.logit_softcap = c.softcap;
  args.mask_stride = c.n_kv;
  run.value(0, args);
  run.constant(0, c.causal).constant(1, c.mask);
  if (c.softcap != 0) run.constant(2, true);
  if (c.nsg != 1) run.constant(3, c.nsg);

  std::vector<double> expected(static_cast<std::size_t>(c.n_q * c.n_head * c.d)), tolerance(expected.size());
  for (int h = 0; h < c.n_head; ++h) {
    const int hk = h / (c.n_head / c.n_head_kv);
    for (int i = 0; i < c.n_q; ++i) {
      std::vector<double> s;
      double abs_score = 0, top = -1e300;
      for (int j = 0; j < c.n_kv; ++j) {
        if (c.causal && j > i + c.n_kv - c.n_q) break;
        double dot = 0, mag = 0;
        for (int e = 0; e < c.d; ++e) {
          const double p =
              dq[static_cast<std::size_t>((h * c.n_q + i) * c.d + e)] * dk[static_cast<std::size_t>((j * c.n_head_kv + hk) * c.d + e)];
          dot += p, mag += std::fabs(p);
        }
        double x = dot * static_cast<double>(args.scale);
        if (c.softcap != 0) x = c.softcap * std::tanh(x / c.softcap);
        if (c.mask) x += half_value(mask[static_cast<std::size_t>(i * c.n_kv + j)]);
        abs_score = std::max(abs_score, mag * static_cast<double>(args.scale));
        top = std::max(top, x);
        s.push_back(x);
      }
      double sum = 0;
      for (double& x : s) sum += x = std::exp(x - top);
      for (int e = 0; e < c.d; ++e) {
        double o = 0, mag = 0;
        for (std::size_t j = 0; j < s.size(); ++j) {
          const double x = dv[(j * static_cast<std::size_t>(c.n_head_kv) + static_cast<std::size_t>(hk)) * static_cast<std::size_t>(c.d) +
                              static_cast<std::size_t>(e)];
          o += s[j] * x, mag += s[j] * std::fabs(x);
        }
        const std::size_t at = static_cast<std::size_t>((i * c.n_head + h) * c.d + e);
        expected[at] = o / sum;
        // scores are sums of d products; each exponential is off by the error of its score; then sums over n_kv terms
        const double score_error = (c.d + 4) * 0x1p-24 * abs_score + (std::fabs(top) + 8 + c.softcap) * 0x1p-21;
        tolerance[at] = mag / sum * (2 * score_error + 2 * c.n_kv * 0x1p-24 + 0x1p-20 + c.p_rounding) + 1e-7;
      }
    }
  }
  run.expect(5, Format::f32, expected, tolerance);
  run.fresh(5, expected.size() * 4);
  const std::size_t nsg = static_cast<std::size_t>(c.nsg), d = static_cast<std::size_t>(c.d), bk = static_cast<std::size_t>(c.bk);
  const std::size_t shmem = 4 * (8 * nsg * d + 8 * nsg * bk + nsg * 64) + elem * (8 * nsg * d + 2 * bk * d) + c.p_bytes * 8 * nsg * bk;
  run.threadgroup(0, (shmem + 15) / 16 * 16);
  run.dispatch_threadgroups({static_cast<std::uint32_t>((c.n_q + 8 * c.nsg - 1) / (8 * c.nsg)), static_cast<std::uint32_t>(c.n_head), 1},
                            {32, static_cast<std::uint32_t>(c.nsg), 1});
  return run;
}

struct WindowArgs {
  std::int32_t n_q, n_kv, window;
  float slope;
};

std::vector<Run> flash_runs() {
  std::vector<Run> runs;
  runs.push_back(make({"a_flash_f32_d32_causal", "flash_attn_f32_d32", Kind::f32, 32, 16, 19, 37, 2, 1, 2, true, false, 0, 0, 4, 11}));
  runs.push_back(make({"a_flash_f32_d64_plain", "flash_attn_f32_d64", Kind::f32, 64, 8, 8, 21, 2, 2, 1, false, false, 0, 0, 4, 12}));
  runs.push_back(make({"a_flash_f32_d96_softcap", "flash_attn_f32_d96", Kind::f32, 96, 8, 5, 17, 1, 1, 1, true, false, 5.0f, 0, 4, 13}));
  runs.push_back(
      make({"a_flash_f16_d32_gqa_mask", "flash_attn_f16_d32", Kind::f16, 32, 32, 17, 45, 4, 2, 2, false, true, 0, 0x1p-10, 2, 14}));
  runs.push_back(
      make({"a_flash_f16_d64_causal", "flash_attn_f16_d64", Kind::f16, 64, 16, 13, 13, 2, 1, 2, true, false, 0, 0x1p-10, 2, 15}));
  runs.push_back(
      make({"a_flash_f16_p32_mask_causal", "flash_attn_f16_p32_d64", Kind::f16, 64, 16, 9, 30, 2, 2, 1, true, true, 0, 0, 4, 16}));
  runs.push_back(make({"a_flash_bf16_d64", "flash_attn_bf16_d64", Kind::bf16, 64, 16, 10, 26, 1, 1, 1, true, false, 0, 0x1p-7, 2, 17}));
  {
    const WindowArgs args{5, 11, 4, 0.25f};
    std::vector<double> want;
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 11; ++j) {
        const int dist = i + 6 - j;
        want.push_back(dist >= 0 && dist < 4 ? -0.25 * dist : -65504.0);
      }
    for (const bool h : {false, true}) {
      Run run(h ? "a_window_mask_f16" : "a_window_mask_f32", "a_flash_attn_tiles.metal", h ? "window_mask_f16" : "window_mask_f32");
      run.constant(0, false).constant(1, false);
      run.value(0, args).fresh(1, 55 * (h ? 2 : 4)).dispatch_threads({11, 5, 1}, {8, 4, 1});
      run.expect_equal(1, h ? Format::f16 : Format::f32, want);
      runs.push_back(run);
    }
  }
  return runs;
}

const Runs kFlash(flash_runs);

}  // namespace
}  // namespace assay::foreign::a::flash_attn_tiles
