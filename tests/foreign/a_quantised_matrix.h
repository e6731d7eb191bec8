// Matrices in the block formats of author A, and the values that their codes mean.
#pragma once

#include "tests/foreign/a_prelude.h"

namespace assay::foreign::a {
namespace {

enum class MatrixKind { q4_0, q4_1, q5_0, q8_0, s4, s6, f32, f16, bf16 };

struct Matrix {
  std::vector<std::uint8_t> bytes;
  std::vector<double> values;
};

[[maybe_unused]] void push16(std::vector<std::uint8_t>& b, std::uint16_t x) {
  b.push_back(static_cast<std::uint8_t>(x & 255)), b.push_back(static_cast<std::uint8_t>(x >> 8));
}

// n values (a multiple of the block) of random codes, and what they mean
[[maybe_unused]] Matrix random_matrix(MatrixKind kind, std::size_t n, Rng& rng) {
  Matrix m;
  const auto block32 = [&](int bits, bool has_min, bool high) {
    const std::uint16_t d = half_bits(rng.uniform(0.01f, 0.1f)), mn = half_bits(rng.uniform(-0.5f, 0.1f));
    int code[32];
    for (int& c : code) c = rng.below(1 << bits);
    push16(m.bytes, d);
    if (has_min) push16(m.bytes, mn);
    if (high) {
      std::uint32_t qh = 0;
      for (int i = 0; i < 32; ++i) qh |= static_cast<std::uint32_t>(code[i] >> 4) << i;
      for (int i = 0; i < 4; ++i) m.bytes.push_back(static_cast<std::uint8_t>(qh >> (8 * i)));
    }
    for (int i = 0; i < 16; ++i) m.bytes.push_back(static_cast<std::uint8_t>((code[i] & 15) | (code[i + 16] & 15) << 4));
    for (int c : code)
      m.values.push_back(has_min ? static_cast<double>(half_value(d)) * c + static_cast<double>(half_value(mn))
                                 : static_cast<double>(half_value(d)) * (c - (1 << (bits - 1))));
  };
  while (m.values.size() < n) {
    switch (kind) {
      case MatrixKind::q4_0:
        block32(4, false, false);
        break;
      case MatrixKind::q4_1:
        block32(4, true, false);
        break;
      case MatrixKind::q5_0:
        block32(5, false, true);
        break;
      case MatrixKind::q8_0: {
        const std::uint16_t d = half_bits(rng.uniform(0.002f, 0.01f));
        push16(m.bytes, d);
        for (int i = 0; i < 32; ++i) {
          const int c = rng.below(256) - 128;
          m.bytes.push_back(static_cast<std::uint8_t>(c));
          m.values.push_back(static_cast<double>(half_value(d)) * c);
        }
        break;
      }
      case MatrixKind::s4: {
        const std::uint16_t d = half_bits(rng.uniform(0.001f, 0.004f)), dmin = half_bits(rng.uniform(0.001f, 0.01f));
        push16(m.bytes, d), push16(m.bytes, dmin);
        int six[16], code[256];
        for (int& s : six) s = rng.below(64);
        for (int& c : code) c = rng.below(16);
        std::uint8_t packed[12] = {};
        for (int bit = 0; bit < 96; ++bit)
          if (six[bit / 6] >> (bit % 6) & 1) packed[bit / 8] = static_cast<std::uint8_t>(packed[bit / 8] | 1 << (bit % 8));
        for (std::uint8_t p : packed) m.bytes.push_back(p);
        for (int pair = 0; pair < 4; ++pair)
          for (int i = 0; i < 32; ++i) m.bytes.push_back(static_cast<std::uint8_t>(code[64 * pair + i] | code[64 * pair + 32 + i] << 4));
        for (int e = 0; e < 256; ++e)
          m.values.push_back(static_cast<double>(half_value(d)) * six[e / 32] * code[e] -
                             static_cast<double>(half_value(dmin)) * six[8 + e / 32]);
        break;
      }
      case MatrixKind::s6: {
        const std::uint16_t d = half_bits(rng.uniform(0.0002f, 0.001f));
        int code[256], sc[16];
        for (int& c : code) c = rng.below(64);
        for (int& s : sc) s = rng.below(256) - 128;
        for (int i = 0; i < 128; ++i) m.bytes.push_back(static_cast<std::uint8_t>((code[2 * i] & 15) | (code[2 * i + 1] & 15) << 4));
        for (int i = 0; i < 64; ++i) {
          int b = 0;
          for (int k = 0; k < 4; ++k) b |= (code[4 * i + k] >> 4) << (2 * k);
          m.bytes.push_back(static_cast<std::uint8_t>(b));
        }
        for (int s : sc) m.bytes.push_back(static_cast<std::uint8_t>(s));
        push16(m.bytes, d);
        for (int e = 0; e < 256; ++e) m.values.push_back(static_cast<double>(half_value(d)) * sc[e / 16] * (code[e] - 32));
        break;
      }
      case MatrixKind::f32: {
        const float f = rng.uniform(-1, 1);
        std::uint32_t u;
        std::memcpy(&u, &f, 4);
        push16(m.bytes, static_cast<std::uint16_t>(u)), push16(m.bytes, static_cast<std::uint16_t>(u >> 16));
        m.values.push_back(f);
        break;
      }
      case MatrixKind::f16: {
        const std::uint16_t h = half_bits(rng.uniform(-1, 1));
        push16(m.bytes, h), m.values.push_back(half_value(h));
        break;
      }
      case MatrixKind::bf16: {
        const std::uint16_t h = bfloat_bits(rng.uniform(-1, 1));
        push16(m.bytes, h), m.values.push_back(bfloat_value(h));
        break;
      }
    }
  }
  return m;
}

}  // namespace
}  // namespace assay::foreign::a
