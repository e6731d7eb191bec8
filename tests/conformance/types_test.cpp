// half and bfloat, exhaustively: conversions of all 65,536 values and around every rounding boundary, and arithmetic.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "tests/conformance/rows.h"

namespace assay::tests::types_test {
namespace {

std::uint16_t bits_of(Eigen::half value) { return Eigen::numext::bit_cast<std::uint16_t>(value); }
std::uint16_t bits_of(Eigen::bfloat16 value) { return Eigen::numext::bit_cast<std::uint16_t>(value); }
Eigen::half half_of(std::uint32_t bits) { return Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(bits)); }
Eigen::bfloat16 bfloat_of(std::uint32_t bits) { return Eigen::numext::bit_cast<Eigen::bfloat16>(static_cast<std::uint16_t>(bits)); }

bool is_nan_half(std::uint32_t bits) { return (bits & 0x7fff) > 0x7c00; }
bool is_nan_bfloat(std::uint32_t bits) { return (bits & 0x7fff) > 0x7f80; }
bool is_nan_float(std::uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }

TEST(Types, All65536ValuesWidenExactly) {
  const auto out = run_kernel(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device float* half_out, device float* bfloat_out, device ushort4* back, uint i [[thread_position_in_grid]]) {
  half h = as_type<half>(ushort(i)); bfloat b = as_type<bfloat>(ushort(i));
  half_out[i] = float(h); bfloat_out[i] = b;
  back[i] = ushort4(as_type<ushort>(half(float(h))), as_type<ushort>(bfloat(float(b))), as_type<ushort>(half4(float4(half4(h))).z), as_type<ushort>(bfloat3(float3(bfloat3(b))).y));
})",
                              "run", {Words(65536), Words(65536), Words(2 * 65536)}, 65536, 256);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const std::uint32_t half = out[0][i], bfloat = out[1][i];
    const std::uint32_t backs[4] = {out[2][2 * i] & 0xffff, out[2][2 * i] >> 16, out[2][2 * i + 1] & 0xffff, out[2][2 * i + 1] >> 16};
    if (is_nan_half(i)) {
      ASSERT_TRUE(is_nan_float(half) && is_nan_half(backs[0]) && is_nan_half(backs[2])) << fmt::format("{:#x}", i);
    } else {
      ASSERT_EQ(half, f(static_cast<float>(half_of(i)))) << fmt::format("{:#x}", i);
      ASSERT_TRUE(backs[0] == i && backs[2] == i) << fmt::format("{:#x} returns as {:#x} and {:#x}", i, backs[0], backs[2]);
    }
    if (is_nan_bfloat(i)) {
      ASSERT_TRUE(is_nan_float(bfloat) && is_nan_bfloat(backs[1]) && is_nan_bfloat(backs[3])) << fmt::format("{:#x}", i);
    } else {
      ASSERT_EQ(bfloat, f(static_cast<float>(bfloat_of(i)))) << fmt::format("{:#x}", i);
      ASSERT_TRUE(backs[1] == i && backs[3] == i) << fmt::format("{:#x} returns as {:#x} and {:#x}", i, backs[1], backs[3]);
    }
  }
}

// Every float at which rounding changes its mind, and its two neighbours.
Words rounding_boundaries() {
  std::set<std::uint32_t> floats = {0, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 1, 0x80000001, 0x7f7fffff};
  const auto add_around = [&](std::uint32_t bits) {
    for (std::uint32_t sign : {0U, 0x80000000U})
      for (std::uint32_t d : {0U, 1U, ~0U}) floats.insert((bits + d) | sign);
  };
  for (std::uint32_t i = 0; i < 0x7c00; ++i) {
    const float low = static_cast<float>(half_of(i));
    const float high = i == 0x7bff ? 65536.0F : static_cast<float>(half_of(i + 1));
    add_around(f(low));
    add_around(f((low + high) / 2));  // exact: one bit more than a half has
  }
  // The same for bfloat: a boundary has the 16 low bits 0x8000.
  for (std::uint32_t i = 0; i < 0x7f80; ++i) {
    add_around(i << 16 | 0x8000);
    if (i != 0) add_around(i << 16);
  }
  return {floats.begin(), floats.end()};
}

TEST(Types, FloatsAroundEveryRoundingBoundary) {
  Words in = rounding_boundaries();
  ASSERT_GT(in.size(), 3U * 2 * (0x7c00 + 0x7f80));
  while (in.size() % 4 != 0) in.push_back(0);
  const auto count = static_cast<std::uint32_t>(in.size() / 4);
  const auto out = run_kernel(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device const float4* in, device ushort4* h, device ushort4* b, device ushort4* vh, device ushort4* vb, uint i [[thread_position_in_grid]]) {
  float4 v = in[i];
  for (int k = 0; k < 4; ++k) { h[i][k] = as_type<ushort>(half(v[k])); b[i][k] = as_type<ushort>(bfloat(v[k])); }
  vh[i] = as_type<ushort4>(half4(v)); vb[i] = as_type<ushort4>(bfloat4(v));
})",
                              "run", {in, Words(2 * count), Words(2 * count), Words(2 * count), Words(2 * count)}, count, 256);
  const auto at = [&](std::size_t buffer, std::size_t k) { return (out[buffer][k / 2] >> (k % 2 * 16)) & 0xffffU; };
  for (std::size_t k = 0; k < in.size(); ++k) {
    const float value = std::bit_cast<float>(in[k]);
    for (const std::size_t buffer : {1U, 3U}) {
      if (std::isnan(value)) {
        ASSERT_TRUE(is_nan_half(at(buffer, k))) << fmt::format("{:#x}", in[k]);
      } else {
        ASSERT_EQ(at(buffer, k), bits_of(Eigen::half(value))) << fmt::format("half({:a})", value);
      }
    }
    for (const std::size_t buffer : {2U, 4U}) {
      if (std::isnan(value)) {
        ASSERT_TRUE(is_nan_bfloat(at(buffer, k))) << fmt::format("{:#x}", in[k]);
      } else {
        ASSERT_EQ(at(buffer, k), bits_of(Eigen::bfloat16(value))) << fmt::format("bfloat({:a})", value);
      }
    }
  }
}

// Two 16-bit operands a word: random bits, and neighbours of interesting values.
Words operand_pairs() {
  std::mt19937 engine(20240607);
  Words pairs;
  const std::uint32_t edges[] = {0,      1,      0x3ff, 0x400, 0x3c00, 0x3bff, 0x3c01, 0x7bff, 0x7c00, 0x7e00, 0x7f7f,
                                 0x7f80, 0x3f80, 0x80,  0x7f,  0x8000, 0x8001, 0xbc00, 0xfbff, 0xfc00, 0xbf80, 0xff80};
  for (const auto x : edges)
    for (const auto y : edges) pairs.push_back(x | y << 16);
  while (pairs.size() % 4 != 0 || pairs.size() < 40000) {
    // Half of them with near exponents, where rounding and cancellation happen.
    const auto word = static_cast<std::uint32_t>(engine());
    pairs.push_back(pairs.size() % 2 == 0 ? word : (word & 0x83ff83ffU) | 0x3c003c00U);
  }
  return pairs;
}

template <typename T>
void check_arithmetic(const std::string& type, bool (*is_nan)(std::uint32_t), T (*of)(std::uint32_t)) {
  const Words pairs = operand_pairs();
  const auto count = static_cast<std::uint32_t>(pairs.size());
  const auto out = run_kernel(fmt::format(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device const ushort2* in, device ushort4* scalar, device ushort4* vector, device uint* order, uint i [[thread_position_in_grid]]) {{
  {0} x = as_type<{0}>(in[i].x), y = as_type<{0}>(in[i].y);
  scalar[i] = ushort4(as_type<ushort>(x + y), as_type<ushort>(x - y), as_type<ushort>(x * y), as_type<ushort>(x / y));
  {0}2 vx = {0}2(1, x), vy = {0}2(1, y);
  vector[i] = ushort4(as_type<ushort>((vx + vy).y), as_type<ushort>((vx - vy).y), as_type<ushort>((vx * vy).y), as_type<ushort>((vx / vy).y));
  order[i] = uint(x < y) | uint(x <= y) << 1 | uint(x == y) << 2 | uint(x != y) << 3 | uint((vx < vy).y) << 4 | uint((vx >= vy).y) << 5 | uint((vx == vy).y) << 6;
}})",
                                          type),
                              "run", {pairs, Words(2 * pairs.size()), Words(2 * pairs.size()), Words(pairs.size())}, count, 256);
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const T x = of(pairs[k] & 0xffff), y = of(pairs[k] >> 16);
    const std::uint32_t expected[4] = {bits_of(x + y), bits_of(x - y), bits_of(x * y), bits_of(x / y)};
    for (std::size_t op = 0; op < 4; ++op)
      for (const std::size_t buffer : {1U, 2U}) {
        const std::uint32_t actual = (out[buffer][2 * k + op / 2] >> (op % 2 * 16)) & 0xffff;
        if (is_nan(expected[op])) {
          ASSERT_TRUE(is_nan(actual)) << fmt::format("{} {:#x} {} {:#x}", type, pairs[k] & 0xffff, "+-*/"[op], pairs[k] >> 16);
        } else {
          ASSERT_EQ(actual, expected[op]) << fmt::format("{} {:#x} {} {:#x}", type, pairs[k] & 0xffff, "+-*/"[op], pairs[k] >> 16);
        }
      }
    const std::uint32_t order = (x < y ? 1U : 0U) | (x <= y ? 2U : 0U) | (x == y ? 4U : 0U) | (x != y ? 8U : 0U) | (x < y ? 16U : 0U) |
                                (x >= y ? 32U : 0U) | (x == y ? 64U : 0U);
    ASSERT_EQ(out[3][k], order) << fmt::format("{} {:#x}, {:#x}", type, pairs[k] & 0xffff, pairs[k] >> 16);
  }
}

TEST(Types, HalfArithmeticRoundsEveryOperation) { check_arithmetic<Eigen::half>("half", is_nan_half, half_of); }
TEST(Types, BfloatArithmeticRoundsEveryOperation) { check_arithmetic<Eigen::bfloat16>("bfloat", is_nan_bfloat, bfloat_of); }

TEST(Types, IntegersBecomeHalfAndBfloat) {
  const auto out = run_kernel(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device ushort4* out, uint i [[thread_position_in_grid]]) {
  ushort u = ushort(i); short s = as_type<short>(u);
  out[i] = ushort4(as_type<ushort>(half(u)), as_type<ushort>(half(s)), as_type<ushort>(bfloat(u)), as_type<ushort>(bfloat(s)));
})",
                              "run", {Words(2 * 65536)}, 65536, 256)[0];
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto u = static_cast<float>(i), s = static_cast<float>(static_cast<std::int16_t>(i));
    ASSERT_EQ(out[2 * i], bits_of(Eigen::half(u)) | std::uint32_t{bits_of(Eigen::half(s))} << 16) << i;
    ASSERT_EQ(out[2 * i + 1], bits_of(Eigen::bfloat16(u)) | std::uint32_t{bits_of(Eigen::bfloat16(s))} << 16) << i;
  }
}

}  // namespace
}  // namespace assay::tests::types_test
