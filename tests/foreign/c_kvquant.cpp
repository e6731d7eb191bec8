// Runs of c_kvquant.metal and their expected results. A quantised key/value cache: rows of int8 with a scale, and codes of 3 bits packed by
// eight into three bytes.
#include "tests/foreign/c_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace assay::foreign::c::kvquant {
namespace {

const char* const kFile = "c_kvquant.metal";
using u32 = std::uint32_t;

struct Shape {
  std::int32_t rows, dim, stride, offset;
};

Run quantize(const char* name, bool is_half, int bits) {
  const int rows = 7, dim = 45, stride = 100, offset = 50, slots = 12;
  const double levels = (1 << (bits - 1)) - 1;
  std::mt19937 g(201);
  std::vector<float> x(rows * dim);
  std::vector<std::uint16_t> xh;
  for (int i = 0; i < rows * dim; ++i) {
    x[i] = sym(g) * static_cast<float>(1 + i / dim);
    if (i / dim == 4) x[i] = 0;
    xh.push_back(half_bits(x[i]));
    if (is_half) x[i] = half_value(xh.back());
  }
  const std::vector<std::int32_t> where = {3, 11, 0, -1, 7, 8, 2};
  std::vector<double> q(slots * stride, 55.0), tol(q.size(), 0.0), scales(slots, -1.0), stol(slots, 0.0);
  for (int r = 0; r < rows; ++r) {
    if (where[r] < 0) continue;
    double most = is_half ? static_cast<double>(half_value(half_bits(6.1035e-5f))) : 1e-20;
    for (int i = 0; i < dim; ++i) most = std::max<double>(most, std::fabs(x[r * dim + i]));
    scales[where[r]] = most / levels, stol[where[r]] = 4 * 0x1p-23 * most / levels;
    for (int i = 0; i < dim; ++i) {
      double v = x[r * dim + i] * levels / most;
      int at = where[r] * stride + offset + i;
      q[at] = std::nearbyint(v);
      tol[at] = std::fabs(std::fabs(v - std::floor(v)) - 0.5) < 1e-4 ? 1 : 0;  // either neighbour of a near tie
    }
  }
  Run r(name, kFile, is_half ? "kv_quantize_half" : "kv_quantize_float");
  if (is_half)
    r.buffer(0, xh);
  else
    r.buffer(0, x);
  if (bits != 8) r.constant(0, std::int64_t{bits});
  r.buffer(1, std::vector<std::int8_t>(slots * stride, 55))
      .buffer(2, std::vector<float>(slots, -1))
      .value(3, Shape{rows, dim, stride, offset})
      .buffer(4, where);
  r.dispatch_threadgroups({4, 1, 1}, {64, 1, 1}).expect(1, Format::i8, q, tol).expect(2, Format::f32, scales, stol);
  return r;
}

std::vector<std::int8_t> codes8(int n, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<std::int8_t> q(n);
  for (auto& x : q) x = static_cast<std::int8_t>(g());
  return q;
}
std::vector<float> positive(int n, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<float> s(n);
  for (auto& x : s) x = (std::fabs(sym(g)) + 0.125f) / 64;
  return s;
}

Run dequantize(const char* name, bool is_half) {
  const int rows = 5, dim = 36;
  auto q = codes8(rows * dim, 202);
  auto s = positive(rows, 203);
  std::vector<double> out, tol;
  for (int i = 0; i < rows * dim; ++i)
    out.push_back(static_cast<double>(q[i]) * s[i / dim]),
        tol.push_back(std::fabs(out.back()) * (is_half ? 0x1.01p-11 : 0x1p-24) + 0x1p-25);
  Run r(name, kFile, is_half ? "kv_dequantize_half" : "kv_dequantize_float");
  r.buffer(0, q).buffer(1, s).fresh(2, out.size() * (is_half ? 2 : 4)).value(3, Shape{rows, dim, 0, 0});
  r.dispatch_threads({16, 6, 1}, {8, 4, 1}).expect(2, is_half ? Format::f16 : Format::f32, out, tol);
  return r;
}

Run scores() {
  const int keys = 9, queries = 3, dim = 200;
  auto q = codes8(queries * dim, 204), k = codes8(keys * dim, 205);
  auto qs = positive(queries, 206), ks = positive(keys, 207);
  std::vector<double> out, tol;
  for (int i = 0; i < queries; ++i)
    for (int j = 0; j < keys; ++j) {
      int s = 0;
      for (int d = 0; d < dim; ++d) s += q[i * dim + d] * k[j * dim + d];
      out.push_back(static_cast<double>(s) * qs[i] * ks[j]), tol.push_back(3 * 0x1p-24 * std::fabs(out.back()));
    }
  Run r("c_kv_scores_int8", kFile, "scores_int8");
  r.buffer(0, q).buffer(1, k).buffer(2, qs).buffer(3, ks).fresh(4, out.size() * 4).value(5, Shape{keys, dim, 0, 0});
  r.dispatch_threadgroups({keys, queries, 1}, {32, 1, 1}).expect(4, Format::f32, out, tol);
  return r;
}

// Bit i of a row of codes, three bits each, the lowest first.
std::vector<std::uint8_t> packed(const std::vector<int>& codes) {
  std::vector<std::uint8_t> bytes(codes.size() * 3 / 8, 0);
  for (std::size_t i = 0; i < codes.size() * 3; ++i) bytes[i / 8] |= static_cast<std::uint8_t>((codes[i / 3] >> (i % 3) & 1) << (i % 8));
  return bytes;
}

Run pack3() {
  const int groups = 6;
  std::vector<float> x;
  std::vector<int> codes;
  Run r("c_kv_pack3", kFile, "pack3_groups");
  std::mt19937 g(208);
  std::vector<double> params, tol;
  for (int i = 0; i < groups; ++i) {
    // Values near the lattice, so that their codes are certain: low + step * (code + noise).
    const double low = std::round(sym(g) * 32) / 16, step = (1.0 + g() % 4) / 8;
    for (int j = 0; j < 32; ++j) {
      int code = j == 5 ? 0 : j == 21 ? 7 : static_cast<int>(g() % 8);
      double noise = code == 0 || code == 7 ? 0 : sym(g) * 0.375;
      codes.push_back(code), x.push_back(static_cast<float>(low + step * (code + noise)));
    }
    params.insert(params.end(), {step, low}), tol.insert(tol.end(), {0x1p-11 * step, 0});
  }
  auto bytes = packed(codes);
  r.buffer(0, x).fresh(1, bytes.size()).fresh(2, groups * 4).dispatch_threadgroups({groups, 1, 1}, {32, 1, 1});
  r.expect_equal(1, Format::u8, {bytes.begin(), bytes.end()}).expect(2, Format::f16, params, tol);
  return r;
}

struct Coded {
  std::vector<int> codes;
  std::vector<std::uint16_t> params;
  Coded(int n, unsigned seed) {
    std::mt19937 g(seed);
    for (int i = 0; i < n; ++i) codes.push_back(static_cast<int>(g() % 8));
    for (int i = 0; i < n / 32; ++i) params.push_back(half_bits(std::fabs(sym(g)) + 0.25f)), params.push_back(half_bits(-sym(g) * 2));
  }
  double value(std::size_t i) const {
    return codes[i] * static_cast<double>(half_value(params[i / 32 * 2])) + half_value(params[i / 32 * 2 + 1]);
  }
};

Run unpack3() {
  const int n = 320;
  Coded c(n, 209);
  std::vector<double> out, tol;
  for (int i = 0; i < n; ++i) out.push_back(c.value(i)), tol.push_back(0x1p-23 * 16);
  Run r("c_kv_unpack3", kFile, "unpack3");
  r.buffer(0, packed(c.codes))
      .buffer(1, c.params)
      .fresh(2, n * 4)
      .value(3, u32{n / 8})
      .dispatch_threads({64, 1, 1}, {32, 1, 1})
      .expect(2, Format::f32, out, tol);
  return r;
}

Run gemv3() {
  const int rows = 10, dim = 320;
  Coded c(rows * dim, 210);
  std::mt19937 g(211);
  std::vector<float> x(dim);
  for (auto& v : x) v = sym(g);
  std::vector<double> out, tol;
  for (int r = 0; r < rows; ++r) {
    double s = 0, m = 0;
    for (int i = 0; i < dim; ++i) s += c.value(r * dim + i) * x[i], m += 12 * std::fabs(x[i]);
    out.push_back(s), tol.push_back(32 * 0x1p-24 * m);
  }
  Run r("c_kv_gemv3", kFile, "gemv3");
  r.buffer(0, packed(c.codes)).buffer(1, c.params).buffer(2, x).fresh(3, rows * 4).value(4, Shape{rows, dim, 0, 0});
  r.dispatch_threadgroups({3, 1, 1}, {128, 1, 1}).expect(3, Format::f32, out, tol);
  return r;
}

Run repack() {
  const u32 n = 40;
  std::mt19937 g(212);
  std::vector<u32> in(n);
  for (auto& x : in) x = g();
  in[0] = 0x80817f00u, in[1] = 0xff80fe01u;
  std::vector<double> out, back, tol;
  for (u32 v : in) {
    u32 snorm = 0;
    for (int i = 0; i < 4; ++i) {
      out.push_back((v >> (8 * i) & 255) / 255.0), tol.push_back(0x1p-22);
      u32 b = v >> (8 * i) & 255;
      snorm |= (b == 0x80 ? 0x81 : b) << (8 * i);  // -128 stands for -1, as -127 does
    }
    u32 turned = v << 8 | v >> 24;  // .wxyz: the last byte first
    back.push_back(v), back.push_back(snorm ^ turned);
  }
  Run r("c_kv_repack", kFile, "repack");
  r.buffer(0, in)
      .fresh(1, n * 16)
      .fresh(2, n * 8)
      .value(3, n)
      .dispatch_threadgroups({2, 1, 1}, {32, 1, 1})
      .expect(1, Format::f32, out, tol)
      .expect_equal(2, Format::u32, back);
  return r;
}

std::vector<Run> kvquant_runs() {
  return {quantize("c_kv_quantize", false, 8),
          quantize("c_kv_quantize_half", true, 8),
          quantize("c_kv_quantize_5bit", false, 5),
          dequantize("c_kv_dequantize", false),
          dequantize("c_kv_dequantize_half", true),
          scores(),
          pack3(),
          unpack3(),
          gemv3(),
          repack()};
}
const Runs kKvquant(kvquant_runs);

}  // namespace
}  // namespace assay::foreign::c::kvquant
