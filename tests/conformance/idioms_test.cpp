// Constructs of shipped kernels that C++ for OpenCL takes differently or not at all.
//
// Source of all expectations: hand arithmetic; of conversions between half and bfloat Eigen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metal/compile/library.h"
#include "tests/conformance/execute.h"
#include "tests/conformance/rows.h"

namespace assay::tests::idioms_test {
namespace {

std::string with_library(std::string_view source) { return "#include <metal_stdlib>\nusing namespace metal;\n" + std::string(source); }

std::vector<std::uint32_t> first_words(const Execution& execution, std::size_t count) {
  const auto outcome = execute(execution);
  EXPECT_TRUE(outcome.hazards.empty());
  return {outcome.output.begin(), outcome.output.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(Idioms, APointersOwnSpaceMayBeNamedBesideItsTargets) {
  EXPECT_EQ(first_words({.source = with_library(R"(
template <typename T> int difference(thread const device T* p[2]) { return int(p[1][0]) - int(p[0][0]); }
kernel void test(device int* out [[buffer(0)]], device const int* in [[buffer(1)]]) {
  thread const device int* p[2];
  p[0] = in;
  p[1] = in + 1;
  const thread device int* q[2] = {out, out + 1};
  *const_cast<device int*>(q[0]) = difference(p);
  out[1] = *p[1];
})"),
                         .inputs = {{5, 12}},
                         .threads = {1, 1, 1}},
                        2),
            (std::vector<std::uint32_t>{7, 12}));
}

TEST(Idioms, StringsAreConstants) {
  EXPECT_EQ(first_words({.source = with_library(R"(
constant char* kName = "abc";
constant char kText[] = "four";
constant char kRows[2][4] = {"xy", "z"};
constant char* const kNames[] = {"a", "bc" "d"};
struct Entry { constant char* name; int value; };
constant Entry kEntries[] = {{"one", 1}, {"eleven", 11}};
int length(constant char* s) { int n = 0; while (s[n]) ++n; return n; }
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  static_assert(sizeof(int) == 4, "as everywhere");
  constant char* chosen = lane < 40 ? "short" : "longer than that";
  out[0] = length("hello") + 100 * length(kName) + 1000 * length(kNames[1]);
  out[1] = sizeof(kText) + length(kText);
  out[2] = length(chosen) + 10 * length(kEntries[1].name);
  out[3] = kRows[1][0];
})"),
                         .threads = {1, 1, 1}},
                        4),
            (std::vector<std::uint32_t>{5 + 300 + 3000, 9, 65, 'z'}));
}

TEST(Idioms, AssignmentsToComponentsInTemplatesReachTheVector) {
  EXPECT_EQ(first_words({.source = with_library(R"(
struct Complex { float re, im; };
thread Complex& operator+=(thread Complex& a, Complex b) { a.re += b.re; a.im += b.im; return a; }
device Complex& operator+=(device Complex& a, Complex b) { a.re += b.re; a.im += b.im; return a; }
thread Complex& operator*=(thread Complex& a, float s) { a.re *= s; a.im *= s; return a; }
struct Named { int x; Complex y; };
template <typename V> void mix_up(thread V& v, float s) { v.xy *= s; v.zw += v.xy; v.x -= 1; v.yz = v.zy; }
template <typename T> void scale(device vec<T, 4>* v, T s) { v[0].xy *= s; (*v).zw += s; v->x -= s; }
template <typename V> float polynomial(V v, float s) { V w; w.xy = v.xy * s; w.zw = s * v.zw + v.x * s; w.x += s * w.y; return w.x + w.w * 2.0f; }
template <typename N> void rename(thread N& n) { n.x += 2; n.y *= 3.0f; n.y += n.y; }
kernel void test(device float4* out [[buffer(0)]], device Complex* c [[buffer(1)]]) {
  Complex t = {1, 2};
  t += c[0];
  c[1] += t;
  float4 v = float4(1, 2, 3, 4);
  mix_up(v, 2);
  out[0] = v;
  out[1] = float4(1, 2, 3, 4);
  scale(&out[1], 3.0f);
  Named n = {5, {1, 2}};
  rename(n);
  out[2] = float4(polynomial(float4(1, 2, 3, 4), 2), n.x, n.y.re, n.y.im);
  out[3] = float4(c[1].re, c[1].im, 0, 0);
})"),
                         .inputs = {{f(10), f(20), f(0), f(0)}},
                         .threads = {1, 1, 1}},
                        16),
            (std::vector<std::uint32_t>{f(1), f(5), f(4), f(8), f(0), f(6), f(6), f(7), f(2 + 8 + 2 * (8 + 2)), f(7), f(6), f(12), f(11),
                                        f(22), f(0), f(0)}));
}

TEST(Idioms, ObjectsThatConvertMovePointers) {
  EXPECT_EQ(first_words({.source = with_library(R"(
struct Offset { int value; operator int() const thread { return value; } };
kernel void test(device int* out [[buffer(0)]]) {
  Offset o{2};
  device int* p = out;
  p += o;
  *p = 7;
  p -= o;
  *p = 5;
  p[o] += 1;
  *(p + o + 1) = 9;
  out[1] = 0;
})"),
                         .threads = {1, 1, 1}},
                        4),
            (std::vector<std::uint32_t>{5, 0, 8, 9}));
}

// The specification gives threadgroup variables no initialiser. Shipped code has them, and no thread executes them.
TEST(Idioms, AnInitialiserOfAThreadgroupVariableIsNotedAndNotExecuted) {
  const std::string source = with_library(R"(
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  threadgroup int sum = 0;
  threadgroup int counts[2] = {0, 0}, other{3};
  threadgroup float2 pair(0.0f);
  if (lane == 0) { sum = 4; counts[1] = 5; other = 6; pair = 7; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[lane] = sum + counts[1] + other + int(pair.x);
})");
  EXPECT_THAT(first_words({.source = source}, 32), testing::Each(22U));
  const auto library = metal::Library::from_source(source, "test.metal");
  ASSERT_EQ(library->notes().size(), 4U);
  EXPECT_EQ(library->notes()[0].line, 5U);
  EXPECT_THAT(library->notes()[0].text, testing::AllOf(testing::HasSubstr("'sum'"), testing::HasSubstr("unspecified")));
  EXPECT_THAT(library->notes()[2].text, testing::HasSubstr("'other'"));

  metal::SimulatorOptions checked;
  checked.policy = metal::Policy::checked;
  const auto unwritten = execute({.source = with_library("kernel void test(device int* out) { threadgroup int sum = 0; out[0] = sum; }"),
                                  .threads = {1, 1, 1},
                                  .options = checked});
  ASSERT_EQ(unwritten.hazards.size(), 1U);
  EXPECT_EQ(unwritten.hazards[0].kind, metal::HazardKind::uninitialised_read);
  EXPECT_TRUE(
      metal::Library::from_source(with_library("kernel void test(device int* out) { threadgroup int s; out[0] = 1; s = 0; }"), "t.metal")
          ->notes()
          .empty());
}

TEST(Idioms, CoherenceIsTaken) {
  EXPECT_EQ(first_words({.source = with_library(R"(
kernel void test(device coherent(device) int* out [[buffer(0)]], coherent(device) device int* in [[buffer(1)]],
                 device coherent int* more [[buffer(2)]]) {
  bool coherent = true;
  out[0] = in[0] + more[0] + (coherent ? 1 : 0);
})"),
                         .inputs = {{3}, {4}},
                         .threads = {1, 1, 1}},
                        1),
            (std::vector<std::uint32_t>{8}));
}

TEST(Idioms, FunctionsAreTemplateArgumentsInEverySpelling) {
  EXPECT_EQ(first_words({.source = with_library(R"(
template <typename T> using Function = T (*)(T);
typedef float (*Plain)(float);
float square(float x) { return x * x; }
template <typename T> T cube(T x) { return x * x * x; }
template <typename T, Function<T> f> T by_alias(T x) { return f(x); }
template <Plain f> float by_typedef(float x) { return f(x); }
template <typename T, T (*f)(T)> T by_pointer(T x) { return f(x); }
template <Plain f> struct Functor { float operator()(float x) const { return f(x); } };
kernel void test(device float* out) {
  out[0] = by_alias<float, square>(3.0f) + by_alias<float, cube<float>>(2.0f);
  out[1] = by_typedef<square>(4) + by_typedef<&square>(5);
  out[2] = by_pointer<float, square>(6);
  Functor<cube> functor;
  Function<float> g = square;
  out[3] = functor(3) + g(2);
})"),
                         .threads = {1, 1, 1}},
                        4),
            (std::vector<std::uint32_t>{f(17), f(41), f(36), f(31)}));
}

TEST(Idioms, WordsOfOpenClAreNames) {
  EXPECT_EQ(first_words({.source = with_library(R"(
struct event_t { int queue_t; };
int pipe(int global) { return global + 1; }
kernel void test(device int* out, uint lane [[thread_index_in_threadgroup]]) {
  threadgroup int local[32];
  local[lane] = int(lane);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int generic = 1, vec_step = 2, sampler_t = 3, image2d_t = 4, read_only = 5, kernel_exec = 6, cl_khr_fp64 = 7, reserve_id_t = 8;
  int uniform = 9, complex = 10, printf = 11, barrier = 12, addrspace_cast = 13, atomic_double = 14, convert_float = 15, unix = 16;
  event_t e = {17};
  out[lane] = pipe(local[31]) + generic + vec_step + sampler_t + image2d_t + read_only + kernel_exec + cl_khr_fp64 + reserve_id_t + uniform +
              complex + printf + barrier + addrspace_cast + atomic_double + convert_float + unix + e.queue_t;
})")},
                        1),
            (std::vector<std::uint32_t>{32 + 17 * 18 / 2}));
}

constexpr const char* kRounding = "Eigen: bfloat16(float(half)), half(float(bfloat16))";

TEST(Idioms, HalfAndBfloatConvertIntoEachOther) {
  const auto to_b = [](float value) { return b(static_cast<float>(Eigen::half(value))); };
  const auto to_h = [](float value) { return h(static_cast<float>(Eigen::bfloat16(value))); };
  check_rows("half and bfloat without casts",
             {
                 {"initialisers",
                  kRounding,
                  "half x = B(1); bfloat y = H(0); half z(B(1)); bfloat w{H(0)}; PUTH(0, x); PUTH(1, y); PUTH(2, z); PUTH(3, w);",
                  {h(0.1F), b(0.1F)},
                  {to_h(0.1F), to_b(0.1F), to_h(0.1F), to_b(0.1F)}},
                 {"assignments",
                  kRounding,
                  "half x = 1.0h; x = B(1); bfloat y; y = H(0); PUTH(0, x); PUTH(1, y);",
                  {h(0.1F), b(0.1F)},
                  {to_h(0.1F), to_b(0.1F)}},
                 {"arguments and results",
                  kRounding,
                  "PUTH(0, narrow(B(1))); PUTH(1, widen(H(0))); PUTH(2, twice<half>(B(1)));",
                  {h(0.1F), b(3)},
                  {h(3), to_b(0.1F), h(6)}},
                 {"members and arrays",
                  kRounding,
                  "Both s = {B(1), H(0)}; half t[2] = {B(1), H(0)}; PUTH(0, s.a); PUTH(1, s.b); PUTH(2, t[0]);",
                  {h(2), b(3)},
                  {h(3), b(2), h(3)}},
                 // Of the two types half is the one that both operands become, as clang ranks them.
                 {"operations",
                  kRounding,
                  "half x = H(0); x += B(1); PUTH(0, x); PUT(1, float(H(0) * B(1))); o[2] = H(0) < B(1);",
                  {h(2), b(3)},
                  {h(5), f(6), 1}},
             },
             R"(
half narrow(bfloat x) { return x; }
bfloat widen(half x) { bfloat y = x; return y; }
template <typename T> T twice(T x) { return x + x; }
struct Both { half a; bfloat b; };
)");
}

}  // namespace
}  // namespace assay::tests::idioms_test
