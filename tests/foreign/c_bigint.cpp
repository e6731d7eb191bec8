// Runs of c_bigint.metal and their expected results. Wide integers: carries, Montgomery products, and the integer functions of the library
// on every width.
#include "tests/foreign/foreign.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace assay::foreign::c::bigint {
namespace {

const char* const kFile = "c_bigint.metal";
using u32 = std::uint32_t;
using u64 = std::uint64_t;
__extension__ typedef unsigned __int128 u128;
using Big = std::array<u32, 8>;

bool less(const Big& a, const Big& b) {
  for (int i = 7; i >= 0; --i)
    if (a[i] != b[i]) return a[i] < b[i];
  return false;
}
Big minus(const Big& a, const Big& b) {
  Big r;
  std::int64_t c = 0;
  for (int i = 0; i < 8; ++i) {
    c += static_cast<std::int64_t>(a[i]) - b[i];
    r[i] = static_cast<u32>(c);
    c >>= 32;
  }
  return r;
}
bool plus(const Big& a, const Big& b, Big& r) {
  u64 c = 0;
  for (int i = 0; i < 8; ++i) c += static_cast<u64>(a[i]) + b[i], r[i] = static_cast<u32>(c), c >>= 32;
  return c != 0;
}
Big add_mod(const Big& a, const Big& b, const Big& p) {
  Big r;
  bool over = plus(a, b, r);
  return over || !less(r, p) ? minus(r, p) : r;
}
Big halve(const Big& a, const Big& p) {
  Big r = a;
  bool over = a[0] & 1 ? plus(a, p, r) : false;
  for (int i = 0; i < 8; ++i) r[i] = r[i] >> 1 | (i < 7 ? r[i + 1] << 31 : (over ? 0x80000000u : 0u));
  return r;
}

struct Modulus {
  Big p;
  u32 inverse, pad[7];
};
// 2^256 - 2^32 - 977
Modulus modulus() {
  Modulus m{};
  m.p.fill(0xffffffffu);
  m.p[0] = 0xfffffc2fu, m.p[1] = 0xfffffffeu;
  u32 x = 1;
  for (int i = 0; i < 6; ++i) x *= 2 - m.p[0] * x;
  m.inverse = 0u - x;
  return m;
}

Run big(const char* name, const char* function, bool product) {
  const int n = 40;
  Modulus m = modulus();
  std::mt19937 g(71);
  std::vector<Big> a(n), b(n);
  for (auto* v : {&a, &b})
    for (auto& x : *v)
      for (auto& w : x) w = g();
  a[0] = minus(m.p, Big{1}), b[0] = a[0], a[1] = Big{}, a[2] = Big{1}, b[2] = minus(m.p, Big{1}), a[3] = m.p, a[3][0] -= 5, b[3] = Big{5};
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    Big r{};
    if (product) {
      for (int bit = 255; bit >= 0; --bit) {
        r = add_mod(r, r, m.p);
        if (b[i][bit / 32] >> (bit % 32) & 1) r = add_mod(r, a[i], m.p);
      }
      for (int k = 0; k < 256; ++k) r = halve(r, m.p);
    } else {
      r = add_mod(a[i], b[i], m.p);
    }
    for (u32 w : r) out.push_back(w);
  }
  Run r(name, kFile, function);
  r.buffer(0, a).buffer(1, b).fresh(2, n * 32).value(3, m).dispatch_threads({n, 1, 1}, {32, 1, 1}).expect_equal(2, Format::u32, out);
  return r;
}

Run lanes() {
  const int rows = 6;
  std::mt19937 g(72);
  std::vector<u32> a(rows * 32), b(rows * 32);
  for (auto& x : a) x = g();
  for (int i = 0; i < rows * 32; ++i) b[i] = i / 32 == 1 ? ~a[i] : g() % 4 ? ~a[i] : g();
  b[32] += 1;  // a carry through the whole row
  for (int i = 0; i < 32; ++i) a[64 + i] = b[64 + i] = ~0u;
  std::vector<double> out, carries;
  for (int r = 0; r < rows; ++r) {
    u64 c = 0;
    for (int i = 0; i < 32; ++i) c += static_cast<u64>(a[r * 32 + i]) + b[r * 32 + i], out.push_back(static_cast<u32>(c)), c >>= 32;
    carries.push_back(static_cast<double>(c));
  }
  Run r("c_bigint_lanes", kFile, "add_1024_lanes");
  r.buffer(0, a).buffer(1, b).fresh(2, rows * 128).fresh(3, rows * 4).dispatch_threadgroups({rows, 1, 1}, {32, 1, 1});
  r.expect_equal(2, Format::u32, out).expect_equal(3, Format::u32, carries);
  return r;
}

void words(std::vector<double>& out, u64 v) { out.push_back(static_cast<u32>(v)), out.push_back(static_cast<u32>(v >> 32)); }

Run mul() {
  const int n = 33;
  std::mt19937_64 g(73);
  std::vector<u64> in(n * 2);
  for (auto& x : in) x = g() >> (g() % 40);
  in[0] = in[1] = ~u64{0};
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    u128 p = static_cast<u128>(in[2 * i]) * in[2 * i + 1];
    words(out, static_cast<u64>(p)), words(out, static_cast<u64>(p >> 64));
  }
  Run r("c_bigint_mul64", kFile, "mul_64x64");
  r.buffer(0, in).fresh(1, n * 16).dispatch_threads({n, 1, 1}, {32, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

Run modpow() {
  const int n = 40;
  const u64 p = 0xffffffff00000001u;
  u64 r2 = 1;
  for (int i = 0; i < 128; ++i) r2 = static_cast<u64>(static_cast<u128>(r2) * 2 % p);
  std::mt19937_64 g(74);
  std::vector<u64> base(n);
  std::vector<u32> e(n);
  for (auto& x : base) x = g() % p;
  for (auto& x : e) x = static_cast<u32>(g() >> (32 + g() % 30));
  base[0] = 0, base[1] = p - 1, e[1] = 3, e[2] = 0;
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    u64 y = 1;
    for (int bit = 31; bit >= 0; --bit) {
      y = static_cast<u64>(static_cast<u128>(y) * y % p);
      if (e[i] >> bit & 1) y = static_cast<u64>(static_cast<u128>(y) * base[i] % p);
    }
    words(out, y);
  }
  Run r("c_bigint_modpow", kFile, "modpow_64");
  r.buffer(0, base).buffer(1, e).fresh(2, n * 8).value(3, std::array<u64, 2>{p, r2});
  r.dispatch_threads({n, 1, 1}, {64, 1, 1}).expect_equal(2, Format::u32, out);
  return r;
}

Run statistics() {
  const u32 n = 501;
  std::mt19937_64 g(75);
  std::vector<u64> in(n);
  u64 s = 0, t = 0;
  for (auto& x : in) x = g(), s += x, t = std::max(t, x);
  std::vector<double> out;
  words(out, s), words(out, t);
  Run r("c_bigint_statistics", kFile, "statistics_u64");
  r.buffer(0, in).fresh(1, 16).value(2, n).dispatch_threadgroups({1, 1, 1}, {128, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

template <typename T>
Run ops(const char* name, const char* function, Format format) {
  using I = std::int64_t;
  const int n = 66, bits = sizeof(T) * 8;
  const I lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  std::mt19937 g(76);
  std::vector<T> a(n), b(n);
  for (auto* v : {&a, &b})
    for (auto& x : *v) x = static_cast<T>(g());
  a[0] = static_cast<T>(lo), b[0] = static_cast<T>(hi), a[1] = 0, b[1] = static_cast<T>(lo), a[2] = static_cast<T>(hi),
  b[2] = static_cast<T>(hi), a[3] = 1;
  std::vector<double> out;
  auto put = [&](I v) { out.push_back(static_cast<double>(static_cast<T>(v))); };
  for (int i = 0; i < n; ++i) {
    const I x = a[i], y = b[i];
    const u64 raw = static_cast<u64>(x) & (~u64{0} >> (64 - bits));
    put(std::clamp(x + y, lo, hi)), put(std::clamp(x - y, lo, hi));
    put((x + y) >> 1), put((x + y + 1) >> 1), put(std::llabs(x - y));
    put(lo ? (x * y) >> bits : static_cast<I>((static_cast<u64>(x) * static_cast<u64>(y)) >> bits));
    put(std::popcount(raw)), put(std::countl_zero(raw) - (64 - bits)), put(raw ? std::countr_zero(raw) : bits);
    put(static_cast<I>(raw << 3 | raw >> (bits - 3)));
    u64 rev = 0;
    for (int k = 0; k < bits; ++k) rev |= (raw >> k & 1) << (bits - 1 - k);
    put(static_cast<I>(rev)), put(std::clamp(x, std::min<I>(y, 20), std::max<I>(y, 20)));
  }
  Run r(name, kFile, function);
  r.buffer(0, a).buffer(1, b).fresh(2, n * 12 * sizeof(T)).dispatch_threads({n, 1, 1}, {32, 1, 1}).expect_equal(2, format, out);
  return r;
}

Run tricks() {
  const int n = 65;
  std::mt19937 g(77);
  std::vector<u32> in(n);
  for (auto& x : in) x = g() >> (g() % 28);
  in[0] = 0, in[1] = ~0u, in[2] = 1;
  std::vector<double> out;
  for (u32 v : in) {
    u32 morton = 0, gray = 0;
    for (int i = 0; i < 16; ++i) morton |= (v >> i & 1) << (2 * i) | (v >> (16 + i) & 1) << (2 * i + 1);
    for (int i = 31, last = 0; i >= 0; --i) last ^= v >> i & 1, gray |= static_cast<u32>(last) << i;
    u32 root = static_cast<u32>(std::sqrt(static_cast<double>(v)));
    u32 w = v & 0xffffffu, next = w;
    if (w) {  // the lowest block of ones: its top bit moves up, the others fall to the bottom
      int z = std::countr_zero(w), ones = std::countr_one(w >> z);
      next = (w >> (z + ones) | 1u) << (z + ones) | ((1u << (ones - 1)) - 1);
    }
    u32 bcd = 0;
    for (u32 d = v & 0xffffu, at = 0; d; d /= 10, at += 4) bcd |= d % 10 << at;
    u32 swap = v >> 24 | (v >> 8 & 0xff00u) | (v << 8 & 0xff0000u) | v << 24;
    u32 mix = (v & 0xfffu) * (v >> 20) - 17u + 3u * (v & 0xffffu) + static_cast<u32>((static_cast<u64>(v) * 0x80000001u) >> 32) + 5u;
    for (u32 x : {morton, v ^ v >> 1, gray, root, next, bcd, swap, mix}) out.push_back(x);
  }
  Run r("c_bit_tricks", kFile, "bit_tricks");
  r.buffer(0, in).fresh(1, n * 32).dispatch_threads({n, 1, 1}, {32, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

std::vector<Run> bigint_runs() {
  return {big("c_bigint_add_mod", "add_mod_256", false),
          big("c_bigint_montmul", "montmul_256", true),
          lanes(),
          mul(),
          modpow(),
          statistics(),
          ops<std::int8_t>("c_int_ops_char", "int_ops_char", Format::i8),
          ops<std::uint8_t>("c_int_ops_uchar", "int_ops_uchar", Format::u8),
          ops<std::int16_t>("c_int_ops_short", "int_ops_short", Format::i16),
          ops<std::uint16_t>("c_int_ops_ushort", "int_ops_ushort", Format::u16),
          ops<std::int32_t>("c_int_ops_int", "int_ops_int", Format::i32),
          ops<std::uint32_t>("c_int_ops_uint", "int_ops_uint", Format::u32),
          tricks()};
}
const Runs kBigint(bigint_runs);

}  // namespace
}  // namespace assay::foreign::c::bigint
