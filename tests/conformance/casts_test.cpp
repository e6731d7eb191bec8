// Casts between half and bfloat, which clang refuses and Metal has: over float, in which both are exact.
#include <gtest/gtest.h>

#include "tests/conformance/rows.h"

namespace assay::tests::casts_test {
namespace {

constexpr const char* kRounding = "Eigen: bfloat16(float(half)), half(float(bfloat16))";

// Instructions of newer processors flush these to zero; no processor may.
TEST(Casts, KeepSubnormals) {
  check_rows("subnormal floats, bfloats and halves",
             {{"float to bfloat and back",
               kRounding,
               "PUTH(0, bfloat(F(0))); PUTH(1, bfloat(F(0) * 0.5f)); PUT(2, float(bfloat(F(0))) * 2.0f);",
               {f(0x1p-130F)},
               {b(0x1p-130F), b(0x1p-131F), f(0x1p-129F)}},
              {"arithmetic of bfloat and of half",
               kRounding,
               "PUTH(0, B(0) * bfloat(0.5)); PUTH(1, H(1) * 0.5h + H(1));",
               {b(0x1p-130F), h(0x1p-20F)},
               {b(0x1p-131F), h(0x1.8p-20F)}}});
}

TEST(Casts, BetweenHalfAndBfloatInEverySpelling) {
  check_rows(
      "casts between half and bfloat",
      {
          {"static_cast",
           kRounding,
           "PUTH(0, static_cast<bfloat>(H(0))); PUTH(1, static_cast<half>(B(1)));",
           {h(0.1F), b(0.1F)},
           {b(static_cast<float>(Eigen::half(0.1F))), h(static_cast<float>(Eigen::bfloat16(0.1F)))}},
          {"functional",
           kRounding,
           "PUTH(0, bfloat(H(0) + 1.0h)); PUTH(1, half(B(1)) * 2.0h); half x = half(-B(1)); PUTH(2, x);",
           {h(2), b(3)},
           {b(3), h(6), h(-3)}},
          {"in the style of C",
           kRounding,
           "half x = H(0); PUTH(0, (bfloat)x); PUTH(1, (half)B(1)); Pair p = {x, (bfloat)x}; PUTH(2, ((half)p.b)); PUTH(3, (bfloat)-p.a); "
           "float s = 1.0f + (bfloat)p.a * 2.0f; PUT(4, s); PUTH(5, (half)(bfloat)p.a);",
           {h(2.5F), b(3)},
           {b(2.5F), h(3), h(2.5F), b(-2.5F), f(6), h(2.5F)}},
          {"to a type parameter",
           kRounding,
           "PUTH(0, (to_static<bfloat>(H(0)))); PUTH(1, (to_functional<half>(B(1)))); PUTH(2, (to_c<bfloat>(H(0)))); PUTH(3, "
           "(to_c<half>(B(1)))); o[4] = uint(to_c<int>(H(0)));",
           {h(2.5F), b(3)},
           {b(2.5F), h(3), b(2.5F), h(3), 2}},
          {"to an alias",
           kRounding,
           "PUTH(0, bfloat16_t(H(0))); PUTH(1, static_cast<float16_t>(B(1))); using u = bfloat; PUTH(2, u(H(0)));",
           {h(2.5F), b(3)},
           {b(2.5F), h(3), b(2.5F)}},
          {"of an element in memory",
           kRounding,
           "threadgroup half t[2]; t[1] = H(0); device bfloat* d = (device bfloat*)o; d[2] = static_cast<bfloat>(t[1]); d[3] = "
           "bfloat(t[1]); o[0] = 0; o[2] = as_type<ushort>(half(d[3]));",
           {h(2.5F)},
           {0, b(2.5F) | b(2.5F) << 16, h(2.5F)}},
          {"out of range", kRounding, "PUTH(0, half(B(0))); PUTH(1, static_cast<half>(B(1)));", {b(1e20F), 0x7fc0}, {0x7c00, 0x7e00}},
          {"in conditionals and calls",
           kRounding,
           "PUTH(0, U(0) > 0 ? static_cast<bfloat>(H(1)) : B(2)); PUTH(1, U(0) > 9 ? (bfloat)H(1) : B(2)); PUTH(2, bfloat(max(H(1), "
           "half(B(2)))));",
           {1, h(2), b(3)},
           {b(2), b(3), b(3)}},
          {"other casts beside them keep their meaning",
           kCxx,
           "uint n = U(0); o[0] = (uint)half(n); o[1] = uint((half)n) + (uint)1; device uint* q = static_cast<device uint*>(o); q[2] = "
           "sizeof(half) * (n); Own e{F(1)}; PUT(3, static_cast<float>(e) + float(e)); PUTH(4, bfloat(H(2)));",
           {7, f(2), h(1)},
           {7, 8, 14, f(4), b(1)}},
      },
      R"msl(
typedef half float16_t;
typedef bfloat bfloat16_t;
struct Pair { half a; bfloat b; };
struct Own { float v; operator float() const thread { return v; } };
template <typename T> struct Scale { T by, twice; Scale(half x) : by(T(x)), twice(T(2.0h * x)) {} };
template <typename To, typename From> To to_static(From x) { return static_cast<To>(x); }
template <typename To, typename From> To to_functional(From x) { return To(x); }
template <typename To, class From> To to_c(From x) { To y = (To)x; return y; }
)msl");
}

// Every half has one bfloat, and back; the rows above test spellings, this tests values.
TEST(Casts, RoundOnce) {
  const auto out = run_kernel(R"(#include <metal_stdlib>
using namespace metal;
kernel void run(device ushort2* out, uint i [[thread_position_in_grid]]) {
  out[i] = ushort2(as_type<ushort>(bfloat(as_type<half>(ushort(i)))), as_type<ushort>(half(as_type<bfloat>(ushort(i)))));
})",
                              "run", {Words(65536)}, 65536, 1024);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = Eigen::numext::bit_cast<Eigen::half>(static_cast<std::uint16_t>(i));
    const auto bfloat = Eigen::numext::bit_cast<Eigen::bfloat16>(static_cast<std::uint16_t>(i));
    if (!(Eigen::numext::isnan)(half)) {
      ASSERT_EQ(out[0][i] & 0xffff, b(static_cast<float>(half))) << i;
    }
    if (!(Eigen::numext::isnan)(bfloat)) {
      ASSERT_EQ(out[0][i] >> 16, h(static_cast<float>(bfloat))) << i;
    }
  }
}

TEST(Casts, ARefusalStaysOne) {
  const std::string error = compile_error(
      "#include <metal_stdlib>\nusing namespace metal;\nkernel void run(device half* o, device bfloat* i) { o[0] = missing(i[0]); }",
      "run");
  EXPECT_NE(error.find("conformance.metal:3: error: use of undeclared identifier 'missing'"), std::string::npos) << error;
}

}  // namespace
}  // namespace assay::tests::casts_test
