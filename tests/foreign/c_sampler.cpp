// Runs of c_sampler.metal and their expected results. From logits to tokens.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::sampler {
namespace {

const char* const kFile = "c_sampler.metal";
using u32 = std::uint32_t;

struct Args {
  u32 vocab = 0, history = 0;
  float temperature = 1, penalty = 1, p = 1;
  u32 k = 0, seed = 0, step = 0;
};

std::vector<float> probabilities(int rows, int vocab, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<float> p(rows * vocab);
  for (int r = 0; r < rows; ++r) {
    std::vector<double> e(vocab);
    double sum = 0;
    for (auto& x : e) x = std::exp(4 * static_cast<double>(sym(g))), sum += x;
    for (int i = 0; i < vocab; ++i) p[r * vocab + i] = static_cast<float>(e[i] / sum);
  }
  return p;
}

Run penalty(const char* name, bool is_half, bool bias) {
  const u32 vocab = 75, rows = 2, history = 20;
  std::mt19937 g(121);
  std::vector<float> x(vocab * rows), b(vocab);
  std::vector<std::uint16_t> xh;
  std::vector<std::int32_t> h(rows * history);
  for (auto& v : x) v = sym(g) * 8, xh.push_back(half_bits(v));
  for (auto& v : b) v = sym(g);
  for (auto& v : h) v = static_cast<std::int32_t>(g() % 40) - 3;
  std::vector<double> out, tol;
  for (u32 r = 0; r < rows; ++r)
    for (u32 i = 0; i < vocab; ++i) {
      double v = is_half ? half_value(xh[r * vocab + i]) : x[r * vocab + i];
      auto seen = std::count(h.begin() + r * history, h.begin() + (r + 1) * history, static_cast<int>(i));
      if (seen) v = v > 0 ? v / 1.25 : v * 1.25;
      if (bias) v += b[i] - 0.125 * static_cast<double>(seen);
      out.push_back(v), tol.push_back(16 * 0x1p-20 + (is_half ? 0x1p-11 * std::fabs(v) : 0));
    }
  Args args;
  args.vocab = vocab, args.history = history, args.penalty = 1.25f;
  Run r(name, kFile, is_half ? "repetition_penalty_half" : "repetition_penalty_float");
  r.buffer(1, h).value(2, args).constant(0, bias);
  if (is_half)
    r.buffer(0, xh);
  else
    r.buffer(0, x);
  if (bias) r.constant(1, 0.125).buffer(3, b);
  r.dispatch_threads({vocab, rows, 1}, {32, 1, 1}).expect(0, is_half ? Format::f16 : Format::f32, out, tol);
  return r;
}

Run softmax(const char* name, bool is_half, u32 vocab, float temperature) {
  const u32 rows = 3;
  std::mt19937 g(122);
  std::vector<float> x(rows * vocab);
  std::vector<std::uint16_t> xh;
  for (auto& v : x) v = sym(g) * 6, xh.push_back(half_bits(v));
  std::vector<double> out, tol;
  for (u32 r = 0; r < rows; ++r) {
    double sum = 0;
    auto e = [&](u32 i) {
      return std::exp((is_half ? half_value(xh[r * vocab + i]) : x[r * vocab + i]) / static_cast<double>(temperature));
    };
    for (u32 i = 0; i < vocab; ++i) sum += e(i);
    for (u32 i = 0; i < vocab; ++i) out.push_back(e(i) / sum), tol.push_back((64 + 40 / temperature) * 0x1p-23 * e(i) / sum + 1e-30);
  }
  Args args;
  args.vocab = vocab, args.temperature = temperature;
  Run r(name, kFile, is_half ? "softmax_temperature_half" : "softmax_temperature_float");
  r.fresh(1, rows * vocab * 4).value(2, args).dispatch_threadgroups({rows, 1, 1}, {64, 1, 1}).expect(1, Format::f32, out, tol);
  if (is_half)
    r.buffer(0, xh);
  else
    r.buffer(0, x);
  return r;
}

Run top_k() {
  const u32 vocab = 130, rows = 2, k = 9;
  auto p = probabilities(rows, vocab, 123);
  p[5] = p[77] = p[100] = 0.25f;  // ties
  std::vector<double> tokens, values;
  for (u32 r = 0; r < rows; ++r) {
    std::vector<u32> order(vocab);
    for (u32 i = 0; i < vocab; ++i) order[i] = i;
    const float* row = &p[r * vocab];
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return row[a] != row[b] ? row[a] > row[b] : a < b; });
    for (u32 i = 0; i < k; ++i) tokens.push_back(order[i]), values.push_back(row[order[i]]);
  }
  Args args;
  args.vocab = vocab, args.k = k;
  Run r("c_top_k", kFile, "top_k_select");
  r.buffer(0, p).fresh(1, rows * k * 4).fresh(2, rows * k * 4).value(3, args).dispatch_threadgroups({rows, 1, 1}, {64, 1, 1});
  r.expect_equal(1, Format::u32, tokens).expect_equal(2, Format::f32, values);
  return r;
}

Run top_p(const char* name, float limit) {
  const u32 k = 70, rows = 3;
  auto p = probabilities(rows, k, 124);
  std::vector<double> kept, tol, counts;
  for (u32 r = 0; r < rows; ++r) {
    std::sort(p.begin() + r * k, p.begin() + (r + 1) * k, [](float a, float b) { return a > b; });
    double sum = 0;
    u32 n = 0;
    while (n < k && sum < limit) sum += p[r * k + n++];
    counts.push_back(n);
    for (u32 i = 0; i < k; ++i) kept.push_back(i < n ? p[r * k + i] / sum : 0), tol.push_back(i < n ? 40 * 0x1p-24 * kept.back() : 0);
  }
  Args args;
  args.k = k, args.p = limit;
  Run r(name, kFile, "top_p_cut");
  r.buffer(0, p).fresh(1, rows * k * 4).fresh(2, rows * 4).value(3, args).dispatch_threadgroups({rows, 1, 1}, {32, 1, 1});
  r.expect(1, Format::f32, kept, tol).expect_equal(2, Format::u32, counts);
  return r;
}

Run min_p() {
  const u32 vocab = 100, rows = 2;
  auto p = probabilities(rows, vocab, 125);
  std::vector<double> out;
  for (u32 r = 0; r < rows; ++r) {
    double top = *std::max_element(p.begin() + r * vocab, p.begin() + (r + 1) * vocab);
    for (u32 i = 0; i < vocab; ++i) out.push_back(p[r * vocab + i] < top * 0.125 ? 0.0 : p[r * vocab + i]);
  }
  Args args;
  args.vocab = vocab, args.p = 0.125f;
  Run r("c_min_p", kFile, "min_p_filter");
  r.buffer(0, p)
      .fresh(1, rows * vocab * 4)
      .value(2, args)
      .dispatch_threadgroups({rows, 1, 1}, {96, 1, 1})
      .expect_equal(1, Format::f32, out);
  return r;
}

Run categorical() {
  const u32 vocab = 150, rows = 12;
  auto w = probabilities(rows, vocab, 126);
  std::mt19937 g(127);
  for (u32 i = 0; i < w.size(); ++i)
    if (g() % 3 == 0) w[i] = 0;
  auto mix = [](u32 x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
  };
  Args args;
  args.vocab = vocab, args.seed = 4242, args.step = 17;
  Run r("c_categorical", kFile, "sample_categorical");
  r.buffer(0, w).fresh(1, rows * 4).value(2, args).dispatch_threadgroups({rows, 1, 1}, {32, 1, 1});
  for (u32 row = 0; row < rows; ++row) {
    double total = 0, sum = 0, margin = 1;
    for (u32 i = 0; i < vocab; ++i) total += w[row * vocab + i];
    double target = std::floor(mix(args.seed ^ mix(row ^ mix(args.step))) / 256.0) * 0x1p-24 * total;
    int token = -1;
    for (u32 i = 0; i < vocab; ++i) {
      sum += w[row * vocab + i];
      margin = std::min(margin, std::fabs(sum - target));
      if (token < 0 && sum > target) token = static_cast<int>(i);
    }
    if (margin > 1e-5) r.expectations.push_back({1, row, Format::i32, {static_cast<double>(token)}, {0}});
  }
  return r;
}

Run greedy() {
  const u32 vocab = 333, rows = 5;
  std::mt19937 g(128);
  std::vector<std::uint16_t> x(vocab * rows);
  for (auto& v : x) v = half_bits(std::round(sym(g) * 20) / 4);  // many ties
  std::vector<double> out;
  for (u32 r = 0; r < rows; ++r) {
    u32 best = 0;
    for (u32 i = 1; i < vocab; ++i)
      if (half_value(x[r * vocab + i]) > half_value(x[r * vocab + best])) best = i;
    out.push_back(best);
  }
  Args args;
  args.vocab = vocab;
  Run r("c_greedy", kFile, "sample_greedy");
  r.buffer(0, x).fresh(1, rows * 4).value(2, args).dispatch_threadgroups({rows, 1, 1}, {96, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

Run names() {
  const std::string text = "greedy\ntop-k\ntop-p\nmin-p\n";
  Run r("c_sampler_names", kFile, "sampler_names");
  r.fresh(0, 32).fresh(1, 4).dispatch_threadgroups({1, 1, 1}, {1, 1, 1});
  r.expect_equal(0, Format::i8, {text.begin(), text.end()}).expect_equal(1, Format::u32, {static_cast<double>(text.size())});
  return r;
}

std::vector<Run> sampler_runs() {
  return {penalty("c_penalty", false, false),
          penalty("c_penalty_bias", false, true),
          penalty("c_penalty_half", true, true),
          softmax("c_temperature", false, 150, 0.75f),
          softmax("c_temperature_half", true, 64, 2),
          top_k(),
          top_p("c_top_p", 0.8f),
          top_p("c_top_p_low", 0.01f),
          min_p(),
          categorical(),
          greedy(),
          names()};
}
const Runs kSampler(sampler_runs);

}  // namespace
}  // namespace assay::foreign::c::sampler
