// A tensor in some format, as the runs of the c_ files bind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/foreign/foreign.h"

namespace assay::foreign::c {

// Uniform in [-1, 1).
inline float sym(std::mt19937& g) { return static_cast<float>(static_cast<std::int32_t>(g() >> 8) - (1 << 23)) * 0x1p-23f; }

struct Tensor {
  Format format;
  std::vector<std::uint16_t> bits;  // of half and bfloat
  std::vector<float> values;        // what the bits stand for
  Tensor(std::size_t n, unsigned seed, float scale, Format f = Format::f32, float shift = 0) : format(f) {
    std::mt19937 g(seed);
    for (std::size_t i = 0; i < n; ++i) {
      float v = sym(g) * scale + shift;
      if (f != Format::f32) {
        bits.push_back(f == Format::f16 ? half_bits(v) : bfloat_bits(v));
        v = f == Format::f16 ? half_value(bits.back()) : bfloat_value(bits.back());
      }
      values.push_back(v);
    }
  }
  double operator[](std::size_t i) const { return values[i]; }
  void bind(Run& r, std::uint32_t index) const {
    if (format == Format::f32)
      r.buffer(index, values);
    else
      r.buffer(index, bits);
  }
};

inline std::size_t width(Format f) { return f == Format::f32 ? 4 : 2; }

}  // namespace assay::foreign::c
