// Small kernels in the idioms of ggml-metal, MLX, candle, mistral.rs and PyTorch, against plain arithmetic.
#include <gtest/gtest.h>

#include "tests/conformance/rows.h"

namespace assay::tests::styles_test {
namespace {

TEST(Styles, OneThread) {
  check_rows(
      "idioms",
      {
          {"byte arithmetic on char pointers",
           kCxx,
           "device const char* p = (device const char*)i; device const float* q = (device const float*)(p + 4); PUT(0, *q); PUT(1, "
           "((device const float*)(p + 2 * sizeof(float)))[0]); o[2] = ((device const ushort*)p)[1];",
           {0x00020001, f(5), f(7)},
           {f(5), f(7), 2}},
          {"nibbles through uchar4 and ushort4",
           kHand,
           "const uchar4 c = as_type<uchar4>(U(0)); const uchar4 lo = c & 0x0F, hi = c >> 4; o[0] = as_type<uint>(lo); o[1] = "
           "as_type<uint>(hi); const ushort4 w = ushort4(lo) | (ushort4(hi) << 8); o[2] = w.z; half4 d = half4(c & uchar(15)) - 8.h; "
           "PUTH(3, d.x);",
           {0x87654321},
           {0x07050301, 0x08060402, 0x0605, h(-7)}},
          {"a masked product without a shift",
           kHand,
           "device const uint16_t* qs = (device const uint16_t*)i; const float d1 = 2.f; const float d2 = d1 / 256.f; const ushort m = "
           "0x0F00; PUT(0, d2 * (qs[0] & m)); PUT(1, d1 * (qs[0] & (m >> 8)));",
           {0x0a55},
           {f(20), f(10)}},
          {"select from a constexpr table in constant space",
           kCxx,
           "o[0] = kTable[U(0)] + kSigns[U(0) & 7]; PUT(1, float(kvalues[U(0)]));",
           {3},
           {11, f(-65)}},
          {"a packed struct at an odd address",
           kCxx,
           "device const Block* b = (device const Block*)((device const char*)i + 2); PUTH(0, b->d); o[1] = b->qs[3]; o[2] = "
           "sizeof(Block); o[3] = b[1].qs[1];",
           {0x40000000, 0x04030201, 0x05000000},
           {h(2), 4, 6, 5}},
          {"a union of views",
           kCxx,
           "union { uint u; ushort2 s; uchar c[4]; half2 h; } v; v.u = U(0); o[0] = v.c[1]; o[1] = v.s.y; PUTH(2, v.h.x); v.c[0] = 0xff; "
           "o[3] = v.u;",
           {0x40003c00},
           {0x3c, 0x4000, h(1), 0x40003cff}},
          {"a union with anonymous structs",
           kCxx,
           "Q q; q.all = U(0); o[0] = q.lo; o[1] = q.hi; q.hi = 7; o[2] = q.all;",
           {0x00030002},
           {2, 3, 0x00070002}},
          {"e8m0 and fp4 by bits",
           kHand,
           "PUT(0, e8m0(U(0))); PUT(1, kFp4[U(1) & 0xf]); PUT(2, as_type<float>((U(0) << 23) - 0x00800000));",
           {128, 0xb},
           {f(2), f(-1.5F), f(1)}},
          {"sign extension by shifts",
           kHand,
           "int x = int(U(0) << 28) >> 28; o[0] = uint(x); char c = (char)(uchar)(U(0) << 4); o[1] = uint(int(c >> 4)); o[2] = "
           "uint(extract_bits(I(0), 0u, 4u));",
           {0xc},
           {n(-4), n(-4), n(-4)}},
          {"popcount, clz, reverse_bits, rotate, mulhi",
           kHand,
           "o[0] = popcount(U(0)); o[1] = clz(U(0)); o[2] = reverse_bits(U(0)); o[3] = rotate(U(0), 8u); o[4] = mulhi(U(0), 0x10000u); "
           "o[5] = ctz(U(0)); o[6] = absdiff(3u, U(0));",
           {0x00f0},
           {4, 24, 0x0f000000, 0xf000, 0, 4, 0xed}},
          {"fast and precise names",
           kLongDouble,
           "PUT(0, fast::exp2(F(0))); PUT(1, precise::sqrt(F(1))); PUT(2, metal::precise::rsqrt(F(1))); PUT(3, fast::max(F(0), F(1))); "
           "PUT(4, metal::fast::clamp(F(1), 0.0f, 2.0f)); PUT(5, precise::divide(F(1), F(0))); PUT(6, fast::fma(F(0), F(1), 1.0f));",
           {f(3), f(4)},
           {f(8), f(2), f(0.5F), f(4), f(2), f(4.0F / 3), f(13)}},
          {"mix, clamp, step, smoothstep, saturate, sign",
           "MSL 6.5",
           "PUT(0, mix(F(0), 10.0f, 0.25f)); PUT(1, clamp(F(0), 3.0f, 4.0f)); PUT(2, step(2.5f, F(0))); PUT(3, saturate(F(0))); PUT(4, "
           "sign(-F(0))); PUT(5, smoothstep(0.0f, 4.0f, F(0))); float4 v = mix(float4(0), float4(4), 0.5f); PUT(6, v.w); half4 w = "
           "clamp(half4(F(0)), 0.0h, 1.0h); PUTH(7, w.z);",
           {f(2)},
           {f(4), f(3), 0, f(1), f(-1), f(0.5F), f(2), h(1)}},
          {"own min and max macros over lanes of a loop",
           kCxx,
           "float m = -INFINITY; for (int k = 0; k < 3; k++) m = MAX(m, F(k)); PUT(0, m); PUT(1, MIN(F(0), F(1))); int a = 1, c = 2; "
           "SWAP(a, c); o[2] = uint(a * 10 + c);",
           {f(1), f(5), f(3)},
           {f(5), f(1), 21}},
          {"own swap with auto",
           kCxx,
           "threadgroup float t[2]; t[0] = F(0); t[1] = F(1); threadgroup float& x = t[0]; threadgroup float& y = t[1]; const float z = x; "
           "x = y; y = z; PUT(0, t[0]); PUT(1, t[1]);",
           {f(1), f(2)},
           {f(2), f(1)}},
          {"ranges in designated initialisers",
           "GNU C",
           "float a[8] = { [0 ... 7] = 1.5f }; float4 l[3] = { [0 ... 2] = float4(2) }; short s[4] = { [1] = 5, [2 ... 3] = 7 }; PUT(0, "
           "a[U(0)]); PUT(1, l[U(0) - 5].y); o[2] = s[1] + s[3] + s[0];",
           {7},
           {f(1.5F), f(2), 12}},
          {"sizes from constexpr functions and templates",
           kCxx,
           "float a[pad(5, 4)]; o[0] = sizeof(a); threadgroup float t[Traits<half>::kSize * 2]; t[7] = F(1); PUT(1, t[7]); o[2] = "
           "Traits<half>::pad<3>(); constexpr auto k = pad(9, 8); static_assert(k == 16); o[3] = k + sizeof(t);",
           {0, f(3)},
           {32, f(3), 5, 48}},
          {"nested lambdas and generic ones",
           kCxx,
           "float s = F(0); auto outer = [&](auto f, float x) { auto inner = [&](float y) { return f(y) + s; }; return inner(x) * 2; }; "
           "PUT(0, outer([](float z) { return z * z; }, 3.0f)); auto store = [o](uint k, uint v) { o[k] = v; }; store(1, 5u); auto fold = "
           "[&](thread float& acc) { acc += s; }; fold(s); PUT(2, s);",
           {f(1)},
           {f(20), 5, f(2)}},
          {"SFINAE by return type and parameter",
           kCxx,
           "o[0] = which(1.0f) + which(1) + which(1.0h) + which(uchar(1)); o[1] = has_scale<WithScale>::value * 2 + "
           "has_scale<Block>::value;",
           {},
           {1 + 20 + 1 + 20, 2}},
          {"fold expressions and packs",
           kCxx,
           "PUT(0, sum_of(F(0), 2.0f, 3.0f)); o[1] = all_of(true, U(1) > 0, true); o[2] = (count_bits<1, 3, 7>());",
           {f(1), 4},
           {f(6), 1, 6}},
          {"static members, nested types, inheritance",
           kCxx,
           "Derived<float> d; d.base = F(0); PUT(0, d.twice()); o[1] = Derived<half>::Inner::kValue; typename Derived<float>::type x = 3; "
           "PUT(2, x + d.Base<float>::get());",
           {f(2)},
           {f(4), 9, f(5)}},
          {"operators in a struct and as friends",
           kCxx,
           "V2 a = {F(0), 2}; V2 c = a + a * 2.0f; c += a; c = -c; PUT(0, c.x); PUT(1, c[1]); o[2] = a == a; o[3] = a != c; V2 e = a; e *= "
           "3.0f; PUT(4, e.y);",
           {f(1)},
           {f(-4), f(-8), 1, 1, f(6)}},
          {"scoped enums as switch and template arguments",
           kCxx,
           "o[0] = apply_mode<Mode::twice>(U(0)); o[1] = run_mode(Mode(U(1)), U(0)); o[2] = static_cast<uint>(Mode::twice);",
           {7, 0},
           {14, 8, 1}},
          {"a struct of pointers by value",
           kCxx,
           "View v{o, (device const float*)i, 2}; v.put(0, v.in[1]); View w = v; w.out += 1; w.put(0, w.in[0] * w.n); device uint* q = "
           "w.out; q[1] = 3;",
           {f(1), f(2)},
           {f(2), f(2), 3}},
          {"goto-free state machines: switch in a loop with continue",
           kCxx,
           "uint s = 0, r = 0; while (true) { switch (s) { case 0: r += 1; s = 2; continue; case 2: r += 10; s = U(0); break; default: s = "
           "99; } if (s >= 5) break; } o[0] = r;",
           {5},
           {11}},
          {"comma, nested conditionals and compound assignments",
           kCxx,
           "int a = I(0), c = 0; c += (a++, a) ? a > 3 ? 10 : 20 : 30; c <<= 1; c |= 1; c ^= a; c %= 17; o[0] = uint(c);",
           {2},
           {(41 ^ 3) % 17}},
          {"do { } while (0) macros with breaks",
           kCxx,
           "uint r = 0; for (int k = 0; k < 4; ++k) { do { if (k == 2) break; r += 1 << k; } while (0); } o[0] = r;",
           {},
           {11}},
          {"unrolled loops by pragma and by macro",
           kCxx,
           "float s = 0; _Pragma(\"clang loop unroll(full)\") for (short k = 0; k < 4; ++k) s += F(k & 1); FOR_UNROLL (short k = 0; k < 2; "
           "k++) { s *= 2; }\n#pragma unroll\nfor (int k = 0; k < 3; k++) s += 1;\n#pragma clang loop unroll_count(2)\nfor (int k = 0; k < "
           "3; k++) s += 1;\nPUT(0, s);",
           {f(1), f(2)},
           {f(30)}},
          {"half accumulations against float ones",
           kEigen,
           "half acc = 0; float facc = 0; for (int k = 0; k < 4; ++k) { acc += half(F(0)); facc += half(F(0)); } PUTH(0, acc); PUT(1, "
           "facc); acc = fma(acc, 2.0h, H(1)); PUTH(2, acc);",
           {f(1024.5F), h(1)},
           {h(4096), f(4096), h(8192)}},
          {"bit casts of vectors",
           kCxx,
           "half4 v = as_type<half4>(uint2(U(0), U(1))); PUTH(0, v.y); uint2 u = as_type<uint2>(v); o[1] = u.y; ushort2 s = "
           "as_type<ushort2>(as_type<float>(U(0))); o[2] = s.x; char4 c = as_type<char4>(U(1)); o[3] = uint(c.w); o[4] = "
           "as_type<uint>(as_type<packed_uchar4>(U(1)));",
           {0x40003c00, 0xff000001},
           {h(2), 0xff000001, 0x3c00, n(-1), 0xff000001}},
          {"dot of mixed widths and the float4x4 of a half4x4",
           kHand,
           "half4x4 m = half4x4(half4(1), half4(2), half4(3), half4(H(0))); float4x4 k = float4x4(m); PUT(0, dot(k[3], float4(1, 0, 0, "
           "1))); k[0][2] = 5; thread float* flat = (thread float*)&k; PUT(1, flat[2]); float4 col = k * float4(0, 0, 0, 1); PUT(2, "
           "col.y);",
           {h(4)},
           {f(8), f(5), f(4)}},
          {"an array parameter by reference with a deduced size",
           kCxx,
           "float a[3] = {F(0), 2, 3}; PUT(0, total(a)); threadgroup float t[2]; t[0] = 1; t[1] = F(0); PUT(1, total_shared(t)); thread "
           "float(&r)[3] = a; r[1] = 9; PUT(2, a[1]);",
           {f(5)},
           {f(10), f(6), f(9)}},
          {"a local array of device pointers that move",
           kCxx,
           "device const float* p[2]; for (short k = 0; k < 2; ++k) p[k] = (device const float*)i + k; p[0] += 2; PUT(0, *p[0]++); PUT(1, "
           "*p[0]); PUT(2, p[1][0]); o[3] = uint(p[0] - p[1]);",
           {f(1), f(2), f(3), f(4)},
           {f(3), f(4), f(2), 2}},
          {"64-bit strides and size_t",
           kCxx,
           "const uint64_t nb = 8; const int64_t k = -1; device const char* b = (device const char*)i + 2 * nb; PUT(0, *(device const "
           "float*)(b + k * int64_t(nb))); size_t z = sizeof(float) * nb; o[1] = uint(z); o[2] = uint((uint64_t(U(0)) * 0x100000001ul) >> "
           "32); ulong3 q = ulong3(1, 2, 3); q.yz *= 2; o[3] = uint(q.z);",
           {7, 0, f(3)},
           {f(3), 32, 7, 6}},
          {"isnan, isinf, copysign, nextafter, ldexp, frexp",
           kCxx,
           "o[0] = isnan(F(0)) + 2 * isinf(F(1)); PUT(1, copysign(3.0f, F(1))); PUT(2, ldexp(1.5f, 3)); int e; float m = frexp(F(2), e); "
           "PUT(3, m); o[4] = uint(e); o[5] = any(isnan(float2(F(0), 1))); PUT(6, max(F(0), 2.0f)); PUT(7, fmin(F(0), 3.0f));",
           {0x7fc00000, 0xff800000, f(6)},
           {3, f(-3), f(12), f(0.75F), 3, 1, f(2), f(3)}},
          {"a bfloat of one's own beside the built-in one",
           kEigen,
           "own_bf x = own_bf(F(0)); own_bf y = x + x; float s = y; PUT(0, s); bfloat z = bfloat(F(0)); PUT(1, float(z + z)); device "
           "own_bf* d = (device own_bf*)(o + 2); *d = y; o[2] &= 0xffff;",
           {f(1.5F)},
           {f(3), f(3), b(3)}},
          {"numeric_limits in templates",
           kCxx,
           "PUTH(0, lowest<half>()); PUT(1, lowest<float>()); o[2] = uint(lowest<int>()); PUTH(3, numeric_limits<bfloat>::max()); PUT(4, "
           "-numeric_limits<float>::infinity());",
           {},
           {h(-65504), f(-3.40282347e38F), 0x80000000, 0x7f7f, f(-INFINITY)}},
          {"namespaces, using declarations, nested names",
           kCxx,
           "using lib::detail::twice; o[0] = twice(U(0)); namespace l = lib; o[1] = l::kBase + lib::inner::add(U(0), 1); using namespace "
           "lib::inner; o[2] = add(1, 2);",
           {4},
           {8, 105, 3}},
          {"volatile and const where they may stand",
           kCxx,
           "const float constexpr_free = F(0); volatile float v = constexpr_free; float const w = v; const thread float* const p = &w; "
           "const device float* const q = (const device float*)i; PUT(0, *p + *q); constexpr const ushort k = 3; static_assert(k == 3, "
           "\"\"); o[1] = k;",
           {f(2)},
           {f(4), 3}},
          {"a threadgroup struct with arrays and vectors",
           kCxx,
           "threadgroup Shared s; s.sum = 0; for (short k = 0; k < 4; ++k) { s.v[k] = half4(half(k)); s.sum += float(s.v[k].x); } "
           "s.v[1].yz = half2(7, 8); threadgroup Shared* p = &s; PUT(0, p->sum); PUTH(1, p->v[1].z); Shared copy = *p; PUTH(2, "
           "copy.v[3].w); p->pair = {U(0), 2}; o[3] = s.pair.x + s.pair.y;",
           {5},
           {f(6), h(8), h(3), 7}},
      },
      R"msl(
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define SWAP(x, y) { auto tmp = (x); (x) = (y); (y) = tmp; }
#define FOR_UNROLL(x) _Pragma("clang loop unroll(full)") for (x)
static constant constexpr int8_t kvalues[4] = {-127, -104, -83, -65};
constexpr constant static uint kTable[4] = {1, 2, 4, 8};
constant uchar kSigns[8] = {0, 129, 130, 3, 132, 5, 6, 135};
static constant float kFp4[16] = {0, .5f, 1.f, 1.5f, 2.f, 3.f, 4.f, 6.f, 0, -.5f, -1.f, -1.5f, -2.f, -3.f, -4.f, -6.f};
typedef struct { half d; uint8_t qs[4]; } Block;
static_assert(sizeof(Block) == 6, "wrong block size");
struct WithScale { float scale; };
union Q { uint all; struct { ushort lo; ushort hi; }; };
static inline float e8m0(uint8_t x) { uint32_t bits = x == 0 ? 0x00400000 : uint32_t(x) << 23; return as_type<float>(bits); }
constexpr int pad(int x, int n) { return (x + n - 1) / n * n; }
template <typename T> struct Traits { static constexpr constant int kSize = 8 / sizeof(T); template <int N> static constexpr int pad() { return N + sizeof(T); } };
template <typename T> metal::enable_if_t<metal::is_floating_point_v<T>, uint> which(T) { return sizeof(T) == 4 ? 1 : 1; }
template <typename T, metal::enable_if_t<metal::is_integral<T>::value, int> = 0> uint which(T) { return 20; }
template <typename T, typename = void> struct has_scale : metal::false_type {};
template <typename T> struct has_scale<T, metal::void_t<decltype(T::scale)>> : metal::true_type {};
template <typename... A> float sum_of(A... a) { return (a + ...); }
template <typename... A> bool all_of(A... a) { return (... && a); }
constexpr uint popcount_of(uint x) { return (x & 1) + (x >> 1 & 1) + (x >> 2 & 1); }
template <int... N> constexpr uint count_bits() { return (popcount_of(N) + ... + 0); }
template <typename T> struct Base { T base; T get() const { return base; } };
template <typename T> struct Derived : Base<T> { using type = T; struct Inner { static constexpr constant int kValue = 9; }; T twice() { return this->base * 2; } };
struct V2 {
  float x, y;
  float operator[](int k) const { return k == 0 ? x : y; }
  V2 operator+(V2 other) const { return {x + other.x, y + other.y}; }
  V2 operator-() const { return V2{-x, -y}; }
  thread V2& operator+=(V2 other) thread { x += other.x; y += other.y; return *this; }
  thread V2& operator*=(float s) { x *= s; y *= s; return *this; }
  friend V2 operator*(V2 a, float s) { return V2{a.x * s, a.y * s}; }
  bool operator==(thread const V2& other) const { return x == other.x && y == other.y; }
};
inline bool operator!=(V2 a, V2 b) { return !(a == b); }
enum class Mode : uchar { once, twice };
template <Mode M> uint apply_mode(uint x) { if constexpr (M == Mode::twice) { return 2 * x; } else { return x; } }
uint run_mode(Mode m, uint x) { switch (m) { case Mode::once: return x + 1; case Mode::twice: return 2 * x; default: return 0; } }
struct View { device uint* out; device const float* in; int n; void put(int k, float v) const { out[k] = as_type<uint>(v); } };
template <size_t N> float total(thread const float (&a)[N]) { float s = 0; for (size_t k = 0; k < N; ++k) s += a[k]; return s; }
template <int N> float total_shared(threadgroup float (&a)[N]) { float s = 0; for (int k = 0; k < N; ++k) s += a[k]; return s; }
struct own_bf {
  ushort bits;
  own_bf() thread = default;
  own_bf() threadgroup = default;
  own_bf() device = default;
  constexpr own_bf(float x) : bits(ushort((as_type<uint>(x) + 0x7fff + ((as_type<uint>(x) >> 16) & 1)) >> 16)) {}
  operator float() const thread { return as_type<float>(uint(bits) << 16); }
  operator float() const device { return as_type<float>(uint(bits) << 16); }
};
inline own_bf operator+(own_bf a, own_bf b) { return own_bf(float(a) + float(b)); }
template <typename T> T lowest() { return metal::numeric_limits<T>::lowest(); }
namespace lib { constant constexpr uint kBase = 100; namespace detail { template <typename T> T twice(T x) { return x + x; } } namespace inner { uint add(uint a, uint b) { return a + b; } } }
struct Shared { float sum; half4 v[4]; uint2 pair; };
)msl");
}

// The 32 lanes of one SIMD-group; lane k reads k + 1 as a float unless a row says otherwise.
Words counting() {
  Words inputs;
  for (int lane = 0; lane < 32; ++lane) inputs.push_back(f(static_cast<float>(lane + 1)));
  return inputs;
}

LaneRow lane_row(std::string construct, std::string body, std::uint32_t (*expected)(std::uint32_t lane)) {
  return {std::move(construct), kHand, std::move(body), counting(), [expected](const Words&) {
            Words words;
            for (std::uint32_t lane = 0; lane < 32; ++lane) words.push_back(expected(lane));
            return words;
          }};
}

TEST(Styles, OneSimdGroup) {
  check_lane_rows(
      "idioms of a SIMD-group",
      {
          lane_row("a tree of shuffles",
                   "float v = F(lane); for (ushort k = 16; k > 0; k >>= 1) v += simd_shuffle_xor(v, k); o[lane] = as_type<uint>(v);",
                   [](std::uint32_t) { return f(528); }),
          lane_row("shuffles down in rows of eight",
                   "float v = F(lane); v += simd_shuffle_down(v, 4); v += simd_shuffle_down(v, 2); v += simd_shuffle_down(v, 1); v = "
                   "simd_shuffle(v, ushort(lane & ~7u)); "
                   "o[lane] = as_type<uint>(v);",
                   [](std::uint32_t lane) { return f(static_cast<float>(8 * (lane / 8 * 8) + 36)); }),
          lane_row("an argmax by shuffles",
                   "float v = F((lane * 7) % 32); uint at = lane; for (ushort k = 16; k > 0; k /= 2) { float w = simd_shuffle_xor(v, k); "
                   "uint a = simd_shuffle_xor(at, k); if (w > v || (w == v && a < at)) { v = w; at = a; } } o[lane] = at;",
                   [](std::uint32_t) { return 9U; }),  // 7 * 9 = 63, the only multiple that is 31 modulo 32
          lane_row("a reduction of a functor template", "o[lane] = as_type<uint>(simd_reduce<Sum>(F(lane)) + simd_reduce<Max>(F(lane)));",
                   [](std::uint32_t) { return f(528 + 32); }),
          lane_row("a softmax over the group with one score ahead",
                   "float s = lane == 5 ? 200.f : 0.f; float m = simd_max(s); float e = exp(s - m); float z = simd_sum(e); o[lane] = "
                   "as_type<uint>(e / z * F(lane));",
                   [](std::uint32_t lane) { return lane == 5 ? f(6) : 0U; }),
          lane_row("ballot, prefix and compaction",
                   "bool keep = lane % 3 == 0; ulong votes = (ulong)simd_ballot(keep); uint before = popcount(uint(votes) & ((1u << lane) "
                   "- 1)); uint slot = simd_prefix_exclusive_sum(uint(keep)); o[lane] = before == slot ? slot : 999;",
                   [](std::uint32_t lane) { return (lane + 2) / 3; }),
          lane_row("the first active lane of each arm",
                   "uint r = 0; if (lane >= 11) { r = simd_is_first() ? 100 : simd_broadcast_first(lane); } o[lane] = r;",
                   [](std::uint32_t lane) { return lane < 11    ? 0U
                                                   : lane == 11 ? 100U
                                                                : 12U; }),
          lane_row("scratch written by one half and read by the other",
                   "threadgroup float t[32]; t[31 - lane] = F(lane); simdgroup_barrier(mem_flags::mem_threadgroup); o[lane] = "
                   "as_type<uint>(t[lane]);",
                   [](std::uint32_t lane) { return f(static_cast<float>(32 - lane)); }),
          lane_row("a loop by lane with a vote to leave",
                   "uint n = 0; while (simd_any(n < lane / 8)) { if (n < lane / 8) n++; } o[lane] = n + simd_sum(1u);",
                   [](std::uint32_t lane) { return lane / 8 + 32; }),
          lane_row("vectors through the group",
                   "float4 v = float4(F(lane), 1, 2, 3); v = simd_sum(v); half2 h = simd_max(half2(half(lane), -half(lane))); o[lane] = "
                   "as_type<uint>(v.x + v.w + float(h.x) + float(h.y));",
                   [](std::uint32_t) { return f(528 + 96 + 31); }),
          lane_row("rows of a matrix through thread_elements",
                   "simdgroup_float8x8 a = make_filled_simdgroup_matrix<float, 8, 8>(2.f), c = simdgroup_float8x8(3.f), d; "
                   "simdgroup_multiply(d, a, c); thread auto& e = d.thread_elements(); o[lane] = as_type<uint>(e[0] + e[1]);",
                   [](std::uint32_t) { return f(12); }),  // c is 3 on its diagonal: each element is 2 * 3
          lane_row("an early return of a helper between two reductions",
                   "float r = simd_sum(1.0f) + helper(lane, F(lane)); o[lane] = as_type<uint>(r + simd_sum(1.0f));",
                   [](std::uint32_t lane) { return lane < 4 ? f(64) : f(64 + 28); }),
      },
      R"msl(
struct Sum { template <typename T> static T of(T a, T b) { return a + b; } };
struct Max { template <typename T> static T of(T a, T b) { return a > b ? a : b; } };
template <typename Op, typename T> T simd_reduce(T v) { for (int k = 16; k >= 1; k >>= 1) v = Op::of(v, simd_shuffle_xor(v, ushort(k))); return v; }
float helper(uint lane, float x) { if (lane < 4) return 0; return simd_sum(x > 0 ? 1.0f : 2.0f); }
)msl");
}

}  // namespace
}  // namespace assay::tests::styles_test
