// What a number in the source is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/translate/literals.h"
#include "tests/conformance/execute.h"
#include "tests/conformance/rows.h"

namespace assay::tests::literals_test {
namespace {

constexpr const char* kNoDouble = "MSL 2.1: there is no double, a literal without a suffix is a float";

TEST(Literals, HaveMetalsTypes) {
  check_rows("literals",
             {
                 {"without a suffix",
                  kNoDouble,
                  "o[0] = sizeof(1.5); o[1] = sizeof(1e3); o[2] = sizeof(.5) + sizeof(2.) + sizeof(0x1p3);",
                  {},
                  {4, 4, 12}},
                 {"without a suffix in a template",
                  kNoDouble,
                  "o[0] = size_in_template<float>(); PUT(1, tenth<float>(F(0)));",
                  {f(3)},
                  {4, f(3.0F * 0.1F + 1e-8F)}},
                 {"without a suffix in a generic lambda",
                  kNoDouble,
                  "auto g = [](auto x) { auto y = x * 0.1; return y; }; static_assert(sizeof(g(1.0f)) == 4); PUT(0, g(F(0)));",
                  {f(3)},
                  {f(3.0F * 0.1F)}},
                 {"a half in a template keeps its type only with h",
                  kCxx,
                  "o[0] = sizeof(times_h<half>(H(0))); o[1] = sizeof(times<half>(H(0))); PUTH(2, times_h<half>(H(0)));",
                  {h(3)},
                  {2, 4, h(static_cast<float>(Eigen::half(0.1F)) * 3)}},
                 {"h and H",
                  kMsl,
                  "o[0] = sizeof(1.5h) + sizeof(1.5H); PUTH(1, 0.1h); PUTH(2, 65504.0H); PUTH(3, 0x1.8p0h);",
                  {},
                  {4, h(0.1F), h(65504), h(1.5F)}},
                 {"bf and BF",
                  kMsl,
                  "o[0] = sizeof(1.5bf) + sizeof(1.5BF); PUTH(1, 0.1bf); PUTH(2, 3.0e38BF); PUTH(3, 0x1.8p0bf); "
                  "static_assert(is_same_v<decltype(1.0bf), bfloat>); bfloat "
                  "x = B(0) * 2.0bf + 1.bf; PUTH(4, x); PUTH(5, -0.0bf); constexpr bfloat c = 1e-40bf; PUTH(6, c);",
                  {b(3)},
                  {4, b(0.1F), b(3.0e38F), b(1.5F), b(7), 0x8000, b(1e-40F)}},
                 {"digit separators and exponents",
                  kCxx,
                  "PUT(0, 1'000.5); PUT(1, 1.5e-3f); o[2] = 0xe + 1; o[3] = 1'000u; o[4] = 0b101;",
                  {},
                  {f(1000.5F), f(1.5e-3F), 15, 1000, 5}},
             },
             R"msl(
template <typename T> uint size_in_template() { T x = 1; auto y = x * 0.5; return sizeof(y); }
template <typename T> T tenth(T x) { return x * 0.1 + 1e-8; }
template <typename T> auto times(T x) { return x * 0.1; }
template <typename T> auto times_h(T x) { return x * 0.1h; }
)msl");
}

// A value just above the middle of two bfloats which a detour over float would put on the middle, and so on the even neighbour.
TEST(Literals, BfloatsAreRoundedOnce) {
  EXPECT_EQ(metal::translate::literal_for_opencl("1.00390625bf"), "((__bf16)0x1p+0f)");
  EXPECT_EQ(metal::translate::literal_for_opencl("1.00390625001bf"), "((__bf16)0x1.02p+0f)");
  EXPECT_EQ(metal::translate::literal_for_opencl("1.01171875bf"), "((__bf16)0x1.04p+0f)");
}

TEST(Literals, IntegersAndSuffixedFloatsStayAsTheyAre) {
  for (const char* text : {"1", "0x1bf", "0xEf", "017u", "1.0f", "1.0F", "1e3f", "1.0h", "0x1p3f", "1'000"})
    EXPECT_EQ(metal::translate::literal_for_opencl(text), std::nullopt) << text;
}

// ---- user-defined literals

constexpr const char* kUserDefined = "C++14, 13.5.8: a literal with a suffix is a call of its operator";

constexpr std::string_view kOperators = R"(
constexpr float operator""_deg(unsigned long long d) { return float(d) * 2; }
constexpr float operator "" _deg(long double d) { return float(d) * 4; }
constexpr half operator""_bf(long double d) { return half(float(d)) + 1.0h; }
float operator""_e2(unsigned long long d) { return d / 8.0; }
constexpr float operator""_x1(long double d) { return d; }
namespace units { inline namespace lengths {
constexpr int operator""_cm(unsigned long long n) { return 10 * n; }
template <char... C> constexpr int operator""_digits() { return sizeof...(C); }
}
struct Mass { int grams; };
constexpr Mass operator""_kg(unsigned long long n) { return Mass{int(n) * 1000}; } }
template <char First, char... Rest> struct Binary { static constant constexpr int value = (First - '0') * (1 << sizeof...(Rest)) + Binary<Rest...>::value; };
template <char Last> struct Binary<Last> { static constant constexpr int value = Last - '0'; };
template <char... C> constexpr int operator""_b() { return Binary<C...>::value; }
constexpr int operator""_c(char c) { return c + 1; }
constexpr int operator""_len(constant char* s, size_t n) { return n; }
constexpr int operator""_sum(const constant char* s, size_t n) { int r = 0; for (size_t i = 0; i < n; ++i) r += s[i]; return r; }
constexpr int operator""_raw(const constant char* s) { int r = 0; while (*s != 0) r = 100 * r + (*s++ - '0' + 1); return r; }
constexpr int operator""_both(constant char* s) { return *s; }
constexpr int operator""_both(unsigned long long n) { return n; }
template <int N> struct Fixed { static constant constexpr int value = N; };
template <typename T> T scaled(T x) { return x * T(3_deg) + T("four"_len); }
#define LENGTH(text) text##_len
#define DEGREES(n) n##_deg
)";

TEST(UserDefinedLiterals, CallTheirOperators) {
  check_rows("user-defined literals",
             {
                 {"of integers",
                  kUserDefined,
                  "PUT(0, 90_deg); PUT(1, 0x1e_deg); PUT(2, 1'000_deg + F(0)); PUT(3, 017_deg); PUT(4, 8_e2);",
                  {f(1)},
                  {f(180), f(60), f(2001), f(30), f(1)}},
                 {"of floating-point numbers",
                  kUserDefined,
                  "PUT(0, 1.5_deg); PUT(1, 1e2_deg); PUT(2, .5_deg); PUT(3, 0.1_x1); PUT(4, 0x1.8p1_deg);",
                  {},
                  {f(6), f(400), f(2), f(0.1F), f(12)}},
                 {"that end like a suffix of Metal", kUserDefined, "PUTH(0, 0.5_bf); PUT(1, 2.5e1_x1);", {}, {h(1.5F), f(25)}},
                 {"of a namespace",
                  kUserDefined,
                  "using namespace units; o[0] = 25_cm; o[1] = (3_kg).grams; { using namespace units::lengths; o[2] = 12345_digits; }",
                  {},
                  {250, 3000, 5}},
                 {"of characters as template arguments",
                  kUserDefined,
                  "o[0] = 1011_b; o[1] = 0_b; o[2] = operator\"\"_b<'1', '0'>();",
                  {},
                  {11, 0, 2}},
                 {"of characters", kUserDefined, "o[0] = 'a'_c;", {}, {98}},
                 {"of text",
                  kUserDefined,
                  "o[0] = \"abc\"_len; o[1] = \"ab\"_sum; o[2] = \"\"_len; o[3] = \"ab\" \"cde\"_len; o[4] = \"a\"_len \"b\"_len; o[5] = "
                  "\"a\\n\"_sum;",
                  {},
                  {3, 97 + 98, 0, 5, 2, 97 + 10}},
                 {"of digits", kUserDefined, "o[0] = 12_raw; o[1] = 0_raw;", {}, {203, 1}},
                 {"of digits only where none takes the number", kUserDefined, "o[0] = 7_both; o[1] = 7.5_both;", {}, {7, '7'}},
                 {"in constant expressions",
                  kUserDefined,
                  "static_assert(\"abc\"_len == 3 && 4_deg == 8, \"\"); int a[\"abcd\"_len + 1011_b]; o[0] = sizeof(a) / 4; o[1] = "
                  "Fixed<\"xy\"_len>::value;",
                  {},
                  {15, 2}},
                 {"called by name", kUserDefined, "PUT(0, operator\"\"_deg(5ull)); o[1] = units::operator\"\"_cm(2);", {}, {f(10), 20}},
                 {"in templates and macros",
                  kUserDefined,
                  "PUT(0, scaled(F(0))); PUT(1, DEGREES(7)); o[2] = LENGTH(\"abc\"); o[3] = scaled(2);",
                  {f(0.5F)},
                  {f(7), f(14), 3, 16}},
             },
             kOperators);
}

TEST(UserDefinedLiterals, AreTheSameUnderEveryPolicy) {
  const std::string source =
      "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(kOperators) +
      "kernel void test(device float* out, device const float* in [[buffer(1)]], uint t [[thread_index_in_threadgroup]]) {\n"
      "  out[t] = in[t] * 0.5_deg + 3_e2 + \"abc\"_len + 0.25_x1; }\n";
  for (const auto policy : {metal::Policy::native, metal::Policy::checked, metal::Policy::shadow}) {
    std::vector<std::uint32_t> input;
    for (int t = 0; t < 32; ++t) input.push_back(f(static_cast<float>(t)));
    metal::SimulatorOptions options;
    options.policy = policy;
    const auto outcome = execute({.source = source, .inputs = {input}, .options = options});
    EXPECT_TRUE(outcome.hazards.empty());
    for (int t = 0; t < 32; ++t)
      EXPECT_EQ(outcome.output[static_cast<std::size_t>(t)], f(2.0F * static_cast<float>(t) + 0.375F + 3 + 0.25F)) << t;
  }
}

TEST(UserDefinedLiterals, WithoutAnOperatorAreRefused) {
  const auto refusal = [](const std::string& prologue, const std::string& expression) {
    return compile_error("#include <metal_stdlib>\nusing namespace metal;\n" + prologue +
                             "\nkernel void test(device int* out) { out[0] = " + expression + "; }",
                         "test");
  };
  EXPECT_THAT(refusal("", "5_deg"), testing::AllOf(testing::StartsWith("conformance.metal:4: error:"), testing::HasSubstr("_deg")));
  EXPECT_THAT(refusal("constexpr int operator\"\"_n(unsigned long long n) { return n; }", "1.5_n"), testing::HasSubstr("_n"));
  EXPECT_THAT(refusal("constexpr int operator\"\"_n(unsigned long long n) { return n; }", "\"a\"_n"), testing::HasSubstr("_n"));
  EXPECT_THAT(refusal("constexpr int operator\"\"_n(long double n) { double d = n; return d; }", "1.5_n"),
              testing::HasSubstr("Metal does not have 'double'"));
  EXPECT_THAT(refusal("int f(long double d) { return 1; }", "f(1)"), testing::HasSubstr("Metal does not have 'double'"));
}

}  // namespace
}  // namespace assay::tests::literals_test
