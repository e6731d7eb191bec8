// What Metal's compiler takes from C++ and GNU C and OpenCL's leaves out, and where conditionals may stand.
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "metal/compile/pipeline.h"
#include "metal/errors.h"
#include "tests/conformance/execute.h"
#include "tests/conformance/rows.h"

namespace assay::tests::dialect_test {
namespace {

TEST(Dialect, Rows) {
  check_rows(
      "dialect",
      {
          {"bit-fields",
           kCxx,
           "Bits b; b.low = U(0); b.middle = 0xabc; b.high = -3; o[0] = b.low + b.middle; o[1] = uint(int(b.high)); o[2] = sizeof(Bits); "
           "device Bits* d = (device Bits*)(o + 3); *d = b; d->low = 1; ++d->middle;",
           {0x17},
           {7 + 0xabc, n(-3), 4, 0xfffdabd1}},
          {"a ?: b", "GNU C", "o[0] = U(0) ?: 7; o[1] = U(1) ?: 7; o[2] = (U(1) ?: U(0)) ?: 1;", {5, 0}, {5, 7, 5}},
          {"a conditional that is an lvalue",
           kCxx,
           "int x = 1, y = 2; (U(0) > 1 ? x : y) = 7; thread int& r = U(0) > 1 ? x : y; r += 1; *&(U(0) > 1 ? y : x) += 10; o[0] = x; o[1] "
           "= y;",
           {3},
           {8, 12}},
          {"conditionals in constant expressions",
           kCxx,
           "o[0] = Sized<>::value + Sized<7>::value * 100; o[1] = sizeof(Sized<7>); switch (U(0)) { case (kThree > 2 ? 4 : 5): o[2] = 1; "
           "break; default: o[2] = 2; } float a[kThree > 4 ? 8 : 4]; o[3] = sizeof(a);",
           {4},
           {4 + 1400, 32, 1, 16}},
          {"conditionals of commas, assignments and calls without value",
           kCxx,
           "int x = 0, y = 0; x = U(0) ? y = 2, 4 : 6; U(0) ? grow(x) : grow(y); !U(0) ? grow(x) : grow(y); o[0] = x; o[1] = y;",
           {1},
           {5, 3}},
          {"members of a device object kept in device pointers and references",
           "MSL 4",
           "device Ring* d = (device Ring*)(o + 2); d->head = 1; for (int k = 0; k < 4; ++k) d->data[k] = k; d->push(U(0)); o[0] = "
           "d->self()->sum(o + 3); o[1] = d->total();",
           {7},
           {12 + 7, 12, 2, 0, 7, 2, 3}},
          {"a base that knows its derived class, called on a temporary",
           kCxx,
           "o[0] = Leaf(U(0)).twice() + Leaf(2).thrice(); const Leaf leaf(5); o[1] = leaf.twice();",
           {3},
           {12, 10}},
      },
      R"msl(
struct Bits { uint low : 4; uint middle : 12; int high : 16; };
constant constexpr int kThree = 3;
template <int N = (kThree > 1) ? 2 : 3> struct Sized { static constexpr constant int value = N > 1 ? N * 2 : 0; alignas(N > 1 ? 16 : 8) float x[N > 4 ? 8 : 4]; };
void grow(thread int& x) { x += 1; }
struct Ring {
  uint head;
  uint data[4];
  device Ring* self() device { device Ring* const p = this; return p; }
  void push(uint x) device { device uint& slot = data[head % 4]; slot = x; device uint* h = &head; *h += 1; }
  uint sum(device const uint* other) const device { const device uint* o = other; device const uint* none = nullptr; return total() + (none ? 0 : o[1]); }
  uint total() const device { uint s = 0; for (const device uint* p = data; p != data + 4; ++p) s += *p; return s; }
};
template <typename Derived> struct Base {
  uint twice() const { return 2 * static_cast<const thread Derived*>(this)->get(); }
  uint thrice() const { return 3 * static_cast<thread const Derived&>(*this).get(); }
};
struct Leaf : Base<Leaf> { uint x; Leaf(uint v) : x(v) {} uint get() const { return x; } };
)msl");
}

// The host fills structs by whole bytes.
TEST(Dialect, BitFieldsCannotBeFilledByName) {
  const auto library = metal::Library::from_source(
      "struct Args { uint n; uint low : 4; uint high : 28; };\nkernel void test(device uint* out, constant Args& args) { out[0] = "
      "args.low; }",
      "test.metal");
  const auto& layout = *library->pipeline({"test", {}})->layout().find("args")->layout;
  EXPECT_EQ(layout.size, 8u);
  EXPECT_EQ(layout.find("n")->type, metal::ScalarType::uint32);
  EXPECT_EQ(layout.find("low")->type, metal::ScalarType::other);
  const metal::FieldValue one = metal::FieldValue::of(std::uint32_t{1});
  EXPECT_THROW((void)metal::pack_struct(layout, {{"n", one}, {"low", one}, {"high", one}}, {}), metal::AbiMismatch);
}

TEST(Dialect, TypeTraits) {
  check_rows("type traits",
             {
                 {"underlying_type and common_type",
                  kCxx,
                  "o[0] = is_same_v<underlying_type_t<Kind>, ushort>; o[1] = is_same_v<common_type_t<half, float>, float>; o[2] = "
                  "is_same_v<common_type_t<uchar, short, int>, int>;",
                  {},
                  {1, 1, 1}},
                 {"extents and ranks",
                  kCxx,
                  "o[0] = extent_v<int[3]>; o[1] = extent_v<int[3][5], 1>; o[2] = rank_v<int[2][2]>; o[3] = alignment_of_v<float4>; o[4] = "
                  "is_same_v<remove_all_extents_t<half[2][3]>, half>;",
                  {},
                  {3, 5, 2, 16, 1}},
                 {"what a type can be",
                  kCxx,
                  "o[0] = is_scalar_v<Kind> && is_scalar_v<half> && !is_scalar_v<Own>; o[1] = is_fundamental_v<bfloat> && "
                  "!is_fundamental_v<Kind>; o[2] = is_default_constructible_v<Plain> && !is_default_constructible_v<Own>; o[3] = "
                  "is_copy_constructible_v<Own>; o[4] = is_trivially_default_constructible_v<Plain>;",
                  {},
                  {1, 1, 1, 1, 1}},
             },
             R"msl(
enum class Kind : ushort { a };
struct Plain { int x; };
struct Own { int x; Own(int y) : x(y) {} };
)msl");
}

// The type of a variable is that of its declaration: where the variable lies is no part of it.
TEST(Dialect, DecltypeOfReferencesAndPointers) {
  const std::string source = R"msl(#include <metal_stdlib>
using namespace metal;
struct S { float v; };
template <typename T> T twice(T x) { decltype(x) y = x; return y + x; }
template <typename T> void store(T to, float value) { decltype(to) other = to; other[0] = value; }
kernel void test(device float* out, constant S& s [[buffer(1)]]) {
  device float& r = out[0];
  const device float& c = out[1];
  threadgroup float shared[2];
  threadgroup float& t = shared[1];
  float own = 2;
  thread float& o = own;
  auto&& forwarded = out[2];
  static_assert(is_same_v<decltype(r), device float&>, "");
  static_assert(is_same_v<decltype(c), const device float&>, "");
  static_assert(is_same_v<decltype(t), threadgroup float&>, "");
  static_assert(is_same_v<decltype(o), thread float&>, "");
  static_assert(is_same_v<decltype(s), constant S&>, "");
  static_assert(is_same_v<decltype(forwarded), device float&>, "");
  static_assert(is_same_v<decltype((r)), device float&>, "");
  static_assert(is_same_v<decltype(own), float>, "");
  static_assert(is_same_v<decltype(out), device float*>, "");
  static_assert(is_same_v<remove_reference_t<decltype(o)>, thread float>, "");
  decltype(r) again = r;
  decltype(t) mine = t;
  decltype(own) copy = own;
  again = 5;
  mine = 7;
  decltype(forwarded) last = out[3];
  last = twice(copy) + shared[1] + s.v;
  store(&out[2], 9);
  out[1] = r;
})msl";
  const auto outcome = execute({.source = source, .inputs = {{f(100)}}, .threads = {1, 1, 1}});
  EXPECT_EQ(outcome.output[0], f(5));
  EXPECT_EQ(outcome.output[1], f(5));
  EXPECT_EQ(outcome.output[2], f(9));
  EXPECT_EQ(outcome.output[3], f(111));  // 2 * 2 + 7 + 100
}

}  // namespace
}  // namespace assay::tests::dialect_test
