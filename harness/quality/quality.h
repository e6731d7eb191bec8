// The error of storage in a codebook, apart from any kernel: the distortion of codebooks, and attention on stored keys and values
// compared with attention on the original ones. These figures are only reported; they decide no verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fixtures/generators.h"

namespace assay::harness {

struct CodebookQuality {
  int bits = 0;
  double distortion = 0;          // mean squared error of the table for N(0, 1)
  double optimal_distortion = 0;  // of the optimal table of that size
  double largest_residual = 0;    // distance of a centroid from the mean of its cell, in widths of the cell: 0 for the optimal table

  [[nodiscard]] double ratio() const { return distortion / optimal_distortion; }
};

// `bits` is 4, 5, 6 or 8; other values throw std::invalid_argument.
[[nodiscard]] CodebookQuality codebook_quality(int bits);

// The similarity of two outputs [rows, row_length].
struct Similarity {
  double nrmse = 0;        // root of: sum of squared differences / sum of squared exact values, over the whole output
  double worst_nrmse = 0;  // the same for the row with the largest value; infinite if an exact row is 0 and the other is not
  std::size_t worst_row = 0;
  double mean_cosine = 0;        // over rows; for a row: 1 if both are 0, 0 if one is
  double percentile_cosine = 0;  // the first percentile: the largest cosine such that at most 1 % of the rows are below it
};

// Throws std::invalid_argument if there is nothing to compare, the sizes differ, or the size is not a multiple of the row length.
[[nodiscard]] Similarity compare_rows(std::span<const double> exact, std::span<const double> other, std::size_t row_length);

struct QualityRequest {
  std::size_t head_dim = 256;  // 256 or 512; with 512 there is one norm per block of 256, and scale_factor_d512 = 1
  int bits = 4;
  std::size_t heads = 128, kv_heads = 16;
  std::size_t kv_len = 256;
  std::uint64_t seed = 0;
};

struct FixtureQuality {
  Similarity similarity;      // of query heads
  double expected_nrmse = 0;  // first-order prediction for independent errors (oracles/CODEBOOKS.md, "Source level")
};

// Whether the fixture has a source level: keys and values before storage, on any shape.
[[nodiscard]] bool has_source_level(const fixtures::Fixture& fixture);

// Compares attention in double on the stored rows (queries rounded to half, as in the contract) with attention in double on the
// original rows. Throws std::invalid_argument for a fixture without a source level, and for shapes that decode attention does not have.
[[nodiscard]] FixtureQuality fixture_quality(const fixtures::Fixture& fixture, const QualityRequest& request);

}  // namespace assay::harness
