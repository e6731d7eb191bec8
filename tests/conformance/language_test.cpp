// The language: address spaces, templates, structs, constants, and the habits of real kernels listed in MSL_CENSUS.md.
// Long because each row is a construct of the language, with its kernel and its result.
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "tests/conformance/rows.h"

namespace assay::tests::language_test {
namespace {

TEST(Language, AddressSpaces) {
  check_rows(
      "address spaces",
      {
          {"device const T* and const device T*",
           "MSL 4",
           "device const float* p = (device const float*)i; const device float* q = p; PUT(0, p[0] + q[1]);",
           {f(1), f(2)},
           {f(3)}},
          {"overloads that differ in the address space alone",
           "census trap",
           "thread float v = F(0); o[0] = where(&v); o[1] = where((device float*)o); o[2] = where(&kOne);",
           {f(1)},
           {1, 2, 3}},
          {"members repeated per address space",
           "census: 50 files",
           "Cell c; c.value = F(0); device Cell* d = (device Cell*)(o + 2); d[0].value = 5; PUT(0, c.get()); PUT(1, d[0].get());",
           {f(1)},
           {f(1), f(105), f(5)}},
          {"thread references and pointers",
           "MSL 4.4",
           "float v = F(0); bump(v); bump(*(&v)); thread float* p = &v; *p += 1; PUT(0, v);",
           {f(1)},
           {f(22)}},
          {"device references", "MSL 4.1", "o[0] = 3; device uint& r = o[0]; r += U(0); device uint* p = &r; p[1] = r;", {4}, {7, 7}},
          {"auto with an address space",
           "census: 43 files",
           "device auto* p = (device float*)o; auto q = p + 1; *q = F(0); const auto x = q[0]; thread auto& y = *(thread float*)&x; PUT(0, "
           "y);",
           {f(6)},
           {f(6), f(6)}},
          {"array references", "census: threadgroup T (&x)[N]", "float v[3] = {1, 2, F(0)}; PUT(0, total(v));", {f(6)}, {f(9)}},
          {"pointer arrays",
           "census: 30 files",
           "device uint* p[2] = {o, o + 1}; p[1][0] = U(0); p[0][0] = 1; for (auto k = 0; k < 2; ++k) p[k][2] = uint(k);",
           {9},
           {1, 9, 0, 1}},
          {"pointer casts within a space",
           "MSL 4",
           "device uchar* c = (device uchar*)o; c[0] = 1; c[1] = 2; c[2] = uchar(U(0)); c[3] = 0; o[1] = *reinterpret_cast<device const "
           "ushort*>(c + 2);",
           {3},
           {0x00030201, 0x0003}},
          {"device void*",
           "census: 21 files",
           "device void* v = o; ((device uint*)v)[0] = U(0); o[1] = *static_cast<device uint*>(v);",
           {5},
           {5, 5}},
          {"restrict and volatile",
           "census",
           "device uint* __restrict p = o; device uint* restrict q = o; *p = U(0); volatile device uint* r = (volatile device uint*)q; "
           "r[1] = r[0];",
           {5},
           {5, 5}},
          {"a threadgroup array inside a block",
           "census trap",
           "if (U(0) > 1) { threadgroup float t[4][2]; t[1][1] = F(1); t[3][0] = t[1][1] * 2; PUT(0, t[3][0]); }",
           {2, f(4)},
           {f(8)}},
          {"threadgroup scalars, structs and vectors",
           "census",
           "threadgroup uint n; threadgroup Pair s; threadgroup float4 v; n = U(0); s.a = n + 1; v = float4(1); v.y = 7; v.zw += 1; o[0] = "
           "n + s.a; PUT(1, v.y); "
           "PUT(2, v.w);",
           {3},
           {7, f(7), f(2)}},
          {"a threadgroup struct passed by reference",
           "METAL_RUNTIME.md 6",
           "threadgroup Pair s; fill_pair(s, U(0)); o[0] = s.a; o[1] = s.b[2];",
           {3},
           {3, 6}},
          {"+= and swizzle stores through a threadgroup reference",
           "METAL_RUNTIME.md 6",
           "threadgroup float4 v[2]; v[1] = F(0); threadgroup float4& r = v[1]; r += 2; r.xz = float2(9, 8); r.y *= 3; PUT(0, v[1].x); "
           "PUT(1, v[1].y); PUT(2, v[1].z); PUT(3, v[1].w);",
           {f(1)},
           {f(9), f(9), f(8), f(3)}},
          {"a threadgroup pointer cast to another type, in a struct",
           "METAL_RUNTIME.md 6",
           "threadgroup float t[8]; View view = {(threadgroup half*)t, 2}; view.p[view.offset] = half(F(0)); PUTH(0, "
           "((threadgroup half4*)t)[0].z);",
           {f(3)},
           {h(3)}},
          {"a threadgroup array as parameter",
           "METAL_RUNTIME.md 6",
           "threadgroup float t[4]; store_at(t, 2, F(0)); PUT(0, t[2]);",
           {f(3)},
           {f(3)}},
          {"program-scope constants",
           "census: 108 files",
           "PUT(0, kTable[U(0)]); PUT(1, kOne + kStatic); o[2] = kNested[1][U(0)]; o[3] = kBytes[2]; PUT(4, kVector[1].y);",
           {2},
           {f(30), f(3), 6, 255, f(4)}},
          {"class-scope constants",
           "census: static constant constexpr const",
           "o[0] = Tile::kRows * Tile::kColumns; o[1] = Tile::area(); o[2] = Big<4>::kTwice + U(0);",
           {1},
           {32, 32, 9}},
          {"constant pointers passed on",
           "MSL 4.2",
           "PUT(0, pick(kTable, U(0))); constant float* p = kTable + 1; PUT(1, *p); PUT(2, pick(p, 1));",
           {1},
           {f(20), f(20), f(30)}},
      },
      R"msl(
constant float kOne = 1.0f;
static constant float kStatic = 2.0f;
constant float kTable[] = {10, 20, 30};
constant constexpr uint kNested[2][3] = {{1, 2, 3}, {4, 5, 6}};
constexpr constant uchar kBytes[4] = {1, 2, 0xff, 4};
constant float2 kVector[2] = {float2(1, 2), float2(3, 4)};
uint where(thread const float*) { return 1; }
uint where(device const float*) { return 2; }
uint where(constant float*) { return 3; }
struct Cell {
  float value;
  float get() const thread { return value; }
  float get() const device { return value + 100; }
  float get() const threadgroup { return value + 200; }
};
void bump(thread float& v) { v += 10; }
float total(thread const float (&v)[3]) { return v[0] + v[1] + v[2]; }
struct Pair { uint a; uint b[3]; };
void fill_pair(threadgroup Pair& p, uint v) { p.a = v; for (int k = 0; k < 3; ++k) p.b[k] = v * k; }
struct View { threadgroup half* p; uint offset; };
void store_at(threadgroup float* t, uint k, float v) { t[k] = v; }
struct Tile {
  static constant constexpr const int kRows = 8;
  static constexpr constant int kColumns = 4;
  static constexpr int area() { return kRows * kColumns; }
};
template <int N> struct Big { static constant constexpr const uint kTwice = N * 2; };
float pick(constant float* table, uint k) { return table[k]; }
)msl");
}

TEST(Language, ConstructorsPerAddressSpace) {
  check_rows("constructors per address space",
             {
                 {"conversion operators per address space",
                  "census: 48 files",
                  "device Wrapped* d = (device Wrapped*)o; Wrapped w = Wrapped(F(0)); *d = w; float x = *d; float y = w; PUT(1, x + y);",
                  {f(2)},
                  {f(2), f(4)}},
                 {"members that return a place in their object",
                  "MSL 4: the object's address space",
                  "device Grid* d = (device Grid*)o; *d = Grid{}; d->at(1) = U(0); d->self().at(2) += 5; device uint* p = d->row(3); *p = "
                  "9; *d += 1; Grid g = *d; g.at(0) = 7; g += 1; o[4] = g.at(0) + g.at(3); device uint& r = d->at(0); r = U(0) + 2;",
                  {6},
                  {8, 7, 6, 10, 19}},
                 {"constructors repeated per address space",
                  "census: 45 files",
                  "o[0] = 0; device Twin* d = (device Twin*)(o + 1); *d = Twin(U(0)); Twin t; threadgroup Twin g; g = t; o[0] = g.value; "
                  "Twin u = d[0]; o[2] = u.value;",
                  {7},
                  {5, 7, 7}},
             },
             R"msl(
struct Wrapped {
  float value;
  Wrapped() thread = default;
  Wrapped() threadgroup = default;
  Wrapped() device = default;
  constexpr Wrapped(float v) thread : value(v) {}
  operator float() const thread { return value; }
  operator float() const device { return value; }
  operator float() const threadgroup { return value; }
  operator float() const constant { return value; }
};
struct Grid {
  uint v[4];
  thread uint& at(int i) thread { return v[i]; }
  device uint& at(int i) device { return v[i]; }
  device Grid& self() device { return *this; }
  device uint* row(int i) device { if (i > 2) return &v[i]; return v; }
  thread Grid& operator+=(uint x) thread { for (int i = 0; i < 4; ++i) v[i] += x; return *this; }
  device Grid& operator+=(uint x) device { for (int i = 0; i < 4; ++i) v[i] += x; return *this; }
};
struct Twin {
  uint value;
  constexpr Twin() thread : value(5) {}
  constexpr Twin() threadgroup : value(5) {}
  template <typename T, typename = enable_if_t<is_integral_v<T>>> constexpr Twin(T x) thread : value(x) {}
  template <typename T, typename = enable_if_t<is_integral_v<T>>> constexpr Twin(T x) threadgroup : value(x) {}
};
)msl");
}

TEST(Language, Templates) {
  check_rows(
      "templates",
      {
          {"function templates, type and value parameters",
           kCxx,
           "PUT(0, scaled<3>(F(0))); PUT(1, (scaled<2, float>(F(0))));",
           {f(2)},
           {f(6), f(4)}},
          {"deduction through address spaces",
           "census",
           "device float* d = (device float*)o; d[1] = F(0); thread float v = 5; PUT(0, load(d + 1) + load(&v) + load(kTwo));",
           {f(2)},
           {f(9), f(2)}},
          {"specialisation on a pointer's address space",
           "census trap",
           "o[0] = Space<device float*>::id; o[1] = Space<threadgroup int*>::id; o[2] = Space<const device half*>::id; o[3] = "
           "Space<thread int*>::id;",
           {},
           {1, 2, 11, 3}},
          {"variable templates", "census: 40 files", "o[0] = is_small<half>; o[1] = is_small<float>;", {}, {1, 0}},
          {"if constexpr, is_same_v, conditional_t, enable_if_t",
           "census",
           "PUT(0, kind<half>()); PUT(1, kind<float>()); o[2] = sizeof(conditional_t<is_small<half>, uchar, uint>); o[3] = only_int(I(0)); "
           "o[4] = "
           "uint(only_int(F(1)));",
           {5, f(2.5F)},
           {f(2), f(4), 1, 6, 3}},
          {"variadic templates and packs", "census: 23 files", "o[0] = sum_all(U(0), 2u, 3u); o[1] = count_of(1, 2.0f, 'x');", {1}, {6, 3}},
          {"a function as template argument",
           "census: 22 files",
           "PUT(0, apply<square>(F(0))); PUT(1, apply<twice>(F(0))); float4 r; convert<unpack>((device const float4*)i, r); PUT(2, r.x);",
           {f(3)},
           {f(9), f(6), f(4)}},
          {"a functor as template argument",
           "census: 41 files",
           "PUT(0, (reduce_two<Add>(F(0), 4.0f))); PUT(1, (reduce_two<Max>(F(0), 4.0f)));",
           {f(3)},
           {f(7), f(4)}},
          {"alias templates and using",
           kCxx,
           "Quad<float> q = {1, 2, F(0), 4}; using V = vec<half, 2>; V v = V(H(0)); PUT(0, q.z); (void)v; o[1] = sizeof(V);",
           {f(3)},
           {f(3), 4}},
          {"default template arguments", kCxx, "o[0] = Chunk<>::size + Chunk<8>::size;", {}, {12}},
          {"member templates and static members",
           kCxx,
           "Box<float> box; box.set(F(0)); PUT(0, box.as<float>()); PUTH(1, box.as<half>()); o[2] = Box<float>::count<3>();",
           {f(2)},
           {f(2), h(2), 12}},
          {"make_unsigned, remove_cv, is_integral, numeric_limits in templates",
           "census: 137 files",
           "o[0] = is_same_v<make_unsigned_t<int>, uint>; o[1] = is_same_v<remove_cv_t<const volatile float>, float>; o[2] = "
           "is_integral_v<ushort> && !is_integral_v<half> && is_floating_point_v<bfloat>; o[3] = "
           "is_unsigned_v<uchar> && is_signed_v<char>; o[4] = uint(top<short>());",
           {},
           {1, 1, 1, 1, 32767}},
          {"_disjunction and integral_constant",
           "census: internal traits",
           "o[0] = _disjunction<is_same<int, float>, is_same<int, int>>::value; o[1] = integral_constant<int, 7>::value; o[2] = "
           "sizeof(true_type) > 0;",
           {},
           {1, 7, 1}},
          {"a lambda",
           "census: 31 files",
           "float k = F(0); auto add = [&](float x) { return x + k; }; auto mul = [](float x, float y) { return x * y; }; PUT(0, add(2) + "
           "mul(3, k));",
           {f(4)},
           {f(18)}},
          {"metal::array",
           "census: 20 files",
           "metal::array<float, 3> a = {1, F(0), 3}; a[2] += a[1]; PUT(0, a[2]); o[1] = a.size();",
           {f(4)},
           {f(7), 3}},
      },
      R"msl(
constant float kTwo[1] = {2};
template <int N, typename T = float> T scaled(T x) { return x * N; }
template <typename T> float load(device const T* p) { return *p; }
template <typename T> float load(thread const T* p) { return *p; }
template <typename T> float load(constant T* p) { return *p; }
template <typename T> struct Space;
template <typename T> struct Space<device T*> { static constexpr constant uint id = 1; };
template <typename T> struct Space<const device T*> { static constexpr constant uint id = 11; };
template <typename T> struct Space<threadgroup T*> { static constexpr constant uint id = 2; };
template <typename T> struct Space<thread T*> { static constexpr constant uint id = 3; };
template <typename T> constexpr constant bool is_small = false;
template <> constexpr constant bool is_small<half> = true;
template <typename T> float kind() { if constexpr (is_same_v<T, half>) return 2; else return sizeof(T); }
template <typename T> enable_if_t<is_integral_v<T>, uint> only_int(T x) { return uint(x) + 1; }
template <typename T, enable_if_t<!is_integral_v<T>, bool> = true> T only_int(T x) { return x + 1; }
uint sum_all() { return 0; }
template <typename... R> uint sum_all(uint first, R... rest) { return first + sum_all(rest...); }
template <typename... T> uint count_of(T...) { return sizeof...(T); }
float square(float x) { return x * x; }
float twice(float x) { return x + x; }
template <float (*F)(float)> float apply(float x) { return F(x); }
void unpack(device const float4* p, thread float4& r) { r = float4(p->x + 1); }
template <void (*convert_func)(device const float4*, thread float4&)> void convert(device const float4* p, thread float4& r) { convert_func(p, r); }
struct Add { template <typename T> T operator()(T a, T b) { return a + b; } };
struct Max { template <typename T> T operator()(T a, T b) const { return metal::max(a, b); } };
template <typename Op> float reduce_two(float a, float b) { Op op; return op(a, b); }
template <typename T> using Quad = vec<T, 4>;
template <int N = 4> struct Chunk { static constexpr constant int size = N; };
template <typename T> struct Box {
  T value;
  void set(T v) { value = v; }
  template <typename U> U as() const { return U(value); }
  template <int N> static constexpr uint count() { return N * sizeof(T); }
};
template <typename T> T top() { return numeric_limits<T>::max(); }
)msl");
}

TEST(Language, StructsAndStatements) {
  check_rows(
      "structs and statements",
      {
          {"constructors, methods, operators",
           "census: 107 files",
           "complex c = complex(1, F(0)), d = c * c; PUT(0, d.re); PUT(1, d.im); d += c; PUT(2, d.re); PUT(3, abs(complex(3, 4)));",
           {f(2)},
           {f(-3), f(4), f(-2), f(5)}},
          {"user overloads of library names",
           "census fact 5",
           "PUT(0, max(complex(1, 2), complex(3, 0)).re); PUT(1, erf(F(0))); PUT(2, max(F(0), 1.0f)); PUTH(3, max(B(1), B(2)));",
           {f(2), b(3), b(4)},
           {f(3), f(102), f(2), b(4)}},
          {"metal:: names, ::metal:: names",
           "census",
           "PUT(0, metal::exp2(F(0)) + ::metal::max(F(0), 1.0f)); metal::float4 v = metal::float4(1); PUT(1, v.w);",
           {f(2)},
           {f(6), f(1)}},
          {"enum, enum class",
           "census: 41 files",
           "Mode m = Mode::fast; switch (m) { case Mode::slow: o[0] = 1; break; case Mode::fast: o[0] = 2; break; } o[1] = kSecond + "
           "int(m) + U(0);",
           {0},
           {2, 12}},
          {"switch with fall-through",
           "census: 51 files",
           "uint n = 0; switch (U(0)) { case 1: n += 1; case 2: n += 2; [[fallthrough]]; default: n += 4; } "
           "o[0] = n;",
           {1},
           {7}},
          {"unions and anonymous structs",
           "census: 20 files",
           "Mixed m; m.u = U(0); PUT(0, m.f); m.parts.low = 1; o[1] = m.u;",
           {f(2)},
           {f(2), 0x40000001}},
          {"designated initialisers, nested braces",
           "census",
           "Nested q = {.a = U(0), .in = {1, {2, 3}}}; o[0] = q.a + q.in.n + q.in.v[1];",
           {10},
           {14}},
          {"designated array ranges", "METAL_RUNTIME.md 1", "float v[8] = {[0 ... 7] = 1.5f}; PUT(0, v[I(0)] + v[7]);", {5}, {f(3)}},
          {"compound literals", "census: 7 files", "o[0] = total_of((Nested){U(0), {1, {2, 3}}});", {10}, {14}},
          {"two-dimensional arrays",
           kCxx,
           "float m[3][4] = {{0}}; for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) m[r][c] = r * 10 + c + F(0); PUT(0, m[2][3]);",
           {f(1)},
           {f(24)}},
          {"#pragma unroll and _Pragma",
           "census: 143 files",
           "float s = 0;\n#pragma unroll\nfor (int k = 0; k < 4; ++k) s += F(0);\n#pragma clang loop unroll(full)\nfor (int k = 0; k < 4; "
           "++k) s += 1;\nUNROLL for (int k = 0; k < 2; "
           "++k) s += 1; PUT(0, s);",
           {f(2)},
           {f(14)}},
          {"identifiers that are keywords elsewhere",
           "census trap",
           "uint local = U(0), global = 2, generic = 3, pipe = 4, read_only = 5; o[0] = local + global + generic + pipe + read_only;",
           {1},
           {15}},
          {"digit separators, binary and hexadecimal literals",
           kCxx,
           "o[0] = 1'000u + 0b101u + 0xFFu + U(0); PUT(1, 0x1.8p1f + F(1));",
           {0, f(1)},
           {1260, f(4)}},
          {"inheritance", "census: 7 files", "Derived d; d.base = U(0); o[0] = d.doubled() + d.own();", {4}, {13}},
          {"short-circuit, comma, nested ?:",
           kCxx,
           "uint n = 0; if (U(0) > 5 && (n = 1)) n += 10; if (U(0) < 5 || (n = 2)) n += 20; o[0] = n; o[1] = U(0) > 2 ? U(0) > 3 ? 1u : 2u "
           ": 3u; o[2] = (n = 4, n + 1);",
           {3},
           {20, 2, 5}},
          {"?: of structs and pointers",
           kCxx,
           "Pair2 p = {1, 2}, q = {3, U(0)}; Pair2 r = U(0) > 3 ? p : q; o[0] = r.b; device uint* w = U(0) > 3 ? o : o + 1; *w = 7; device "
           "uint* nothing = U(0) > 100 ? o : nullptr; o[2] = nothing == "
           "0; o[1] = (U(0) < 100 ? Pair2{5, 6} : p).b;",
           {2},
           {2, 6, 1}},
          {"printf-like logging is accepted and dropped", "MSL 6.16", "os_log_default.log(\"value %d\", 3); o[0] = U(0);", {1}, {1}},
          {"static_assert and constexpr functions",
           kCxx,
           "static_assert(power(2, 10) == 1024, \"constexpr\"); float v[power(2, 2)] = {}; o[0] = sizeof(v);",
           {},
           {16}},
          {"a static function, METAL_FUNC, inline", "census: 232 files", "PUT(0, plus_one(F(0)) + plus_two(F(0)));", {f(1)}, {f(5)}},
          {"float in a bool context, implicit conversions of arguments",
           kCxx,
           "float v = F(0); o[0] = v ? 1 : 2; o[1] = takes_short(U(1)); PUT(2, plus_one(1)); if (!v) o[0] = 9;",
           {f(0.5F), 65537},
           {1, 1, f(2)}},
      },
      R"msl(
#define UNROLL _Pragma("clang loop unroll(full)")
struct complex {
  float re, im;
  complex() = default;
  constexpr complex(float r, float i) : re(r), im(i) {}
  complex operator*(complex o) const { return complex(re * o.re - im * o.im, re * o.im + im * o.re); }
  thread complex& operator+=(complex o) thread { re += o.re; im += o.im; return *this; }
};
float abs(complex c) { return sqrt(c.re * c.re + c.im * c.im); }
complex max(complex a, complex b) { return a.re > b.re ? a : b; }
float erf(float x) { return x + 100; }
namespace metal { inline bfloat max(bfloat a, bfloat b) { return a > b ? a : b; } }
enum class Mode : uint { slow, fast };
enum { kFirst = 10, kSecond };
union Mixed { float f; uint u; struct { ushort low, high; } parts; };
struct Inner { uint n; uint v[2]; };
struct Nested { uint a; Inner in; };
uint total_of(Nested q) { return q.a + q.in.n + q.in.v[1]; }
struct Base { uint base; uint own() const { return base + 1; } };
struct Derived : Base { uint doubled() { return base * 2; } };
struct Pair2 { uint a, b; };
constexpr int power(int b, int n) { return n == 0 ? 1 : b * power(b, n - 1); }
static inline float plus_one(float x) { return x + 1; }
METAL_FUNC float plus_two(float x) { return x + 2; }
uint takes_short(ushort s) { return s; }
)msl");
}

TEST(Language, VectorsInUse) {
  check_rows(
      "vectors in use",
      {
          {"increments of a component",
           kCxx,
           "uint3 p = uint3(U(0)); p.x++; ++p.y; uint a = p.z--; o[0] = p.x + p.y; o[1] = p.z; o[2] = a; o[3] = p.x++; o[4] = ++p.x;",
           {5},
           {12, 4, 5, 6, 8}},
          {"the value of an assignment to a component",
           kCxx,
           "float4 v = 0; v.x = v.y = F(0); v.z = v.w += 2; PUT(0, v.x + v.y); PUT(1, v.z);",
           {f(3)},
           {f(6), f(2)}},
          {"bit operators on a component",
           kCxx,
           "uint4 v = U(0); v.x <<= 2; v.y |= 8; v.z &= ~1u; v.w ^= v.x; v.x %= 7; o[0] = v.x; o[1] = v.y; o[2] = v.z; o[3] = v.w;",
           {5},
           {6, 13, 4, 17}},
          {"types deduced from components",
           kCxx,
           "float4 v = F(0); static_assert(is_same_v<decltype(v.x), float>); static_assert(sizeof(v.xy) == 8); auto a = v.x; auto b2 = "
           "v.yz; static_assert(is_same_v<decltype(a), float>); PUT(0, ident(v.x) + ident(v.xy).y + a + b2.x);",
           {f(1)},
           {f(4)}},
          {"components as conditions",
           kCxx,
           "int2 v = int2(I(0), 0); if (v.x) o[0] = 1; if (!v.y) o[1] = 2; switch (v.x) { case 5: o[2] = 3; break; default: o[2] = 4; } "
           "o[3] = v.x > 3 && v.y < 1 ? uint(v.x) : uint(v.y); while (v.x--) { } o[4] = uint(v.x);",
           {5},
           {1, 2, 3, 5, 0xffffffff}},
          {"narrowing in braces",
           "MSL census: -Wno-c++11-narrowing",
           "int q = I(0); half4 v = {q, q + 1, 2.5f, F(1)}; ushort4 w = {ushort(q), 1, 2, 3}; uint2 z{uint(q), 2}; PUTH(0, v.y); o[1] = "
           "w.x + z.x; float4 y = float4{1, 2, 3, 4}; PUT(2, y.w);",
           {5, f(1)},
           {h(6), 10, f(4)}},
          {"a vector seen as scalars",
           kCxx,
           "float4 v = float4(1, 2, F(0), 4); thread float* p = (thread float*)&v; p[1] = 7; PUT(0, v.y + p[2]); thread const half* hp = "
           "(thread const half*)&v; (void)hp; float2 arr[2] = {float2(1), float2(F(0))}; thread float* q = reinterpret_cast<thread "
           "float*>(arr); PUT(1, q[3]);",
           {f(3)},
           {f(10), f(3)}},
          {"components through references",
           kCxx,
           "float4 v = F(0); float s = v.x; PUT(0, by_ref(s)); PUT(1, s); const float4 c = v; PUT(2, c[2] + c.w);",
           {f(3)},
           {f(3), f(3), f(6)}},
          {"a vector member of a struct in device memory",
           kCxx,
           "device S* s = (device S*)o; s[0].v = float4(1, 2, 3, 4); s->v.yz += F(0); s[0].v.x *= 3; s->v[3]++; S t = *s; t.v.xy = t.v.yx; "
           "s[0] = t;",
           {f(1)},
           {f(3), f(3), f(4), f(5)}},
          {"vectors captured by a lambda",
           kCxx,
           "float4 v = F(0); auto g = [&]() { v.x += 1; return v.xy; }; float2 r = g(); auto k = [=](float2 y) { return y * v.x; }; PUT(0, "
           "k(r).x);",
           {f(1)},
           {f(4)}},
          {"half, float and integers mixed",
           kCxx,
           "float4 v = F(0); half4 hh = half4(v) * 2.0f; v = v * hh.x + float(hh.y); v += hh.z; v *= U(1); uint3 g = uint3(U(1), 2, 3); "
           "float2 pos = float2(g.xy) / float2(4, 2); PUT(0, v.x); PUT(1, pos.x); int2 ii = int2(g.xy) - 1; o[2] = uint(ii.x);",
           {f(2), 3},
           {f(48), f(0.75F), 2}},
          {"packed bytes",
           kCxx,
           "char4 a = as_type<char4>(U(0)); int4 w = int4(a) * int4(as_type<char4>(U(1))); o[0] = uint(w.x + w.y + w.z + w.w); uchar4 nib "
           "= uchar4(U(0) & 15, (U(0) >> 4) & 15, 3, 4); PUT(1, dot(float4(nib), float4(1)));",
           {0x01ff02fe, 0x02020202},
           {n((-2 + 2 - 1 + 1) * 2), f(14 + 15 + 7)}},
          {"min, max, clamp with casts",
           kCxx,
           "o[0] = min(U(0), 3u); o[1] = uint(min(int(U(0)), 7)); o[2] = max(ushort(U(0)), ushort(9)); PUT(3, max(F(1), 0.f)); PUT(4, "
           "clamp(F(1), 0.f, 1.f)); o[5] = (uint)min((uint)U(0), (uint)2); float2 m = min(float2(F(1)), 1.0f); PUT(6, m.y);",
           {5, f(-2)},
           {3, 5, 9, 0, 0, 2, f(-2)}},
          {"arrays of vectors from one zero",
           kCxx,
           "vec<float, 4> acc[3] = {vec<float, 4>(0)}; float4 b4[2] = {0}; acc[U(0)].x += 2; acc[1] += acc[U(0)]; half m[2][3] = {{1, 2, "
           "3}, {4, 5, 6}}; PUT(0, acc[1].x + b4[1].y); PUTH(1, m[1][U(0)]);",
           {2},
           {f(2), h(6)}},
          {"range-based for over an array",
           kCxx,
           "float a[3] = {1, 2, F(0)}; float s = 0; for (float x : a) s += x; for (thread auto& x : a) x *= 2; PUT(0, s + a[2]); s = 0; "
           "for (const auto x : a) s += x; PUT(1, s);",
           {f(3)},
           {f(12), f(12)}},
          {"half scalars",
           kEigen,
           "half a = H(0); a += 1; a *= 2.0f; a = -a; a = a > 0 ? a : -a; half c = sqrt(a) + exp(half(0)); PUTH(0, a); PUTH(1, c); o[2] = "
           "a == 8; o[3] = uint(a) + int(a); half d = a; d++; PUTH(4, d);",
           {h(3)},
           {h(8), h(static_cast<float>(Eigen::half(2.828427F)) + 1), 1, 16, h(9)}},
          {"bfloat scalars",
           kEigen,
           "bfloat a = B(0); a += bfloat(1); a = a * a; a -= 1; float s = a + 0.5f; bfloat c = bfloat(s) > a ? a : bfloat(0); PUT(0, s); "
           "PUTH(1, c); o[2] = uint(a); a = 2; PUT(3, float(a / 3)); bfloat4 v = bfloat4(1); v.x = a; v += v; PUT(4, float(v.x)); PUT(5, "
           "float(dot(float4(v), float4(1))));",
           {b(2)},
           {f(8.5F), b(8), 8, f(static_cast<float>(Eigen::bfloat16(2.0F / 3))), f(4), f(10)}},
          {"half divided by a literal",
           kEigen,
           "half2 v = half2(1, H(0)) / 3; PUTH(0, v.y); PUTH(1, H(0) / 3); PUT(2, H(0) / 3.0f);",
           {h(2)},
           {h(2.0F / 3), h(2.0F / 3), f(2.0F / 3)}},
          {"matrices in threadgroup memory",
           kCxx,
           "threadgroup half4x4 m[2]; m[1] = half4x4(H(0)); m[1][2].yz = half2(5, 6); m[1][0] += 1; threadgroup float2x4* q = (threadgroup "
           "float2x4*)m; (void)q; PUTH(0, m[1][2][2]); PUTH(1, m[1][0].w); float4x4 k = float4x4(m[1]); PUT(2, k[2].y);",
           {h(2)},
           {h(6), h(1), f(5)}},
          {"a bfloat class of the user",
           "census: 24 files",
           "bf e(F(0)); e = e + bf(1.0f); float4 v = float4(1) * float(e); PUT(0, v.x); o[1] = e.bits;",
           {f(2)},
           {f(3), 0x4040}},
          {"select, any, all together",
           kCxx,
           "float4 v = float4(1, -2, F(0), -4); v = select(v, -v, v < 0); v = select(v, float4(9), bool4(false, true, false, true)); "
           "PUT(0, v.x + v.y + v.z + v.w); o[1] = any(v == 9) && !all(v == 9); uint4 uu = select(uint4(1), uint4(2), v > 5.0f); o[2] = "
           "uu.x + uu.y;",
           {f(3)},
           {f(22), 1, 3}},
          {"64-bit integers",
           kCxx,
           "long a = -5; ulong u = ulong(U(0)) << 33; size_t s = u >> 32; long4 l4 = long4(a); l4.x += 1; o[0] = uint(s); o[1] = "
           "uint(int(l4.x)); o[2] = uint(u >> 33 == U(0)); int64_t q = int64_t(U(0)) * -3; o[3] = uint(q); ulong2 org = ulong2(0, U(0)); "
           "o[4] = uint(org.y);",
           {7},
           {14, n(-4), 1, n(-21), 7}},
          {"vectors between device memory and registers",
           kCxx,
           "device float4* d = (device float4*)o; d[0] = float4(1,2,3,F(0)); const device float4& r = d[0]; float4 v = r; float3 w = "
           "d->xyz; thread float4& q = v; q = d[0]; q.w += w.z; *d = q; d[0] *= 2;",
           {f(4)},
           {f(2), f(4), f(6), f(14)}},
      },
      R"msl(
template <typename T> T ident(T x) { return x; }
float by_ref(const thread float& x) { return x; }
struct S { float4 v; };
struct bf { ushort bits; bf() thread = default; bf(float x) { uint u = as_type<uint>(x); bits = ushort((u + 0x7fff + ((u >> 16) & 1)) >> 16); } operator float() const { return as_type<float>(uint(bits) << 16); } };
inline bf operator+(bf a, bf c) { return bf(float(a) + float(c)); }
)msl");
}

// A pipeline is made without the bodies of other kernels; their pragmas must not stay behind, and lines must not shift.
TEST(Language, PragmasInBodiesOfOtherKernels) {
  const std::string source = R"msl(#include <metal_stdlib>
using namespace metal;
#define UNROLLED _Pragma("unroll")
kernel void first(device float* o) {
#pragma clang fp contract(off)
  o[0] = 1;
#pragma unroll
  for (int i = 0; i < 3; i++) o[i] += 1;
  UNROLLED for (int i = 0; i < 3; i++) o[i] += 1;
}
kernel void second(device float* o) {
  #pragma unroll(4)
  for (int i = 0; i < 3; i++) o[i] = WHAT;
})msl";
  const auto with = [&](const std::string& what) {
    std::string text = source;
    return text.replace(text.find("WHAT"), 4, what);
  };
  const auto library = metal::Library::from_source(with("2"), "two.metal");
  EXPECT_NO_THROW(static_cast<void>(library->pipeline({"first", {}})));
  EXPECT_NO_THROW(static_cast<void>(library->pipeline({"second", {}})));
  EXPECT_NE(compile_error(with("nothing"), "second").find(":13:"), std::string::npos);
}

TEST(Language, UnsupportedConstructsAreNamed) {
  const auto error = [](const std::string& top, const std::string& body) {
    return compile_error("#include <metal_stdlib>\n" + top + "\nusing namespace metal;\nkernel void run(device float* o) { " + body + " }",
                         "run");
  };
  EXPECT_EQ(error("#include <metal_texture>\n#include <metal_raytracing>", "o[0] = 1;"), "")
      << "what is declared there is refused where it is used";
  EXPECT_NE(error("#include <metal_tensor>", "").find("tensor"), std::string::npos);
  EXPECT_NE(error("#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>", "").find("Metal Performance Primitives"),
            std::string::npos);
  EXPECT_NE(error("", "simdgroup_matrix<float, 4, 4> m; o[0] = sizeof(m);").find("8x8"), std::string::npos);
  EXPECT_NE(error("", "float2 v = float2(1); v = v % 2;").find("integer type"), std::string::npos);
  EXPECT_NE(error("", "float4 v = float4(1); float3 w = v; o[0] = w.x;"), "");
  EXPECT_NE(error("", "float4 v = float4(1); half4 w = v; o[0] = w.x;"), "");
  EXPECT_NE(error("", "float2 v = float2(1); v.xx = v; o[0] = v.x;"), "");
  EXPECT_NE(error("", "float2 v = float2(1); o[0] = v.z;"), "");
  EXPECT_NE(error("", "o[0] = max(1, 2u);").find("ambiguous"), std::string::npos);
  EXPECT_EQ(error("", "o[0] = 1;"), "");
}

}  // namespace
}  // namespace assay::tests::language_test
