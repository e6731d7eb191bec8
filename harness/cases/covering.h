// Covering designs: few rows in which every pair of levels, and every triple of classes, that can occur does occur.
//
// A row picks one level per factor. The full product of the axes is astronomically large, but a mistake in a kernel
// hardly ever needs more than two or three particular values at once, so rows that meet all pairs (and all triples of what
// the values mean to the kernel) show nearly as much. Rows are made greedily and deterministically: the same design gives
// the same rows on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

namespace assay::harness {

using Row = std::vector<int>;  // one level per factor; -1 in a partial row: open

struct CoveringDesign {
  std::vector<int> levels;  // how many, per factor
  // False if no completion of the partial row is possible. Exact for full rows.
  std::function<bool(std::span<const int> row)> allowed;
  // Classes of a full row, one per classifier, -1 where one does not apply. May be empty.
  std::function<std::vector<int>(std::span<const int> row)> classify;
  // The factors that classify() depends on: triples of classes are sought among these alone.
  std::vector<std::size_t> class_factors;
  std::uint64_t seed = 0;
};

// Two or three values together, packed: (factor or classifier, level or class) in ascending order, at most 255 of each.
using Combination = std::uint64_t;

// Pairs of levels that some allowed row holds.
[[nodiscard]] std::set<Combination> possible_pairs(const CoveringDesign& design);
// Triples of classes that some allowed row holds.
[[nodiscard]] std::set<Combination> possible_triples(const CoveringDesign& design);

// The combinations that one row holds.
[[nodiscard]] std::vector<Combination> pairs_of(std::span<const int> row);
[[nodiscard]] std::vector<Combination> triples_of(const CoveringDesign& design, std::span<const int> row);

// Rows that together hold all possible pairs and triples.
[[nodiscard]] std::vector<Row> covering_rows(const CoveringDesign& design);

}  // namespace assay::harness
