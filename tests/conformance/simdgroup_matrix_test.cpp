// simdgroup_matrix: element layout, loads and stores, products.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/conformance/rows.h"

namespace assay::tests::simdgroup_matrix_test {
namespace {

constexpr std::size_t kSide = 8;

Words run_matrix(std::string_view body, Words raw, std::size_t out_words) {
  const std::string source = fmt::format(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device uint* raw [[buffer(0)]], device uint* out [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {{
  device float* in_f = (device float*)raw; device half* in_h = (device half*)raw; device bfloat* in_b = (device bfloat*)raw;
  device float* out_f = (device float*)out; device half* out_h = (device half*)out; device bfloat* out_b = (device bfloat*)out;
  threadgroup float shared_f[256]; threadgroup half shared_h[256];
  (void)in_f; (void)in_h; (void)in_b; (void)out_f; (void)out_h; (void)out_b; (void)shared_f; (void)shared_h;
  {}
}})",
                                         body);
  return run_kernel(source, "run", {std::move(raw), Words(out_words, 0)}, 32, 32)[1];
}

Words floats(std::size_t count, float scale = 1.0F) {
  Words words(count);
  for (std::size_t k = 0; k < count; ++k) words[k] = f(std::sin(static_cast<float>(k) * 0.7F + scale) * scale);
  return words;
}

float as_float(std::uint32_t word) { return std::bit_cast<float>(word); }

// Two 16-bit values a word, the first in the low half.
template <typename T>
Words packed(const Words& values) {
  Words words((values.size() + 1) / 2, 0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    words[k / 2] |= std::uint32_t{Eigen::numext::bit_cast<std::uint16_t>(T(as_float(values[k])))} << (k % 2 * 16);
  }
  return words;
}
template <typename T>
float rounded(std::uint32_t word) {
  return static_cast<float>(T(as_float(word)));
}

struct Place {
  std::size_t row, column;
};
// The lane's first element (Apple's layout, as published by several open projects that rely on it).
Place place_of(std::size_t lane) {
  const std::size_t qid = lane / 4;
  return {(qid & 4) + (lane / 2) % 4, (qid & 2) * 2 + (lane % 2) * 2};
}

TEST(SimdgroupMatrix, EachLaneHoldsItsTwoElements) {
  const Words in = floats(64);
  const Words out = run_matrix(
      "simdgroup_float8x8 m; simdgroup_load(m, in_f, 8); out_f[2 * lane] = m.thread_elements()[0]; out_f[2 * lane + 1] = "
      "m.thread_elements()[1];",
      in, 64);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const Place p = place_of(lane);
    EXPECT_EQ(out[2 * lane], in[p.row * kSide + p.column]) << "lane " << lane;
    EXPECT_EQ(out[2 * lane + 1], in[p.row * kSide + p.column + 1]) << "lane " << lane;
  }
}

// A load places element (r, c) from origin.y * stride + origin.x + r * stride + c; transposed, r and c trade places (MSL 6.7.1).
TEST(SimdgroupMatrix, LoadsHonourStrideOriginAndTranspose) {
  const Words in = floats(512);
  struct LoadCase {
    const char* call;
    std::size_t stride, x, y;
    bool transposed;
  };
  const std::vector<LoadCase> cases = {{"simdgroup_load(m, in_f)", 8, 0, 0, false},
                                       {"simdgroup_load(m, in_f + 3, 20)", 20, 3, 0, false},
                                       {"simdgroup_load(m, in_f, 20, ulong2(5, 2))", 20, 5, 2, false},
                                       {"simdgroup_load(m, in_f, 20, 0, true)", 20, 0, 0, true},
                                       {"simdgroup_load(m, (device const float*)in_f, 24, ulong2(1, 3), true)", 24, 1, 3, true}};
  std::string body = "simdgroup_float8x8 m;";
  for (std::size_t i = 0; i < cases.size(); ++i) body += fmt::format("{}; simdgroup_store(m, out_f + {}, 8);\n", cases[i].call, i * 64);
  const Words out = run_matrix(body, in, cases.size() * 64);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const LoadCase& c = cases[i];
    for (std::size_t r = 0; r < kSide; ++r)
      for (std::size_t k = 0; k < kSide; ++k) {
        const std::size_t from = c.y * c.stride + c.x + (c.transposed ? k * c.stride + r : r * c.stride + k);
        EXPECT_EQ(out[i * 64 + r * kSide + k], in[from]) << c.call << " at " << r << ", " << k;
      }
  }
}

TEST(SimdgroupMatrix, StoresHonourStrideOriginAndTranspose) {
  const Words in = floats(64);
  const Words out = run_matrix(
      "simdgroup_float8x8 m; simdgroup_load(m, in_f, 8); simdgroup_store(m, out_f, 20, ulong2(3, 1)); simdgroup_store(m, out_f + 256, 16, "
      "0, true);",
      in, 512);
  Words expected(512, 0);
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t k = 0; k < kSide; ++k) {
      expected[(r + 1) * 20 + 3 + k] = in[r * kSide + k];
      expected[256 + k * 16 + r] = in[r * kSide + k];
    }
  EXPECT_EQ(out, expected);
}

TEST(SimdgroupMatrix, ThreadgroupMemoryServesLoadsAndStores) {
  const Words in = floats(64);
  const Words out = run_matrix(R"(for (uint k = lane; k < 64; k += 32) shared_h[k] = half(in_f[k]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 m; simdgroup_load(m, shared_h, 8, 0, true); simdgroup_store(m, shared_h + 64, 8);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = lane; k < 64; k += 32) out_f[k] = float(shared_h[64 + k]);)",
                               in, 64);
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t k = 0; k < kSide; ++k) EXPECT_EQ(out[r * kSide + k], f(rounded<Eigen::half>(in[k * kSide + r]))) << r << ", " << k;
}

TEST(SimdgroupMatrix, FilledAndDiagonalMatrices) {
  // MSL 6.7.1: the constructor from a scalar makes a diagonal matrix, make_filled_simdgroup_matrix fills.
  const Words out = run_matrix(R"(simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8>(2.5f); simdgroup_store(a, out_f, 8);
    simdgroup_matrix<float, 8, 8> b = simdgroup_matrix<float, 8, 8>(3); simdgroup_store(b, out_f + 64, 8);
    simdgroup_store(make_filled_simdgroup_matrix<half, 8, 8>(half(in_f[0])), out_h + 256, 8);)",
                               {f(0.1F)}, 160);
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t k = 0; k < kSide; ++k) {
      EXPECT_EQ(out[r * kSide + k], f(2.5F));
      EXPECT_EQ(out[64 + r * kSide + k], r == k ? f(3) : 0U) << r << ", " << k;
    }
  for (std::size_t k = 128; k < 160; ++k) EXPECT_EQ(out[k], h(0.1F) * 0x10001U);
}

TEST(SimdgroupMatrix, ThreadElementsIsAReference) {
  const Words in = floats(64);
  const Words out = run_matrix(R"(simdgroup_float8x8 m; simdgroup_load(m, in_f, 8);
    m.thread_elements() *= 2.0f; thread float2& e = m.thread_elements(); e.x += 1; reinterpret_cast<thread float2&>(m.thread_elements()).y += 3;
    simdgroup_float8x8 all[2][2]; all[1][0] = m; simdgroup_store(all[1][0], out_f, 8);)",
                               in, 64);
  for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(out[k], f(as_float(in[k]) * 2 + (k % 2 == 0 ? 1.0F : 3.0F))) << k;
}

// D = A B + C by METAL_RUNTIME.md 2: one fma per term in float, k ascending, rounded to D's type at the end.
float accumulate(const std::array<float, 64>& a, const std::array<float, 64>& b, float c, std::size_t r, std::size_t k) {
  float sum = c;
  for (std::size_t i = 0; i < kSide; ++i) sum = std::fmaf(a[r * kSide + i], b[i * kSide + k], sum);
  return sum;
}

template <typename T>
std::array<float, 64> rounded_matrix(const Words& words, std::size_t offset) {
  std::array<float, 64> values;
  for (std::size_t k = 0; k < 64; ++k) values[k] = rounded<T>(words[offset + k]);
  return values;
}

TEST(SimdgroupMatrix, MultiplyAccumulateInFloat) {
  const Words in = floats(192, 1.5F);
  const Words out = run_matrix(
      R"(simdgroup_float8x8 a, b, c; simdgroup_load(a, in_f, 8); simdgroup_load(b, in_f + 64, 8); simdgroup_load(c, in_f + 128, 8);
    simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out_f, 8);
    simdgroup_float8x8 d; simdgroup_multiply(d, a, b); simdgroup_store(d, out_f + 64, 8); simdgroup_store(a * b, out_f + 128, 8);)",
      in, 192);
  const auto a = rounded_matrix<float>(in, 0), b = rounded_matrix<float>(in, 64);
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t k = 0; k < kSide; ++k) {
      EXPECT_EQ(out[r * kSide + k], f(accumulate(a, b, as_float(in[128 + r * kSide + k]), r, k))) << r << ", " << k;
      EXPECT_EQ(out[64 + r * kSide + k], f(accumulate(a, b, 0, r, k))) << r << ", " << k;
      EXPECT_EQ(out[128 + r * kSide + k], out[64 + r * kSide + k]) << r << ", " << k;
    }
}

TEST(SimdgroupMatrix, MixedTypesRoundAtTheEndOnly) {
  const Words in = floats(192, 2.5F);
  // half operands and accumulator, bfloat operands with a float accumulator, float weights with bfloat values and a half result.
  Words raw = packed<Eigen::half>(in);
  const Words bf = packed<Eigen::bfloat16>(in);
  raw.insert(raw.end(), bf.begin(), bf.end());
  raw.insert(raw.end(), in.begin(), in.end());
  const Words out = run_matrix(
      R"(simdgroup_half8x8 a, b, c; simdgroup_load(a, in_h, 8); simdgroup_load(b, in_h + 64, 8); simdgroup_load(c, in_h + 128, 8);
    simdgroup_multiply_accumulate(c, a, b, c); simdgroup_store(c, out_h, 8);
    simdgroup_bfloat8x8 x, y; simdgroup_load(x, in_b + 192, 8); simdgroup_load(y, in_b + 256, 8); simdgroup_float8x8 z; simdgroup_load(z, in_f + 320, 8);
    simdgroup_multiply_accumulate(z, x, y, z); simdgroup_store(z, out_f + 32, 8);
    simdgroup_float8x8 p; simdgroup_load(p, in_f + 192, 8); simdgroup_half8x8 q; simdgroup_load(q, in_h + 128, 8);
    simdgroup_multiply_accumulate(q, p, y, q); simdgroup_store(q, out_h + 192, 8);)",
      raw, 128);
  const auto ah = rounded_matrix<Eigen::half>(in, 0), bh = rounded_matrix<Eigen::half>(in, 64), ch = rounded_matrix<Eigen::half>(in, 128);
  const auto xb = rounded_matrix<Eigen::bfloat16>(in, 0), yb = rounded_matrix<Eigen::bfloat16>(in, 64);
  const auto pf = rounded_matrix<float>(in, 0), zf = rounded_matrix<float>(in, 128);
  const auto half_at = [&](std::size_t word_offset, std::size_t k) { return (out[word_offset + k / 2] >> (k % 2 * 16)) & 0xffffU; };
  for (std::size_t r = 0; r < kSide; ++r)
    for (std::size_t k = 0; k < kSide; ++k) {
      const std::size_t e = r * kSide + k;
      EXPECT_EQ(half_at(0, e), h(accumulate(ah, bh, ch[e], r, k))) << r << ", " << k;
      EXPECT_EQ(out[32 + e], f(accumulate(xb, yb, zf[e], r, k))) << r << ", " << k;
      EXPECT_EQ(half_at(96, e), h(accumulate(pf, yb, ch[e], r, k))) << r << ", " << k;
    }
}

}  // namespace
}  // namespace assay::tests::simdgroup_matrix_test
