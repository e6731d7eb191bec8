// Constants by name: indices in attributes, and constexpr functions that call themselves.
//
// Source of all expectations: the C++17 rules for integer constant expressions, which Metal adopts, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "metal/compile/library.h"
#include "metal/translate/translation.h"
#include "tests/conformance/execute.h"

namespace assay::tests::constants_test {
namespace {

using namespace ::testing;

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

// Of the argument `x` in a file that holds `declarations`. Nothing is compiled: the host needs indices before.
std::uint32_t index_of(std::string_view declarations, std::string_view index) {
  const auto source = fmt::format("{}\nkernel void test(device int* x [[buffer({})]]) {{ x[0] = 1; }}\n", declarations, index);
  return metal::translate::Translation::of(source, "test.metal").find("test")->parameters.at(0).index;
}

struct IndexRow {
  std::string declarations;
  std::string index;
  std::uint32_t expected;
};

TEST(NamedIndex, IsAnythingThatHasAValueWhenItIsCompiled) {
  const std::vector<IndexRow> rows = {
      {"enum { kA, kB, kC = 7, kD };", "kD", 8},
      {"enum Slot { kOut = 1 << 2, kIn = kOut + 1, kLast };", "kLast", 6},
      {"enum Slot : uchar { kOut = 3 };", "Slot::kOut", 3},
      {"enum class Slot : uint { out = 4, in };", "Slot::in", 5},
      {"enum class Slot { out = 4, in }; constant constexpr int kNext = int(Slot::in) + 1;", "kNext", 6},
      {"typedef enum { kA = 2, kB } Slot;", "kB", 3},
      {"typedef enum { kA = 2, kB } Slot;", "Slot(kB)", 3},
      {"constexpr int kA = 3;", "kA", 3},
      {"constant constexpr uint kA = 3;", "kA + 1", 4},
      {"static constexpr constant uint kA{5};", "kA", 5},
      {"static constant constexpr const ushort kA = 2, kB = kA * 3;", "kB", 6},
      {"constant int kA = 9;", "kA", 9},
      {"constexpr auto kA = 9u;", "kA", 9},
      {"using index_t = uint; constexpr index_t kA = 9;", "kA", 9},
      {"namespace a { constexpr int kA = 3; namespace b { constexpr int kB = kA + 1; } }", "a::b::kB", 4},
      {"namespace a::b { constexpr int kB = 4; } using namespace a;", "b::kB", 4},
      {"namespace { constexpr int kA = 3; } namespace a { constexpr int kA = 4; constexpr int kB = ::kA; }", "a::kB", 3},
      {"inline namespace v1 { constexpr int kA = 3; }", "v1::kA + kA", 6},
      {"struct Slots { static constexpr constant int kA = 3; enum { kB = kA + 1 }; struct In { static constexpr int kC = kB + 1; }; };",
       "Slots::kA + Slots::kB * Slots::In::kC", 23},
      {"struct S { int a, b; S() : a{1}, b{2} {} S(int x) : a(x) {} thread S& operator=(S o) { a = o.a; return *this; } bool operator<(S "
       "o) { "
       "return a < o.a; } operator int() const { return a; } ~S() = default; static constexpr int kA = 3; };",
       "S::kA", 3},
      {"template <typename T> struct Skipped { static constexpr int kA = sizeof(T); }; inline int f(int kA) { constexpr int k = 1; return "
       "kA + "
       "k; } constexpr int kA = 3;",
       "kA", 3},
      // Operators, casts and the types they have.
      {"", "(7 - 1) * 2 / 5 % 3", 2},
      {"", "1 << 4 >> 1 | 1 & 3 ^ 2", 11},
      {"", "~0u >> 28", 15},
      {"", "-7 / 2 + 0x10 - 0b11 - 010", 2},
      {"", "(uint)3 + uint(4) + static_cast<ushort>(65537) + unsigned(1) + (unsigned char)256 + uint8_t{2}", 11},
      {"", "(2 > 1) + (2 >= 2) + (1 < 2) + (1 <= 0) + (3 == 3) + (3 != 3) + !0", 5},
      {"", "-1 < 1u ? 3 : 4", 4},
      {"constexpr int kZero = 0;", "kZero == 0 ? 1 : 4 / kZero", 1},
      {"constexpr bool kOn = true;", "(kOn && !false) || kOn", 1},
      {"constexpr uchar kA = 260;", "kA", 4},
  };
  for (const auto& row : rows) EXPECT_EQ(index_of(row.declarations, row.index), row.expected) << row.declarations << " " << row.index;
}

TEST(NamedIndex, BindsBuffersOfEachKernelByItsOwnNames) {
  const std::string source = with_library(R"(
enum class Decode : uint { out, keys, values = 3 };
namespace prefill { constant constexpr int kOut = 0; constant constexpr int kKeys = kOut + 2; enum { kScratch = 0 }; }
kernel void decode(device int* out [[buffer(Decode::out)]], device const int* keys [[buffer(uint(Decode::keys))]],
                   constant int& n [[buffer(Decode::values)]], uint t [[thread_index_in_threadgroup]]) { out[t] = keys[t] * n; }
namespace prefill {
kernel void prefill(device int* out [[buffer(kOut)]], device const int* keys [[buffer(kKeys)]],
                    threadgroup int* scratch [[threadgroup(kScratch)]], uint t [[thread_index_in_threadgroup]]) {
  scratch[t] = keys[t]; threadgroup_barrier(mem_flags::mem_threadgroup); out[t] = scratch[31 - t] + 100;
}
}
)");
  std::vector<std::uint32_t> ramp(32);
  for (std::uint32_t t = 0; t < 32; ++t) ramp[t] = t;
  const auto decoded = execute({.source = source, .kernel = "decode", .inputs = {ramp, {0}, {5}}});
  const auto filled = execute({.source = source, .kernel = "prefill::prefill", .inputs = {{0}, ramp}, .threadgroup_bytes = 128});
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(decoded.output[t], 5 * t);
    EXPECT_EQ(filled.output[t], 131 - t);
  }
}

TEST(NamedIndex, NumbersFunctionConstants) {
  const std::string source = with_library(R"(
enum { kWidthIndex = 100, kGainIndex };
struct Flags { static constant constexpr int kWide = kGainIndex + 1; };
constant int width [[function_constant(kWidthIndex)]];
constant float gain [[function_constant(kGainIndex)]];
constant bool wide [[function_constant(Flags::kWide)]];
kernel void test(device int* out) { out[0] = wide ? width * int(gain) : is_function_constant_defined(gain) ? -1 : -2; }
)");
  const auto run = [&](std::map<std::uint32_t, metal::FunctionConstant> constants) {
    return static_cast<int>(execute({.source = source, .threads = {1, 1, 1}, .constants = std::move(constants)}).output[0]);
  };
  EXPECT_EQ(run({{100, std::int64_t{7}}, {101, 3.0}, {102, true}}), 21);
  EXPECT_EQ(run({{100, std::int64_t{7}}, {101, 3.0}, {102, false}}), -1);
  EXPECT_EQ(run({{100, std::int64_t{7}}, {102, false}}), -2);
}

TEST(NamedIndex, LimitsThreads) {
  const auto library = metal::Library::from_source(with_library(R"(
enum class Limit { rows = 2 };
constant constexpr uint kLanes = 32;
[[max_total_threads_per_threadgroup(kLanes * 4)]] kernel void a(device int* out) { out[0] = 1; }
[[kernel, max_total_threads_per_threadgroup(Limit::rows)]] void b(device int* out) { out[0] = 1; }
template <int kLanes> [[kernel, max_total_threads_per_threadgroup(kLanes * 4)]] void c(device int* out) { out[0] = kLanes; }
template [[host_name("c_3")]] [[kernel]] void c<3>(device int* out);
template <typename T> kernel void d(device T* out) { out[0] = 1; }
template [[host_name("d_int"), max_total_threads_per_threadgroup(kLanes + 1)]] kernel void d<int>(device int* out);
)"),
                                                   "test.metal");
  const auto limit = [&](std::string kernel) { return library->pipeline({std::move(kernel), {}})->layout().max_total_threads; };
  EXPECT_EQ(limit("a"), 128u);
  EXPECT_EQ(limit("b"), 2u);
  EXPECT_EQ(limit("c_3"), 12u);  // the template's parameter, not the constant of the same name
  EXPECT_EQ(limit("d_int"), 33u);
}

TEST(NamedIndex, IsRefusedByNameWhereItHasNoValue) {
  const auto refusal = [](std::string_view source) { return failure({.source = with_library(source)}); };
  for (const std::string_view declarations :
       {"", "int kIndex();", "constexpr float kIndex = 1;", "constant int kIndex[2] = {1, 2};", "constexpr int kIndex = 1 / 0;",
        "namespace a { constexpr int kIndex = 1; }", "enum class Slot { kIndex };", "constant int kIndex [[function_constant(0)]];"}) {
    EXPECT_THAT(refusal(fmt::format("{} kernel void test(device int* out [[buffer(kIndex)]]) {{ out[0] = 1; }}", declarations)),
                AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'out'"), HasSubstr("[[buffer(kIndex)]]"),
                      HasSubstr("integer literals"), HasSubstr("enumerators"), HasSubstr("constexpr")))
        << declarations;
  }
  EXPECT_THAT(refusal("enum { kLast = 31 };\nkernel void test(device int* out [[buffer(kLast)]]) { out[0] = 1; }"),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("[[buffer(kLast)]]"), HasSubstr("0 to 30")));
  EXPECT_THAT(refusal("constant int n [[function_constant(kN)]];\nkernel void test(device int* out) { out[0] = n; }"),
              AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'n'"), HasSubstr("'kN'"), HasSubstr("enumerators")));
  EXPECT_THAT(refusal("template <typename T> kernel void f(device T* out) { out[0] = 1; }\n"
                      "template [[host_name(\"test\"), max_total_threads_per_threadgroup(kN)]] kernel void f<int>(device int* out);"),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("max_total_threads_per_threadgroup(kN)"), HasSubstr("enumerators")));
}

TEST(FunctionConstants, AreDeclaredWhereverCxxAllows) {
  const std::string source = with_library(R"(
namespace shape {
constant int width [[function_constant(0)]], height [[function_constant(1)]];
constant int depth = is_function_constant_defined(height) ? height : 3;
}
[[function_constant(2)]] constant bool wide;
static constant half scale [[maybe_unused]] [[function_constant(3)]];
kernel void test(device int* out, device const int* extra [[buffer(1), function_constant(shape::height)]]) {
  out[0] = (is_function_constant_defined(shape::width) ? shape::width : -1) * shape::depth + (wide ? int(scale) : 0);
}
)");
  const auto run = [&](std::map<std::uint32_t, metal::FunctionConstant> constants) {
    return static_cast<int>(
        execute({.source = source, .inputs = {{0}}, .threads = {1, 1, 1}, .constants = std::move(constants)}).output[0]);
  };
  EXPECT_EQ(run({{0, std::int64_t{7}}, {1, std::int64_t{5}}, {2, true}, {3, 100.0}}), 135);
  EXPECT_EQ(run({{1, std::int64_t{5}}, {2, false}, {3, 100.0}}), -5);
  EXPECT_THAT(
      failure({.source = with_library("constant int a [[function_constant(0)]], b;\nkernel void test(device int* out) { out[0] = a; }")}),
      AllOf(StartsWith("test.metal:3: error:"), HasSubstr("'b'"), HasSubstr("is not one")));
}

// ---- function constants that are vectors

constexpr std::string_view kVectors = R"(
using Extent = uint2;
typedef vec<half, 3> Weights;
namespace tile { enum class Order : int { rows, columns }; }
constant uint2 tile_size [[function_constant(1)]];
constant metal::short3 offset [[function_constant(2)]], other [[function_constant(3)]];
constant vec<float, 4> scale [[function_constant(4)]];
constant bool2 flags [[function_constant(5)]];
constant Extent extent [[function_constant(6)]];
constant Weights weights [[function_constant(7)]];
constant packed_float3 packed [[function_constant(8)]];
constant tile::Order order [[function_constant(9)]];
constant bfloat2 brain [[function_constant(10)]];
constant long2 wide [[function_constant(11)]];
constant uint area = tile_size.x * tile_size.y;
kernel void integers(device int* out) { out[0] = tile_size.x; out[1] = tile_size.y; out[2] = area; }
kernel void sized(device int* out) { threadgroup int store[tile_size.y + area]; store[0] = sizeof(store) / 4; out[0] = store[0]; }
kernel void several(device int* out) { for (int i = 0; i < 3; ++i) { out[i] = offset[i]; out[3 + i] = other[i]; } }
kernel void floating(device float* out) { for (int i = 0; i < 4; ++i) out[i] = scale[i]; }
kernel void flagged(device int* out) { out[0] = flags.x ? 1 : 2; out[1] = flags.y ? 1 : 2; }
kernel void aliased(device float* out) { out[0] = extent.x; out[1] = extent.y; out[2] = weights.x; out[3] = weights.y; out[4] = weights.z; }
kernel void small(device float* out) { out[0] = packed.x; out[1] = packed.z; out[2] = float(brain.x); out[3] = float(brain.y); }
kernel void long_ones(device ulong* out) { out[0] = wide.x; out[1] = wide.y; }
kernel void chosen(device int* out) { out[0] = order == tile::Order::columns ? 5 : 6; }
kernel void defaulted(device int* out) { uint2 size = is_function_constant_defined(tile_size) ? tile_size : uint2(8, 9); out[0] = size.x; out[1] = size.y; }
)";

metal::FunctionConstant vector_of(std::vector<metal::ConstantScalar> components) { return metal::ConstantVector{std::move(components)}; }

TEST(VectorConstants, HaveTheirValues) {
  using Constants = std::map<std::uint32_t, metal::FunctionConstant>;
  const auto run = [](std::string kernel, Constants constants) {
    return execute({.source = with_library(kVectors), .kernel = std::move(kernel), .threads = {1, 1, 1}, .constants = std::move(constants)})
        .output;
  };
  const auto words = [](const std::vector<std::uint32_t>& output, std::size_t count) {
    return std::vector<int>(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(count));
  };
  const auto floats = [](const std::vector<std::uint32_t>& output, std::size_t count) {
    std::vector<float> result;
    for (std::size_t i = 0; i < count; ++i) result.push_back(std::bit_cast<float>(output[i]));
    return result;
  };
  const auto integer = [](std::int64_t value) { return metal::ConstantScalar(value); };
  const metal::FunctionConstant size = vector_of({integer(16), integer(3)});
  EXPECT_THAT(words(run("integers", {{1, size}}), 3), testing::ElementsAre(16, 3, 48));
  EXPECT_THAT(words(run("sized", {{1, size}}), 1), testing::ElementsAre(51));
  EXPECT_THAT(words(run("several",
                        {{2, vector_of({integer(-1), integer(2), integer(-300)})}, {3, vector_of({integer(4), integer(5), integer(6)})}}),
                    6),
              testing::ElementsAre(-1, 2, -300, 4, 5, 6));
  EXPECT_THAT(floats(run("floating", {{4, vector_of({0.1, integer(2), -3.5, 1e10})}}), 4), testing::ElementsAre(0.1F, 2.0F, -3.5F, 1e10F));
  EXPECT_THAT(words(run("flagged", {{5, vector_of({false, true})}}), 2), testing::ElementsAre(2, 1));
  EXPECT_THAT(floats(run("aliased", {{6, size}, {7, vector_of({0.5, 0.25, 2.0})}}), 5), testing::ElementsAre(16, 3, 0.5F, 0.25F, 2.0F));
  EXPECT_THAT(floats(run("small", {{8, vector_of({1.5, 2.5, 3.5})}, {10, vector_of({0.5, integer(3)})}}), 4),
              testing::ElementsAre(1.5F, 3.5F, 0.5F, 3.0F));
  EXPECT_THAT(words(run("long_ones", {{11, vector_of({integer(1), integer(-2)})}}), 4), testing::ElementsAre(1, 0, -2, -1));
  EXPECT_THAT(words(run("chosen", {{9, std::int64_t{1}}}), 1), testing::ElementsAre(5));
  EXPECT_THAT(words(run("defaulted", {}), 2), testing::ElementsAre(8, 9));
  EXPECT_THAT(words(run("defaulted", {{1, size}}), 2), testing::ElementsAre(16, 3));
}

TEST(VectorConstants, AreRefusedWithTheirValuesWhereTheyDoNotFit) {
  const auto refusal = [](std::string kernel, std::map<std::uint32_t, metal::FunctionConstant> constants) {
    return failure({.source = with_library(kVectors), .kernel = std::move(kernel), .constants = std::move(constants)});
  };
  const metal::ConstantScalar one = std::int64_t{1};
  const auto of_tile = AllOf(HasSubstr("'tile_size'"), HasSubstr("index 1"), HasSubstr("uint2"));
  EXPECT_THAT(refusal("integers", {{1, vector_of({one, one, std::int64_t{7}})}}),
              AllOf(of_tile, HasSubstr("a vector of 3 was given: (1, 1, 7)")));
  EXPECT_THAT(refusal("integers", {{1, vector_of({one, 1.5})}}), AllOf(of_tile, HasSubstr("(1, 1.5)")));
  EXPECT_THAT(refusal("integers", {{1, vector_of({true, one})}}), AllOf(of_tile, HasSubstr("(true, 1)")));
  EXPECT_THAT(refusal("integers", {{1, std::int64_t{12}}}), AllOf(of_tile, HasSubstr("an integer was given: 12")));
  EXPECT_THAT(refusal("flagged", {{5, vector_of({one, one})}}), AllOf(HasSubstr("'flags'"), HasSubstr("bool2"), HasSubstr("(1, 1)")));
  EXPECT_THAT(refusal("aliased", {{6, vector_of({0.5, one})}}), AllOf(HasSubstr("'extent'"), HasSubstr("Extent"), HasSubstr("(0.5, 1)")));
  EXPECT_THAT(refusal("chosen", {{9, vector_of({one, one})}}), AllOf(HasSubstr("'order'"), HasSubstr("(1, 1)")));
  EXPECT_THAT(refusal("integers", {}), AllOf(HasSubstr("'tile_size'"), HasSubstr("index 1"), HasSubstr("no value")));
  EXPECT_THAT(failure({.source = with_library("struct S { int a; };\nconstant S s [[function_constant(0)]];\n"
                                              "kernel void test(device int* out) { out[0] = s.a; }")}),
              AllOf(StartsWith("test.metal:4: error:"), HasSubstr("'s'"), HasSubstr("neither a scalar nor a vector")));
}

TEST(VectorConstants, AreDeclaredWithWhatTheyHold) {
  const auto library = metal::Library::from_source(with_library(kVectors), "test.metal");
  std::map<std::string, metal::FunctionConstantType> types;
  for (const auto& constant : library->function_constants()) types[constant.name] = constant.type;
  using Type = metal::FunctionConstantType;
  EXPECT_EQ(types.at("tile_size"), (Type{Type::Scalar::integer, 2}));
  EXPECT_EQ(types.at("other"), (Type{Type::Scalar::integer, 3}));
  EXPECT_EQ(types.at("scale"), (Type{Type::Scalar::floating, 4}));
  EXPECT_EQ(types.at("flags"), (Type{Type::Scalar::boolean, 2}));
  EXPECT_EQ(types.at("weights"), (Type{Type::Scalar::floating, 3}));
  EXPECT_EQ(types.at("order"), (Type{Type::Scalar::integer, 1}));
}

// ---- constexpr functions that call themselves

constexpr std::string_view kRecursive = R"(
constexpr int lg(int n) { return n <= 1 ? 0 : 1 + lg(n / 2); }
constexpr uint fib(uint n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
template <typename T> static constexpr T power(T x, int n) {
  if (n == 0) return T(1);
  const T root = power<T>(x, n / 2);
  return n % 2 ? root * root * x : root * root;
}
struct Tile { static constexpr int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); } };
template <int N> int width() { return lg(N * 4); }
constexpr int forever(int n) { return n == 0 ? 0 : forever(n + 1); }
int plain(int n) { return n <= 1 ? 0 : 1 + plain(n / 2); }
)";

TEST(ConstexprRecursion, IsEvaluatedWhereverItsArgumentsAreConstant) {
  const auto outcome = execute({.source = with_library(std::string(kRecursive) + R"(
constant constexpr int kLog = lg(1024);
kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {
  static_assert(lg(256) == 8, "");
  int a[lg(8)];
  for (int i = 0; i < lg(8); ++i) a[i] = i + int(t);
  const int n = 64;
  out[8 * t + 0] = lg(256) + a[2]; out[8 * t + 1] = kLog; out[8 * t + 2] = fib(12); out[8 * t + 3] = int(power(2.5f, 2) * 4);
  out[8 * t + 4] = Tile::gcd(84, 36); out[8 * t + 5] = width<16>(); out[8 * t + 6] = lg(n / 2); out[8 * t + 7] = lg(lg(256));
})"),
                                .output_words = 256});
  EXPECT_TRUE(outcome.hazards.empty());
  const std::array<std::uint32_t, 8> expected = {10, 10, 144, 25, 12, 6, 5, 3};
  for (std::uint32_t word = 0; word < 256; ++word) EXPECT_EQ(outcome.output[word], expected[word % 8] + (word % 8 == 0 ? word / 8 : 0));
}

// As a radix of an FFT: the count ends it, data and pointers are those of the thread.
TEST(Recursion, MayEndByAConstantArgument) {
  const auto outcome = execute({.source = with_library(R"(
int plain(int n) { return n <= 1 ? 0 : 1 + plain(n / 2); }
float power(float x, int n) {
  if (n == 0) return 1;
  return x * power(x, n - 1);
}
void sums(thread int* values, int count, int stride) {
  if (count == 1) return;
  sums(values, count / 2, stride * 2);
  sums(values + stride, count / 2, stride * 2);
  values[0] += values[stride];
}
kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {
  int values[8];
  for (int i = 0; i < 8; ++i) values[i] = i + int(t);
  sums(values, 8, 1);
  out[3 * t] = plain(64);
  out[3 * t + 1] = int(power(float(t), 3));
  out[3 * t + 2] = values[0];
})"),
                                .output_words = 96});
  EXPECT_TRUE(outcome.hazards.empty());
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(outcome.output[3 * t], 6U);
    EXPECT_EQ(outcome.output[3 * t + 1], t * t * t);
    EXPECT_EQ(outcome.output[3 * t + 2], 28 + 8 * t);  // every value once
  }
}

TEST(ConstexprRecursion, IsRefusedByNameAtRunTime) {
  const auto refusal = [](std::string_view value) {
    return failure(
        {.source = with_library(fmt::format(
             "{}kernel void test(device int* out, uint t [[thread_index_in_threadgroup]]) {{ out[t] = {}; }}", kRecursive, value))});
  };
  EXPECT_THAT(refusal("lg(t)"), AllOf(StartsWith("test.metal:4: error:"), HasSubstr("'lg'"), HasSubstr("recursion")));
  EXPECT_THAT(refusal("lg(8) + Tile::gcd(84, t)"), AllOf(StartsWith("test.metal:11: error:"), HasSubstr("'gcd'"), HasSubstr("recursion")));
  EXPECT_THAT(refusal("forever(1)"), AllOf(HasSubstr("'forever'"), HasSubstr("recursion")));
  EXPECT_THAT(refusal("plain(t)"), AllOf(HasSubstr("'plain'"), HasSubstr("recursion")));
}

}  // namespace
}  // namespace assay::tests::constants_test
