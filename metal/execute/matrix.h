// 8x8 simdgroup matrices: how their elements lie in the lanes, and their product.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "metal/lane_abi.h"

namespace assay::metal::execute {

// One bit per lane of a SIMD-group.
using LaneMask = std::uint32_t;

// The words of three matrices, row by row: a word is two neighbouring elements of a row, binary32, the first in its lower
// half. Each word belongs to one lane, which writes it before the lanes meet and reads it when they have met.
struct MatrixOperands {
  using Words = std::array<std::uint64_t, abi::kLanes>;
  alignas(64) Words a{};
  alignas(64) Words b{};
  alignas(64) Words c{};
};

// Which word is the lane's: that of row (lane / 16) * 4 + (lane / 2) % 4 and columns (lane / 8 % 2) * 4 + (lane % 2) * 2 and
// the next; the mapping that code which uses thread_elements() relies on.
constexpr std::size_t place_in_matrix(std::uint32_t lane) {
  const std::uint32_t row = ((lane / 4) & 4) + (lane / 2) % 4;
  const std::uint32_t column = ((lane / 4) & 2) * 2 + (lane % 2) * 2;
  return (row * 8 + column) / 2;
}

// c = a b + c: for each element `acc = c`, then `acc = fma(a[r][k], b[k][c], acc)` for k ascending. Elements of lanes that do
// not take part count as 0, and what these lanes have written stays.
void perform_matrix_multiply(MatrixOperands& operands, LaneMask participants);

}  // namespace assay::metal::execute
