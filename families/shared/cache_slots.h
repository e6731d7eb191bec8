// The levels and words of families that write or read one position of a cache.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "families/family.h"
#include "families/shared/levels.h"

namespace assay::families::slots {

inline constexpr std::array<std::int64_t, 4> kBits = {4, 5, 6, 8};
inline constexpr std::array<std::int64_t, 7> kHeads = {1, 2, 4, 8, 3, 16, 33};
inline constexpr std::size_t kEverydayHeads = 4;
inline constexpr std::array<std::int64_t, 7> kCapacities = {1, 2, 32, 33, 100, 31, 1024};
inline constexpr std::size_t kEverydayCapacities = 5;
inline constexpr std::array<std::int64_t, 3> kScaleFactors = {1, 16, kScaleFactorRoot};

// The axes and factors that quantise and dequantise begin with.
enum AxisIndex : std::size_t { kHeadDim, kBitsAxis, kKvHeads, kPosition, kCapacity };
enum FactorIndex : std::size_t { kFactorD, kFactorBits, kFactorHeads, kFactorCapacity, kFactorPosition, kFactorScale };

struct Position {
  std::string_view label;
  std::int64_t of_capacity;  // the position is of_capacity * cap + offset
  std::int64_t offset;
  bool is_sliding;
};
// A position below the capacity is its own slot, sliding or not. A position above it requires a ring.
inline constexpr std::array<Position, 10> kWrites = {{{"0", 0, 0, false},
                                                      {"1", 0, 1, false},
                                                      {"31", 0, 31, false},
                                                      {"32", 0, 32, false},
                                                      {"cap-1", 1, -1, false},
                                                      {"sliding 0", 0, 0, true},
                                                      {"sliding cap-1", 1, -1, true},
                                                      {"sliding cap", 1, 0, true},
                                                      {"sliding cap+1", 1, 1, true},
                                                      {"sliding 3cap+7", 3, 7, true}}};
inline constexpr std::span<const Position> kReads = std::span(kWrites).first(5);

[[nodiscard]] inline std::int64_t position_of(const Position& position, std::int64_t capacity) {
  return position.of_capacity * capacity + position.offset;
}

// Sets these axes from the levels of their factors, except for the position; `scale_factor`: number of that axis.
inline void set_slots(std::span<const int> levels, std::span<std::int64_t> values, std::size_t scale_factor) {
  set(values[kHeadDim], kHeadDims, levels[kFactorD]);
  set(values[kBitsAxis], kBits, levels[kFactorBits]);
  set(values[kKvHeads], kHeads, levels[kFactorHeads]);
  set(values[kCapacity], kCapacities, levels[kFactorCapacity]);
  set(values[scale_factor], kScaleFactors, levels[kFactorScale]);
  values[kPosition] = kOpen;
}

[[nodiscard]] inline std::string position_label(const Position& position) { return std::string(position.label); }

[[nodiscard]] inline Factor scale_factor_factor(std::size_t axis) {
  Factor factor = factor_of("scale_factor_d512", axis, kScaleFactors);
  factor.levels = labels(kScaleFactors, [](std::int64_t value) { return value == kScaleFactorRoot ? "sqrt(512)" : number_label(value); });
  return factor;
}

[[nodiscard]] inline Word scale_factor_word() {
  return {{{"sfroot512", {{"scale_factor_d512", kScaleFactorRoot}}}, {"sf{scale_factor_d512}", {}}}, true};
}

}  // namespace assay::families::slots
