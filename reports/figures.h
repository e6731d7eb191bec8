// Largest error/bound and sharpness of the bounds: per family by fixture and by axis value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// Counts of the output elements of a run; those of known failures are counted separately.
struct RunElements {
  harness::ElementCount judged;
  harness::ElementCount known;

  void add(const harness::CaseRecord& record);
};
[[nodiscard]] RunElements count_elements(std::span<const harness::CaseRecord> cases);

// For example "547,328 elements compared, 0 faulty", and with known failures "; in known failures 327,680 compared, 312,330 faulty". An
// element is faulty if it is above its bound, never written, NaN or infinite.
[[nodiscard]] std::string element_text(const RunElements& elements);

// How many cases are excused, so that a run without failures may still say little.
struct Excused {
  std::size_t known = 0;            // failed as a known finding declares
  std::size_t skipped = 0;          // not run
  std::size_t outside_limits = 0;   // left out of the suites by [limits]
  std::size_t weaker_accuracy = 0;  // judged with the weaker storage that their variant declares
};
[[nodiscard]] Excused count_excused(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases);
// "147 failed as known, 3 skipped, 40 outside of the limits, 12 judged with a declared weaker accuracy"; empty if there are none.
[[nodiscard]] std::string excused_text(const Excused& excused);

// Some cases of one family that share a property.
struct Figure {
  std::string value;  // the shared property: a fixture's name, or the value of an axis
  std::size_t cases = 0;
  double largest_ratio = 0;        // largest error / bound of an element
  std::string largest_ratio_case;  // its case; the first by name if several are equal
  double median_bound_ratio = 0;   // median over the cases of their median bound / magnitude: how sharp the bounds are
};

struct FigureTable {
  std::string family;
  std::string property;         // "fixture", or the name of an axis
  std::vector<Figure> figures;  // fixtures by name, axis values ascending
};

// Covers cases whose output was compared, except known failures. For each family the table of its fixtures comes first, then one table per
// axis.
[[nodiscard]] std::vector<FigureTable> figure_tables(std::span<const harness::CaseRecord> cases);

// Only the fixture tables, one or two lines per family: "FAMILY  gauss 0.0142  heavy 0.0213 ...".
[[nodiscard]] std::string fixture_lines(std::span<const FigureTable> tables);

// Every table in full, for a terminal.
[[nodiscard]] std::string table_text(std::span<const FigureTable> tables);

}  // namespace assay::reports
