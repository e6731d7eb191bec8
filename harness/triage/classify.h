// Finds the known mistake that an output resembles: compares the kernel's output with what each mistake would compute from
// the same inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "families/mistakes.h"
#include "harness/findings/verdict.h"
#include "harness/triage/fit.h"
#include "harness/triage/laboratory.h"

namespace assay::harness {

namespace mistake = families::mistake;

// A known mistake that explains so much of an error is the cause.
inline constexpr double kSureFit = 0.95;

// Classification::says of a missing barrier.
inline constexpr std::string_view kMissingBarrier = "simdgroups access shared memory without a barrier between them";

struct Evidence {
  std::vector<metal::Hazard> hazards;  // on failing cases, under the policy `checked` or before
  bool depends_on_order = false;       // output bits differ between orders of simdgroups
  std::vector<Fault> faults;           // of the verdict on the smallest case
  // Root mean squares in units of bounds (harness/execute/explain.h); nullopt if shadows were lost or not computed.
  std::optional<double> rounding, logic;
  // Of the smallest case, if its wrong elements are no numbers, or 0: the first line that makes one of other numbers, in no passing case
  // near it.
  std::optional<metal::Hazard> nan_birth = {};
};

// What decided a classification. Reports make text of it.
namespace decided {

struct OrderDependence {};  // of output bits on the order of simdgroups
struct NeverWritten {
  std::size_t unwritten = 0, faulty = 0;  // elements
};
struct BestFit {
  double goodness = 0;
};
// In units of bounds.
struct Precision {
  double rounding = 0, logic = 0;
};
struct NoFit {};
struct Repaired {};  // what the repair of the kernel changes
struct Common {};    // what failing cases have in common
struct Landmark {};  // the first value that is computed wrongly

}  // namespace decided
// A hazard, or the faults of the smallest case, decide as they are. std::monostate: the cases were too expensive to classify.
using Decided = std::variant<std::monostate, metal::Hazard, std::vector<Fault>, decided::OrderDependence, decided::NeverWritten,
                             decided::BestFit, decided::Precision, decided::NoFit, decided::Repaired, decided::Common, decided::Landmark>;

struct Classification {
  std::string_view kind = mistake::kUnknown;
  std::string says;
  double goodness = 0;  // 1 if evidence other than a fit decides
  Decided decided;
  std::vector<Fit> fits;  // the best of each class, best first; at most three
};

// `failing`: observations of failing cases, the most telling first; `passing`: of passing cases near them.
[[nodiscard]] Classification classify(std::span<const Observation> failing, std::span<const Observation> passing, const Evidence& evidence,
                                      const fixtures::Shelf& shelf);

}  // namespace assay::harness
