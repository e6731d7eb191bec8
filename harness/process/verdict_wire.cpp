// Encodes and decodes verdicts, and validates what it decodes.
#include "harness/process/verdict_wire.h"

#include <cstdint>

#include "harness/findings/fault_fields.h"
#include "harness/findings/metal_fields.h"

namespace assay::harness {

constexpr std::uint64_t largest(ElementFault) { return static_cast<std::uint64_t>(ElementFault::infinite); }

// The transmitted members, listed once for both directions. Every member is bound by name, so that a new one breaks the build here.

namespace note {

void fields(auto& archive, base::OneOf<WorstElement> auto& value) {
  auto& [element] = value;
  each(archive, element);
}

void fields(auto& archive, base::OneOf<RightNevertheless> auto& value) {
  auto& [logic] = value;
  each(archive, logic);
}

void fields(auto& archive, base::OneOf<LostShadows> auto& value) {
  auto& [places, logic] = value;
  each(archive, places, logic);
}

void fields(auto& archive, base::OneOf<Repeated> auto& value) {
  auto& [others, status, faults] = value;
  each(archive, others, status, faults);
}

void fields(auto& archive, base::OneOf<Recorded> auto& value) {
  auto& [text] = value;
  each(archive, text);
}

}  // namespace note

void fields(auto& archive, base::OneOf<Mistrust> auto& value) {
  auto& [why, elements, uninformative, limit] = value;
  each(archive, why, elements, uninformative, limit);
}

void fields(auto& archive, base::OneOf<WorstElement> auto& value) {
  auto& [index, expected, actual, bound, ratio, fault] = value;
  each(archive, index, expected, actual, bound, ratio, fault);
}

void fields(auto& archive, base::OneOf<Judgement> auto& value) {
  auto& [compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio, max_ratio_index,
         max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted] = value;
  each(archive, compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio,
       max_ratio_index, max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted);
}

void fields(auto& archive, base::OneOf<SplitElement> auto& value) {
  auto& [index, actual, shadow, expected, bound, exact, exact_bound] = value;
  each(archive, index, actual, shadow, expected, bound, exact, exact_bound);
}

void fields(auto& archive, base::OneOf<ErrorSplit> auto& value) {
  auto& [elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst] = value;
  each(archive, elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst);
}

void fields(auto& archive, base::OneOf<StageVerdict> auto& value) {
  auto& [name, is_judged, passed, faults, judgement] = value;
  each(archive, name, is_judged, passed, faults, judgement);
}

void fields(auto& archive, base::OneOf<Verdict> auto& value) {
  auto& [test_case, status, faults, notes, schedules, is_internal, row_length, judgement, split, lost_shadows, stages, hazards, remarks,
         known, counters, cost, digest, oracle_seconds, simulator_seconds] = value;
  static_cast<void>(known);  // set by the supervisor
  each(archive, status, faults, notes, schedules, is_internal, row_length, judgement, split, lost_shadows, stages, hazards, remarks,
       counters, cost, digest, oracle_seconds, simulator_seconds);
}

std::vector<std::byte> encode_verdict(const Verdict& verdict) { return base::to_bytes(verdict); }

Verdict decode_verdict(std::span<const std::byte> bytes, const Case& test_case) {
  auto verdict = base::from_bytes<Verdict>(bytes);
  verdict.test_case = test_case;
  if (verdict.row_length == 0) throw base::DamagedArchive("the row length is 0");
  if (verdict.status == Status::passed && !(verdict.judgement.passed() && verdict.hazards.empty() && verdict.faults.empty()))
    throw base::DamagedArchive("status 'passed' contradicts its own faults or hazards");
  return verdict;
}

}  // namespace assay::harness
