// Which known mistake an output looks like: what each would have made of the same inputs, held against what the kernel made.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "families/mistakes.h"
#include "fixtures/shelf.h"
#include "harness/findings/verdict.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

namespace mistake = families::mistake;

// How well one mistake explains several cases.
struct Fit {
  std::string_view kind;
  std::string says;
  // Mean over failing cases of 1 - |actual - mistaken| / |actual - expected| over their faulty elements, rows weighing alike; never below
  // 0.
  double goodness = 0;
  double exact = 0;  // part of the failing cases in which every faulty element is what the mistake makes of it, within its bound
  bool has_passing = false;
  double predicted = 1;  // part of the passing cases in which the mistake would not have shown
  double score = 0;      // what fits are ordered by
};

struct Evidence {
  std::vector<metal::Hazard> hazards;  // on failing cases, under the policy `checked` or before
  bool depends_on_order = false;       // output bits differ between orders of simdgroups
  std::vector<Fault> faults;           // of the verdict on the smallest case
  // Root mean squares in units of bounds (harness/execute/explain.h); nullopt where shadows were lost or none was carried.
  std::optional<double> rounding, logic;
};

struct Classification {
  std::string_view kind = mistake::kUnknown;
  std::string says;
  double goodness = 0;    // 1 where evidence other than a fit decides
  std::string decided;    // by what, as a sentence
  std::vector<Fit> fits;  // the best of each class, best first; at most three
};

// How much of what is wrong with an output a prediction explains. `exact` says whether it is the output, within bounds.
struct Explained {
  double part = 0;
  double left = 1;  // squared error that is left, as a part of what there was; above 1 where a prediction is worse than the truth
  bool exact = false;
};
// Where a row of it is zero, a NaN may be 0/0: not so where the mistake is a factor of 0.
[[nodiscard]] Explained explained_by(const Observation& observation, std::span<const double> prediction, bool zero_may_be_nan = true);

// Observations of failing cases, the most telling first, and of passing ones near them.
[[nodiscard]] Classification classify(std::span<const Observation> failing, std::span<const Observation> passing, const Evidence& evidence,
                                      const fixtures::Shelf& shelf);

}  // namespace assay::harness
