#include "metal/execute/matrix.h"

#include "metal/execute/scalars.h"

namespace assay::metal::execute {

namespace {

constexpr std::size_t kSide = 8;
using Matrix = std::array<std::array<float, kSide>, kSide>;

// Lane l holds (row, column) and (row, column + 1); the mapping that code which uses thread_elements() relies on.
std::size_t row_of(std::uint32_t lane) { return ((lane / 4) & 4) + (lane / 2) % 4; }
std::size_t column_of(std::uint32_t lane) { return ((lane / 4) & 2) * 2 + (lane % 2) * 2; }

Matrix gather(const SimdGroup& group, LaneMask participants, std::size_t operand, std::uint32_t type) {
  Matrix matrix{};
  with_scalar(static_cast<ScalarCode>(type), [&]<typename T>(T) {
    for_each_lane(group, participants, [&](const Lane& lane) {
      const auto* elements = static_cast<const std::byte*>(lane.request.pointers[operand]);
      auto& row = matrix[row_of(lane.index)];
      row[column_of(lane.index)] = static_cast<float>(load_scalar<T>(elements));
      row[column_of(lane.index) + 1] = static_cast<float>(load_scalar<T>(elements + sizeof(T)));
    });
  });
  return matrix;
}

// Compiled for processors with a fused multiply-add as well: without, each of the 512 would be a call into libm.
#if defined(__x86_64__) && !defined(__FMA__)
#define ASSAY_WITH_FMA __attribute__((target_clones("default", "arch=haswell")))
#else
#define ASSAY_WITH_FMA
#endif

ASSAY_WITH_FMA void multiply_accumulate(Matrix& accumulator, const Matrix& a, const Matrix& b) {
  for (std::size_t row = 0; row < kSide; ++row) {
    for (std::size_t k = 0; k < kSide; ++k) {
      for (std::size_t column = 0; column < kSide; ++column)
        accumulator[row][column] = __builtin_fmaf(a[row][k], b[k][column], accumulator[row][column]);
    }
  }
}

}  // namespace

void perform_matrix_multiply(SimdGroup& group, LaneMask participants, const Request& first) {
  Matrix result{};
  const Matrix a = gather(group, participants, 1, first.words[1]);
  const Matrix b = gather(group, participants, 2, first.words[2]);
  if (first.words[4] != 0) result = gather(group, participants, 3, first.words[3]);
  multiply_accumulate(result, a, b);
  with_scalar(static_cast<ScalarCode>(first.words[0]), [&]<typename T>(T) {
    for_each_lane(group, participants, [&](Lane& lane) {
      auto* elements = static_cast<std::byte*>(lane.request.pointers[0]);
      const auto& row = result[row_of(lane.index)];
      store_scalar(elements, static_cast<T>(row[column_of(lane.index)]));
      store_scalar(elements + sizeof(T), static_cast<T>(row[column_of(lane.index) + 1]));
    });
  });
}

}  // namespace assay::metal::execute
