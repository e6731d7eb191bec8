// Covering designs: few rows that contain all possible combinations of a few levels, and all possible triples of classes.
//
// A row selects one level per factor. The full product of the axes is astronomically large. But a mistake in a kernel hardly ever needs
// more than two or three particular values at once. So rows with all pairs or triples of levels, and all triples of classes of values,
// reveal nearly as much. Rows are chosen greedily and deterministically: the same design gives the same rows on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

namespace assay::harness {

using Row = std::vector<int>;  // one level per factor; in a partial row -1: open

struct CoveringDesign {
  std::vector<int> levels;  // number of levels, by factor
  // Number of levels in a combination: 2 or 3. If it is at least the number of factors: every allowed row.
  std::size_t strength = 2;
  // Returns false if no completion of the partial row is allowed. Exact for full rows.
  std::function<bool(std::span<const int> row)> allowed;
  // The classes of a row whose class factors are set, one per classifier; -1 where a classifier does not apply. May be empty.
  std::function<std::vector<int>(std::span<const int> row)> classify;
  // The factors on which classify() depends.
  std::vector<std::size_t> class_factors;
  // Factors whose levels are classes too, besides those of classify(). allowed() must not depend on them.
  std::vector<std::size_t> level_classes;
  // A level of the level_classes forms triples only with two of the first `structural_classes` classes of classify(). Levels of two
  // more factors would be a triple of levels.
  std::size_t structural_classes = std::numeric_limits<std::size_t>::max();
  // The least cost of the completions of a partial row. Of levels that meet equally many combinations, the cheapest is taken.
  // May be empty.
  std::function<std::int64_t(std::span<const int> row)> cost;
  // Prefers the cheapest level, and only then the one that meets most combinations.
  bool cheapest_first = false;
  std::uint64_t seed = 0;
};

// Levels or classes that occur together, packed: (factor or classifier, level or class) in ascending order. At most three of them, and
// at most 255 levels or classes each.
using Combination = std::uint64_t;
using Combinations = std::unordered_set<Combination>;

struct CombinationPart {
  std::size_t index = 0;  // of the factor, or of the classifier; level_classes come after the classifiers
  int value = 0;          // level or class
};
[[nodiscard]] std::vector<CombinationPart> unpack(Combination combination);

// Combinations of min(strength, 3) levels that occur in an allowed row.
[[nodiscard]] Combinations possible_levels(const CoveringDesign& design);
// Triples of classes that occur in an allowed row.
[[nodiscard]] Combinations possible_triples(const CoveringDesign& design);

// Adds the combinations of `size` levels (2 or 3) of one row. Several levels of a factor may apply at once if they stand for the same
// value; each of them is met.
void add_levels(std::span<const std::vector<int>> row, std::size_t size, Combinations& met);
// Adds the triples of the classes of one row, those of level_classes after those of classify(); -1: no class.
void add_triples(const CoveringDesign& design, std::span<const int> classes, Combinations& met);

// Returns `given`, followed by the rows that are needed to contain all possible combinations of levels and triples of classes.
[[nodiscard]] std::vector<Row> covering_rows(const CoveringDesign& design, std::vector<Row> given = {});

}  // namespace assay::harness
