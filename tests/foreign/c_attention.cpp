// Runs of c_attention.metal and their expected results. Plain attention, a row of queries for each threadgroup: masks and biases as
// functors, ring caches, split decoding.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace assay::foreign::c::attention {
namespace {

const char* const kFile = "c_attention.metal";
using u32 = std::uint32_t;

struct Shape {
  std::int32_t q_len, k_len, heads, kv_heads, head_dim;
  float scale;
  std::int32_t window, sinks;
};

// Attention of one query over keys [0, n): `bias` gives what is added to a score, or NaN where the key is hidden.
struct Row {
  std::vector<double> out;
  double slack;
};
Row attend(const float* q, const float* k, const float* v, int n, int dim, double scale, const std::function<double(int)>& bias) {
  std::vector<double> s(n);
  double top = -1e300, sum = 0, size = 1, most = 0;
  for (int j = 0; j < n; ++j) {
    double dot = 0, mag = 0;
    for (int d = 0; d < dim; ++d)
      dot += static_cast<double>(q[d]) * k[j * dim + d], mag += std::fabs(static_cast<double>(q[d]) * k[j * dim + d]);
    s[j] = dot * scale + bias(j);
    if (!std::isnan(s[j])) top = std::max(top, s[j]), size = std::max(size, mag * scale + std::fabs(s[j]));
  }
  Row r{std::vector<double>(dim, 0.0), 0};
  for (int j = 0; j < n; ++j) {
    if (std::isnan(s[j])) continue;
    const double p = std::exp(s[j] - top);
    sum += p;
    for (int d = 0; d < dim; ++d) r.out[d] += p * v[j * dim + d], most = std::max<double>(most, std::fabs(v[j * dim + d]));
  }
  for (auto& x : r.out) x /= sum;
  r.slack = (2 * n + (dim + 16) * size) * 0x1p-23 * most;
  return r;
}

const double kHidden = std::nan("");

Run attention(const char* name, const std::string& kind, bool is_half, Shape shape, u32 threads) {
  std::mt19937 g(191);
  shape.scale = 0.25f;
  auto make = [&](int n, std::vector<std::uint16_t>& bits) {
    std::vector<float> x(n);
    for (auto& v : x) {
      v = sym(g) * 2, bits.push_back(half_bits(v));
      if (is_half) v = half_value(bits.back());
    }
    return x;
  };
  std::vector<std::uint16_t> qh, kh, vh;
  auto q = make(shape.heads * shape.q_len * shape.head_dim, qh), k = make(shape.kv_heads * shape.k_len * shape.head_dim, kh),
       v = make(shape.kv_heads * shape.k_len * shape.head_dim, vh);
  std::vector<double> out, tol;
  for (int h = 0; h < shape.heads; ++h)
    for (int i = 0; i < shape.q_len; ++i) {
      const int pos = i + shape.k_len - shape.q_len, kv = h * shape.kv_heads / shape.heads, at = kv * shape.k_len * shape.head_dim;
      Row r = attend(&q[(h * shape.q_len + i) * shape.head_dim], &k[at], &v[at], shape.k_len, shape.head_dim, shape.scale, [&](int j) {
        if (j > pos) return kHidden;
        if (kind == "window" || kind == "alibi_window")
          if (pos - j >= shape.window) return kHidden;
        if (kind == "sinks" && j >= shape.sinks && pos - j >= shape.window) return kHidden;
        return kind == "alibi" || kind == "alibi_window" ? -std::pow(2.0, -8.0 * (h + 1) / shape.heads) * (pos - j) : 0.0;
      });
      for (double x : r.out) out.push_back(x), tol.push_back(r.slack + (is_half ? 0x1p-11 * std::fabs(x) + 0x1p-25 : 0));
    }
  Run r(name, kFile, "attn_" + kind + (is_half ? "_f16" : "_f32"));
  if (is_half)
    r.buffer(0, qh).buffer(1, kh).buffer(2, vh);
  else
    r.buffer(0, q).buffer(1, k).buffer(2, v);
  r.fresh(3, out.size() * (is_half ? 2 : 4)).value(4, shape).threadgroup(0, static_cast<std::size_t>(shape.k_len + 3) / 4 * 16);
  r.dispatch_threadgroups({static_cast<u32>(shape.q_len), static_cast<u32>(shape.heads), 1}, {threads, 1, 1});
  r.expect(3, is_half ? Format::f16 : Format::f32, out, tol);
  return r;
}

Run ring(const char* name, int capacity, int position, int dim) {
  struct Args {
    std::int32_t capacity, position, dim;
    float scale;
  };
  const int heads = 2, filled = std::min(position + 1, capacity), slot = position % capacity;
  std::mt19937 g(192);
  auto make = [&](int n) {
    std::vector<float> x(n);
    for (auto& v : x) v = sym(g) * 2;
    return x;
  };
  auto q = make(heads * dim), nk = make(heads * dim), nv = make(heads * dim), k = make(heads * capacity * dim),
       v = make(heads * capacity * dim);
  auto k2 = k, v2 = v;
  std::vector<double> out, tol;
  for (int h = 0; h < heads; ++h) {
    for (int d = 0; d < dim; ++d)
      k2[(h * capacity + slot) * dim + d] = nk[h * dim + d], v2[(h * capacity + slot) * dim + d] = nv[h * dim + d];
    Row r = attend(&q[h * dim], &k2[h * capacity * dim], &v2[h * capacity * dim], filled, dim, 0.125, [](int) { return 0.0; });
    for (double x : r.out) out.push_back(x), tol.push_back(r.slack);
  }
  Run r(name, kFile, "ring_decode");
  r.buffer(0, q)
      .buffer(1, nk)
      .buffer(2, nv)
      .buffer(3, k)
      .buffer(4, v)
      .fresh(5, out.size() * 4)
      .value(6, Args{capacity, position, dim, 0.125f});
  r.dispatch_threadgroups({heads, 1, 1}, {32, 1, 1}).expect(5, Format::f32, out, tol);
  r.expect_equal(3, Format::f32, {k2.begin(), k2.end()}).expect_equal(4, Format::f32, {v2.begin(), v2.end()});
  return r;
}

Run split() {
  const int keys = 70, per = 16, splits = 5;
  std::mt19937 g(193);
  std::vector<float> q(32), k(keys * 32), v(keys * 32);
  for (auto* t : {&q, &k, &v})
    for (auto& x : *t) x = sym(g);
  Row row = attend(q.data(), k.data(), v.data(), keys, 32, 1, [](int) { return 0.0; });
  Run r("c_split_decode", kFile, "split_decode");
  r.buffer(0, q)
      .buffer(1, k)
      .buffer(2, v)
      .fresh(3, splits * 34 * 4)
      .buffer(4, std::vector<u32>{0})
      .fresh(5, 128)
      .value(6, std::array<std::int32_t, 2>{keys, per});
  r.dispatch_threadgroups({splits, 1, 1}, {32, 1, 1})
      .expect(5, Format::f32, row.out, std::vector<double>(32, row.slack))
      .expect_equal(4, Format::u32, {splits});
  return r;
}

std::vector<Run> attention_runs() {
  return {attention("c_attn_causal", "causal", false, {7, 45, 4, 2, 20, 0, 0, 0}, 64),
          attention("c_attn_causal_half", "causal", true, {5, 5, 2, 2, 32, 0, 0, 0}, 32),
          attention("c_attn_alibi", "alibi", false, {3, 70, 4, 4, 16, 0, 0, 0}, 128),
          attention("c_attn_alibi_half", "alibi", true, {2, 40, 8, 2, 8, 0, 0, 0}, 64),
          attention("c_attn_window", "window", false, {20, 20, 2, 1, 12, 0, 6, 0}, 32),
          attention("c_attn_window_half", "window", true, {4, 50, 2, 1, 16, 0, 33, 0}, 64),
          attention("c_attn_sinks", "sinks", false, {6, 60, 2, 1, 16, 0, 10, 4}, 64),
          attention("c_attn_sinks_half", "sinks", true, {9, 9, 3, 3, 8, 0, 3, 1}, 32),
          attention("c_attn_alibi_window", "alibi_window", false, {3, 40, 4, 2, 16, 0, 17, 0}, 96),
          ring("c_ring_filling", 40, 20, 48),
          ring("c_ring_full", 40, 101, 64),
          ring("c_ring_first", 33, 0, 20),
          split()};
}
const Runs kAttention(attention_runs);

}  // namespace
}  // namespace assay::foreign::c::attention
