// What storage in a codebook costs, apart from any kernel: the distortion of the codebooks, and attention on stored keys and values
// against attention on what was stored. Figures to be reported; nothing is judged by them.
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
  double optimal_distortion = 0;  // of the best table of that size
  double largest_residual = 0;    // distance of a centroid from the mean of its cell, in widths of the cell: 0 for the best table

  [[nodiscard]] double ratio() const { return distortion / optimal_distortion; }
};

// `bits` is 4, 5, 6 or 8; anything else throws std::invalid_argument.
[[nodiscard]] CodebookQuality codebook_quality(int bits);

// How like two outputs [rows, row_length] are.
struct Similarity {
  double nrmse = 0;        // root of: sum of squared differences / sum of squared exact values, over the whole output
  double worst_nrmse = 0;  // the same of the row where it is largest; infinite where an exact row is 0 and the other is not
  std::size_t worst_row = 0;
  double mean_cosine = 0;        // over rows; of a row: 1 if both are 0, 0 if one is
  double percentile_cosine = 0;  // the first percentile: the largest cosine that at most 1 % of the rows are below
};

// Throws std::invalid_argument if there is nothing to compare, the sizes differ, or rows do not come out even.
[[nodiscard]] Similarity compare_rows(std::span<const double> exact, std::span<const double> other, std::size_t row_length);

struct QualityRequest {
  std::size_t head_dim = 256;  // 256 or 512; at 512 with one norm per block of 256 and scale_factor_d512 = 1
  int bits = 4;
  std::size_t heads = 128, kv_heads = 16;
  std::size_t kv_len = 256;
  std::uint64_t seed = 0;
};

struct FixtureQuality {
  Similarity similarity;      // rows are query heads
  double expected_nrmse = 0;  // first-order prediction for errors that are independent (oracles/README.md, "Source level")
};

// Whether the fixture has a source level: keys and values before they were stored, on any shape.
[[nodiscard]] bool has_source_level(const fixtures::Fixture& fixture);

// Attention in double on the stored rows (queries rounded to half, as the contract does) against attention in double on the rows
// themselves. Throws std::invalid_argument for a fixture without a source level and for shapes that decode attention does not have.
[[nodiscard]] FixtureQuality fixture_quality(const fixtures::Fixture& fixture, const QualityRequest& request);

}  // namespace assay::harness
