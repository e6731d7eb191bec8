#include "harness/run/verdict_wire.h"

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "harness/run/fault_fields.h"
#include "harness/run/metal_fields.h"

namespace assay::harness {

constexpr std::uint64_t largest(ElementFault) { return static_cast<std::uint64_t>(ElementFault::infinite); }

// What travels, told once for both directions. Every member is bound by name, so that a new one stops the build here.

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Mistrust>
void fields(Archive& archive, T& value) {
  auto& [why, elements, uninformative, limit] = value;
  each(archive, why, elements, uninformative, limit);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, WorstElement>
void fields(Archive& archive, T& value) {
  auto& [index, expected, actual, bound, ratio, fault] = value;
  each(archive, index, expected, actual, bound, ratio, fault);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Judgement>
void fields(Archive& archive, T& value) {
  auto& [compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio, max_ratio_index,
         max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted] = value;
  each(archive, compared, above_bound, not_written, nans, infs, guard_violations, uninformative, distinct_expected, max_ratio,
       max_ratio_index, max_abs_error, max_rel_error, nmse, cosine, median_bound_ratio, worst, mistrusted);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, SplitElement>
void fields(Archive& archive, T& value) {
  auto& [index, actual, shadow, expected, bound, exact, exact_bound] = value;
  each(archive, index, actual, shadow, expected, bound, exact, exact_bound);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, ErrorSplit>
void fields(Archive& archive, T& value) {
  auto& [elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst] = value;
  each(archive, elements, discrete, above_bound, max_rounding_ratio, max_logic_ratio, max_rounding_index, max_logic_index, worst);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, StageVerdict>
void fields(Archive& archive, T& value) {
  auto& [name, is_judged, passed, faults, judgement] = value;
  each(archive, name, is_judged, passed, faults);
  fields(archive, judgement);
}

template <typename Archive, typename T>
  requires std::same_as<std::remove_const_t<T>, Verdict>
void fields(Archive& archive, T& value) {
  auto& [about, status, faults, note, schedules, is_internal, row_length, judgement, split, lost_shadows, stages, hazards, remarks, known,
         counters, cost, digest, oracle_seconds, simulator_seconds] = value;
  static_cast<void>(known);  // the supervisor finds it
  each(archive, status, faults, note, schedules, is_internal, row_length, split, lost_shadows, stages, hazards, remarks, cost, digest,
       oracle_seconds, simulator_seconds);
  fields(archive, judgement);
  fields(archive, counters);
}

std::vector<std::byte> encode_verdict(const Verdict& verdict) { return base::to_bytes(verdict); }

Verdict decode_verdict(std::span<const std::byte> bytes, const Case& about) {
  auto verdict = base::from_bytes<Verdict>(bytes);
  verdict.about = about;
  if (verdict.row_length == 0) throw base::DamagedArchive("rows of no elements");
  if (verdict.status == Status::passed && !(verdict.judgement.passed() && verdict.hazards.empty() && verdict.faults.empty()))
    throw base::DamagedArchive("a pass that its own figures contradict");
  return verdict;
}

}  // namespace assay::harness
