// The policy `shadow`: values keep their bits, and each shadow is the result of exact arithmetic, on every path of a value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <ostream>

#include "tests/conformance/shadow_kernel.h"

namespace assay::tests::shadow_test {
namespace {

using testing::DoubleNear;

// x[i] = 1 + i/64 exactly in every type; a third is what no type can hold.
double x(std::size_t i) { return 1.0 + static_cast<double>(i) / 64.0; }

struct ShadowRow {
  std::string name;
  std::string body;  // see shadow_kernel.h
  double (*exact)(std::size_t lane);
  metal::FloatType type = metal::FloatType::float32;  // of the output
};

void PrintTo(const ShadowRow& row, std::ostream* stream) { *stream << row.name; }

class Shadow : public ::testing::TestWithParam<ShadowRow> {};

TEST_P(Shadow, IsWhatExactArithmeticGives) {
  const ShadowRow& row = GetParam();
  const auto shadowed = run_shadowed(row.body, row.type);
  EXPECT_THAT(shadowed.lost, testing::IsEmpty());
  for (std::size_t lane = 0; lane < 32; ++lane)
    ASSERT_THAT(shadowed.shadows[lane], DoubleNear(row.exact(lane), 1e-13 * std::abs(row.exact(lane)))) << "lane " << lane;
  EXPECT_EQ(shadowed.bits, run_native(row.body)) << "values must not change";
}

double third(std::size_t lane) { return x(lane) / 3; }
double third_of_31(std::size_t) { return x(31) / 3; }
double third_of_next(std::size_t lane) { return x((lane + 1) % 32) / 3; }
double sum_of_thirds(std::size_t) {
  double sum = 0;
  for (std::size_t lane = 0; lane < 32; ++lane) sum += x(lane) / 3;
  return sum;
}
double prefix_of_thirds(std::size_t lane) {
  double sum = 0;
  for (std::size_t other = 0; other <= lane; ++other) sum += x(other) / 3;
  return sum;
}
double product_8(std::size_t lane) {
  // Matrix of thirds times matrix of thirds plus thirds; this lane's first element.
  const std::size_t qid = lane / 4;
  const std::size_t row = (qid & 4) + (lane / 2) % 4;
  const std::size_t column = (qid & 2) * 2 + (lane % 2) * 2;
  const auto at = [](std::size_t r, std::size_t c) { return x((r * 8 + c) % 32) / 3; };
  double sum = at(row, column);
  for (std::size_t k = 0; k < 8; ++k) sum += at(row, k) * at(k, column);
  return sum;
}
double exp_of_third(std::size_t lane) { return std::exp(-x(lane) / 3); }
double array_sum(std::size_t lane) {
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += x(lane) / 3 * (i + 1);
  return sum;
}

INSTANTIATE_TEST_SUITE_P(
    Ways, Shadow,
    testing::Values(
        ShadowRow{"Arithmetic", "out[lane] = x / 3;", third},
        ShadowRow{"Chain", "float y = x / 3; y = y * 7 - y * 6; out[lane] = y;", third},
        ShadowRow{"Half", "half y = half(x) / 3; hout[lane] = y;", third, metal::FloatType::half},
        ShadowRow{"Bfloat", "bfloat y = bfloat(x / 3); bout[lane] = y;", third, metal::FloatType::bfloat},
        ShadowRow{"ThroughHalf", "out[lane] = float(half(x / 3));", third},
        ShadowRow{"Vector", "float4 y = float4(x, 2 * x, 3 * x, 4 * x) / 3; out[lane] = y.w - y.zyxw.x;", third},
        ShadowRow{"Swizzle", "float4 y = float4(0, x / 3, 0, 0); y.xz = y.yy; out[lane] = y.z;", third},
        ShadowRow{"HalfVectorOfThree", "half3 y = half3(x) / 3; out[lane] = float(y.z);", third},
        ShadowRow{"ThreadgroupMemory", "sh[lane] = x / 3; threadgroup_barrier(mem_flags::mem_threadgroup); out[lane] = sh[31];",
                  third_of_31},
        ShadowRow{"ThreadgroupVector",
                  "threadgroup half4* s = (threadgroup half4*)sh; s[lane] = half4(x / 3); simdgroup_barrier(mem_flags::mem_threadgroup); "
                  "out[lane] = float(s[31].z);",
                  third_of_31},
        ShadowRow{"DeviceMemory", "scratch[lane] = x / 3; simdgroup_barrier(mem_flags::mem_device); out[lane] = scratch[(lane + 1) % 32];",
                  third_of_next},
        ShadowRow{"Sum", "out[lane] = simd_sum(x / 3);", sum_of_thirds},
        ShadowRow{"HalfSum", "out[lane] = float(simd_sum(half(x / 3)));", sum_of_thirds},
        ShadowRow{"VectorSum", "out[lane] = simd_sum(float3(0, x / 3, 0)).y;", sum_of_thirds},
        ShadowRow{"Max", "out[lane] = simd_max(x / 3);", third_of_31},
        ShadowRow{"Prefix", "out[lane] = simd_prefix_inclusive_sum(x / 3);", prefix_of_thirds},
        ShadowRow{"Shuffle", "out[lane] = simd_shuffle(x / 3, (lane + 1) % 32);", third_of_next},
        ShadowRow{"ShuffleOfBits", "out[lane] = as_type<float>(simd_shuffle(as_type<uint>(x / 3), ushort((lane + 1) % 32)));",
                  third_of_next},
        ShadowRow{"ShuffleOfHalves", "half2 y = half2(half(0), half(x / 3)); out[lane] = float(simd_shuffle_xor(y, ushort(0)).y);", third},
        ShadowRow{"ShuffleDown", "float y = simd_shuffle_rotate_down(x / 3, ushort(1)); out[lane] = y;", third_of_next},
        ShadowRow{"Broadcast", "out[lane] = simd_broadcast(x / 3, ushort(31));", third_of_31},
        ShadowRow{"Bits", "uint b = as_type<uint>(x / 3); out[lane] = as_type<float>(b);", third},
        ShadowRow{"PackedBits", "ulong b = ulong(as_type<uint>(x / 3)) << 32 | 5ul; out[lane] = as_type<float>(uint(b >> 32));", third},
        ShadowRow{"SignOfBits",
                  "uint b = as_type<uint>(x / 3) ^ ((lane & 1u) << 31); float y = as_type<float>(b); out[lane] = (lane & 1u) ? -y : y;",
                  third},
        ShadowRow{"WithoutSign", "out[lane] = as_type<float>(as_type<uint>(-x / 3) & 0x7fffffffu);", third},
        ShadowRow{"PackedHalves", "uint b = as_type<uint>(half2(half(1), half(x / 3))); out[lane] = float(as_type<half2>(b).y);", third},
        ShadowRow{"Abs", "out[lane] = abs(-x / 3);", third}, ShadowRow{"HalfAbs", "out[lane] = float(fabs(half(-x / 3)));", third},
        ShadowRow{"FusedMultiplyAdd", "out[lane] = fma(x, 1.0f / 4, x / 3 - x * 0.25f);", third},
        ShadowRow{"HalfFusedMultiplyAdd", "half h = half(x); out[lane] = float(fma(h, half(0.25h), h / 3 - h * half(0.25h)));", third},
        ShadowRow{"Exp", "out[lane] = exp(-x / 3);", exp_of_third},
        ShadowRow{"HalfExp", "out[lane] = float(exp(half(-x / 3)));", exp_of_third},
        ShadowRow{"FastExp", "out[lane] = fast::exp(-x / 3);", exp_of_third},
        ShadowRow{"ExpOfBaseTwo", "out[lane] = log2(exp2(x / 3));", third}, ShadowRow{"Min", "out[lane] = min(x / 3, 1000.0f);", third},
        ShadowRow{"Clamp", "out[lane] = clamp(x / 3, 0.0f, 1000.0f);", third},
        ShadowRow{"Select", "out[lane] = lane % 2 == 0 ? x / 3 : x * 2 / 6;", third},
        ShadowRow{"FloorFollowsTheValue", "float y = x / 3 + 5; out[lane] = y - floor(y) + floor(x / 3);", third},
        ShadowRow{"Array",
                  "float a[8]; for (int i = 0; i < 8; ++i) a[i] = x / 3 * (i + 1); float s = 0; for (int i = 0; i < 8; ++i) s += a[i]; "
                  "out[lane] = s;",
                  array_sum},
        ShadowRow{
            "ArrayOfVectors",
            "half4 a[2]; for (int i = 0; i < 2; ++i) a[i] = half4(x / 3) * half4(4 * i + 1, 4 * i + 2, 4 * i + 3, 4 * i + 4); float s = 0; "
            "for (int i = 0; i < 2; ++i) s += dot(float4(a[i]), float4(1)); out[lane] = s;",
            array_sum},
        ShadowRow{"ArrayToHelper", "float a[4] = {0, 0, 0, 0}; set(a, lane % 4, x / 3); out[lane] = a[lane % 4];", third},
        ShadowRow{"ArrayByWhichever",
                  "float a[4] = {0}; float b[4] = {0}; thread float* p = lane % 2 ? a : b; p[1] = x / 3; out[lane] = a[1] + b[1];", third},
        ShadowRow{"Struct", "Pair p = {x / 3, half(x / 3)}; Pair q = p; thread Pair* r = lane > 90 ? nullptr : &q; out[lane] = r->a;",
                  third},
        ShadowRow{
            "StructInThreadgroup",
            "threadgroup Pair* s = (threadgroup Pair*)sh; s[lane] = Pair{0, half(x / 3)}; simdgroup_barrier(mem_flags::mem_threadgroup); "
            "Pair q = s[31]; out[lane] = float(q.b);",
            third_of_31},
        ShadowRow{"ReturnedStruct", "Three t = three(x / 3); out[lane] = t.b / 2;", third},
        ShadowRow{"MixedStruct", "Mixed m = mixed(x / 3); out[lane] = m.b / 2 + (m.n - 3);", third},
        ShadowRow{"WordsTakenApart",
                  "device float4* s4 = (device float4*)scratch; if (lane < 8) s4[lane] = float4(x / 3, x / 3, x / 3, x / 3); "
                  "simdgroup_barrier(mem_flags::mem_device); uint4 w = ((device uint4*)scratch)[0]; uint b = w[1]; "
                  "out[lane] = as_type<float>(b) + (x - 1) / 3;",
                  third},
        ShadowRow{"PrefetchedWords",
                  "scratch[lane] = x / 3; uint w = ((device uint*)scratch)[lane]; scratch[lane] = 7; "
                  "out[lane] = as_type<float>(w);",
                  third},
        ShadowRow{"ChosenWords",
                  "uint a = as_type<uint>(x / 3), b = as_type<uint>(x * 2 / 6); uint w = lane % 3 == 0 ? a : b; "
                  "((device uint*)scratch)[lane] = w; out[lane] = scratch[lane];",
                  third},
        ShadowRow{"SwappedWords",
                  "scratch[lane] = x / 3; simdgroup_barrier(mem_flags::mem_device); device uint* w = (device uint*)scratch; "
                  "if (lane % 2 == 0) { uint t = w[lane]; w[lane] = w[lane + 1]; w[lane + 1] = t; } "
                  "simdgroup_barrier(mem_flags::mem_device); out[lane] = scratch[lane ^ 1];",
                  third},
        ShadowRow{"BfloatWidenedByHand", "ushort b = as_type<ushort>(bfloat(x / 3)); out[lane] = as_type<float>(uint(b) << 16);", third},
        ShadowRow{"BfloatWidenedFromMemory",
                  "((device bfloat*)scratch)[lane] = bfloat(x / 3); ushort b = ((device ushort*)scratch)[lane]; "
                  "out[lane] = as_type<float>(uint(b) << 16);",
                  third},
        ShadowRow{"BfloatTruncatedByHand",
                  "uint b = as_type<uint>(x / 3) >> 16; ((device ushort*)scratch)[lane] = ushort(b); "
                  "out[lane] = float(((device bfloat*)scratch)[lane]);",
                  third},
        ShadowRow{"ZeroOverZero", "half h = half(x / 3); half z = h - h; out[lane] = float(z) + x / 3;", third},
        ShadowRow{"Fraction", "float w; float y = modf(x / 3 + 2, w); out[lane] = y;", third},
        ShadowRow{"Loop", "float y = x; for (int i = 0; i < 40; ++i) y = y / 3 * 2 + y / 3; out[lane] = y / 3;", third},
        ShadowRow{"Matrix",
                  "sh[2 * lane] = (1 + float(2 * lane % 32) / 64) / 3; sh[2 * lane + 1] = (1 + float((2 * lane + 1) % 32) / 64) / 3; "
                  "simdgroup_barrier(mem_flags::mem_threadgroup); simdgroup_float8x8 a, b, c; simdgroup_load(a, sh, 8); simdgroup_load(b, "
                  "sh, 8); "
                  "simdgroup_load(c, sh, 8); simdgroup_multiply_accumulate(c, a, b, c); out[lane] = c.thread_elements().x;",
                  product_8},
        ShadowRow{"AtomicExchange",
                  "atomic_store_explicit((device atomic_float*)scratch + lane, x / 3, memory_order_relaxed); "
                  "out[lane] = atomic_load_explicit((device atomic_float*)scratch + lane, memory_order_relaxed);",
                  third},
        ShadowRow{"AtomicAdd",
                  "if (lane == 0) atomic_store_explicit((device atomic_float*)scratch, 0.0f, memory_order_relaxed); "
                  "simdgroup_barrier(mem_flags::mem_device); atomic_fetch_add_explicit((device atomic_float*)scratch, x / 3, "
                  "memory_order_relaxed); "
                  "simdgroup_barrier(mem_flags::mem_device); "
                  "out[lane] = atomic_load_explicit((device atomic_float*)scratch, memory_order_relaxed);",
                  sum_of_thirds}),
    [](const auto& info) { return info.param.name; });

TEST(ShadowOfInputs, AreTheInputsThemselves) {
  const auto shadowed = run_shadowed("out[lane] = in[lane];", metal::FloatType::float32);
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(shadowed.shadows[lane], x(lane));
}

TEST(ShadowOfABuffer, GoesFromOneDispatchToTheNext) {
  const auto shadowed =
      run_shadowed("scratch[lane] = lane % 32 < 64 && out[lane] == 0 ? x / 3 : scratch[lane] * 3; out[lane] = scratch[lane];",
                   metal::FloatType::float32, 2);
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_THAT(shadowed.shadows[lane], DoubleNear(x(lane), 1e-13));
}

TEST(ShadowDecisions, AreThoseOfTheValues) {
  // (1/3 in half) * 3 is below 1, and exactly 1 without rounding.
  const auto shadowed = run_shadowed("half y = half(1.0f) / 3; out[lane] = float(y) * 3 < 1 ? x : -x;", metal::FloatType::float32);
  for (std::size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(shadowed.shadows[lane], x(lane));
}

TEST(ShadowLost, SaysWhereBitsAreComputedWith) {
  const auto shadowed =
      run_shadowed("uint b = as_type<uint>(x / 3);\nb = (b + 0x7fffu + ((b >> 16) & 1u)) & 0xffff0000u;\nout[lane] = as_type<float>(b);",
                   metal::FloatType::float32);
  ASSERT_EQ(shadowed.lost.size(), 1U);
  EXPECT_EQ(shadowed.lost[0].line - kLinesBeforeShadowBody, 2U);
  EXPECT_EQ(shadowed.shadows[5], static_cast<double>(std::bit_cast<float>(shadowed.bits[5]))) << "begins again as the value";
}

TEST(ShadowLost, IsNotSaidOfWhatIsReadAsBitsOrCompared) {
  const auto shadowed = run_shadowed(
      "uint w = ((device const uint*)in)[lane]; float y = as_type<float>(w & 0xffff0000u); bool odd = (as_type<uint>(x / 3) & 1u) != 0;\n"
      "out[lane] = isnan(x / 3) ? 0.0f : odd ? y : y;",
      metal::FloatType::float32);
  EXPECT_THAT(shadowed.lost, testing::IsEmpty());
}

metal::SimulatorOptions explaining(double large = 0.01) { return {.policy = metal::Policy::shadow, .explain = true, .large_error = large}; }

const metal::LineRounding* line_of(const ShadowedRun& run, std::uint32_t line) {
  for (const auto& rounding : run.roundings) {
    if (rounding.place.line == line + kLinesBeforeShadowBody) return &rounding;
  }
  return nullptr;
}

TEST(Explained, KeepsValuesAndShadows) {
  const std::string body = "float s = 0; for (int i = 0; i < 9; ++i) s += exp(-x / 3) * i; out[lane] = simd_sum(s);";
  const auto plain = run_shadowed(body, metal::FloatType::float32);
  const auto explained = run_shadowed(body, metal::FloatType::float32, 1, explaining());
  EXPECT_EQ(plain.bits, explained.bits);
  EXPECT_EQ(plain.shadows, explained.shadows);
}

TEST(Explained, SaysWhatEachLineLoses) {
  const auto run = run_shadowed("half s = half(x);\ns += half(0.001h);\nfloat t = float(s) * 3.0f;\nout[lane] = t + 1.0f / 3;",
                                metal::FloatType::float32, 1, explaining());
  const auto* add = line_of(run, 2);
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(add->what, "half add");
  EXPECT_EQ(add->operations, 32U);
  EXPECT_GT(add->largest_relative, 1e-5);
  EXPECT_LE(add->largest_relative, 0x1p-11);
  const auto* last = line_of(run, 4);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->what, "float add");
  EXPECT_LE(last->largest_relative, 0x1p-24);
}

TEST(Explained, RoundsShadowsAtOneLineOnly) {
  const std::string body = "half s = half(x) / 3;\nhalf t = s * half(3);\nout[lane] = float(t);";
  auto options = explaining();
  options.rounded_line = metal::SourceLocation{"test.metal", kLinesBeforeShadowBody + 1};
  const auto first = run_shadowed(body, metal::FloatType::float32, 1, options);
  options.rounded_line->line = kLinesBeforeShadowBody + 2;
  const auto second = run_shadowed(body, metal::FloatType::float32, 1, options);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const double rounded = static_cast<double>(static_cast<_Float16>(x(lane) / 3));
    EXPECT_EQ(first.shadows[lane], rounded * 3);
    EXPECT_THAT(second.shadows[lane], DoubleNear(x(lane), 0x1p-10));
    const double value = static_cast<double>(std::bit_cast<float>(first.bits[lane]));
    EXPECT_THAT(first.shadows[lane] + second.shadows[lane] - x(lane), DoubleNear(value, 1e-12)) << "together they are the whole error";
  }
}

TEST(Explained, RoundsWhatLanesDoTogether) {
  const std::string body = "float y = exp(x) / 3;\nout[lane] = simd_sum(y);";
  auto options = explaining();
  options.rounded_line = metal::SourceLocation{"test.metal", kLinesBeforeShadowBody + 2};
  const auto run = run_shadowed(body, metal::FloatType::float32, 1, options);
  double exact = 0;
  for (std::size_t lane = 0; lane < 32; ++lane) exact += std::exp(x(lane)) / 3;
  EXPECT_GT(std::abs(run.shadows[0] - exact), 1e-9 * exact) << "it rounds";
  EXPECT_THAT(run.shadows[0], DoubleNear(exact, 31 * exact * 0x1p-24));
}

TEST(Explained, NamesWhereALargeErrorIsBorn) {
  const auto run = run_shadowed("float y = x / 3;\nfloat z = y + 1000000.0f;\nfloat d = z - 1000000.0f;\nout[lane] = d * 2;",
                                metal::FloatType::float32, 1, explaining(1e-3));
  ASSERT_TRUE(run.birth.has_value());
  EXPECT_EQ(run.birth->place.line, kLinesBeforeShadowBody + 3) << run.birth->message;
  EXPECT_THAT(run.birth->message, testing::HasSubstr("float subtract"));
}

TEST(Explained, NamesAnOverflow) {
  const auto run = run_shadowed("half y = half(x) * half(40000);\nhalf z = y * half(2);\nout[lane] = float(z);", metal::FloatType::float32,
                                1, explaining());
  ASSERT_TRUE(run.birth.has_value());
  EXPECT_GE(run.birth->place.line, kLinesBeforeShadowBody + 1) << run.birth->message;
  EXPECT_THAT(run.birth->message, testing::HasSubstr("inf"));
}

TEST(Explained, NamesNothingWhereErrorsStaySmall) {
  const auto run = run_shadowed("out[lane] = exp(-x) * 3 / 7;", metal::FloatType::float32, 1, explaining());
  EXPECT_FALSE(run.birth.has_value());
}

}  // namespace
}  // namespace assay::tests::shadow_test
