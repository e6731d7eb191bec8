// Runs of b_rope_freqs.metal and their expected results. Rotary embeddings: for one token or many, from a base or a table of periods,
// halves or neighbours rotated.
#include "tests/foreign/b_prelude.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>

namespace assay::foreign::b::rope_freqs {
namespace {

constexpr const char* kFile = "b_rope_freqs.metal";

struct Pair {
  double a, b;
};
// `slack`: how far the angle may be off
Pair rotated(double a, double b, double theta, bool forward) {
  const double c = std::cos(theta), s = forward ? std::sin(theta) : -std::sin(theta);
  return {a * c - b * s, a * s + b * c};
}

Run single(const char* name, const char* function, Format f, bool table, bool forward, bool traditional, unsigned seed) {
  const int half = 16, heads = 6, dims = 2 * half, position = 37;
  const float scale = 0.5f, base = 13.25f;  // log2
  const auto in = floats(seed, heads * dims, 2.0f);
  std::vector<float> freqs(2 * half, -1.0f);
  for (int i = 0; i < half; ++i) freqs[2 * i] = std::exp2(13.0f * float(i) / half) * 1.1f;
  Run run(name, kFile, function);
  const auto h = to_half(in);
  const Vec x = f == Format::f16 ? wide_half(h) : wide(in);
  if (f == Format::f16)
    run.buffer(0, h).fresh(1, h.size() * 2);
  else
    run.buffer(0, in).fresh(1, in.size() * 4);
  run.value(2, position).value(3, scale).value(4, std::uint64_t(dims));
  if (table)
    run.buffer(10, freqs).value(11, std::uint64_t(2));
  else
    run.value(10, base);
  Vec out(x.size()), tol(x.size());
  for (int r = 0; r < heads; ++r)
    for (int i = 0; i < half; ++i) {
      const double inverse = table ? 1.0 / double(freqs[2 * i]) : std::exp2(-double(base) * i / half);
      const double theta = double(scale) * position * inverse;
      const int first = r * dims + (traditional ? 2 * i : i), second = first + (traditional ? 1 : half);
      const Pair p = rotated(x[first], x[second], theta, forward);
      out[first] = p.a, out[second] = p.b;
      // the inverse frequency to some 32 roundings (its exponent is up to 13), cosine and sine to a few
      const double t = (std::fabs(x[first]) + std::fabs(x[second])) * (48 * theta + 8) * kEps;
      for (const int k : {first, second}) tol[k] = t + (f == Format::f16 ? 0x1p-11 * std::fabs(out[k]) + 0x1p-25 : 0);
    }
  run.constant(1, forward).constant(2, traditional).constant(3, false);
  run.dispatch_threads({half, heads, 1}, {8, 4, 1}).expect(1, f, out, tol);
  return run;
}

Run many(const char* name, bool transposed, bool traditional, unsigned seed) {
  const int half = 8, dims = 16, heads = 6, length = 5, batch = 2;
  const float scale = 1.0f;
  const auto in = to_bfloat(floats(seed, batch * heads * length * dims, 2.0f));
  const Vec x = wide_bfloat(in);
  std::vector<float> freqs;
  for (int i = 0; i < half; ++i) freqs.push_back(std::exp2(float(i)) * 1.25f);
  const std::vector<std::int32_t> offset{3, 40};
  Vec out(x.size()), tol(x.size());
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int l = 0; l < length; ++l)
        for (int i = 0; i < half; ++i) {
          const int from = (transposed ? (b * length + l) * heads + h : (b * heads + h) * length + l) * dims,
                    to = ((b * heads + h) * length + l) * dims;
          const int first = traditional ? 2 * i : i, second = traditional ? 2 * i + 1 : i + half;
          const double theta = double(l + offset[b]) / double(freqs[i]);
          const Pair p = rotated(x[from + first], x[from + second], theta, true);
          out[to + first] = p.a, out[to + second] = p.b;
          const double t = (std::fabs(x[from + first]) + std::fabs(x[from + second])) * (8 * theta + 8) * kEps;
          for (const int k : {to + first, to + second}) tol[k] = t + 0x1p-8 * 1.01 * std::fabs(out[k]);
        }
  Run run(name, kFile, "rope_freqs_bfloat16");
  run.buffer(0, in).fresh(1, in.size() * 2).buffer(2, offset).value(3, scale);
  const std::uint64_t row = dims, plane = std::uint64_t(length) * dims;
  run.buffer(4, transposed ? std::vector<std::uint64_t>{plane * heads, row, 1} : std::vector<std::uint64_t>{plane, row, 1});
  run.buffer(5, std::vector<std::uint64_t>{plane, row, 1}).value(7, heads).buffer(10, freqs).value(11, std::uint64_t(1));
  run.constant(1, true).constant(2, traditional).constant(3, transposed);
  run.dispatch_threads({half, length, batch * 2}, {8, 2, 2}).expect(1, Format::bf16, out, tol);
  return run;
}

std::vector<Run> rope_runs() {
  return {
      single("b_rope_single_f16_traditional", "rope_single_float16", Format::f16, false, true, true, 221),
      single("b_rope_single_f32_backward", "rope_single_float32", Format::f32, false, false, false, 222),
      single("b_rope_single_freqs_f32", "rope_single_freqs_float32", Format::f32, true, true, false, 223),
      many("b_rope_many_bf16", false, false, 224),
      many("b_rope_many_bf16_transposed", true, true, 225),
  };
}

static const Runs kRope(rope_runs);

}  // namespace
}  // namespace assay::foreign::b::rope_freqs
