// Runs of c_ssm.metal and their expected results. Recurrences: state-space models, RWKV, linear attention.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::ssm {
namespace {

const char* const kFile = "c_ssm.metal";
using u32 = std::uint32_t;

double rounding(Format f, double v) { return f == Format::f32 ? 0 : (f == Format::f16 ? 0x1p-11 : 0x1p-8) * std::fabs(v) + 0x1p-25; }

struct Shape {
  std::int32_t batch, length, channels, states;
};

Run conv(const char* name, const char* function, Format f, int k) {
  const int batch = 2, channels = 45, n = batch * channels;
  Tensor x(n, 141, 2, f), state(n * (k - 1), 142, 2, f), w(channels * k, 143, 1, f), bias(channels, 144, 1, f);
  std::vector<double> y, tol, next;
  for (int i = 0; i < n; ++i) {
    int c = i % channels;
    double s = bias[c], m = std::fabs(s);
    for (int j = 0; j < k; ++j) {
      double v = (j < k - 1 ? state[i * (k - 1) + j] : x[i]);
      if (j) next.push_back(v);
      s += v * w[c * k + j], m += std::fabs(v * w[c * k + j]);
    }
    y.push_back(s / (1 + std::exp(-s)));
    tol.push_back(1.2 * 8 * 0x1p-24 * m + (16 + 2 * std::fabs(s)) * 0x1p-23 * std::fabs(y.back()) + rounding(f, y.back()));
  }
  Run r(name, kFile, function);
  x.bind(r, 0), state.bind(r, 1), w.bind(r, 2), bias.bind(r, 3);
  r.fresh(4, n * width(f)).value(5, Shape{batch, 1, channels, k}).dispatch_threads({channels, batch, 1}, {32, 1, 1});
  r.expect(4, f, y, tol).expect_equal(1, f, next);
  return r;
}

Run scan(const char* name, const char* function, Format f, int states) {
  const int batch = 2, length = 9, channels = 20, rows = batch * length;
  Tensor x(rows * channels, 145, 1, f), delta(rows * channels, 146, 1.5f, f), b(rows * states, 147, 1, f), c(rows * states, 148, 1, f);
  Tensor a(channels * states, 149, 0.9f, Format::f32, -1), d(channels, 150, 1);
  std::vector<double> y(rows * channels), tol(rows * channels), last, tlast;
  for (int i = 0; i < batch; ++i)
    for (int ch = 0; ch < channels; ++ch) {
      std::vector<double> h(states, 0.0), m(states, 0.0);
      for (int t = 0; t < length; ++t) {
        const int row = i * length + t, at = row * channels + ch;
        const double dt = std::log1p(std::exp(delta[at]));
        double out = d[ch] * x[at], mag = std::fabs(out);
        for (int s = 0; s < states; ++s) {
          const double decay = std::exp(dt * a[ch * states + s]), in = dt * b[row * states + s] * x[at];
          h[s] = decay * h[s] + in, m[s] = decay * m[s] + std::fabs(in);
          out += h[s] * c[row * states + s], mag += m[s] * std::fabs(c[row * states + s]);
        }
        y[at] = out, tol[at] = (16 * length + states) * 0x1p-23 * mag + rounding(f, out);
      }
      for (int s = 0; s < states; ++s) last.push_back(h[s]), tlast.push_back(16 * length * 0x1p-23 * m[s]);
    }
  Run r(name, kFile, function);
  x.bind(r, 0), delta.bind(r, 1), a.bind(r, 2), b.bind(r, 3), c.bind(r, 4), d.bind(r, 5);
  r.fresh(6, y.size() * width(f)).fresh(7, last.size() * 4).value(8, Shape{batch, length, channels, states});
  r.dispatch_threads({channels, batch, 1}, {16, 2, 1}).expect(6, f, y, tol).expect(7, Format::f32, last, tlast);
  return r;
}

Run recurrence() {
  const int rows = 3, length = 77;
  Tensor a(rows * length, 151, 1), b(rows * length, 152, 2);
  std::vector<double> out, tol;
  for (int r = 0; r < rows; ++r) {
    double h = 0, m = 0;
    for (int t = 0; t < length; ++t) {
      h = a[r * length + t] * h + b[r * length + t], m = std::fabs(a[r * length + t]) * m + std::fabs(b[r * length + t]);
      out.push_back(h), tol.push_back(2 * length * 0x1p-24 * m);
    }
  }
  Run r("c_linear_recurrence", kFile, "linear_recurrence");
  a.bind(r, 0), b.bind(r, 1);
  r.fresh(2, out.size() * 4).value(3, length).dispatch_threadgroups({rows, 1, 1}, {32, 1, 1}).expect(2, Format::f32, out, tol);
  return r;
}

Run wkv4() {
  const int batch = 2, length = 12, channels = 25;
  Tensor k(batch * length * channels, 153, 3), v(batch * length * channels, 154, 2), wu(channels * 2, 155, 1);
  for (int c = 0; c < channels; ++c) wu.values[2 * c] = -0.05f - std::fabs(wu.values[2 * c]);
  std::vector<double> out(batch * length * channels);
  for (int b = 0; b < batch; ++b)
    for (int c = 0; c < channels; ++c)
      for (int t = 0; t < length; ++t) {
        double p = 0, q = 0;
        for (int i = 0; i <= t; ++i) {
          const int at = (b * length + i) * channels + c;
          double e = std::exp(i == t ? wu[2 * c + 1] + k[at] : (t - 1 - i) * wu[2 * c] + k[at]);
          p += e * v[at], q += e;
        }
        out[(b * length + t) * channels + c] = p / q;
      }
  Run r("c_wkv4", kFile, "wkv4");
  k.bind(r, 0), v.bind(r, 1), wu.bind(r, 2);
  r.fresh(3, out.size() * 4).value(4, Shape{batch, length, channels, 0}).dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
  r.expect(3, Format::f32, out, std::vector<double>(out.size(), 2 * 40 * length * 0x1p-24));
  return r;
}

Run wkv6() {
  const int heads = 2, length = 5, d = 32, n = length * heads * d;
  Tensor r_(n, 156, 1), k(n, 157, 1), v(n, 158, 1), w(n, 159, 0.4f, Format::f32, 0.5f), u(heads * d, 160, 1), s0(heads * d * d, 161, 1);
  std::vector<double> out(n), s(s0.values.begin(), s0.values.end());
  for (int t = 0; t < length; ++t)
    for (int h = 0; h < heads; ++h) {
      const int at = (t * heads + h) * d;
      for (int j = 0; j < d; ++j) {
        double y = 0;
        for (int i = 0; i < d; ++i) {
          double kv = k[at + i] * v[at + j], &ss = s[(h * d + i) * d + j];
          y += r_[at + i] * (u[h * d + i] * kv + ss);
          ss = w[at + i] * ss + kv;
        }
        out[at + j] = y;
      }
    }
  Run r("c_wkv6", kFile, "wkv6");
  r_.bind(r, 0), k.bind(r, 1), v.bind(r, 2), w.bind(r, 3), u.bind(r, 4), s0.bind(r, 5);
  r.fresh(6, n * 4).value(7, Shape{1, length, heads, d}).dispatch_threadgroups({heads, 1, 1}, {d, 1, 1});
  r.expect(6, Format::f32, out, std::vector<double>(n, 64 * 0x1p-24 * 32 * 4))
      .expect(5, Format::f32, s, std::vector<double>(s.size(), 16 * 0x1p-24 * 8));
  return r;
}

Run linear(const char* name, const char* function, bool delta) {
  const int batch = 2, length = 7, dv = 5, rows = batch * length;
  Tensor q(rows * 32, 162, 1), k(rows * 32, 163, 0.25f), v(rows * dv, 164, 1), gates(rows * 2, 165, 0.3f, Format::f32, 0.65f);
  std::vector<double> out(rows * dv);
  for (int b = 0; b < batch; ++b) {
    std::vector<double> s(32 * dv, 0.0);
    for (int t = 0; t < length; ++t) {
      const int row = b * length + t;
      for (auto& x : s) x *= gates[row * 2];
      for (int j = 0; j < dv; ++j) {
        double value = v[row * dv + j], o = 0;
        if (delta) {
          for (int i = 0; i < 32; ++i) value -= s[i * dv + j] * k[row * 32 + i];
          value *= gates[row * 2 + 1];
        }
        for (int i = 0; i < 32; ++i) s[i * dv + j] += k[row * 32 + i] * value, o += s[i * dv + j] * q[row * 32 + i];
        out[row * dv + j] = o;
      }
    }
  }
  Run r(name, kFile, function);
  q.bind(r, 0), k.bind(r, 1), v.bind(r, 2), gates.bind(r, 3);
  r.fresh(4, out.size() * 4).value(5, Shape{batch, length, dv, 32}).dispatch_threadgroups({dv, batch, 1}, {32, 1, 1});
  r.expect(4, Format::f32, out, std::vector<double>(out.size(), 64 * 0x1p-24 * 24));
  return r;
}

std::vector<Run> ssm_runs() {
  return {conv("c_conv1d_4", "conv1d_update_f32_4", Format::f32, 4),
          conv("c_conv1d_3", "conv1d_update_f32_3", Format::f32, 3),
          conv("c_conv1d_half", "conv1d_update_f16_4", Format::f16, 4),
          conv("c_conv1d_bfloat", "conv1d_update_bf16_4", Format::bf16, 4),
          scan("c_selective_scan_8", "selective_scan_f32_8", Format::f32, 8),
          scan("c_selective_scan_16", "selective_scan_f32_16", Format::f32, 16),
          scan("c_selective_scan_half", "selective_scan_f16_16", Format::f16, 16),
          recurrence(),
          wkv4(),
          wkv6(),
          linear("c_linear_attention", "linear_attention", false),
          linear("c_delta_rule", "delta_rule", true)};
}
const Runs kSsm(ssm_runs);

}  // namespace
}  // namespace assay::foreign::c::ssm
