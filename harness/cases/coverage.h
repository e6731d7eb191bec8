// The coverage of a list of cases: the share of the possible combinations that they contain. Counted from the cases, not from the
// design that made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/cases/case.h"
#include "harness/cases/suite.h"
#include "kernels/variant.h"

namespace assay::harness {

struct CoverageFigure {
  std::size_t met = 0;
  std::size_t possible = 0;
};

struct Coverage {
  std::size_t strength = 2;          // number of values per combination in `values`: 2 or 3
  CoverageFigure values;             // combinations of axis values and fixtures
  CoverageFigure classes;            // triples of classes; none are possible in a family without classifiers
  std::size_t too_costly = 0;        // combinations of values that are valid, but only in cases that are too expensive for the suite
  std::vector<std::string> missing;  // up to kNamedMissing of the possible combinations that were not met: "n=32, nwg=4"
  std::size_t cases = 0;
  std::int64_t median_length = 0;  // of kv_len; 0 in families without it

  [[nodiscard]] bool complete() const { return values.met == values.possible && classes.met == classes.possible; }
};

inline constexpr std::size_t kNamedMissing = 5;

// Coverage by those of `cases` that belong to `variant`, of the combinations that the suite should contain within
// the variant's [limits].
[[nodiscard]] Coverage measure_coverage(Suite suite, const kernels::Variant& variant, std::span<const Case> cases);

// One line: "344 cases: pairs of values 3015/3015 (41 more cost too much), triples of classes 1022/1022, median n 257".
[[nodiscard]] std::string describe_coverage(const Coverage& coverage);

}  // namespace assay::harness
