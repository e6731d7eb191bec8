// Number formats of foreign runs, and the list of all runs.
#include "tests/foreign/foreign.h"

#include <bit>

#include "tests/foreign/execute_run.h"

namespace assay::foreign {

namespace {

std::vector<std::vector<Run> (*)()>& makers() {
  static std::vector<std::vector<Run> (*)()> all;
  return all;
}

// `value` as a binary floating-point number of `fraction_bits` and `exponent_bits`, rounded to nearest even.
std::uint16_t narrowed(float value, int exponent_bits, int fraction_bits) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 31 << 15);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const auto infinity = static_cast<std::uint16_t>(((1u << exponent_bits) - 1) << fraction_bits);
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | infinity | 1u << (fraction_bits - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  // What stands below the last bit that is kept.
  const int dropped = 23 - fraction_bits + (exponent < 1 - bias ? 1 - bias - exponent : 0);
  if (dropped > 24) return sign;
  const std::uint32_t fraction = (magnitude & 0x7fffffu) | (magnitude >> 23 == 0 ? 0 : 0x800000u);
  std::uint32_t kept = fraction >> dropped;
  const std::uint32_t rest = fraction & ((1u << dropped) - 1);
  const std::uint32_t half = 1u << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1u) != 0)) ++kept;
  if (exponent >= 1 - bias) kept += static_cast<std::uint32_t>(exponent + bias - 1) << fraction_bits;
  return static_cast<std::uint16_t>(sign | (kept >= infinity ? infinity : kept));
}

float widened(std::uint16_t bits, int exponent_bits, int fraction_bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 15) << 31;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int biased = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (biased == (1 << exponent_bits) - 1) return std::bit_cast<float>(sign | 0x7f800000u | fraction << (23 - fraction_bits));
  float value = static_cast<float>(fraction | (biased == 0 ? 0u : 1u << fraction_bits));
  for (int power = (biased == 0 ? 1 : biased) - bias - fraction_bits; power != 0; power += power < 0 ? 1 : -1)
    value *= power < 0 ? 0.5F : 2.0F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

}  // namespace

std::uint16_t half_bits(float value) { return narrowed(value, 5, 10); }
float half_value(std::uint16_t bits) { return widened(bits, 5, 10); }
std::uint16_t bfloat_bits(float value) { return narrowed(value, 8, 7); }
float bfloat_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

Runs::Runs(std::vector<Run> (*make)()) { makers().push_back(make); }

std::vector<Run> all_runs() {
  std::vector<Run> result;
  for (const auto make : makers()) {
    for (auto& run : make()) result.push_back(std::move(run));
  }
  return result;
}

}  // namespace assay::foreign
