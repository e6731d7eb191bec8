// Wide integers: carries, Montgomery products, and the integer functions of the library on every width.
#include <metal_stdlib>
#include <metal_integer>
using namespace metal;

#define LIMBS 8

struct BigInt {
  uint limb[LIMBS];

  uint operator[](int i) const thread { return limb[i]; }
  thread uint& operator[](int i) thread { return limb[i]; }
  uint operator[](int i) const device { return limb[i]; }
  uint operator[](int i) const constant { return limb[i]; }
  uint operator[](int i) const threadgroup { return limb[i]; }
};

// Own overloads beside the library's.
inline ulong simd_shuffle_xor(ulong v, ushort mask) { return as_type<ulong>(metal::simd_shuffle_xor(as_type<uint2>(v), mask)); }
inline ulong simd_sum(ulong v) {
  for (ushort m = 16; m > 0; m >>= 1) v += simd_shuffle_xor(v, m);
  return v;
}
inline ulong simd_max(ulong v) {
  for (ushort m = 16; m > 0; m >>= 1) v = max(v, simd_shuffle_xor(v, m));
  return v;
}

template <typename A, typename B>
static uint add_limbs(thread BigInt& out, const A a, const B b) {
  ulong carry = 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < LIMBS; ++i) {
    carry += (ulong)a[i] + b[i];
    out[i] = (uint)carry;
    carry >>= 32;
  }
  return (uint)carry;
}

static uint sub_limbs(thread BigInt& out, const thread BigInt& a, const constant BigInt& b) {
  uint borrow = 0;
  for (int i = 0; i < LIMBS; ++i) {
    uint d = a[i] - b[i];
    uint under = uint(a[i] < b[i]);
    under |= uint(d < borrow);
    out[i] = d - borrow;
    borrow = under;
  }
  return borrow;
}

struct Modulus {
  BigInt p;
  uint inverse;  // -p^-1 mod 2^32
  uint pad[7];
};

static void reduce_once(thread BigInt& x, uint overflow, const constant BigInt& p) {
  BigInt y;
  uint borrow = sub_limbs(y, x, p);
  bool take = overflow != 0 || borrow == 0;
  for (int i = 0; i < LIMBS; ++i) x[i] = take ? y[i] : x[i];
}

static BigInt montmul(const thread BigInt& a, const thread BigInt& b, constant Modulus& m) {
  uint t[LIMBS + 2] = {0};
  for (int i = 0; i < LIMBS; ++i) {
    uint carry = 0;
    for (int j = 0; j < LIMBS; ++j) {
      ulong s = (ulong)a[j] * b[i] + t[j] + carry;
      t[j] = (uint)s;
      carry = (uint)(s >> 32);
    }
    ulong s = (ulong)t[LIMBS] + carry;
    t[LIMBS] = (uint)s;
    t[LIMBS + 1] = (uint)(s >> 32);

    const uint q = t[0] * m.inverse;
    uint lo = q * m.p[0], hi = mulhi(q, m.p[0]);
    carry = hi + uint(lo + t[0] < lo);
    for (int j = 1; j < LIMBS; ++j) {
      s = (ulong)q * m.p[j] + t[j] + carry;
      t[j - 1] = (uint)s;
      carry = (uint)(s >> 32);
    }
    s = (ulong)t[LIMBS] + carry;
    t[LIMBS - 1] = (uint)s;
    t[LIMBS] = t[LIMBS + 1] + (uint)(s >> 32);
  }
  BigInt r;
  for (int i = 0; i < LIMBS; ++i) r[i] = t[i];
  reduce_once(r, t[LIMBS], m.p);
  return r;
}

kernel void add_mod_256(
    device const BigInt* a [[buffer(0)]],
    device const BigInt* b [[buffer(1)]],
    device BigInt* out [[buffer(2)]],
    constant Modulus& m [[buffer(3)]],
    uint gid [[thread_position_in_grid]]) {
  BigInt x = a[gid], y = b[gid], z;
  uint over = add_limbs(z, x, y);
  reduce_once(z, over, m.p);
  out[gid] = z;
}

kernel void montmul_256(
    device const BigInt* a [[buffer(0)]],
    device const BigInt* b [[buffer(1)]],
    device BigInt* out [[buffer(2)]],
    constant Modulus& m [[buffer(3)]],
    uint gid [[thread_position_in_grid]]) {
  const BigInt x = a[gid], y = b[gid];
  out[gid] = montmul(x, y, m);
}

// One limb per lane: the carries travel by ballot, in the manner of a carry-select adder.
kernel void add_1024_lanes(
    device const uint* a [[buffer(0)]],
    device const uint* b [[buffer(1)]],
    device uint* out [[buffer(2)]],
    device uint* carry_out [[buffer(3)]],
    uint row [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
  uint x = a[row * 32 + lane], s = x + b[row * 32 + lane];
  ulong generates = (simd_vote::vote_t)simd_ballot(s < x);
  ulong propagates = (simd_vote::vote_t)simd_ballot(s == 0xffffffffu);
  ulong chain = (generates << 1) + propagates;
  ulong carries = chain ^ propagates;
  out[row * 32 + lane] = s + uint((carries >> lane) & 1);
  if (simd_is_first()) carry_out[row] = uint(carries >> 32) & 1u;
}

kernel void mul_64x64(device const ulong2* in [[buffer(0)]], device ulong2* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
  ulong2 v = in[gid];
  ulong lo = v.x * v.y, hi = mulhi(v.x, v.y);
  out[gid] = ulong2(lo, hi);
}

struct Mont64 {
  ulong n, ninv, r2;
  ulong mul(ulong a, ulong b) const thread {
    ulong lo = a * b, hi = mulhi(a, b);
    ulong q = lo * ninv;  // ninv = n^-1
    ulong h = mulhi(q, n);
    return hi >= h ? hi - h : hi - h + n;
  }
};

kernel void modpow_64(
    device const ulong* base [[buffer(0)]],
    device const uint* exponent [[buffer(1)]],
    device ulong* out [[buffer(2)]],
    constant ulong2& modulus [[buffer(3)]],
    uint gid [[thread_position_in_grid]]) {
  Mont64 m = {modulus.x, 1, modulus.y};
  for (int i = 0; i < 6; ++i) m.ninv *= 2 - m.n * m.ninv;
  ulong x = m.mul(base[gid], m.r2), y = m.mul(1, m.r2);
  for (uint e = exponent[gid]; e != 0; e >>= 1) {
    if (e & 1) y = m.mul(y, x);
    x = m.mul(x, x);
  }
  out[gid] = m.mul(y, 1);
}

kernel void statistics_u64(
    device const ulong* in [[buffer(0)]],
    device ulong* out [[buffer(1)]],
    constant uint& n [[buffer(2)]],
    uint lid [[thread_position_in_threadgroup]],
    uint sg [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]],
    uint threads [[threads_per_threadgroup]]) {
  threadgroup ulong sums[32];
  threadgroup ulong tops[32];
  ulong s = 0, t = 0;
  for (uint i = lid; i < n; i += threads) s += in[i], t = max(t, in[i]);
  s = simd_sum(s);
  t = simd_max(t);
  if (lane == 0) sums[sg] = s, tops[sg] = t;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (sg == 0) {
    uint groups = (threads + 31) / 32;
    s = simd_sum(lane < groups ? sums[lane] : 0ul);
    t = simd_max(lane < groups ? tops[lane] : 0ul);
    if (lane == 0) out[0] = s, out[1] = t;
  }
}

// The integer functions of the library.
template <typename T, typename U = make_unsigned_t<T>>
kernel void int_ops(device const T* a [[buffer(0)]], device const T* b [[buffer(1)]], device T* out [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
  const T x = a[gid], y = b[gid];
  device T* o = out + gid * 12;
  o[0] = addsat(x, y);
  o[1] = subsat(x, y);
  o[2] = hadd(x, y);
  o[3] = rhadd(x, y);
  o[4] = T(absdiff(x, y));
  o[5] = mulhi(x, y);
  o[6] = popcount(x);
  o[7] = clz(x);
  o[8] = ctz(x);
  o[9] = rotate(x, T(3));
  o[10] = T(reverse_bits(U(x)));
  o[11] = clamp(x, min(y, T(20)), max(y, T(20)));
}

#define INT_OPS(type) template [[host_name("int_ops_" #type)]] kernel void int_ops<type>( \
    device const type* a [[buffer(0)]], device const type* b [[buffer(1)]], device type* out [[buffer(2)]], uint gid [[thread_position_in_grid]]);
INT_OPS(char)
INT_OPS(uchar)
INT_OPS(short)
INT_OPS(ushort)
INT_OPS(int)
INT_OPS(uint)

kernel void bit_tricks(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
  uint v = in[gid];
  device uint* o = out + gid * 8;
  uint2 xy = uint2(v, v >> 16) & 0xffffu;  // Morton code of the halves
  xy = (xy | (xy << 8)) & 0x00ff00ffu;
  xy = (xy | (xy << 4)) & 0x0f0f0f0fu;
  xy = (xy | (xy << 2)) & 0x33333333u;
  xy = (xy | (xy << 1)) & 0x55555555u;
  o[0] = xy.x | (xy.y << 1);
  o[1] = v ^ (v >> 1);
  uint g = v;  // inverse of the Gray code
  g ^= g >> 16, g ^= g >> 8, g ^= g >> 4, g ^= g >> 2, g ^= g >> 1;
  o[2] = g;
  uint root = 0, rest = v;  // integer square root
  for (uint bit = 1u << 30; bit; bit >>= 2) {
    if (rest >= root + bit) rest -= root + bit, root = (root >> 1) + bit;
    else root >>= 1;
  }
  o[3] = root;
  uint w = v & 0x00ffffffu, c = w & -w;  // next number with as many bits
  o[4] = w ? ((((w + c) ^ w) / c) >> 2) | (w + c) : 0u;
  uint bcd = 0;
  for (int i = 15; i >= 0; --i) {
    uint t = bcd + 0x33333333u, mask = t & 0x88888888u;
    bcd += (mask >> 2) | (mask >> 3);
    bcd = (bcd << 1) | extract_bits(v, uint(i), 1u);
  }
  o[5] = bcd;
  o[6] = as_type<uint>(as_type<uchar4>(v).wzyx);
  o[7] = mad24(int(v & 0xfffu), int(v >> 20), -17) + mul24(3u, v & 0xffffu) + madhi(v, 0x80000001u, 5u);
}
