// What the runs of author A share: random numbers and small floats.
#pragma once

#include <random>

#include "tests/foreign/foreign.h"

namespace assay::foreign::a {
namespace {

struct Rng {
  std::mt19937 engine;
  explicit Rng(std::uint32_t seed) : engine(seed) {}
  float uniform(float lo, float hi) { return lo + (hi - lo) * (static_cast<float>(engine() >> 8) * 0x1p-24f); }
  int below(int n) { return static_cast<int>(engine() % static_cast<std::uint32_t>(n)); }
};

[[maybe_unused]] std::vector<float> floats(Rng& rng, std::size_t n, float lo, float hi) {
  std::vector<float> x(n);
  for (float& v : x) v = rng.uniform(lo, hi);
  return x;
}
[[maybe_unused]] std::vector<std::uint16_t> to_half(const std::vector<float>& x) {
  std::vector<std::uint16_t> y;
  for (float v : x) y.push_back(half_bits(v));
  return y;
}
[[maybe_unused]] std::vector<std::uint16_t> to_bfloat(const std::vector<float>& x) {
  std::vector<std::uint16_t> y;
  for (float v : x) y.push_back(bfloat_bits(v));
  return y;
}
[[maybe_unused]] std::vector<double> from_float(const std::vector<float>& x) { return {x.begin(), x.end()}; }
[[maybe_unused]] std::vector<double> from_half(const std::vector<std::uint16_t>& x) {
  std::vector<double> y;
  for (std::uint16_t v : x) y.push_back(half_value(v));
  return y;
}
[[maybe_unused]] std::vector<double> from_bfloat(const std::vector<std::uint16_t>& x) {
  std::vector<double> y;
  for (std::uint16_t v : x) y.push_back(bfloat_value(v));
  return y;
}

[[maybe_unused]] std::uint32_t u(int x) { return static_cast<std::uint32_t>(x); }
[[maybe_unused]] std::size_t z(int x) { return static_cast<std::size_t>(x); }

}  // namespace
}  // namespace assay::foreign::a
