// Runs of c_moe.metal and their expected results. Mixtures of experts: gating, routing, grouped products; and the verification step of
// speculative decoding.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::moe {
namespace {

const char* const kFile = "c_moe.metal";
using u32 = std::uint32_t;

struct MoeArgs {
  u32 tokens, experts, top, dim, hidden;
};
struct Choice {
  float weight;
  u32 expert;
};

Run gate(const char* name, bool is_half, u32 top, u32 tokens, u32 experts) {
  std::mt19937 g(131);
  std::vector<float> x(tokens * experts);
  std::vector<std::uint16_t> xh;
  for (auto& v : x) v = sym(g) * 4, xh.push_back(half_bits(v));
  Run r(name, kFile, std::string("moe_gate_") + (is_half ? "half" : "float") + (top == 2 ? "_top2" : "_top4"));
  r.fresh(1, tokens * top * 8).value(2, MoeArgs{tokens, experts, top, 0, 0}).dispatch_threadgroups({(tokens + 1) / 2, 1, 1}, {64, 1, 1});
  if (is_half)
    r.buffer(0, xh);
  else
    r.buffer(0, x);
  for (u32 t = 0; t < tokens; ++t) {
    std::vector<std::pair<double, u32>> order;
    for (u32 e = 0; e < experts; ++e) order.push_back({-(is_half ? half_value(xh[t * experts + e]) : x[t * experts + e]), e});
    std::sort(order.begin(), order.end());
    double sum = 0;
    for (u32 k = 0; k < top; ++k) sum += std::exp(order[0].first - order[k].first);
    for (u32 k = 0; k < top; ++k) {
      double w = std::exp(order[0].first - order[k].first) / sum;
      std::size_t at = (t * top + k) * 2;
      r.expectations.push_back({1, at, Format::f32, {w}, {32 * 0x1p-23 * w}});
      r.expectations.push_back({1, at + 1, Format::u32, {static_cast<double>(order[k].second)}, {0}});
    }
  }
  return r;
}

struct Routing {
  MoeArgs args{37, 6, 2, 19, 10};
  std::vector<Choice> choices;
  std::vector<u32> counts, segments, place;
  std::vector<std::int32_t> source;
  u32 total = 0;
  Routing() : counts(6, 0) {
    std::mt19937 g(132);
    for (u32 t = 0; t < args.tokens; ++t) {
      u32 a = g() % 5, b = g() % 4;  // no token chooses the last
      if (b >= a) ++b;
      float w = 0.5f + std::fabs(sym(g)) / 2;
      choices.push_back({w, a}), choices.push_back({1 - w, b});
    }
    for (auto c : choices) ++counts[c.expert];
    for (u32 e = 0; e < 6; ++e) segments.push_back(total), segments.push_back(total + counts[e]), total += (counts[e] + 3) / 4 * 4;
    source.assign(total, -1);
    std::vector<u32> used(6, 0);
    for (std::size_t i = 0; i < choices.size(); ++i) {
      u32 at = segments[choices[i].expert * 2] + used[choices[i].expert]++;
      place.push_back(at), source[at] = static_cast<std::int32_t>(i / 2);
    }
  }
};

template <typename T>
std::vector<double> doubles(const std::vector<T>& v) {
  return {v.begin(), v.end()};
}

Run count() {
  Routing t;
  Run r("c_moe_count", kFile, "moe::count_tokens");
  r.buffer(0, t.choices).buffer(1, std::vector<u32>(6, 0)).value(2, t.args).dispatch_threadgroups({3, 1, 1}, {32, 1, 1});
  r.expect_equal(1, Format::u32, doubles(t.counts));
  return r;
}

Run offsets() {
  Routing t;
  Run r("c_moe_offsets", kFile, "segment_offsets");
  r.buffer(0, t.counts).fresh(1, 48).fresh(2, 8).value(3, t.args).dispatch_threadgroups({1, 1, 1}, {32, 1, 1});
  r.expect_equal(1, Format::u32, doubles(t.segments)).expect_equal(2, Format::u32, {static_cast<double>(t.total), 1});
  return r;
}

Run route() {
  Routing t;
  Run r("c_moe_route", kFile, "route");
  r.buffer(0, t.choices)
      .buffer(1, t.segments)
      .fresh(2, t.place.size() * 4)
      .buffer(3, std::vector<std::int32_t>(t.total, -1))
      .value(4, t.args);
  r.dispatch_threadgroups({2, 1, 1}, {64, 1, 1})
      .expect_equal(2, Format::u32, doubles(t.place))
      .expect_equal(3, Format::i32, doubles(t.source));
  return r;
}

Run up(const char* name, const char* function, bool is_half) {
  Routing t;
  const u32 dim = t.args.dim, hidden = t.args.hidden;
  std::mt19937 g(133);
  std::vector<float> x(t.args.tokens * dim);
  for (auto& v : x) v = sym(g);
  std::vector<std::uint16_t> wh;
  std::vector<std::int8_t> wc;
  std::vector<double> w;
  for (u32 i = 0; i < 6 * hidden * dim; ++i) {
    float v = sym(g);
    wh.push_back(half_bits(v)), wc.push_back(static_cast<std::int8_t>(v * 16));
    w.push_back(is_half ? half_value(wh.back()) : wc.back());
  }
  std::vector<double> out(t.total * hidden, 0.0), tol(t.total * hidden, 0.0);
  for (u32 e = 0; e < 6; ++e)
    for (u32 p = t.segments[e * 2]; p < t.segments[e * 2 + 1]; ++p)
      for (u32 h = 0; h < hidden; ++h) {
        double s = 0, m = 0;
        for (u32 i = 0; i < dim; ++i) {
          double v = w[(e * hidden + h) * dim + i] * x[static_cast<u32>(t.source[p]) * dim + i];
          s += v, m += std::fabs(v);
        }
        double err = dim * 0x1p-24 * m;
        out[p * hidden + h] = is_half ? s / (1 + std::exp(-s)) : s > 0 ? s * s : 0;
        tol[p * hidden + h] =
            is_half ? 1.2 * err + (16 + 2 * std::fabs(s)) * 0x1p-23 * std::fabs(s) : 2 * std::fabs(s) * err + err * err + 0x1p-22 * s * s;
      }
  Run r(name, kFile, function);
  r.buffer(0, x).buffer(2, t.segments).buffer(3, t.source).fresh(4, out.size() * 4).value(5, t.args);
  if (is_half)
    r.buffer(1, wh);
  else
    r.buffer(1, wc);
  r.dispatch_threads({16, t.total, 1}, {16, 4, 1}).expect(4, Format::f32, out, tol);
  return r;
}

Run combine() {
  Routing t;
  const u32 hidden = t.args.hidden;
  std::mt19937 g(134);
  std::vector<float> y(t.total * hidden);
  for (auto& v : y) v = sym(g) * 3;
  std::vector<double> out, tol;
  for (u32 i = 0; i < t.args.tokens; ++i)
    for (u32 h = 0; h < hidden; ++h) {
      double a = static_cast<double>(t.choices[2 * i].weight) * y[t.place[2 * i] * hidden + h];
      double b = static_cast<double>(t.choices[2 * i + 1].weight) * y[t.place[2 * i + 1] * hidden + h];
      out.push_back(a + b), tol.push_back(4 * 0x1p-24 * (std::fabs(a) + std::fabs(b)));
    }
  Run r("c_moe_combine", kFile, "combine");
  r.buffer(0, y).buffer(1, t.choices).buffer(2, t.place).fresh(3, out.size() * 4).value(4, t.args);
  r.dispatch_threads({16, 40, 1}, {16, 4, 1}).expect(3, Format::f32, out, tol);
  return r;
}

Run verify() {
  const u32 sequences = 10, vocab = 45, drafted = 5;
  std::mt19937 g(135);
  auto rows = [&](u32 n) {
    std::vector<float> p(n * vocab);
    for (u32 r = 0; r < n; ++r) {
      double sum = 0;
      std::vector<double> e(vocab);
      for (auto& x : e) x = std::exp(1.5 * sym(g)), sum += x;
      for (u32 i = 0; i < vocab; ++i) p[r * vocab + i] = static_cast<float>(e[i] / sum);
    }
    return p;
  };
  auto p = rows(sequences * (drafted + 1)), q = rows(sequences * drafted);
  std::vector<float> u(sequences * (drafted + 1));
  std::vector<u32> draft(sequences * drafted);
  for (auto& x : u) x = static_cast<float>(g() >> 8) * 0x1p-24f;
  for (auto& x : draft) x = g() % vocab;
  for (u32 k = 0; k < drafted; ++k) u[3 * (drafted + 1) + k] = 0, u[4 * (drafted + 1) + k] *= 0.25f;
  Run r("c_speculative_verify", kFile, "verify_draft");
  r.buffer(0, p).buffer(1, q).buffer(2, draft).buffer(3, u).fresh(4, sequences * 8).value(5, std::array<u32, 2>{vocab, drafted});
  r.dispatch_threadgroups({sequences, 1, 1}, {32, 1, 1});
  for (u32 s = 0; s < sequences; ++s) {
    u32 accepted = 0;
    bool sure = true;
    for (; accepted < drafted; ++accepted) {
      u32 d = draft[s * drafted + accepted];
      double lhs = static_cast<double>(u[s * (drafted + 1) + accepted]) * q[(s * drafted + accepted) * vocab + d],
             rhs = p[(s * (drafted + 1) + accepted) * vocab + d];
      sure = sure && std::fabs(lhs - rhs) > 1e-7;
      if (lhs > rhs) break;
    }
    auto mass = [&](u32 i) {
      double x = p[(s * (drafted + 1) + accepted) * vocab + i];
      return accepted < drafted ? std::max(0.0, x - q[(s * drafted + accepted) * vocab + i]) : x;
    };
    double total = 0, sum = 0;
    for (u32 i = 0; i < vocab; ++i) total += mass(i);
    const double target = u[s * (drafted + 1) + drafted] * total;
    u32 token = vocab;
    for (u32 i = 0; i < vocab; ++i) {
      sum += mass(i);
      sure = sure && std::fabs(sum - target) > 1e-6;
      if (token == vocab && sum > target) token = i;
    }
    if (sure) r.expectations.push_back({4, s * 2u, Format::u32, {static_cast<double>(accepted), static_cast<double>(token)}, {0, 0}});
  }
  return r;
}

std::vector<Run> moe_runs() {
  return {gate("c_moe_gate", false, 2, 21, 8),
          gate("c_moe_gate_half", true, 2, 8, 32),
          gate("c_moe_gate_top4", false, 4, 9, 13),
          gate("c_moe_gate_top4_half", true, 4, 6, 4),
          count(),
          offsets(),
          route(),
          up("c_moe_up_silu", "expert_up_half_silu", true),
          up("c_moe_up_relu2", "expert_up_char_relu2", false),
          combine(),
          verify()};
}
const Runs kMoe(moe_runs);

}  // namespace
}  // namespace assay::foreign::c::moe
