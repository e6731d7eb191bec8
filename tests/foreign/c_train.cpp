// Runs of c_train.metal and their expected results. Pieces of a training loop: cross entropy, optimiser, embeddings, dropout.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::train {
namespace {

const char* const kFile = "c_train.metal";
using u32 = std::uint32_t;

double rounding(Format f, double v) { return f == Format::f32 ? 0 : (f == Format::f16 ? 0x1p-11 : 0x1p-8) * std::fabs(v) + 0x1p-24; }

Run cross_entropy(const char* name, const char* function, Format f, bool gradient, bool smooth, bool ignore) {
  const int rows = 5, classes = 77;
  Tensor x(rows * classes, 171, 5, f);
  std::vector<std::int32_t> targets = {0, 76, 13, -100, 40};
  if (!ignore) targets[3] = 22;
  const double alpha = smooth ? 0.125 : 0;
  std::vector<double> losses, tloss, grad, tgrad;
  for (int r = 0; r < rows; ++r) {
    double sum = 0, total = 0;
    for (int c = 0; c < classes; ++c) sum += std::exp(x[r * classes + c]), total += x[r * classes + c];
    const double lse = std::log(sum);
    const bool ignored = targets[r] < 0;
    losses.push_back(ignored ? 0 : (1 - alpha) * (lse - x[r * classes + targets[r]]) + alpha * (lse - total / classes));
    tloss.push_back(ignored ? 0 : 64 * 0x1p-24 * 16);
    for (int c = 0; c < classes; ++c) {
      double g = std::exp(x[r * classes + c]) / sum - (c == targets[r] ? 1 - alpha : 0) - alpha / classes;
      grad.push_back(ignored ? 0 : g), tgrad.push_back(ignored ? 0 : 128 * 0x1p-24 * (std::fabs(g) + 0.125) + rounding(f, g));
    }
  }
  Run r(name, kFile, function);
  x.bind(r, 0);
  r.buffer(1, targets).fresh(2, rows * 4).value(4, std::int32_t{classes}).constant(0, gradient);
  if (smooth) r.constant(1, 0.125);
  if (ignore) r.constant(2, std::int64_t{-100});
  r.dispatch_threadgroups({rows, 1, 1}, {32, 1, 1}).expect(2, Format::f32, losses, tloss);
  if (gradient) r.fresh(3, grad.size() * width(f)).expect(3, f, grad, tgrad);
  return r;
}

Run adam(const char* name, const char* function, Format f) {
  struct Args {
    float lr, beta1, beta2, eps, decay, c1, c2;
    u32 n;
  };
  const u32 n = 137;
  Tensor p(n, 172, 1, f), g(n, 173, 1, f), m(n, 174, 0.5f), v(n, 175, 0.25f);
  for (auto& x : v.values) x = std::fabs(x) + 0.0625f;
  Args a{0.0625f, 0.9f, 0.99f, 1e-3f, 0.125f, 2.5f, 5.0f, n};
  std::vector<double> op, tp, om, ov, tm;
  for (u32 i = 0; i < n; ++i) {
    double mm = a.beta1 * m[i] + (1 - static_cast<double>(a.beta1)) * g[i],
           vv = a.beta2 * v[i] + (1 - static_cast<double>(a.beta2)) * g[i] * g[i];
    double x = p[i] * (1 - static_cast<double>(a.lr) * a.decay) - a.lr * (mm * a.c1) / (std::sqrt(vv * a.c2) + a.eps);
    om.push_back(mm), ov.push_back(vv), tm.push_back(16 * 0x1p-24), op.push_back(x);
    tp.push_back(64 * 0x1p-24 * (1 + std::fabs(x)) + rounding(f, x));
  }
  Run r(name, kFile, function);
  p.bind(r, 0), g.bind(r, 1), m.bind(r, 2), v.bind(r, 3);
  r.value(4, a)
      .dispatch_threadgroups({2, 1, 1}, {32, 1, 1})
      .expect(0, f, op, tp)
      .expect(2, Format::f32, om, tm)
      .expect(3, Format::f32, ov, tm);
  return r;
}

Run embedding(const char* name, const char* function, Format f) {
  const u32 dim = 20, length = 4, vocab = 30, tokens = 8;
  Tensor table(vocab * dim, 176, 1, f), positions(length * dim, 177, 1, f);
  std::vector<std::int32_t> ids = {3, 29, 0, -1, 30, 3, 17, 8};
  std::vector<double> out, tol;
  for (u32 t = 0; t < tokens; ++t)
    for (u32 d = 0; d < dim; ++d) {
      double w = ids[t] >= 0 && ids[t] < 30 ? table[static_cast<u32>(ids[t]) * dim + d] : 0;
      out.push_back(w + positions[t % length * dim + d]);
      tol.push_back(f == Format::f32 ? 0x1p-24 * std::fabs(out.back()) : rounding(f, out.back()));
    }
  Run r(name, kFile, function);
  table.bind(r, 1), positions.bind(r, 2);
  r.buffer(0, ids).fresh(3, out.size() * width(f)).value(4, std::array<u32, 4>{dim, length, vocab, 0});
  r.dispatch_threads({32, tokens, 1}, {32, 2, 1}).expect(3, f, out, tol);
  return r;
}

Run embedding_gradient() {
  const u32 dim = 20, tokens = 30, vocab = 6;
  std::mt19937 g(178);
  std::vector<std::int32_t> ids(tokens);
  for (auto& x : ids) x = static_cast<std::int32_t>(g() % 6) - 1;
  Tensor grad(tokens * dim, 179, 1);
  std::vector<double> out(vocab * dim, 0.0), tol(vocab * dim, 0.0);
  for (u32 t = 0; t < tokens; ++t)
    for (u32 d = 0; d < dim && ids[t] >= 0; ++d)
      out[static_cast<u32>(ids[t]) * dim + d] += grad[t * dim + d], tol[static_cast<u32>(ids[t]) * dim + d] += 30 * 0x1p-24;
  Run r("c_embedding_gradient", kFile, "embedding_gradient");
  grad.bind(r, 1);
  r.buffer(0, ids).buffer(2, std::vector<float>(vocab * dim, 0)).value(3, std::array<u32, 2>{dim, tokens});
  r.dispatch_threadgroups({2, 8, 1}, {16, 4, 1}).expect(2, Format::f32, out, tol);
  return r;
}

Run dropout(const char* name, const char* function, Format f) {
  struct Args {
    u32 key[2];
    float keep;
    u32 n;
  };
  const u32 n = 250;
  Tensor x(n, 180, 3, f);
  Args a{{0xdeadbeefu, 0x1234567u}, 0.75f, n};
  std::vector<double> y, tol, mask;
  for (u32 i = 0; i < (n + 3) / 4; ++i) {
    u32 c[4] = {i, 0, 0, 0}, k[2] = {a.key[0], a.key[1]};
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xd2511f53u} * c[0], p1 = std::uint64_t{0xcd9e8d57u} * c[2];
      const u32 next[4] = {static_cast<u32>(p1 >> 32) ^ c[1] ^ k[0], static_cast<u32>(p1), static_cast<u32>(p0 >> 32) ^ c[3] ^ k[1],
                           static_cast<u32>(p0)};
      std::copy(next, next + 4, c);
      k[0] += 0x9e3779b9u, k[1] += 0xbb67ae85u;
    }
    double bits = 0;
    for (u32 j = 0; j < 4 && i * 4 + j < n; ++j) {
      const bool keep = c[j] < 0xc0000000u;
      bits += keep << j;
      y.push_back(keep ? x[i * 4 + j] / 0.75 : 0), tol.push_back(keep ? 4 * 0x1p-24 * std::fabs(y.back()) + rounding(f, y.back()) : 0);
    }
    mask.push_back(bits);
  }
  Run r(name, kFile, function);
  x.bind(r, 0);
  r.fresh(1, n * width(f)).fresh(2, mask.size() * 4).value(3, a).dispatch_threadgroups({2, 1, 1}, {32, 1, 1});
  r.expect(1, f, y, tol).expect_equal(2, Format::u32, mask);
  return r;
}

std::vector<Run> train_runs() {
  return {cross_entropy("c_cross_entropy", "cross_entropy_float", Format::f32, false, false, false),
          cross_entropy("c_cross_entropy_grad", "cross_entropy_float", Format::f32, true, true, true),
          cross_entropy("c_cross_entropy_half", "cross_entropy_half", Format::f16, true, false, true),
          cross_entropy("c_cross_entropy_bfloat", "cross_entropy_bfloat", Format::bf16, true, true, false),
          adam("c_adam", "adam_float", Format::f32),
          adam("c_adam_half", "adam_half", Format::f16),
          embedding("c_embedding", "embedding_float", Format::f32),
          embedding("c_embedding_half", "embedding_half", Format::f16),
          embedding_gradient(),
          dropout("c_dropout", "dropout_float", Format::f32),
          dropout("c_dropout_half", "dropout_half", Format::f16)};
}
const Runs kTrain(train_runs);

}  // namespace
}  // namespace assay::foreign::c::train
