// Says in a sentence where a kernel parts from the landmarks of its family.
#include "harness/triage/landmarks.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "harness/cases/case_data.h"
#include "harness/execute/execute.h"
#include "harness/triage/landmark_match.h"
#include "harness/triage/localise.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

using families::Landmark;
using families::LandmarkElement;
using families::LandmarkFactor;
using families::Landmarks;

// Says where a match parts.
class Describer {
 public:
  Describer(const LandmarkMatch& match, const std::string& file, const std::vector<std::string>& row_names)
      : match_(match), file_(file), row_names_(row_names) {}

  [[nodiscard]] std::optional<LandmarkFinding> find() const {
    if (std::ranges::none_of(matched_, &MatchedLandmark::is_reached)) return std::nullopt;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (!matched_[i].says_something || matched_[i].is_reached || match_.is_excused(i)) continue;
      LandmarkFinding finding = describe(i);
      // Kernels need not hold decoded keys and values.
      if (landmarks_.list[i].is_loaded && finding.line == 0) continue;
      return finding;
    }
    return describe_misplaced();
  }

 private:
  [[nodiscard]] LandmarkFinding started(std::size_t wrong) const {
    LandmarkFinding finding;
    finding.file = file_;
    finding.landmark = landmarks_.list[wrong].name;
    std::set<std::uint32_t> executed;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      // What is computed from the wrong one only seems right.
      if (i == wrong || !matched_[i].is_reached || match_.depends(i, wrong)) continue;
      if (matched_[i].whole.empty()) continue;
      (landmarks_.list[i].is_loaded ? finding.right_loads : finding.right).push_back(matched_[i].first.second);
      if (match_.needs(wrong, i)) finding.needed.emplace_back(matched_[i].whole.begin(), matched_[i].whole.end());
    }
    for (const SightedPlace& place : sightings_.places()) {
      if (place.is_own) executed.insert(place.line);
    }
    finding.executed.assign(executed.begin(), executed.end());
    return finding;
  }

  // Lines that load other inputs wrongly: what they have in common with the first is wrong.
  void add_other_wrong(std::size_t wrong, LandmarkFinding& finding) const {
    for (std::size_t i = wrong + 1; i < matched_.size() && landmarks_.list[wrong].is_loaded; ++i) {
      if (!landmarks_.list[i].is_loaded || !matched_[i].says_something || matched_[i].is_reached || match_.is_excused(i)) continue;
      LandmarkFinding other;
      if (describe_part(i, other) || describe_other(landmarks_.list[i], other)) finding.also_wrong.push_back(other.line);
    }
    std::erase(finding.also_wrong, finding.line);
  }

  [[nodiscard]] LandmarkFinding describe(std::size_t wrong) const {
    LandmarkFinding finding = started(wrong);
    const Landmark& landmark = landmarks_.list[wrong];
    const bool found =
        describe_factor(wrong, finding) || describe_part(wrong, finding) || (landmark.is_loaded && describe_other(landmark, finding));
    if (!found) {
      finding.sentence = fmt::format("no line holds the {} that a right kernel has{}", plural(landmark), right_before(wrong));
      constexpr double little = 0.3;
      finding.confidence = little;
    }
    add_other_wrong(wrong, finding);
    finding.is_load = landmark.is_loaded;
    for (std::size_t i = 0; i < matched_.size() && finding.is_load; ++i) {
      const bool is_right =
          i != wrong && landmarks_.list[i].is_loaded && matched_[i].is_reached && matched_[i].first.second == finding.line;
      finding.is_shared = finding.is_shared || is_right;
    }
    std::erase(finding.right, finding.line);
    std::erase(finding.right_loads, finding.line);
    return finding;
  }

  [[nodiscard]] static std::string plural(const Landmark& landmark) {
    std::string name(landmark.name);
    const std::size_t of = name.find(" of ");
    return of == std::string::npos ? name + "s" : name.insert(of, "s");
  }

  [[nodiscard]] std::string right_before(std::size_t wrong) const {
    std::string names;
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      if (matched_[i].is_reached && match_.needs(wrong, i))
        names += fmt::format("{}{}", names.empty() ? "" : ", ", plural(landmarks_.list[i]));
    }
    return names.empty() ? "" : fmt::format("; right are {}", names);
  }

  // All values are wrong by one known factor.
  [[nodiscard]] bool describe_factor(std::size_t wrong, LandmarkFinding& finding) const {
    const Landmark& landmark = landmarks_.list[wrong];
    for (const LandmarkFactor& fault : landmark.faults) {
      for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
        bool fits = sightings_.places()[place].is_own;
        std::size_t elements = 0;
        for (std::size_t row = 0; row < landmarks_.rows.size() && fits; ++row) {
          const ElementList telling = telling_elements(landmark.elements, row);
          elements += telling.size();
          fits = telling.empty() || (!sightings_.places()[place].is_input &&
                                     cover(numbers_[row][place], telling, fault.value, match_.tolerance_of(place)).held == telling.size());
        }
        if (!fits || elements < 2) continue;
        finding.line = sightings_.places()[place].line;
        finding.sentence = fmt::format("the {} here are {:.6g} times what they should be ({}){}", plural(landmark), fault.value, fault.name,
                                       right_before(wrong));
        constexpr double much = 0.8;
        finding.confidence = much;
        finding.has_factor = true;
        return true;
      }
    }
    return false;
  }

  // A place that holds a part of the values.
  [[nodiscard]] bool describe_part(std::size_t wrong, LandmarkFinding& finding) const {
    const Landmark& landmark = landmarks_.list[wrong];
    const std::vector<Sighting>& sightings = matched_[wrong].sightings;
    const double least = landmark.is_loaded ? 0.2 : 0.4;
    if (sightings.empty() || sightings.front().share() < least || sightings.front().held < 2) return false;
    // Loads hold inputs alone; elsewhere some may occur by chance.
    const auto loads = std::ranges::find_if(sightings, [&](const Sighting& sighting) {
      return landmark.is_loaded && sightings_.places()[sighting.place].is_input && sighting.share() >= least;
    });
    const std::size_t place = (loads == sightings.end() ? sightings.begin() : loads)->place;
    finding.line = sightings_.places()[place].line;
    ElementList missing;
    std::size_t of_row = 0;
    for (std::size_t row = 0; row < landmarks_.rows.size() && missing.empty(); ++row) {
      of_row = row;
      const ElementList telling = telling_elements(landmark.elements, row);
      const HeldElements best = best_cover(numbers_[row][place], telling, landmark, sightings_.places()[place], match_.tolerance());
      static_cast<void>(cover(numbers_[row][place], telling, best.factor, match_.tolerance_of(place), &missing));
    }
    if (missing.empty()) return false;
    const std::set<std::size_t> lost = lost_keys(landmark, of_row, missing);
    if (!lost.empty() && landmark.is_loaded && reads_others(landmark, of_row, place)) {
      finding.sentence =
          fmt::format("this line reads other rows in place of key{} {}{}", lost.size() == 1 ? "" : "s", ranges_text(lost), in_row(of_row));
    } else if (!lost.empty()) {
      finding.is_missing = !landmark.is_loaded || !reads_other_input_of_keys(wrong);
      finding.sentence = fmt::format("this line never holds the {} of key{} {}{}", plural(landmark), lost.size() == 1 ? "" : "s",
                                     ranges_text(lost), in_row(of_row));
    } else {
      const LandmarkElement& first = *missing.front();
      const double held = nearest_number(numbers_[of_row][place], first.values.front());
      finding.sentence = fmt::format("{} of {} {} are wrong here{}: {} should be {:.6g}, and the nearest number is {:.6g}", missing.size(),
                                     telling_elements(landmark.elements, of_row).size(), plural(landmark), in_row(of_row),
                                     named(landmark, first), first.values.front(), held);
    }
    finding.is_place = landmark.is_loaded && 2 * missing.size() > telling_elements(landmark.elements, of_row).size() &&
                       !has_right_coordinate(landmark, of_row, missing);
    finding.confidence = sightings.front().share();
    return true;
  }

  // Whether a place reads as many numbers of the tensor as the row needs: other rows in place of those that are missing.
  [[nodiscard]] bool reads_others(const Landmark& landmark, std::size_t row, std::size_t place) const {
    std::set<double> wanted;
    for (const LandmarkElement* element : telling_elements(landmark.elements, row)) wanted.insert(element->values.front());
    std::set<double> others;
    for (const LandmarkElement& other : landmark.others) {
      const double number = other.values.front();
      if (!wanted.contains(number) && std::ranges::binary_search(numbers_[row][place], number)) others.insert(number);
    }
    std::size_t held = 0;
    for (const double number : wanted) held += std::ranges::binary_search(numbers_[row][place], number) ? 1 : 0;
    return 2 * others.size() >= wanted.size() - held;
  }

  // Whether another input is read for every key: then the loops are right, and the line reads a row twice.
  [[nodiscard]] bool reads_other_input_of_keys(std::size_t wrong) const {
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      const Landmark& other = landmarks_.list[i];
      if (i != wrong && other.is_loaded && matched_[i].is_reached && !other.elements.empty() && other.elements.front().key >= 0)
        return true;
    }
    return false;
  }

  // Whether some coordinate is right for all keys: then what is wrong is the place within a row, and not that of the row.
  [[nodiscard]] static bool has_right_coordinate(const Landmark& landmark, std::size_t row, const ElementList& missing) {
    std::set<std::int64_t> all, wrong, keys;
    for (const LandmarkElement* element : telling_elements(landmark.elements, row)) {
      all.insert(element->coordinate);
      keys.insert(element->key);
    }
    for (const LandmarkElement* element : missing) wrong.insert(element->coordinate);
    constexpr std::size_t several = 4;
    return keys.size() >= several && wrong.size() < all.size();
  }

  // Keys of which nothing is held; empty if a part of some key is.
  [[nodiscard]] static std::set<std::size_t> lost_keys(const Landmark& landmark, std::size_t row, const ElementList& missing) {
    std::map<std::int64_t, std::size_t> all, lost;
    for (const LandmarkElement* element : telling_elements(landmark.elements, row)) ++all[element->key];
    for (const LandmarkElement* element : missing) ++lost[element->key];
    std::set<std::size_t> keys;
    // Some of their numbers may occur elsewhere too, but wrong coordinates would be wrong for most keys.
    if (2 * lost.size() > all.size()) return keys;
    for (const auto& [key, count] : lost) {
      if (key >= 0) keys.insert(static_cast<std::size_t>(key));
    }
    return keys;
  }

  // A place that loads other elements of the same tensor.
  [[nodiscard]] bool describe_other(const Landmark& landmark, LandmarkFinding& finding) const {
    std::vector<double> tensor;
    for (const LandmarkElement& other : landmark.others) tensor.push_back(other.values.front());
    if (tensor.empty()) return false;
    std::ranges::sort(tensor);
    const auto is_of_tensor = [&](double number) { return std::ranges::binary_search(tensor, number); };
    std::size_t best = 0, best_count = 0;
    for (std::size_t place = 0; place < sightings_.places().size(); ++place) {
      const std::vector<double>& numbers = numbers_.front()[place];
      const auto count = static_cast<std::size_t>(std::ranges::count_if(numbers, is_of_tensor));
      constexpr std::size_t few = 8;
      if (!sightings_.places()[place].is_own || count < few || 20 * count < 19 * numbers.size() || count <= best_count) continue;
      best = place;
      best_count = count;
    }
    if (best_count == 0) return false;
    finding.line = sightings_.places()[best].line;
    finding.is_place = true;
    finding.sentence = fmt::format("this line reads other {} than{} needs{}", plural(landmark), in_row(0), read_instead(landmark, best));
    constexpr double much = 0.7;
    finding.confidence = much;
    return true;
  }

  // ": those of key 3 of key/value head 1" if a row of another key or head explains what was read.
  [[nodiscard]] std::string read_instead(const Landmark& landmark, std::size_t place) const {
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::size_t, std::size_t>> rows;
    for (const LandmarkElement& other : landmark.others) {
      auto& [held, all] = rows[{other.head, other.key}];
      held += std::ranges::binary_search(numbers_.front()[place], other.values.front()) ? 1 : 0;
      ++all;
    }
    for (const auto& [name, counts] : rows) {
      if (counts.first == counts.second) return fmt::format(": those of key {} of key/value head {}", name.second, name.first);
    }
    return "";
  }

  // Everything is right somewhere, but the output is not.
  [[nodiscard]] std::optional<LandmarkFinding> describe_misplaced() const {
    const std::size_t last = matched_.size() - 1;
    if (!matched_[last].is_reached || !matched_[last].is_strong) return std::nullopt;
    LandmarkFinding finding = started(last);
    for (const Sighting& sighting : matched_[last].sightings) {
      const SightedPlace& place = sightings_.places()[sighting.place];
      if (sighting.held == sighting.all && (finding.line == 0 || place.stores)) finding.line = place.line;
      if (sighting.held == sighting.all && place.stores) break;
    }
    finding.is_place = finding.is_load = true;
    finding.sentence = "this line has the right output, so it stores it in a wrong place, or another thread overwrites it";
    constexpr double much = 0.7;
    finding.confidence = much;
    std::erase(finding.right, finding.line);
    return finding;
  }

  [[nodiscard]] std::string in_row(std::size_t row) const { return row_names_[row].empty() ? "" : fmt::format(" {}", row_names_[row]); }

  [[nodiscard]] static std::string named(const Landmark& landmark, const LandmarkElement& element) {
    std::string name(fmt::format("the {}", landmark.name));
    if (element.coordinate >= 0) name += fmt::format(" {}", element.coordinate);
    if (element.key >= 0) name += fmt::format(" of key {}", element.key);
    return name;
  }

  const LandmarkMatch& match_;
  const std::string& file_;
  const std::vector<std::string>& row_names_;
  const Landmarks& landmarks_ = match_.landmarks();
  const Sightings& sightings_ = match_.sightings();
  const std::vector<SightedNumbers>& numbers_ = match_.numbers();
  const std::vector<MatchedLandmark>& matched_ = match_.matched();
};

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

std::optional<LandmarkFinding> match_landmarks(const metal::ValueTrace& trace, const Landmarks& landmarks, const std::string& file,
                                               const std::vector<std::string>& row_names, const LandmarkTolerance& tolerance) {
  if (landmarks.list.empty() || landmarks.rows.empty()) return std::nullopt;
  const LandmarkMatch match(trace, landmarks, file, tolerance.relative);
  return Describer(match, file, row_names).find();
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
    static_cast<void>(run_case(*prepared, observation.test_case, laboratory.shelf(), {.trace = &trace}));
  } catch (const metal::Error&) {
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
