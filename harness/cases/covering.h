// Covering designs: few rows in which every few levels, and every triple of classes, that can occur together do occur.
//
// A row picks one level per factor. The full product of the axes is astronomically large, but a mistake in a kernel
// hardly ever needs more than two or three particular values at once, so rows that meet all pairs or triples of levels
// (and all triples of what the values mean to the kernel) show nearly as much. Rows are made greedily and
// deterministically: the same design gives the same rows on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <unordered_set>
#include <vector>

namespace assay::harness {

using Row = std::vector<int>;  // one level per factor; -1 in a partial row: open

struct CoveringDesign {
  std::vector<int> levels;  // how many, per factor
  // How many levels are to meet: 2 or 3; from the number of factors on, every allowed row.
  std::size_t strength = 2;
  // False if no completion of the partial row is possible. Exact for full rows.
  std::function<bool(std::span<const int> row)> allowed;
  // Classes of a row whose class factors are set, one per classifier, -1 where one does not apply. May be empty.
  std::function<std::vector<int>(std::span<const int> row)> classify;
  // The factors that classify() depends on.
  std::vector<std::size_t> class_factors;
  // Factors whose every level is a class of its own beside those of classify(); allowed() must not depend on them.
  std::vector<std::size_t> level_classes;
  // A level of those makes triples with two of the first so many classes of classify(), and with no others: levels of two more
  // factors would be a triple of levels.
  std::size_t structural_classes = std::numeric_limits<std::size_t>::max();
  // May be empty. What a partial row costs at least: of levels that meet as many combinations the cheapest is taken.
  std::function<std::int64_t(std::span<const int> row)> cost;
  // The cheapest anyway, what it meets coming second.
  bool cheapest_first = false;
  std::uint64_t seed = 0;
};

// Levels or classes that occur together, packed: (factor or classifier, level or class) in ascending order, at most three
// of them, at most 255 levels or classes each.
using Combination = std::uint64_t;
using Combinations = std::unordered_set<Combination>;

struct CombinationPart {
  std::size_t index = 0;  // of the factor; or of the classifier, those of level_classes after those of classify()
  int value = 0;          // level or class
};
[[nodiscard]] std::vector<CombinationPart> unpack(Combination combination);

// Combinations of min(strength, 3) levels that some allowed row holds.
[[nodiscard]] Combinations possible_levels(const CoveringDesign& design);
// Triples of classes that some allowed row holds.
[[nodiscard]] Combinations possible_triples(const CoveringDesign& design);

// Adds the combinations of `size` levels (2 or 3) of one row, in which several levels of a factor may hold at once: where they
// come to the same value, each of them is met.
void add_levels(std::span<const std::vector<int>> row, std::size_t size, Combinations& met);
// Adds the triples of the classes of one row, those of level_classes behind those of classify(); -1 is no class.
void add_triples(const CoveringDesign& design, std::span<const int> classes, Combinations& met);

// `given`, followed by the rows that are missing to hold all possible combinations of levels and triples of classes.
[[nodiscard]] std::vector<Row> covering_rows(const CoveringDesign& design, std::vector<Row> given = {});

}  // namespace assay::harness
