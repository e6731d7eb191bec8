// Runs of a_rope.metal and their expected results. Rotary position embedding: interleaved pairs, halves, sections, tables, with frequency
// factors and a length-extension ramp.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::rope {
namespace {

struct RopeArgs {
  std::int32_t ne00, ne01, ne02, n_dims;
  std::uint64_t nb01, nb02, nb1, nb2;
  float freq_base, freq_scale, ext_factor, attn_factor, corr_low, corr_high;
  std::int32_t sect_0, sect_1;
};
static_assert(sizeof(RopeArgs) == 80);

enum class Kind { f32, f16, bf16 };
double rounding(Kind k) { return k == Kind::f32 ? 0x1p-24 : k == Kind::f16 ? 0x1p-11 : 0x1p-8; }
Format format(Kind k) { return k == Kind::f32 ? Format::f32 : k == Kind::f16 ? Format::f16 : Format::bf16; }
std::size_t bytes(Kind k) { return k == Kind::f32 ? 4 : 2; }
std::vector<double> put(Run& run, std::uint32_t index, Kind k, const std::vector<float>& x) {
  if (k == Kind::f32) return run.buffer(index, x), from_float(x);
  if (k == Kind::f16) return run.buffer(index, to_half(x)), from_half(to_half(x));
  return run.buffer(index, to_bfloat(x)), from_bfloat(to_bfloat(x));
}

enum class Style { norm, neox, multi };

struct Case {
  const char* name;
  const char* function;
  Style style;
  Kind kind;
  int head_size, n_dims, heads, tokens;
  bool factors;
  float ext, freq_scale;
  std::uint32_t seed;
};

Run make(const Case& c) {
  Rng rng(c.seed);
  Run run(c.name, "a_rope.metal", c.function);
  RopeArgs a{};
  a.ne00 = c.head_size, a.ne01 = c.heads, a.ne02 = c.tokens, a.n_dims = c.n_dims;
  a.nb01 = a.nb1 = bytes(c.kind) * static_cast<std::size_t>(c.head_size);
  a.nb02 = a.nb2 = a.nb01 * static_cast<std::size_t>(c.heads);
  a.freq_base = 10000.0f, a.freq_scale = c.freq_scale, a.ext_factor = c.ext, a.attn_factor = 1.25f;
  a.corr_low = 2.0f, a.corr_high = 6.5f, a.sect_0 = 3, a.sect_1 = 2;
  const std::vector<double> x = put(run, 1, c.kind, floats(rng, static_cast<std::size_t>(c.head_size * c.heads * c.tokens), -2, 2));
  std::vector<std::int32_t> pos;
  for (int i = 0; i < c.tokens * (c.style == Style::multi ? 2 : 1); ++i) pos.push_back(rng.below(120));
  const std::vector<float> factors = floats(rng, static_cast<std::size_t>(c.n_dims / 2), 1, 4);
  run.value(0, a).buffer(2, pos);
  run.constant(1, c.factors);
  if (c.factors || c.style == Style::multi) run.buffer(3, factors);
  std::vector<double> want(x), tol(x.size(), 0.0);
  for (int t = 0; t < c.tokens; ++t)
    for (int h = 0; h < c.heads; ++h)
      for (int i = 0; i < c.n_dims / 2; ++i) {
        const int p = pos[static_cast<std::size_t>(c.style == Style::multi && i % 5 >= 3 ? c.tokens + t : t)];
        double angle = p * std::pow(10000.0, -2.0 * i / c.n_dims), mscale = c.style == Style::multi ? 1 : 1.25;
        if (c.factors) angle /= static_cast<double>(factors[static_cast<std::size_t>(i)]);
        const double extra = angle;
        if (c.style != Style::multi) angle *= static_cast<double>(c.freq_scale);
        if (c.ext != 0 && c.style != Style::multi) {
          const double ramp = (1 - std::min(1.0, std::max(0.0, (i - 2.0) / 4.5))) * static_cast<double>(c.ext);
          angle = angle * (1 - ramp) + extra * ramp;
          mscale *= 1 + 0.1 * std::log(1 / static_cast<double>(c.freq_scale));
        }
        const auto row = static_cast<std::size_t>((t * c.heads + h) * c.head_size);
        const auto u = row + static_cast<std::size_t>(c.style == Style::norm ? 2 * i : i);
        const auto v = c.style == Style::norm ? u + 1 : u + static_cast<std::size_t>(c.n_dims / 2);
        want[u] = mscale * (x[u] * std::cos(angle) - x[v] * std::sin(angle));
        want[v] = mscale * (x[u] * std::sin(angle) + x[v] * std::cos(angle));
        // the power is good to some units in the last place, the angle inherits its relative error
        const double error = mscale * (std::fabs(x[u]) + std::fabs(x[v])) * ((angle + extra) * 0x1p-20 + 0x1p-20);
        tol[u] = error + std::fabs(want[u]) * rounding(c.kind), tol[v] = error + std::fabs(want[v]) * rounding(c.kind);
      }
  run.expect(4, format(c.kind), want, tol);
  run.fresh(4, want.size() * bytes(c.kind));
  if (c.style == Style::multi && c.n_dims != c.head_size) run.expectations.clear();  // the kernel writes only what it rotates
  run.dispatch_threadgroups({static_cast<std::uint32_t>(c.heads), static_cast<std::uint32_t>(c.tokens), 1}, {8, 1, 1});
  return run;
}

// [batch][sequence][dims], with strides of its own
Run strided(const char* name, const char* function, Kind kind, bool traditional, bool forward, int batch, int length, int dims,
            std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_rope.metal", function);
  const std::vector<double> x = put(run, 0, kind, floats(rng, static_cast<std::size_t>(batch * length * dims), -1, 1));
  // input is stored [sequence][batch][dims], output dense
  const std::array<std::uint64_t, 3> in = {static_cast<std::uint64_t>(dims), static_cast<std::uint64_t>(batch * dims), 1},
                                     out = {static_cast<std::uint64_t>(length * dims), static_cast<std::uint64_t>(dims), 1};
  const std::int32_t offset = 7;
  const float scale = 0.5f, base = std::log2(10000.0f);
  run.value(2, offset).value(3, scale).value(4, in).value(5, out).value(6, std::int32_t{batch}).value(7, base);
  std::vector<double> want(x.size()), tol(x.size());
  for (int b = 0; b < batch; ++b)
    for (int t = 0; t < length; ++t)
      for (int i = 0; i < dims / 2; ++i) {
        const double angle = 0.5 * (t + offset) * std::exp2(-static_cast<double>(base) * i / (dims / 2));
        const int e1 = traditional ? 2 * i : i, e2 = traditional ? 2 * i + 1 : i + dims / 2;
        const auto from = static_cast<std::size_t>((t * batch + b) * dims), to = static_cast<std::size_t>((b * length + t) * dims);
        const double p = x[from + static_cast<std::size_t>(e1)], q = x[from + static_cast<std::size_t>(e2)];
        const double c = std::cos(angle), s = forward ? std::sin(angle) : -std::sin(angle);
        const auto u = to + static_cast<std::size_t>(e1), v = to + static_cast<std::size_t>(e2);
        want[u] = p * c - q * s, want[v] = p * s + q * c;
        // fast sine and cosine: 2^-11 absolute at worst in [-pi, pi] as the specification has it
        const double error = (std::fabs(p) + std::fabs(q)) * (angle * 0x1p-19 + 0x1p-11);
        tol[u] = error + rounding(kind), tol[v] = error + rounding(kind);
      }
  run.fresh(1, want.size() * bytes(kind)).expect(1, format(kind), want, tol);
  run.dispatch_threads(
      {static_cast<std::uint32_t>(dims / 2), static_cast<std::uint32_t>(length), static_cast<std::uint32_t>((batch + 3) / 4)}, {8, 4, 1});
  return run;
}

Run table(const char* name, const char* function, Kind kind, bool neox, std::uint32_t seed) {
  Rng rng(seed);
  Run run(name, "a_rope.metal", function);
  const int rot = 12, head = 16, heads = 3, tokens = 5, stride = heads * head + 2, positions = 9;
  const std::vector<float> cs = floats(rng, static_cast<std::size_t>(positions * rot), -1, 1);
  std::vector<std::int64_t> pos;
  for (int i = 0; i < tokens; ++i) pos.push_back(rng.below(positions));
  const std::vector<double> x = put(run, 1, kind, floats(rng, static_cast<std::size_t>(tokens * stride), -3, 3));
  run.buffer(0, pos).buffer(2, cs).value(3, std::array<std::int32_t, 4>{rot, stride, heads, head});
  std::vector<double> want(x), tol(x.size(), 0.0);
  for (int t = 0; t < tokens; ++t)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < rot / 2; ++i) {
        const auto at = static_cast<std::size_t>(t * stride + h * head);
        const auto u = at + static_cast<std::size_t>(neox ? i : 2 * i), v = at + static_cast<std::size_t>(neox ? i + rot / 2 : 2 * i + 1);
        const auto k = static_cast<std::size_t>(pos[static_cast<std::size_t>(t)] * rot + 2 * i);
        const double c = static_cast<double>(cs[k]), s = static_cast<double>(cs[k + 1]);
        want[u] = x[u] * c - x[v] * s, want[v] = x[v] * c + x[u] * s;
        tol[u] = tol[v] = 2 * 0x1p-24 * (std::fabs(x[u]) + std::fabs(x[v]));
        tol[u] += std::fabs(want[u]) * rounding(kind) + 1e-8, tol[v] += std::fabs(want[v]) * rounding(kind) + 1e-8;
        if (kind == Kind::f16) tol[u] += 0x1p-25, tol[v] += 0x1p-25;
      }
  run.expect(1, format(kind), want, tol);
  run.constant(1, false);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(tokens), 1, 1}, {8, 1, 1});
  return run;
}

std::vector<Run> rope_runs() {
  return {make({"a_rope_norm_f32", "rope_norm_f32", Style::norm, Kind::f32, 20, 16, 3, 4, false, 0, 1.0f, 111}),
          make({"a_rope_norm_f16_factors", "rope_norm_f16", Style::norm, Kind::f16, 32, 32, 2, 5, true, 0, 0.5f, 112}),
          make({"a_rope_neox_f32_yarn", "rope_neox_f32", Style::neox, Kind::f32, 24, 18, 2, 6, true, 1.0f, 0.25f, 113}),
          make({"a_rope_neox_f16", "rope_neox_f16", Style::neox, Kind::f16, 16, 16, 3, 3, false, 0.5f, 0.5f, 114}),
          make({"a_rope_neox_bf16", "rope_neox_bf16", Style::neox, Kind::bf16, 40, 32, 1, 4, false, 0, 1.0f, 115}),
          make({"a_rope_multi_f32", "rope_multi_f32", Style::multi, Kind::f32, 24, 24, 2, 5, false, 0, 1.0f, 116}),
          make({"a_rope_multi_f16", "rope_multi_f16", Style::multi, Kind::f16, 16, 16, 2, 5, false, 0, 1.0f, 117}),
          strided("a_rope_strided_f32", "rope_float32", Kind::f32, false, true, 6, 5, 16, 118),
          strided("a_rope_traditional_f16", "rope_traditional_float16", Kind::f16, true, true, 3, 7, 20, 119),
          strided("a_rope_vjp_f32", "rope_vjp_float32", Kind::f32, false, false, 5, 4, 12, 120),
          table("a_rotary_table_neox_f32", "rotary_embedding_float_neox", Kind::f32, true, 121),
          table("a_rotary_table_f32", "rotary_embedding_float", Kind::f32, false, 122),
          table("a_rotary_table_neox_f16", "rotary_embedding_half_neox", Kind::f16, true, 123)};
}

const Runs kRope(rope_runs);

}  // namespace
}  // namespace assay::foreign::a::rope
