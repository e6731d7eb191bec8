// How close the cases of a run came to their bounds, and how sharp those bounds were: per family by fixture and by axis value.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"

namespace assay::reports {

// What became of the output elements of a run, those of cases that failed as a known finding says apart.
struct RunElements {
  harness::ElementCount judged;
  harness::ElementCount known;

  void add(const harness::CaseRecord& record);
};
[[nodiscard]] RunElements count_elements(std::span<const harness::CaseRecord> cases);

// "547,328 elements compared, 0 faulty", and, if there are known ones, "; in cases known to fail 327,680 compared, 312,330 faulty". Faulty
// is what is above its bound, never written, NaN or infinite.
[[nodiscard]] std::string element_text(const RunElements& elements);

// Some cases of one family that share a property.
struct Figure {
  std::string value;  // what they share: a fixture's name, or the value of an axis
  std::size_t cases = 0;
  double largest_ratio = 0;        // largest error / bound of an element
  std::string largest_ratio_case;  // where; the first in the order of names if several are equal
  double median_bound_ratio = 0;   // median over the cases of their median bound / magnitude: how sharp the bounds are
};

struct FigureTable {
  std::string family;
  std::string property;         // "fixture", or the name of an axis
  std::vector<Figure> figures;  // fixtures by name, axis values ascending
};

// Over the cases whose output was compared, but for those that failed as a known finding says. Per family the table of its fixtures first,
// then one per axis.
[[nodiscard]] std::vector<FigureTable> figure_tables(std::span<const harness::CaseRecord> cases);

// The fixture tables alone, a line or two per family: "FAMILY  gauss 0.0142  heavy 0.0213 ...".
[[nodiscard]] std::string fixture_lines(std::span<const FigureTable> tables);

// Every table in full, for a terminal.
[[nodiscard]] std::string table_text(std::span<const FigureTable> tables);

}  // namespace assay::reports
