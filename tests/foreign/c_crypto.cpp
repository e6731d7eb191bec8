// Runs of c_crypto.metal and their expected results. Hashes, ciphers and generators on integers.
#include "tests/foreign/foreign.h"

#include <bit>
#include <cmath>
#include <random>

namespace assay::foreign::c::crypto {
namespace {

const char* const kFile = "c_crypto.metal";
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Message {
  u32 offset, length;
};

struct Texts {
  std::vector<std::uint8_t> bytes;
  std::vector<Message> messages;
};

Texts texts() {
  std::mt19937 g(99);
  Texts t;
  for (u32 length : {3u, 0u,   55u, 56u, 63u, 64u, 65u, 119u, 120u, 135u, 136u, 137u, 200u, 271u, 272u, 7u,  31u,
                     4u, 128u, 1u,  13u, 57u, 61u, 8u,  9u,   10u,  11u,  12u,  90u,  91u,  92u,  93u,  94u, 300u}) {
    t.messages.push_back({static_cast<u32>(t.bytes.size()), length});
    for (u32 i = 0; i < length; ++i) t.bytes.push_back(static_cast<std::uint8_t>(g()));
  }
  t.bytes[0] = 'a', t.bytes[1] = 'b', t.bytes[2] = 'c';
  return t;
}

std::array<u32, 8> sha256(const std::uint8_t* p, u32 n) {
  std::vector<u32> primes;
  for (u32 c = 2; primes.size() < 64; ++c) {
    bool prime = true;
    for (u32 q : primes) prime = prime && c % q != 0;
    if (prime) primes.push_back(c);
  }
  auto fraction = [](long double x) { return static_cast<u32>((x - std::floor(x)) * 4294967296.0L); };
  std::array<u32, 8> h;
  for (int i = 0; i < 8; ++i) h[i] = fraction(std::sqrt(static_cast<long double>(primes[i])));
  std::vector<std::uint8_t> m(p, p + n);
  m.push_back(0x80);
  while (m.size() % 64 != 56) m.push_back(0);
  for (int i = 7; i >= 0; --i) m.push_back(static_cast<std::uint8_t>(static_cast<u64>(n) * 8 >> (8 * i)));
  for (std::size_t at = 0; at < m.size(); at += 64) {
    std::vector<u32> w(64);
    for (int i = 0; i < 64; ++i) {
      if (i < 16)
        w[i] = static_cast<u32>(m[at + i * 4]) << 24 | m[at + i * 4 + 1] << 16 | m[at + i * 4 + 2] << 8 | m[at + i * 4 + 3];
      else
        w[i] = w[i - 16] + w[i - 7] + (std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10);
    }
    auto v = h;
    for (int i = 0; i < 64; ++i) {
      u32 k = fraction(std::cbrt(static_cast<long double>(primes[i])));
      u32 t1 = v[7] + (std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25)) + ((v[4] & v[5]) | (~v[4] & v[6])) + k + w[i];
      u32 t2 = (std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22)) + ((v[0] & v[1]) | (v[0] & v[2]) | (v[1] & v[2]));
      v = {t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
    }
    for (int i = 0; i < 8; ++i) h[i] += v[i];
  }
  return h;
}

std::array<std::uint8_t, 32> sha3(const std::uint8_t* p, u32 n) {
  std::vector<std::uint8_t> m(p, p + n);
  m.push_back(6);
  while (m.size() % 136) m.push_back(0);
  m.back() |= 0x80;
  u64 a[5][5] = {};  // a[x][y]
  for (std::size_t at = 0; at < m.size(); at += 136) {
    for (int i = 0; i < 136; ++i) a[(i / 8) % 5][i / 40] ^= static_cast<u64>(m[at + i]) << (8 * (i % 8));
    int lfsr = 1;
    for (int round = 0; round < 24; ++round) {
      u64 c[5], b[5][5];
      for (int x = 0; x < 5; ++x) c[x] = a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4];
      for (int x = 0; x < 5; ++x)
        for (int y = 0; y < 5; ++y) a[x][y] ^= c[(x + 4) % 5] ^ std::rotl(c[(x + 1) % 5], 1);
      int rho[5][5] = {};
      for (int t = 0, x = 1, y = 0; t < 24; ++t) {
        rho[x][y] = (t + 1) * (t + 2) / 2 % 64;
        int next = (2 * x + 3 * y) % 5;
        x = y, y = next;
      }
      for (int x = 0; x < 5; ++x)
        for (int y = 0; y < 5; ++y) b[y][(2 * x + 3 * y) % 5] = std::rotl(a[x][y], rho[x][y]);
      for (int x = 0; x < 5; ++x)
        for (int y = 0; y < 5; ++y) a[x][y] = b[x][y] ^ (~b[(x + 1) % 5][y] & b[(x + 2) % 5][y]);
      for (int j = 0; j < 7; ++j) {
        if (lfsr & 1) a[0][0] ^= u64{1} << ((1 << j) - 1);
        lfsr = (lfsr << 1) ^ ((lfsr >> 7) * 0x171);
      }
    }
  }
  std::array<std::uint8_t, 32> out;
  for (int i = 0; i < 32; ++i) out[i] = static_cast<std::uint8_t>(a[i / 8][0] >> (8 * (i % 8)));
  return out;
}

Run over_texts(const char* name, const char* function, std::size_t bytes_each, Size groups, Size threads) {
  Texts t = texts();
  Run r(name, kFile, function);
  r.buffer(0, t.bytes).buffer(1, t.messages).fresh(2, t.messages.size() * bytes_each).value(3, static_cast<u32>(t.messages.size()));
  r.dispatch_threadgroups(groups, threads);
  return r;
}

Run run_sha256() {
  Texts t = texts();
  std::vector<double> out;
  for (auto m : t.messages)
    for (u32 x : sha256(t.bytes.data() + m.offset, m.length)) out.push_back(x);
  Run r = over_texts("c_sha256", "sha256_messages", 32, {2, 1, 1}, {32, 1, 1});
  r.expect_equal(2, Format::u32, out);
  return r;
}

Run run_sha3() {
  Texts t = texts();
  std::vector<double> out;
  for (auto m : t.messages)
    for (auto x : sha3(t.bytes.data() + m.offset, m.length)) out.push_back(x);
  Run r = over_texts("c_sha3", "sha3_256_messages", 32, {3, 1, 1}, {16, 1, 1});
  r.expect_equal(2, Format::u8, out);
  return r;
}

Run run_crc(const char* name, const char* function, Size groups, Size threads) {
  Texts t = texts();
  std::vector<double> out;
  for (auto m : t.messages) {
    u32 c = ~0u;
    for (u32 i = 0; i < m.length * 8; ++i) {
      bool bit = (c ^ (t.bytes[m.offset + i / 8] >> (i % 8))) & 1;
      c = c >> 1 ^ (bit ? 0xedb88320u : 0u);
    }
    out.push_back(static_cast<u32>(~c));
  }
  Run r = over_texts(name, function, 4, groups, threads);
  r.expect_equal(2, Format::u32, out);
  return r;
}

Run run_rng(const char* name, int which) {
  const u32 threads = 70, per = 5;
  std::vector<double> out(threads * per);
  for (u32 t = 0; t < threads; ++t) {
    const u32 seed = t + 1;
    u32 x = seed * 2654435769u | 1u;
    std::array<u32, 4> s = {seed, seed ^ 0x9e3779b9u, seed + 0x7f4a7c15u, 0x2545f491u};
    u64 mix = static_cast<u64>(seed) << 32 | static_cast<u32>(~seed);
    const u64 inc = static_cast<u64>(seed) * 2 + 1, mul = 6364136223846793005u;
    u64 state = (inc + 0x853c49e6748fea9bu) * mul + inc;
    for (u32 i = 0; i < per; ++i) {
      u32 v = 0;
      if (which == 0) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5, v = x;
      } else if (which == 1) {
        u32 a = s[3] ^ s[3] << 11;
        a ^= a >> 8;
        v = a ^ s[0] ^ s[0] >> 19;
        s = {v, s[0], s[1], s[2]};
      } else if (which == 2) {
        mix += 0x9e3779b97f4a7c15u;
        u64 z = (mix ^ mix >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        v = static_cast<u32>((z ^ z >> 31) >> 32);
      } else {
        v = std::rotr(static_cast<u32>((state >> 18 ^ state) >> 27), static_cast<int>(state >> 59));
        state = state * mul + inc;
      }
      out[i * threads + t] = v;
    }
  }
  const char* functions[] = {"rng_xorshift32", "rng_xorshift128", "rng_splitmix64", "rng_pcg32"};
  Run r(name, kFile, functions[which]);
  r.fresh(0, threads * per * 4).value(1, per).dispatch_threads({threads, 1, 1}, {32, 1, 1}).expect_equal(0, Format::u32, out);
  return r;
}

Run run_chacha() {
  const u32 blocks = 40;
  std::mt19937 g(7);
  std::vector<u32> in(blocks * 16), key(8);
  std::array<u32, 3> nonce;
  for (auto& x : in) x = g();
  for (auto& x : key) x = g();
  for (auto& x : nonce) x = g();
  std::vector<double> out;
  for (u32 b = 0; b < blocks; ++b) {
    std::array<u32, 16> s = {0x61707865u, 0x3320646eu, 0x79622d32u, 0x6b206574u};
    for (int i = 0; i < 8; ++i) s[4 + i] = key[i];
    s[12] = b + 1, s[13] = nonce[0], s[14] = nonce[1], s[15] = nonce[2];
    auto w = s;
    auto qr = [&](int a, int b2, int c, int d) {
      w[a] += w[b2], w[d] = std::rotl(w[d] ^ w[a], 16);
      w[c] += w[d], w[b2] = std::rotl(w[b2] ^ w[c], 12);
      w[a] += w[b2], w[d] = std::rotl(w[d] ^ w[a], 8);
      w[c] += w[d], w[b2] = std::rotl(w[b2] ^ w[c], 7);
    };
    for (int i = 0; i < 10; ++i) {
      qr(0, 4, 8, 12), qr(1, 5, 9, 13), qr(2, 6, 10, 14), qr(3, 7, 11, 15);
      qr(0, 5, 10, 15), qr(1, 6, 11, 12), qr(2, 7, 8, 13), qr(3, 4, 9, 14);
    }
    for (int i = 0; i < 16; ++i) out.push_back(static_cast<u32>(in[b * 16 + i] ^ (w[i] + s[i])));
  }
  Run r("c_chacha20", kFile, "chacha20_xor");
  r.buffer(0, in).fresh(1, blocks * 64).buffer(2, key).value(3, nonce);
  r.dispatch_threads({blocks, 1, 1}, {32, 1, 1}).expect_equal(1, Format::u32, out);
  return r;
}

std::vector<Run> crypto_runs() {
  return {run_sha256(),
          run_sha3(),
          run_crc("c_crc32_nibble", "crc32_nibble", {2, 1, 1}, {32, 1, 1}),
          run_crc("c_crc32_shared", "crc32_shared", {1, 1, 1}, {48, 1, 1}),
          run_rng("c_xorshift32", 0),
          run_rng("c_xorshift128", 1),
          run_rng("c_splitmix64", 2),
          run_rng("c_pcg32", 3),
          run_chacha()};
}
const Runs kCrypto(crypto_runs);

}  // namespace
}  // namespace assay::foreign::c::crypto
