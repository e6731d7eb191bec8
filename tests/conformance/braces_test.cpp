// Vectors from values in braces: component by component, and zeros behind the last one given.
//
// Expectations are those of clang for its own ext_vector types in C++17, which are what Metal's vectors are; only vectors
// among the values (which clang takes in OpenCL alone) follow the MSL constructors.
#include <gtest/gtest.h>

#include "tests/conformance/rows.h"

namespace assay::tests::braces_test {
namespace {

constexpr const char* kClang = "clang's ext_vector types in C++17";

TEST(Braces, FillComponentByComponentAndZeroTheRest) {
  check_rows(
      "values in braces",
      {
          {"one value", kClang, "float4 v = {F(0)}; PUT(0, v.x); PUT(1, v.y); PUT(2, v.z); PUT(3, v.w);", {f(5)}, {f(5), 0, 0, 0}},
          {"one value, without =", kClang, "float4 v{F(0)}; PUT(0, v.x); PUT(1, v.y); PUT(2, v.w);", {f(5)}, {f(5), 0, 0}},
          {"one value, a temporary", kClang, "PUT(0, float3{F(0)}.x + float3{F(0)}.y + float3{F(0)}.z);", {f(5)}, {f(5)}},
          {"one value in parentheses repeats", kClang, "float4 v = float4(F(0)); PUT(0, v.w);", {f(5)}, {f(5)}},
          {"one value without anything repeats", kClang, "float4 v = F(0); PUT(0, v.w);", {f(5)}, {f(5)}},
          {"two and three values",
           kClang,
           "float4 v = {F(0), 2}, w = {F(0), 2, 3}; PUT(0, v.x); PUT(1, v.y); PUT(2, v.z); PUT(3, v.w); PUT(4, w.z); PUT(5, w.w);",
           {f(5)},
           {f(5), f(2), 0, 0, f(3), 0}},
          {"all values", kClang, "float3 v = {1, F(0), 3}; PUT(0, v.x); PUT(1, v.y); PUT(2, v.z);", {f(5)}, {f(1), f(5), f(3)}},
          {"nothing", kClang, "float4 v = {}; float2 w{}; PUT(0, v.x + v.y + v.z + v.w + w.x + w.y); PUT(1, float3{}.z);", {}, {0, 0}},
          {"a zero", kClang, "float4 v = {0}; PUT(0, v.x); PUT(1, v.w);", {}, {0, 0}},
          {"a vector",
           kClang,
           "float4 a = {F(0), 2}; float4 v = {a}, w{a}; PUT(0, v.x); PUT(1, v.y); PUT(2, w.y); PUT(3, w.z);",
           {f(5)},
           {f(5), f(2), f(2), 0}},
          {"a vector and scalars",
           kMsl,
           "float2 a = {F(0), 2}; float4 v = {a, 7, 8}, w{7, a, 8}, x = float4{7, 8, a}; PUT(0, v.y); PUT(1, v.w); PUT(2, w.y); PUT(3, "
           "w.w); PUT(4, x.z); PUT(5, x.w);",
           {f(5)},
           {f(2), f(8), f(5), f(8), f(5), f(2)}},
          {"vectors only",
           kMsl,
           "float2 a = {F(0), 2}; float3 b = {3, 4, 5}; float4 v{a, a}, w{b, F(0)}, x{F(0), b}; PUT(0, v.z); PUT(1, v.w); PUT(2, w.z); "
           "PUT(3, w.w); PUT(4, x.y); PUT(5, x.w);",
           {f(9)},
           {f(9), f(2), f(5), f(9), f(3), f(5)}},
          {"a vector and nothing behind it",
           kMsl,
           "float2 a = {F(0), 2}; float4 v = {a}; PUT(0, v.y); PUT(1, v.z); PUT(2, v.w);",
           {f(9)},
           {f(2), 0, 0}},
          {"arrays of vectors",
           kClang,
           "float4 a[3] = {{1, 2, 3, 4}, {F(0)}}; PUT(0, a[0].w); PUT(1, a[1].x); PUT(2, a[1].y); PUT(3, a[2].x);",
           {f(5)},
           {f(4), f(5), 0, 0}},
          {"arrays whose elements have no braces",
           kClang,
           "float4 a[2] = {F(0), 2}; PUT(0, a[0].w); PUT(1, a[1].x);",
           {f(5)},
           {f(5), f(2)}},
          {"arrays of arrays",
           kClang,
           "half2 a[2][2] = {{{1, 2}, {3}}, {{H(0), 6}}}; PUTH(0, a[0][1].x); PUTH(1, a[0][1].y); PUTH(2, "
           "a[1][0].x); PUTH(3, a[1][1].x);",
           {h(5)},
           {h(3), 0, h(5), 0}},
          {"structs with vectors",
           kClang,
           "Holder s = {{F(0)}, 2, {{1, 2}, {3}}}; PUT(0, s.v.x); PUT(1, s.v.y); PUT(2, s.x); PUT(3, s.a[1].x); PUT(4, s.a[1].y);",
           {f(5)},
           {f(5), 0, f(2), f(3), 0}},
          {"structs whose vectors have no braces",
           kClang,
           "Holder s = {F(0), 2}; PUT(0, s.v.w); PUT(1, s.x); PUT(2, s.a[0].x);",
           {f(5)},
           {f(5), f(2), 0}},
          {"designated members",
           kClang,
           "Holder s = {.v = {F(0), 1}, .x = 3}; PUT(0, s.v.y); PUT(1, s.v.z); PUT(2, s.x); PUT(3, s.a[1].y);",
           {f(5)},
           {f(1), 0, f(3), 0}},
          {"designated elements",
           kClang,
           "float2 a[3] = {[1] = {F(0)}, [2] = {1, 2}}; PUT(0, a[0].x); PUT(1, a[1].x); PUT(2, a[1].y); "
           "PUT(3, a[2].y);",
           {f(5)},
           {0, f(5), 0, f(2)}},
          {"an empty struct", kClang, "Holder s = {}; PUT(0, s.v.x + s.x + s.a[1].y);", {}, {0}},
          {"a returned list", kClang, "PUT(0, one(F(0)).x); PUT(1, one(F(0)).y); PUT(2, four(F(0)).w);", {f(5)}, {f(5), 0, f(8)}},
          {"a list as an argument", kMsl, "PUT(0, last_of({F(0), 2, 3, 4})); PUT(1, last_of({F(0)}));", {f(5)}, {f(4), 0}},
          {"an assigned list", kMsl, "float4 v = 9; v = {F(0), 1}; PUT(0, v.x); PUT(1, v.y); PUT(2, v.z);", {f(5)}, {f(5), f(1), 0}},
          {"a list assigned in device and threadgroup memory",
           kMsl,
           "threadgroup float4 t; t = {F(0)}; device float4* d = (device float4*)o; *d = {t.x, t.w, 3};",
           {f(5)},
           {f(5), 0, f(3), 0}},
          {"program-scope constants",
           kClang,
           "PUT(0, kShort.y); PUT(1, kShort.z); PUT(2, kRows[1].x); PUT(3, kRows[1].y); PUT(4, kBox.v.x);",
           {},
           {f(2), 0, f(5), 0, f(6)}},
          {"constexpr locals",
           kClang,
           "constexpr int3 v = {4}; static_assert(v.x == 4 && v.y == 0 && v.z == 0); o[0] = uint(v.x);",
           {},
           {4}},
          {"member initialisers", kClang, "Braced s(F(0)); PUT(0, s.v.x); PUT(1, s.v.y); PUT(2, s.w.y);", {f(5)}, {f(5), 0, f(3)}},
          {"a narrowing value",
           kClang,
           "uchar4 v = {U(0), 2}; int2 w{F(1)}; o[0] = v.x; o[1] = v.z; o[2] = uint(w.x);",
           {260, f(3.7F)},
           {4, 0, 3}},
          {"in a template",
           kMsl,
           "PUT(0, (listed<float, 4>(F(0)).x)); PUT(1, (listed<float, 4>(F(0)).z)); PUTH(2, (listed<half, 3>(F(0)).x));",
           {f(5)},
           {f(5), 0, h(5)}},
          {"packed vectors",
           kMsl,
           "packed_float3 p = {F(0)}; packed_half4 q{half(F(0)), 2}; packed_uchar4 r = {1, 2, 3, 4}; PUT(0, p.x); PUT(1, p.y); PUTH(2, "
           "q.y); PUTH(3, q.w); o[4] = r.w; packed_float2 s = {}; PUT(5, s.y);",
           {f(5)},
           {f(5), 0, h(2), 0, 4, 0}},
          {"metal::array and arrays of matrices",
           kMsl,
           "array<float4, 2> a = {float4(F(0)), {2}}; PUT(0, a[0].w); PUT(1, a[1].x); PUT(2, a[1].y); float2x2 m[2] = {{{1, F(0)}, {3}}}; "
           "PUT(3, m[0][0].y); PUT(4, m[0][1].x); PUT(5, m[0][1].y); PUT(6, m[1][1].x);",
           {f(5)},
           {f(5), f(2), 0, f(5), f(3), 0, 0}},
          {"operands of library functions and default arguments",
           kMsl,
           "float4 v = max(float4(1), {F(0)}); PUT(0, v.x); PUT(1, v.y); Pair p(float4{F(0)}), q; PUT(2, p.a.x); PUT(3, p.a.y); PUT(4, "
           "p.b.x + "
           "q.a.x);",
           {f(5)},
           {f(5), f(1), f(5), 0, 0}},
          {"a user's type in the list", kMsl, "Own e = {F(0)}; float2 v = {e, e}; PUT(0, v.y);", {f(5)}, {f(5)}},
      },
      R"msl(
struct Holder { float4 v; float x; float2 a[2]; };
struct Braced { float4 v; float2 w{2, 3}; Braced(float x) : v{x} {} };
struct Own { float value; operator float() const { return value; } };
struct Pair { float4 a; float4 b; Pair(float4 x = {}, float4 y = {}) : a{x}, b{y} {} };
constant float4 kShort = {1, 2};
constant float2 kRows[2] = {{3, 4}, {5}};
constant Holder kBox = {{6}, 1, {}};
float4 one(float x) { return {x}; }
float4 four(float x) { return {x, x + 1, x + 2, x + 3}; }
float last_of(float4 v) { return v.w; }
template <typename T, int N> vec<T, N> listed(float x) { return vec<T, N>{T(x)}; }
)msl");
}

// One row per component type, because each has constructors of its own.
TEST(Braces, HoldForEveryComponentType) {
  std::vector<Row> rows;
  for (const std::string type : {"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "bfloat"}) {
    rows.push_back({type + "4 = {x}",
                    kClang,
                    type + "4 v = {" + type + "(U(0))}; o[0] = uint(v.x); o[1] = uint(v.y) + uint(v.z) + uint(v.w);",
                    {7},
                    {7, 0}});
    rows.push_back({type + "3 {x, y}",
                    kClang,
                    type + "3 v{1, " + type + "(U(0))}; o[0] = uint(v.x); o[1] = uint(v.y); o[2] = uint(v.z);",
                    {7},
                    {1, 7, 0}});
    rows.push_back({type + "2 = {x, y}, {}",
                    kClang,
                    type + "2 v = {" + type +
                        "(U(0)), 2}, w = {}; o[0] = uint(v.x); o[1] = uint(v.y); o[2] = "
                        "uint(w.x) + uint(w.y);",
                    {7},
                    {7, 2, 0}});
  }
  rows.push_back({"bool4 = {x}",
                  kClang,
                  "bool4 v = {U(0) > 3}; o[0] = v.x; o[1] = v.y || v.z || v.w; bool2 w{true, U(0) > 9}; o[2] = w.x; o[3] = w.y;",
                  {7},
                  {1, 0, 1, 0}});
  check_rows("values in braces, by component type", rows);
}

}  // namespace
}  // namespace assay::tests::braces_test
