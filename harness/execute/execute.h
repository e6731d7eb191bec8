// Carries one case from its fixture to its verdict.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "fixtures/shelf.h"
#include "harness/findings/verdict.h"
#include "harness/judge/judge.h"
#include "harness/prepare/workbench.h"
#include "metal/devices/encoder.h"
#include "metal/execute/rounding.h"
#include "metal/execute/schedule.h"
#include "metal/policy.h"
#include "metal/source_location.h"

namespace assay::harness {

// Encodes what the launch code makes of a case.
using Encode = std::function<void(metal::ComputeEncoder&)>;

// Cases that cost more (Family::work) run under one order of simdgroups: half of the gate's have more than one to offer, and these would
// take most of its time.
inline constexpr std::int64_t kRepeatedWork = std::int64_t{1} << 21;

struct ExecutionOptions {
  unsigned threads = 1;  // CPU threads of the simulator; 0 takes all cores

  // The orders in which the simdgroups of a threadgroup take turns; every case runs once under each. Empty: forward, and, where
  // the judged dispatch has several simdgroups in a threadgroup and the case costs kRepeatedWork at most, also reverse, and
  // random:<seed> if four divides the seed. One order alone cannot show a missing barrier: forward runs the simdgroup that others
  // wait for first.
  std::vector<metal::Schedule> schedules;

  // How kernels are compiled; `checked` sees far more hazards, `shadow` splits errors into rounding and logic; both are slower.
  metal::Policy policy = metal::Policy::native;
  // Of the policy `shadow`, as in metal::SimulatorOptions; for explain_case().
  bool explain = false;
  double large_error = metal::kLargeError;
  std::optional<metal::SourceLocation> rounded_line = {};

  bool keep_output = false;  // for those who hold outputs against each other: Outcome::judged

  std::size_t worst_elements = JudgeOptions{}.worst_count;  // how many a verdict keeps

  fixtures::Shelf shelf;  // where the files stand that cases name

  // What is executed in place of a case's own dispatches, which `encode` would encode: other people's on the same buffers. Empty: these.
  std::function<void(metal::ComputeEncoder& simulator, const Encode& encode)> launch;
  // Dispatches without a memory_barrier() between them may run at the same time, and it is a hazard if they share what one of them writes.
  bool concurrent = false;
};

// Fixture -> oracle -> buffers -> launch code -> simulator -> judge. Under several schedules each run is judged, and output bits
// that differ between two of them fail the case even if all are within the bound. Whatever goes wrong with one case becomes
// its verdict: a refusal of the launch code or the encoder is `rejected`, a failure of the harness itself is `mistrusted`
// with is_internal set. Throws nothing but std::bad_alloc.
[[nodiscard]] Verdict execute_case(const PreparedVariant& prepared, const Case& about, const ExecutionOptions& options);

// Why execute_case() would skip a case that the variant's [limits] admit: it has no function for it, or one that is not made for it.
// Nothing if it would not.
[[nodiscard]] std::optional<Fault> why_skipped(const PreparedVariant& prepared, const Case& about);

// Has the launch code encode a case on the case's own buffers, once, and does no more: neither oracle nor judge are asked. Throws
// std::invalid_argument for a case that execute_case() would reject or skip, with its reason, and what the encoder throws.
void encode_case(const PreparedVariant& prepared, const Case& about, const fixtures::Shelf& shelf, metal::ComputeEncoder& encoder);

}  // namespace assay::harness
