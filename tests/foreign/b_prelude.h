// What the runs of author B share: random numbers, small floats and values as they are stored.
#pragma once

#include <random>

#include "tests/foreign/foreign.h"

namespace assay::foreign::b {
namespace {

using Rng = std::mt19937;
using Vec = std::vector<double>;

[[maybe_unused]] constexpr double kEps = 0x1p-24;  // half an ulp of 1 in float

// In [-1, 1), a multiple of 2^-23.
[[maybe_unused]] float unit(Rng& rng) {
  return static_cast<float>(static_cast<std::int32_t>(rng() >> 8) - (1 << 23)) / static_cast<float>(1 << 23);
}
[[maybe_unused]] std::vector<float> floats(unsigned seed, std::size_t count, float scale = 1.0f, float shift = 0.0f) {
  Rng rng(seed);
  std::vector<float> out(count);
  for (auto& x : out) x = unit(rng) * scale + shift;
  return out;
}
[[maybe_unused]] std::vector<std::uint16_t> to_half(const std::vector<float>& in) {
  std::vector<std::uint16_t> out;
  for (float x : in) out.push_back(half_bits(x));
  return out;
}
[[maybe_unused]] std::vector<std::uint16_t> to_bfloat(const std::vector<float>& in) {
  std::vector<std::uint16_t> out;
  for (float x : in) out.push_back(bfloat_bits(x));
  return out;
}
[[maybe_unused]] Vec wide(const std::vector<float>& in) { return Vec(in.begin(), in.end()); }
[[maybe_unused]] Vec wide_half(const std::vector<std::uint16_t>& in) {
  Vec out;
  for (auto x : in) out.push_back(half_value(x));
  return out;
}
[[maybe_unused]] Vec wide_bfloat(const std::vector<std::uint16_t>& in) {
  Vec out;
  for (auto x : in) out.push_back(bfloat_value(x));
  return out;
}

struct Stored {
  Vec values;
  std::vector<std::byte> bytes;
};
[[maybe_unused]] Stored store(Format f, const std::vector<float>& in) {
  if (f == Format::f32) return {wide(in), Run::bytes_of(in)};
  const auto bits = f == Format::f16 ? to_half(in) : to_bfloat(in);
  return {f == Format::f16 ? wide_half(bits) : wide_bfloat(bits), Run::bytes_of(bits)};
}
[[maybe_unused]] double ulp_of(Format f) { return f == Format::f32 ? 0x1p-24 : f == Format::f16 ? 0x1p-11 : 0x1p-8; }
[[maybe_unused]] std::size_t size_of(Format f) { return f == Format::f32 ? 4 : 2; }

template <typename T>
std::vector<T> integers(unsigned seed, int count, std::int64_t modulus, std::int64_t shift) {
  Rng rng(seed);
  std::vector<T> out;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t raw = (std::uint64_t(rng()) << 20) ^ rng();
    out.push_back(T(std::int64_t(raw % std::uint64_t(modulus)) - shift));
  }
  return out;
}

}  // namespace
}  // namespace assay::foreign::b
