// Runs of a_flash_attn_vec.metal and their expected results. Decoding attention: one query per head, keys spread over simdgroups and
// workgroups, partial results merged.
#include "tests/foreign/a_prelude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::foreign::a::flash_attn_vec {
namespace {

struct VecArgs {
  std::int32_t n_kv, n_head, n_head_kv, nwg;
  float scale;
  std::int32_t pad;
  std::uint64_t nb11, nb12, nb21, nb22;
};
static_assert(sizeof(VecArgs) == 56);

enum class Kind { f32, f16, bf16, q8 };

struct Rows {
  std::vector<std::byte> bytes;
  std::vector<double> values;
  std::size_t row_bytes = 0;
};

Rows rows_of(Kind kind, const std::vector<float>& x, int d, Rng& rng) {
  Rows r;
  if (kind == Kind::f32) r.bytes = Run::bytes_of(x), r.values = from_float(x), r.row_bytes = 4u * static_cast<unsigned>(d);
  if (kind == Kind::f16) r.bytes = Run::bytes_of(to_half(x)), r.values = from_half(to_half(x)), r.row_bytes = 2u * static_cast<unsigned>(d);
  if (kind == Kind::bf16)
    r.bytes = Run::bytes_of(to_bfloat(x)), r.values = from_bfloat(to_bfloat(x)), r.row_bytes = 2u * static_cast<unsigned>(d);
  if (kind == Kind::q8) {
    r.row_bytes = 34u * static_cast<unsigned>(d / 32);
    for (std::size_t b = 0; b < x.size() / 32; ++b) {
      const std::uint16_t scale = half_bits(rng.uniform(0.004f, 0.012f));
      r.bytes.push_back(static_cast<std::byte>(scale & 255));
      r.bytes.push_back(static_cast<std::byte>(scale >> 8));
      for (int i = 0; i < 32; ++i) {
        const int code = rng.below(256) - 128;
        r.bytes.push_back(static_cast<std::byte>(static_cast<std::uint8_t>(code)));
        r.values.push_back(static_cast<double>(half_value(scale)) * code);
      }
    }
  }
  return r;
}

struct Case {
  const char* name;
  const char* function;
  Kind k, v;
  int d, n_kv, n_head, n_head_kv, nwg, nsg;
  bool sinks;
  std::uint32_t seed;
};

Run make(const Case& c) {
  Rng rng(c.seed);
  const std::size_t d = static_cast<std::size_t>(c.d), hk_n = static_cast<std::size_t>(c.n_head_kv);
  const std::vector<float> q = floats(rng, static_cast<std::size_t>(c.n_head) * d, -1, 1);
  // [kv head][key][d]
  const Rows k = rows_of(c.k, floats(rng, hk_n * static_cast<std::size_t>(c.n_kv) * d, -1.5f, 1.5f), c.d, rng);
  const Rows v = rows_of(c.v, floats(rng, hk_n * static_cast<std::size_t>(c.n_kv) * d, -1, 1), c.d, rng);
  const std::vector<float> sinks = floats(rng, static_cast<std::size_t>(c.n_head), -1, 2);

  VecArgs args{c.n_kv,
               c.n_head,
               c.n_head_kv,
               c.nwg,
               1.0f / std::sqrt(static_cast<float>(c.d)),
               0,
               k.row_bytes,
               k.row_bytes * static_cast<std::size_t>(c.n_kv),
               v.row_bytes,
               v.row_bytes * static_cast<std::size_t>(c.n_kv)};
  Run run(c.name, "a_flash_attn_vec.metal", c.function);
  run.constant(100, c.sinks).value(0, args).buffer(1, q);
  run.buffers[2] = k.bytes;
  run.buffers[3] = v.bytes;
  if (c.sinks) run.buffer(4, sinks);

  const std::size_t stride = c.nwg == 1 ? d : d + 2;
  std::vector<double> want(static_cast<std::size_t>(c.n_head * c.nwg) * stride), tol(want.size());
  const int chunk = (c.n_kv + c.nwg - 1) / c.nwg;
  for (int h = 0; h < c.n_head; ++h) {
    const std::size_t hk = static_cast<std::size_t>(h / (c.n_head / c.n_head_kv));
    for (int g = 0; g < c.nwg; ++g) {
      const int from = g * chunk, to = std::min(from + chunk, c.n_kv);
      std::vector<double> s;
      double worst = 0, top = -1e300;
      for (int j = from; j < to; ++j) {
        double dot = 0, mag = 0;
        for (std::size_t e = 0; e < d; ++e) {
          const double p = static_cast<double>(q[static_cast<std::size_t>(h) * d + e]) *
                           k.values[(hk * static_cast<std::size_t>(c.n_kv) + static_cast<std::size_t>(j)) * d + e];
          dot += p, mag += std::fabs(p);
        }
        s.push_back(dot * static_cast<double>(args.scale));
        worst = std::max(worst, mag * static_cast<double>(args.scale));
        top = std::max(top, s.back());
      }
      double sink = 0;
      if (c.sinks)
        top = std::max(top, static_cast<double>(sinks[static_cast<std::size_t>(h)])),
        sink = std::exp(sinks[static_cast<std::size_t>(h)] - top);
      double sum = sink;
      for (double x : s) sum += std::exp(x - top);
      const double score_error = (c.d + 4) * 0x1p-24 * worst + 1e-6;
      const double relative = 2 * score_error + (c.n_kv + 8) * 0x1p-23 + 1e-6;
      const std::size_t at = static_cast<std::size_t>(h * c.nwg + g) * stride;
      for (std::size_t e = 0; e < d; ++e) {
        double o = 0, mag = 0;
        for (std::size_t j = 0; j < s.size(); ++j) {
          const double p =
              std::exp(s[j] - top) * v.values[(hk * static_cast<std::size_t>(c.n_kv) + static_cast<std::size_t>(from) + j) * d + e];
          o += p, mag += std::fabs(p);
        }
        const double norm = c.nwg == 1 ? sum : 1.0;
        want[at + e] = o / norm;
        tol[at + e] = mag / norm * relative + 1e-7;
      }
      if (c.nwg > 1) {
        want[at + d] = top, tol[at + d] = score_error;
        want[at + d + 1] = sum, tol[at + d + 1] = sum * relative;
      }
    }
  }
  run.fresh(5, want.size() * 4).expect(5, Format::f32, want, tol);
  run.threadgroup(0, static_cast<std::size_t>(c.nsg) * (d / 4 + 1) * 16);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(c.n_head), static_cast<std::uint32_t>(c.nwg), 1},
                            {32u * static_cast<std::uint32_t>(c.nsg), 1, 1});
  return run;
}

Run reduce(const char* name, int d, int heads, int nwg, bool sinks_on, std::uint32_t seed) {
  Rng rng(seed);
  std::vector<float> part;
  for (int i = 0; i < heads * nwg; ++i) {
    for (int e = 0; e < d; ++e) part.push_back(rng.uniform(-3, 3));
    part.push_back(rng.uniform(-4, 4));
    part.push_back(rng.uniform(1, 9));
  }
  const std::vector<float> sinks = floats(rng, static_cast<std::size_t>(heads), -2, 6);
  std::vector<double> want, tol;
  const auto at = [&](int h, int g, int e) { return static_cast<double>(part[static_cast<std::size_t>((h * nwg + g) * (d + 2) + e)]); };
  for (int h = 0; h < heads; ++h) {
    double sum = sinks_on ? std::exp(static_cast<double>(sinks[static_cast<std::size_t>(h)])) : 0.0;
    for (int g = 0; g < nwg; ++g) sum += at(h, g, d + 1) * std::exp(at(h, g, d));
    for (int e = 0; e < d; ++e) {
      double o = 0, mag = 0;
      for (int g = 0; g < nwg; ++g) o += at(h, g, e) * std::exp(at(h, g, d)), mag += std::fabs(at(h, g, e)) * std::exp(at(h, g, d));
      want.push_back(o / sum);
      tol.push_back(mag / sum * (2e-6 + (nwg + 40) * 0x1p-23) + 1e-7);
    }
  }
  Run run(name, "a_flash_attn_vec.metal", "attn_vec_reduce_d" + std::to_string(d));
  run.constant(100, sinks_on).constant(101, nwg).buffer(0, part).fresh(1, want.size() * 4);
  if (sinks_on) run.buffer(2, sinks);
  run.expect(1, Format::f32, want, tol);
  run.dispatch_threadgroups({static_cast<std::uint32_t>(heads), 1, 1}, {32, 1, 1});
  return run;
}

std::vector<Run> vec_runs() {
  return {make({"a_vec_f32_d32", "attn_vec_f32_d32", Kind::f32, Kind::f32, 32, 29, 2, 1, 1, 2, false, 21}),
          make({"a_vec_f32_d64_split", "attn_vec_f32_d64", Kind::f32, Kind::f32, 64, 50, 2, 1, 3, 2, false, 22}),
          make({"a_vec_f16_d64_sinks", "attn_vec_f16_d64", Kind::f16, Kind::f16, 64, 33, 3, 1, 1, 4, true, 23}),
          make({"a_vec_f16_d128", "attn_vec_f16_d128", Kind::f16, Kind::f16, 128, 19, 2, 2, 1, 2, false, 24}),
          make({"a_vec_bf16_d64", "attn_vec_bf16_d64", Kind::bf16, Kind::bf16, 64, 7, 2, 1, 1, 4, false, 25}),
          make({"a_vec_q8_0_d64", "attn_vec_q8_0_d64", Kind::q8, Kind::q8, 64, 41, 4, 2, 2, 1, false, 26}),
          make({"a_vec_q8_0_f16_d128_sinks", "attn_vec_q8_0_f16_d128", Kind::q8, Kind::f16, 128, 23, 2, 1, 1, 2, true, 27}),
          reduce("a_vec_reduce_d32", 32, 3, 5, false, 28),
          reduce("a_vec_reduce_d64_sinks", 64, 2, 32, true, 29),
          reduce("a_vec_reduce_d128", 128, 1, 2, false, 30)};
}

const Runs kVec(vec_runs);

}  // namespace
}  // namespace assay::foreign::a::flash_attn_vec
