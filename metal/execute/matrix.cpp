// Multiplies 8x8 matrices whose elements are distributed over the lanes.
#include "metal/execute/matrix.h"

#include <bit>

namespace assay::metal::execute {

namespace {

constexpr std::size_t kSide = 8;
using Elements = std::array<std::array<float, kSide>, kSide>;

// Also compiled for processors with a fused multiply-add. Without one, each of the 512 operations is a call into libm.
#if defined(__x86_64__) && !defined(__FMA__)
#define ASSAY_WITH_FMA __attribute__((target_clones("default", "fma")))
#else
#define ASSAY_WITH_FMA
#endif

ASSAY_WITH_FMA void multiply_accumulate(MatrixOperands& operands) {
  const auto a = std::bit_cast<Elements>(operands.a);
  const auto b = std::bit_cast<Elements>(operands.b);
  auto sums = std::bit_cast<Elements>(operands.c);
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t k = 0; k < kSide; ++k) {
      for (std::size_t column = 0; column < kSide; ++column) sums[row][column] = __builtin_fmaf(a[row][k], b[k][column], sums[row][column]);
    }
  }
  operands.c = std::bit_cast<MatrixOperands::Words>(sums);
}

}  // namespace

void perform_matrix_multiply(MatrixOperands& operands, LaneMask participants) {
  if (participants == ~LaneMask{0}) return multiply_accumulate(operands);
  // Absent lanes may wait at another product, with their elements already in `operands`.
  MatrixOperands present;
  for (LaneMask rest = participants; rest != 0; rest &= rest - 1) {
    const std::size_t place = place_in_matrix(static_cast<std::uint32_t>(std::countr_zero(rest)));
    present.a[place] = operands.a[place];
    present.b[place] = operands.b[place];
    present.c[place] = operands.c[place];
  }
  multiply_accumulate(present);
  for (LaneMask rest = participants; rest != 0; rest &= rest - 1) {
    const std::size_t place = place_in_matrix(static_cast<std::uint32_t>(std::countr_zero(rest)));
    operands.c[place] = present.c[place];
  }
}

}  // namespace assay::metal::execute
