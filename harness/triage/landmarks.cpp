// Traces a failing case, and matches the trace with the landmarks of its family.
#include "harness/triage/landmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "families/mistakes.h"
#include "harness/cases/case_data.h"
#include "harness/execute/execute.h"
#include "harness/execute/kernel_host.h"
#include "harness/triage/landmark_description.h"
#include "harness/triage/landmark_match.h"
#include "harness/triage/localise.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

using families::Landmarks;

// Up to four faulty rows of the output, the first and the last among them.
std::vector<std::size_t> faulty_rows(const Observation& observation, std::size_t rows, std::size_t judged) {
  constexpr std::size_t most = 4;
  const std::size_t width = judged / std::max<std::size_t>(rows, 1);
  std::set<std::size_t> faulty;
  for (std::size_t i = 0; i < judged; ++i) {
    if (observation.is_faulty(i)) faulty.insert(i / width);
  }
  std::vector<std::size_t> chosen(faulty.begin(), faulty.end());
  if (chosen.size() <= most) return chosen;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(chosen[i * (chosen.size() - 1) / (most - 1)]);
  return some;
}

std::string row_name(const std::vector<families::RowPart>& parts, std::size_t row) {
  std::string name;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    // "heads" to "head", "queries" to "query", "batches" to "batch"
    std::string singular(part->name);
    if (singular.ends_with("ies")) {
      singular.replace(singular.size() - 3, 3, "y");
    } else {
      singular.resize(singular.size() - (singular.ends_with("ches") ? 2 : 1));
    }
    if (part->count > 1) name = fmt::format("{} {}{}{}", singular, row % part->count, name.empty() ? "" : ", ", name);
    row /= part->count;
  }
  return name;
}

// The kernel's own file, under the name that its operations have.
std::string own_file(const metal::ValueTrace& trace, const PreparedVariant& prepared) {
  for (const metal::TracedOperation& operation : trace.operations) {
    std::error_code unreadable;
    if (std::filesystem::equivalent(operation.place.file, prepared.variant.source, unreadable)) return operation.place.file;
  }
  return prepared.libraries.front()->name();
}

}  // namespace

std::string_view LandmarkFinding::kind() const {
  // A wrong scale is the same factor everywhere; a product of vectors that lacks some of their elements is not.
  return mistake == families::mistake::kScale && !has_factor ? families::mistake::kCoordinates : mistake;
}

std::optional<LandmarkFinding> match_landmarks(const metal::ValueTrace& trace, const Landmarks& landmarks, const std::string& file,
                                               const std::vector<std::string>& row_names, const LandmarkTolerance& tolerance) {
  if (landmarks.list.empty() || landmarks.rows.empty()) return std::nullopt;
  const LandmarkMatch match(trace, landmarks, file, tolerance.relative);
  return describe_landmarks(match, file, row_names);
}

std::optional<LandmarkFinding> find_landmarks(Laboratory& laboratory, const Observation& observation) {
  const families::TriageRules& rules = observation.test_case.family->triage;
  const PreparedVariant* prepared = laboratory.prepared(observation.test_case);
  if (!rules.landmarks || prepared == nullptr || observation.actual.empty()) return std::nullopt;
  const std::vector<families::RowPart> parts = rules.row_parts(observation.test_case);
  std::size_t count = 1;
  for (const families::RowPart& part : parts) count *= part.count;
  const std::vector<std::uint64_t> shape = observation.test_case.family->files.output_shape(observation.test_case);
  const std::size_t judged = std::min<std::size_t>(count * shape.back(), observation.actual.size());
  const std::vector<std::size_t> rows = faulty_rows(observation, count, judged);
  if (rows.empty()) return std::nullopt;
  metal::ValueTrace trace;
  trace.most_values = std::size_t{1} << 22U;
  try {
    static_cast<void>(run_case(*prepared, observation.test_case, laboratory.shelf(), {.trace = &trace}, laboratory.patience()));
  } catch (const metal::Error&) {
    return std::nullopt;
  } catch (const KernelDied&) {
    return std::nullopt;
  }
  if (trace.is_cut) return std::nullopt;
  std::vector<std::string> names;
  for (const std::size_t row : rows) names.push_back(row_name(parts, row));
  const CaseSource source(observation.test_case, laboratory.shelf());
  const Landmarks landmarks = rules.landmarks(observation.test_case, source.get(), rows);
  LandmarkTolerance tolerance;
  // A kernel that declares weaker storage rounds what it computes with.
  if (!prepared->weaker_storage.empty()) tolerance.relative *= 100;
  std::optional<LandmarkFinding> found = match_landmarks(trace, landmarks, own_file(trace, *prepared), names, tolerance);
  // Then all landmarks seem to be right, and the output to be elsewhere.
  if (found && found->is_place && found->is_load && found->landmark == landmarks.list.back().name && !is_clearly_wrong(observation))
    return std::nullopt;
  return found;
}

}  // namespace assay::harness
