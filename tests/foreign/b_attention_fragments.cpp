// Runs of b_attention_fragments.metal and their expected results. Fused attention over blocks of keys: scores stay in 8x8 fragments, rows
// are reduced across lanes.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::attention_fragments {
namespace {

struct AttnParams {
  std::int32_t B, H, D, qL, kL, gqa_factor;
  float scale;
  std::int32_t qL_off;
  std::int64_t q[3], k[3], v[3], o[3];
};
static_assert(sizeof(AttnParams) == 128);

struct Case {
  const char *name, *function;
  Format format;
  int B, H, Hkv, D, L, S;
  int mask;  // 0 none, 1 float added, 2 bool
  bool causal;
  float softcap;  // 0: undefined
};

Run make(const Case& c, unsigned seed) {
  Run run(c.name, "b_attention_fragments.metal", c.function);
  const auto q0 = floats(seed, std::size_t(c.B * c.H * c.L * c.D), 2.0f), k0 = floats(seed + 1, std::size_t(c.B * c.Hkv * c.S * c.D)),
             v0 = floats(seed + 2, std::size_t(c.B * c.Hkv * c.S * c.D));
  Vec q, k, v;
  if (c.format == Format::f32) {
    q = wide(q0), k = wide(k0), v = wide(v0);
    run.buffer(0, q0).buffer(1, k0).buffer(2, v0).fresh(3, q.size() * 4);
  } else {
    const bool h = c.format == Format::f16;
    const auto qh = h ? to_half(q0) : to_bfloat(q0), kh = h ? to_half(k0) : to_bfloat(k0), vh = h ? to_half(v0) : to_bfloat(v0);
    q = h ? wide_half(qh) : wide_bfloat(qh), k = h ? wide_half(kh) : wide_bfloat(kh), v = h ? wide_half(vh) : wide_bfloat(vh);
    run.buffer(0, qh).buffer(1, kh).buffer(2, vh).fresh(3, q.size() * 2);
  }
  Vec added(std::size_t(c.L * c.S), 0.0);
  std::vector<std::uint8_t> kept(added.size(), 1);
  if (c.mask == 1) {
    auto m = floats(seed + 3, added.size(), 3.0f);
    if (c.format == Format::bf16) {
      const auto mb = to_bfloat(m);
      added = wide_bfloat(mb), run.buffer(6, mb);
    } else {
      added = wide(m), run.buffer(6, m);
    }
  } else if (c.mask == 2) {
    Rng rng(seed + 3);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = (i % std::size_t(c.S)) == 0 || rng() % 3 != 0;  // key 0 always
    run.buffer(6, kept);
  }
  const float scale = 0.25f;
  const int off = c.S - c.L;
  const double ulp = c.format == Format::f32 ? 0 : c.format == Format::f16 ? 0x1p-11 : 0x1p-8;
  Vec out, tol;
  for (int b = 0; b < c.B; ++b)
    for (int h = 0; h < c.H; ++h)
      for (int i = 0; i < c.L; ++i) {
        const int g = b * c.Hkv + h / (c.H / c.Hkv);
        Vec s(std::size_t(c.S), -1e300);
        double worst = 0, top = -1e300;
        for (int j = 0; j < c.S; ++j) {
          if (!kept[i * c.S + j] || (c.causal && j > i + off)) continue;
          double dot = 0, mag = 0;
          for (int d = 0; d < c.D; ++d) {
            const double x = scale * q[((b * c.H + h) * c.L + i) * c.D + d] * k[(g * c.S + j) * c.D + d];
            dot += x, mag += std::fabs(x);
          }
          if (c.softcap != 0) dot = c.softcap * std::tanh(dot / c.softcap);
          s[j] = dot + added[i * c.S + j];
          worst = std::max(worst, mag + std::fabs(s[j]) + c.softcap), top = std::max(top, s[j]);
        }
        double total = 0;
        for (auto& x : s) x = x < -1e299 ? 0 : std::exp(x - top), total += x;
        for (int d = 0; d < c.D; ++d) {
          double sum = 0, mag = 0;
          for (int j = 0; j < c.S; ++j) {
            const double x = s[j] / total * v[(g * c.S + j) * c.D + d];
            sum += x, mag += std::fabs(x);
          }
          out.push_back(sum);
          // scores are off by about D roundings of `worst`; exp2 and sums by a few ulps more
          tol.push_back(mag * (2 * (c.D + 8) * kEps * worst + 0x1p-20 + 3 * c.S * kEps) + ulp * 1.01 * std::fabs(sum) + 0x1p-25);
        }
      }
  AttnParams p{c.B, c.H, c.D, c.L, c.S, c.H / c.Hkv, scale, off, {}, {}, {}, {}};
  const std::int64_t qs[3] = {c.H * c.L * c.D, c.L * c.D, c.D}, ks[3] = {c.Hkv * c.S * c.D, c.S * c.D, c.D};
  std::copy(qs, qs + 3, p.q), std::copy(qs, qs + 3, p.o), std::copy(ks, ks + 3, p.k), std::copy(ks, ks + 3, p.v);
  run.value(4, p).constant(300, c.mask != 0).constant(301, c.causal);
  if (c.softcap != 0) run.constant(302, double(c.softcap));
  run.dispatch_threadgroups({std::uint32_t((c.L + 15) / 16), std::uint32_t(c.H), std::uint32_t(c.B)}, {32, 2, 1});
  run.expect(3, c.format, out, tol);
  return run;
}

std::vector<Run> attention_runs() {
  return {
      make({"b_attention_f32_ragged_gqa", "attention_float32_bq16_bk16_bd32_mask_float32", Format::f32, 1, 4, 2, 32, 21, 37, 0, false, 0},
           31),
      make({"b_attention_f32_causal_mask", "attention_float32_bq16_bk8_bd64_mask_float32", Format::f32, 2, 1, 1, 64, 19, 27, 1, true, 0},
           35),
      make({"b_attention_f16_bool_mask", "attention_float16_bq16_bk16_bd32_mask_bool_", Format::f16, 1, 2, 1, 32, 17, 40, 2, false, 0}, 39),
      make({"b_attention_bf16_softcap", "attention_bfloat16_bq16_bk8_bd64_mask_bfloat16", Format::bf16, 1, 2, 2, 64, 20, 20, 1, true, 5.0f},
           43),
  };
}

static const Runs kAttention(attention_runs);

}  // namespace
}  // namespace assay::foreign::b::attention_fragments
