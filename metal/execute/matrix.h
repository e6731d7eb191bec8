// 8x8 simdgroup matrices: the distribution of their elements over the lanes, and their product.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

// One bit per lane of a SIMD-group.
using LaneMask = std::uint32_t;

// The words of three matrices, row by row. A word holds two neighbouring binary32 elements of a row, the first in its lower half. Each
// word belongs to one lane, which writes it before the lanes meet and reads it after they have met.
struct MatrixOperands {
  using Words = std::array<std::uint64_t, abi::kLanes>;
  alignas(64) Words a{};
  alignas(64) Words b{};
  alignas(64) Words c{};
};

// The index of the lane's word: row (lane / 16) * 4 + (lane / 2) % 4, columns (lane / 8 % 2) * 4 + (lane % 2) * 2 and the next. Code
// that uses thread_elements() relies on this mapping.
constexpr std::size_t place_in_matrix(std::uint32_t lane) {
  const std::uint32_t row = ((lane / 4) & 4) + (lane / 2) % 4;
  const std::uint32_t column = ((lane / 4) & 2) * 2 + (lane % 2) * 2;
  return (row * 8 + column) / 2;
}

// c = a b + c: for each element `acc = c`, then `acc = fma(a[r][k], b[k][c], acc)` for k ascending. Elements of absent lanes count as
// 0, and the words that these lanes have written stay unchanged.
void perform_matrix_multiply(MatrixOperands& operands, LaneMask participants);

}  // namespace assay::metal::execute
