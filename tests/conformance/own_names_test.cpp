// Names that kernels define themselves beside the library, or within its namespace: their own definition is the one that counts.
//
// Expectations follow from the definitions in each row: they give what the library's own function or trait would not give.
#include <gtest/gtest.h>

#include <string>

#include "tests/conformance/rows.h"

namespace assay::tests::own_names_test {
namespace {

// One definition, with what shows that it was taken. Each is compiled on its own: several would hide each other.
struct OwnName {
  std::string construct;
  std::string definition;
  std::string body;
  Words inputs;
  Words expected;
};

void check_own(const std::vector<OwnName>& rows) {
  for (const auto& row : rows) check_rows(row.construct, {{row.construct, kCxx, row.body, row.inputs, row.expected}}, row.definition);
}

std::string in_metal(const std::string& definition) { return "namespace metal {\n" + definition + "\n}\n"; }

// Traits of two projects' names, which say the opposite of what C++ says.
const char* const kTraits = R"(
template <typename T> struct is_empty : metal::bool_constant<!__is_empty(T)> {};
template <typename T> constexpr constant bool is_empty_v = is_empty<T>::value;
template <typename... Ts> struct make_void { typedef int type; };
template <typename... Ts> using void_t = typename make_void<Ts...>::type;
template <typename T> struct is_static : metal::bool_constant<is_empty<metal::remove_cv_t<T>>::value> {};
template <typename T> struct pointer_element {};
template <typename T> struct pointer_element<device T*> { using type = metal::remove_cv_t<T>; };
template <typename T> using pointer_element_t = typename pointer_element<metal::remove_cv_t<T>>::type;
)";
const char* const kUseOfTraits =
    "o[0] = is_empty_v<int>; o[1] = is_same_v<void_t<float>, int>; o[2] = is_static<const int>::value; o[3] = is_same_v<pointer_element_t<"
    "const device half*>, half>;";

TEST(OwnNames, TraitsInsideAndOutsideOfMetal) {
  check_own({
      {"traits in namespace metal", in_metal(kTraits), kUseOfTraits, {}, {1, 1, 1, 1}},
      {"the same, qualified",
       in_metal(kTraits),
       "o[0] = metal::is_empty_v<int>; o[1] = metal::is_same_v<metal::void_t<>, int>; o[2] = ::metal::is_static<int>::value;",
       {},
       {1, 1, 1}},
      {"traits outside of all namespaces", kTraits, kUseOfTraits, {}, {1, 1, 1, 1}},
      {"traits in a namespace of their own",
       std::string("namespace own {\n") + kTraits + "\n}\nusing namespace own;\n",
       kUseOfTraits,
       {},
       {1, 1, 1, 1}},
      {"a trait that wraps metal's",
       "namespace own {\ntemplate <typename T> struct is_empty : metal::bool_constant<!metal::is_empty<T>::value> {};\n}\n",
       "o[0] = own::is_empty<int>::value; o[1] = metal::is_empty<int>::value;",
       {},
       {1, 0}},
      {"traits of vectors and address spaces",
       "template <typename T> struct vec_elements { enum { value = 77 }; };\ntemplate <typename T> using remove_addrspace_t = char;\n"
       "template <typename T> struct __is_valid_simdgroup_type { static constexpr constant bool value = false; };\n"
       "template <typename...> struct conjunction { enum { value = 5 }; };\n",
       "o[0] = vec_elements<float3>::value; o[1] = sizeof(remove_addrspace_t<float>); o[2] = __is_valid_simdgroup_type<float>::value; o[3] "
       "= conjunction<>::value;",
       {},
       {77, 1, 0, 5}},
      {"traits of vectors in namespace metal",
       in_metal(
           "template <typename T> struct vec_elements { enum { value = 77 }; };\ntemplate <typename T> using remove_addrspace_t = char;"),
       "o[0] = metal::vec_elements<float3>::value; o[1] = sizeof(remove_addrspace_t<float>);",
       {},
       {77, 1}},
      {"a local variable of such a name", "", "uint rank = U(0); uint extent = rank + 1; o[0] = rank + extent;", {4}, {9}},
  });
}

// The library extended to bfloat by the compiler's builtins, as a widespread header does it. The shift by 1000 shows whose it is.
const char* const kBfloatMath = R"(
#define OWN1(name, flag) METAL_FUNC bfloat name(bfloat x) { return static_cast<bfloat>(__metal_##name(static_cast<float>(x), flag) + 1000); }
#define OWN2(name, flag) METAL_FUNC bfloat name(bfloat x, bfloat y) { \
  return static_cast<bfloat>(__metal_##name(static_cast<float>(x), static_cast<float>(y), flag) + 1000); }
#define OWN3(name, flag) METAL_FUNC bfloat name(bfloat x, bfloat y, bfloat z) { \
  return static_cast<bfloat>(__metal_##name(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z), flag) + 1000); }
#define OWN(flag) \
  METAL_FUNC bfloat abs(bfloat x) { return static_cast<bfloat>(__metal_fabs(static_cast<float>(x), flag) + 1000); } \
  METAL_FUNC bfloat max(bfloat x, bfloat y) { return static_cast<bfloat>(__metal_fmax(static_cast<float>(x), static_cast<float>(y), flag) + 1000); } \
  METAL_FUNC bfloat min(bfloat x, bfloat y) { return static_cast<bfloat>(__metal_fmin(static_cast<float>(x), static_cast<float>(y), flag) + 1000); } \
  METAL_FUNC bfloat max3(bfloat x, bfloat y, bfloat z) { return bfloat(__metal_fmax3(float(x), float(y), float(z), flag) + 1000); } \
  METAL_FUNC bfloat median3(bfloat x, bfloat y, bfloat z) { return bfloat(__metal_fmedian3(float(x), float(y), float(z), flag) + 1000); } \
  METAL_FUNC bfloat min3(bfloat x, bfloat y, bfloat z) { return bfloat(__metal_fmin3(float(x), float(y), float(z), flag) + 1000); } \
  METAL_FUNC bfloat frexp(bfloat x, thread int& e) { return static_cast<bfloat>(__metal_frexp(static_cast<float>(x), &e) + 1000); } \
  METAL_FUNC int ilogb(bfloat x) { return __metal_ilogb(static_cast<float>(x), flag) + 1000; } \
  METAL_FUNC bfloat ldexp(bfloat x, int k) { return static_cast<bfloat>(__metal_ldexp(static_cast<float>(x), k, flag) + 1000); } \
  METAL_FUNC bfloat nextafter(bfloat x, bfloat y) { return static_cast<bfloat>(__metal_nextafter(static_cast<float>(x), static_cast<float>(y)) + 1000); } \
  OWN1(acos, flag) OWN1(acosh, flag) OWN1(asin, flag) OWN1(asinh, flag) OWN1(atan, flag) OWN1(atanh, flag) OWN1(ceil, flag) OWN1(cos, flag) \
  OWN1(cosh, flag) OWN1(cospi, flag) OWN1(exp, flag) OWN1(exp10, flag) OWN1(exp2, flag) OWN1(fabs, flag) OWN1(floor, flag) OWN1(fract, flag) \
  OWN1(log, flag) OWN1(log10, flag) OWN1(log2, flag) OWN1(rint, flag) OWN1(round, flag) OWN1(rsqrt, flag) OWN1(sin, flag) OWN1(sinh, flag) \
  OWN1(sinpi, flag) OWN1(sqrt, flag) OWN1(tan, flag) OWN1(tanh, flag) OWN1(tanpi, flag) OWN1(trunc, flag) OWN2(atan2, flag) \
  OWN2(divide, flag) OWN2(fdim, flag) OWN2(fmax, flag) OWN2(fmin, flag) OWN2(fmod, flag) OWN2(pow, flag) OWN2(powr, flag) OWN3(fma, flag) \
  OWN3(fmax3, flag) OWN3(fmedian3, flag) OWN3(fmin3, flag)
namespace metal {
OWN(__METAL_MAYBE_FAST_MATH__)
namespace fast { OWN(__METAL_FAST_MATH__) }
namespace precise { OWN(__METAL_PRECISE_MATH__) }
}
)";

TEST(OwnNames, TheLibraryExtendedToBfloat) {
  const std::uint32_t four = b(4), nine = b(9);
  check_own({
      {"math functions of bfloat in metal, fast and precise",
       kBfloatMath,
       "PUTH(0, abs(B(0))); PUTH(1, metal::max(B(0), B(1))); PUTH(2, fast::sqrt(B(1))); PUTH(3, metal::precise::min(B(0), B(1))); PUTH(4, "
       "fma(B(0), B(0), B(0))); o[5] = uint(ilogb(B(0))); PUTH(6, ldexp(B(0), 1)); PUTH(7, exp(bfloat(0)));",
       {four, nine},
       {b(1004), b(1009), b(1003), b(1004), b(1020), 1002, b(1008), b(1001)}},
      {"max and min of bfloat outside of metal",
       "inline bfloat max(bfloat x, bfloat y) { return x < y ? x : y; }\ninline bfloat min(bfloat x, bfloat y) { return x < y ? y : x; }\n"
       "inline bfloat abs(bfloat x) { return x + bfloat(1); }\n",
       "PUTH(0, max(B(0), B(1))); PUTH(1, min(B(0), B(1))); PUTH(2, abs(B(0))); PUT(3, max(1.0f, 2.0f));",
       {four, nine},
       {four, nine, b(5), f(2)}},
      {"select, isnan and isunordered of bfloat in metal",
       in_metal("inline bfloat select(bfloat x, bfloat y, bool c) { return c ? x : y; }\ninline bool isnan(bfloat x) { return true; }\n"
                "inline bool isunordered(bfloat x, bfloat y) { return true; }\ninline bool4 isinf(bfloat4 x) { return bool4(true); }"),
       "PUTH(0, select(B(0), B(1), true)); o[1] = isnan(B(0)); o[2] = metal::isunordered(B(0), B(1)); o[3] = isinf(bfloat4(B(0))).z;",
       {four, nine},
       {four, 1, 1, 1}},
      {"the same outside of metal",
       "inline bfloat select(bfloat x, bfloat y, bool c) { return c ? x : y; }\ninline bool isnan(bfloat x) { return true; }\ninline "
       "bool4 isinf(bfloat4 x) { return bool4(true); }\n",
       "PUTH(0, select(B(0), B(1), true)); o[1] = isnan(B(0)); o[2] = isinf(bfloat4(B(0))).z;",
       {four, nine},
       {four, 1, 1}},
  });
}

TEST(OwnNames, FunctionsOfOwnTypesAndTemplates) {
  const std::string complex =
      "struct Complex { float re; float im; Complex() = default; constexpr Complex(float r, float i) thread : re(r), im(i) {} };\n"
      "inline float abs(Complex z) { return metal::sqrt(z.re * z.re + z.im * z.im); }\n"
      "inline Complex exp(Complex z) { return Complex(z.re + 1, z.im); }\ninline Complex max(Complex x, Complex y) { return abs(x) < "
      "abs(y) "
      "? y : x; }\ninline Complex fma(Complex x, Complex y, Complex z) { return Complex(x.re * y.re + z.re, 0); }\n";
  const std::string swaps =
      "template <typename T> inline void swap(thread T& a, thread T& b) { a = T(1); b = T(2); }\ntemplate <typename T> inline T move(T x) "
      "{ "
      "return x + T(1); }\n";
  check_own({
      {"abs, exp, max, fma of an own complex",
       complex,
       "Complex z(F(0), F(1)); PUT(0, abs(z)); PUT(1, exp(z).re); PUT(2, max(z, Complex(1, 1)).im); PUT(3, fma(z, z, z).re); PUT(4, "
       "abs(-F(0)));",
       {f(3), f(4)},
       {f(5), f(4), f(4), f(12), f(3)}},
      {"the same in namespace metal",
       in_metal(complex),
       "metal::Complex z(F(0), F(1)); PUT(0, metal::abs(z)); PUT(1, exp(z).re); PUT(2, max(z, Complex(1, 1)).im); PUT(3, abs(-F(0)));",
       {f(3), f(4)},
       {f(5), f(4), f(4), f(3)}},
      {"an own swap",
       "template <typename T> inline void swap(thread T& a, thread T& b) { a = T(1); b = T(2); }\n",
       "int a = I(0), c = I(1); swap(a, c); o[0] = uint(a); o[1] = uint(c);",
       {8, 9},
       {1, 2}},
      {"an own swap in namespace metal",
       in_metal("template <typename T> inline void swap(thread T& a, thread T& b) { a = T(1); b = T(2); }"),
       "int a = I(0), c = I(1); swap(a, c); o[0] = uint(a); o[1] = uint(c);",
       {8, 9},
       {1, 2}},
      {"the library's swap", "", "int a = I(0), c = I(1); swap(a, c); o[0] = uint(a); o[1] = uint(c);", {8, 9}, {9, 8}},
      {"variables of the utilities' names",
       "constant bool forward = true;\nconstant int move [[maybe_unused]] = 3;\nconstant int pair[2] = {4, 5};\n",
       "int swap = I(0); o[0] = uint(swap + (forward ? move : 0)); o[1] = uint(pair[1]);",
       {8},
       {11, 5}},
      {"functions of libm",
       "inline float erf(float x) { return x + 1; }\ninline float expm1f(float x) { return x + 2; }\ninline float "
       "log1p(float x) { return x + 3; }\ninline float lgamma(float x) { return x + 4; }\ninline float cbrt(float x) { return x + 5; }\n",
       "PUT(0, erf(F(0))); PUT(1, expm1f(F(0))); PUT(2, log1p(F(0))); PUT(3, lgamma(F(0))); PUT(4, cbrt(F(0)));",
       {f(1)},
       {f(2), f(3), f(4), f(5), f(6)}},
      {"dot and cross of other arguments",
       "inline float dot(float x, float y) { return x * y + 1; }\ninline int dot(int4 x, int4 y) { return x.x * y.x + 2; }\ninline float "
       "cross(float2 x, float2 y) { return x.x * y.y; }\n",
       "PUT(0, dot(F(0), F(0))); o[1] = uint(dot(int4(3), int4(4))); PUT(2, cross(float2(F(0)), float2(F(0)))); PUT(3, dot(float2(F(0)), "
       "float2(1)));",
       {f(3)},
       {f(10), 14, f(9), f(6)}},
      {"an atomic class of one's own",
       "template <typename T> constexpr constant bool is_metal_atomic = _disjunction<is_same<T, int>, is_same<T, uint>, is_same<T, ulong>, "
       "is_same<T, float>>::value;\ntemplate <typename T, typename = void> struct own_atomic { atomic<uint> val; };\ntemplate <typename T> "
       "struct own_atomic<T, enable_if_t<is_metal_atomic<T>>> { atomic<T> val; };\n",
       "o[0] = is_metal_atomic<ulong>; o[1] = is_metal_atomic<half>; o[2] = sizeof(own_atomic<half>); o[3] = sizeof(own_atomic<ulong>);",
       {},
       {1, 0, 4, 8}},
  });
}

// A SIMD-group of 32 lanes; lane l holds l.
void check_own_lanes(const std::string& construct, const std::string& definition, const std::string& body,
                     const std::function<std::uint32_t(std::uint32_t)>& expected) {
  Words lanes(32);
  for (std::uint32_t lane = 0; lane < 32; ++lane) lanes[lane] = lane;
  check_lane_rows(construct,
                  {{construct, kCxx, body, lanes,
                    [expected](const Words& in) {
                      Words out;
                      for (const auto lane : in) out.push_back(expected(lane));
                      return out;
                    }}},
                  definition);
}

TEST(OwnNames, SimdFunctionsOfTypesThatMetalLeavesOut) {
  const std::string wide =
      "inline uint64_t simd_shuffle_down(uint64_t data, uint16_t delta) { return as_type<uint64_t>(metal::simd_shuffle_down(as_type<uint2>"
      "(data), delta)); }\n"
      "inline int64_t simd_shuffle_down(int64_t data, uint16_t delta) { return as_type<int64_t>(metal::simd_shuffle_down(as_type<uint2>"
      "(data), delta)); }\n"
      "inline bool simd_shuffle_down(bool data, uint16_t delta) { return simd_shuffle_down(static_cast<uint32_t>(data), delta); }\n"
      "struct Pair { float a; float b; };\n"
      "inline Pair simd_shuffle_down(Pair p, uint16_t delta) { return Pair{simd_shuffle_down(p.a, delta), p.b}; }\n"
      "inline Pair simd_sum(Pair p) { return Pair{metal::simd_sum(p.a), 9.0f}; }\n"
      "inline bfloat simd_sum(bfloat x) { return bfloat(metal::simd_sum(float(x)) + 16.0f); }\n"
      "inline long simd_sum(long x) { return x + 5; }\n"
      "inline bool simd_xor(bool x) { return !x; }\n";
  const auto next = [](std::uint32_t lane) { return lane == 31 ? lane : lane + 1; };
  for (const auto& definition : {wide, in_metal("inline uint64_t simd_shuffle_down(uint64_t data, uint16_t delta) { return "
                                                "as_type<uint64_t>(simd_shuffle_down(as_type<uint2>(data), delta)); }")})
    check_own_lanes("shuffles of 64 bits", definition, "o[lane] = uint(simd_shuffle_down(ulong(U(lane)) << 32, ushort(1)) >> 32);", next);
  check_own_lanes("shuffles of a struct", wide,
                  "Pair p = {float(U(lane)), 3.0f}; p = simd_shuffle_down(p, 1); o[lane] = uint(p.a) + uint(p.b);",
                  [next](std::uint32_t lane) { return next(lane) + 3; });
  check_own_lanes("shuffles of bool", wide, "o[lane] = simd_shuffle_down(U(lane) == 4, ushort(1));",
                  [](std::uint32_t lane) { return lane == 3 ? 1U : 0U; });
  check_own_lanes("simd_sum of bfloat, long and a struct", wide,
                  "Pair p = {float(U(lane)), 3.0f}; o[lane] = uint(float(simd_sum(bfloat(0.5f)))) + uint(simd_sum(p).a) * 100 + "
                  "uint(simd_sum(long(U(lane)))) * 100000 + (simd_xor(true) ? 50000000 : 0);",
                  [](std::uint32_t lane) { return 32 + 496 * 100 + (lane + 5) * 100000; });
}

// Beside the library's: the builtins under a bfloat's functions, all of them defined and one called.
TEST(OwnNames, SimdFunctionsOfBfloatInMetal) {
  const std::string definition = R"(
#define to_bits(x) as_type<ushort>(x)
#define from_bits(x) as_type<bfloat>(x)
#define MOVE(name) METAL_FUNC bfloat name(bfloat data, ushort n) { return from_bits(__metal_##name(to_bits(data), n)); }
#define FILL(name) \
  METAL_FUNC bfloat name(bfloat data, bfloat fill, ushort delta, ushort modulo) { return from_bits(__metal_##name(to_bits(data), to_bits(fill), delta, modulo)); } \
  METAL_FUNC bfloat name(bfloat data, bfloat fill, ushort delta) { return from_bits(__metal_##name(to_bits(data), to_bits(fill), delta, __metal_get_simdgroup_size(ushort()))); }
#define REDUCE(name) METAL_FUNC bfloat name(bfloat data) { return static_cast<bfloat>(__metal_##name(static_cast<float>(data))); }
namespace metal {
MOVE(simd_broadcast) MOVE(simd_shuffle) MOVE(simd_shuffle_down) MOVE(simd_shuffle_up) MOVE(simd_shuffle_xor) MOVE(simd_shuffle_rotate_down)
MOVE(simd_shuffle_rotate_up) FILL(simd_shuffle_and_fill_down) FILL(simd_shuffle_and_fill_up)
REDUCE(simd_max) REDUCE(simd_min) REDUCE(simd_sum) REDUCE(simd_product) REDUCE(simd_xor) REDUCE(simd_prefix_inclusive_sum)
REDUCE(simd_prefix_exclusive_sum) REDUCE(simd_prefix_inclusive_product) REDUCE(simd_prefix_exclusive_product)
}
)";
  check_own_lanes("simd_sum and simd_max", definition,
                  "o[lane] = uint(float(simd_sum(bfloat(1)))) * 100 + uint(float(simd_max(bfloat(U(lane)))));",
                  [](std::uint32_t) { return 3231; });
  check_own_lanes("moves", definition,
                  "o[lane] = uint(float(simd_shuffle_and_fill_down(bfloat(U(lane)), bfloat(99), ushort(1)))) + 1000 * "
                  "uint(float(metal::simd_shuffle_xor(bfloat(U(lane)), ushort(1))));",
                  [](std::uint32_t lane) { return (lane == 31 ? 99 : lane + 1) + 1000 * (lane ^ 1U); });
}

// The internal names that rounding by hand borrows: float to the 16 upper bits, to nearest even.
TEST(OwnNames, EncodingMasks) {
  check_rows(
      "masks of the encoding",
      {{"rounding by hand",
        "definition of bfloat16, evaluated by Eigen",
        "uint x = U(0); bool nan = (x & ~_fp_encoding_traits<float>::sign_mask) > _fp_encoding_traits<float>::inf_mask; x += ((x >> 16) & "
        "1) + 0x7fffu; o[0] = nan ? 0x7fc0u : x >> 16; o[1] = _fp_encoding_traits<half>::inf_mask; o[2] = "
        "_fp_encoding_traits<bfloat>::mantissa_mask;",
        {f(0.3F)},
        {b(0.3F), 0x7c00, 0x7f}}});
}

// A matrix that a class of the kernel's own holds by the compiler's builtins.
TEST(OwnNames, MatrixStorageOfOnesOwn) {
  const std::string definition = R"(
namespace metal {
template <typename T> struct simdgroup_matrix_storage {
  typedef vec<T, 64> storage_type;
  storage_type t;
  METAL_FUNC thread vec<T, 2>* thread_elements() thread { return reinterpret_cast<thread vec<T, 2>*>(&t); }
  simdgroup_matrix_storage() thread = default;
  template <typename U, typename V>
  METAL_FUNC void multiply(simdgroup_matrix_storage<U> a, simdgroup_matrix_storage<V> b, bool accumulate) thread {
    if (!accumulate) *(thread_elements()) = vec<T, 2>(0);
    t = __metal_simdgroup_matrix_8x8_multiply_accumulate(a.t, b.t, t, typename simdgroup_matrix_storage<T>::storage_type());
  }
};
}
)";
  // Of a matrix full of 2 and one full of 3, every element of the product is 8 * 6; added once more, twice that.
  check_own_lanes("storage of one's own", definition,
                  "simdgroup_matrix_storage<half> a; simdgroup_matrix_storage<float> m, c; *a.thread_elements() = half2(2); "
                  "*m.thread_elements() = float2(3); c.multiply(a, m, false); c.multiply(a, m, true); o[lane] = "
                  "uint((*c.thread_elements()).x + (*c.thread_elements()).y);",
                  [](std::uint32_t) { return 192; });
}

// Second results through pointers, in float and half; classes as the functions behind them.
TEST(OwnNames, BuiltinsWithPointers) {
  check_rows(
      "builtins with pointers",
      {{"frexp, modf, sincos",
        "hand arithmetic: 10 = 0.625 * 2^4, -2.75 = -2 - 0.75, sin 0 and cos 0",
        "int e; float w; half v; PUT(0, __metal_frexp(F(0), &e)); o[1] = uint(e); PUT(2, __metal_modf(F(1), &w)); PUT(3, w); PUTH(4, "
        "__metal_modf(half(F(1)), &v)); PUTH(5, v); PUTH(6, __metal_frexp(half(F(0)), &e)); PUT(7, __metal_sincos(0.0f * F(0), &w, "
        "true)); PUT(8, w); PUTH(9, __metal_sincos(half(0), &v)); PUTH(10, v);",
        {f(10), f(-2.75F)},
        {f(0.625F), 4, f(-0.75F), f(-2), h(-0.75F), h(-2), h(0.625F), 0, f(1), 0, h(1)}},
       {"classes",
        "IEEE 754",
        "o[0] = __metal_isnan(F(0)); o[1] = __metal_isinf(F(1), false); o[2] = all(__metal_isfinite(float2(1, 2))); o[3] = "
        "__metal_isnormal(half(1)); o[4] = __metal_signbit(-F(1)); o[5] = __metal_isfinite(bfloat(F(1)));",
        {0x7fc00000, 0x7f800000},
        {1, 1, 1, 1, 1, 0}}});
}

// Headers ask for C++14's variable templates before they define `name_v`.
TEST(OwnNames, FeatureMacros) {
  check_rows("feature macros", {{"what the preprocessor says",
                                 "C++14",
                                 "#if __cpp_variable_templates >= 201304 && __cpp_constexpr >= 201304 && __cpp_alias_templates >= 200704\n"
                                 "o[0] = 1;\n#else\no[0] = 0;\n#endif\n#if __HAVE_BFLOAT__ && __cpp_decltype && __cpp_static_assert && "
                                 "__cpp_variadic_templates\no[1] = __METAL_FAST_MATH__;\n#endif\n",
                                 {},
                                 {1, 1}}});
}

// What Metal does not have is not there: a file that relies on it would not compile there either.
TEST(OwnNames, WhatMetalLacksIsNotThere) {
  for (const char* const body : {
           "out[0] = float(max(bfloat(out[0]), bfloat(1)));",
           "out[0] = float(abs(bfloat(out[0])));",
           "out[0] = float(simd_sum(bfloat(out[0])));",
           "out[0] = float(simd_shuffle(bfloat(out[0]), 1));",
           "out[0] = simd_sum(long(out[0]));",
           "out[0] = simd_shuffle_down(ulong(out[0]), 1);",
           "out[0] = simd_xor(out[0]);",
           "out[0] = dot(out[0], out[0]);",
           "out[0] = length(out[0]);",
           "out[0] = dot(int2(1), int2(2));",
           "out[0] = issubnormal(out[0]);",
           "out[0] = erf(out[0]);",
           "out[0] = erfc(out[0]);",
           "out[0] = expm1(out[0]);",
           "out[0] = hypot(out[0], out[0]);",
           "out[0] = lgamma(out[0]);",
           "out[0] = tgamma(out[0]);",
           "out[0] = mad(out[0], out[0], out[0]);",
           "out[0] = pack_float_to_unorm565(float3(0));",
           "out[0] = unpack_unorm565_to_float(ushort(1)).x;",
           "out[0] = __metal_atomic_load_explicit(out);",
           "out[0] = __metal_simdgroup_matrix_8x8_load(out);",
           "out[0] = log1p(out[0]);",
           "out[0] = cbrt(out[0]);",
           "out[0] = metal::is_static<int>::value;",
           "out[0] = metal::make_void<int>::value;",
           "out[0] = popcount(out[0]);",
           "out[0] = clz(1.0f);",
           "out[0] = mul24(ulong(1), ulong(2));",
           "atomic_fetch_add_explicit((device atomic_bool*)out, true, memory_order_relaxed);",
       }) {
    const std::string source =
        std::string("#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float* out) {\n") + body + "\n}\n";
    EXPECT_NE(compile_error(source, "k"), "") << body;
  }
}

}  // namespace
}  // namespace assay::tests::own_names_test
