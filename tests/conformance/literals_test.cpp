// What a number in the source is.
#include <gtest/gtest.h>

#include "metal/translate/literals.h"
#include "tests/conformance/rows.h"

namespace assay::conformance {
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

}  // namespace
}  // namespace assay::conformance
