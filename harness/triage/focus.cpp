// Combines what landmarks say about failing cases.
#include "harness/triage/focus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "families/mistake_words.h"
#include "harness/cases/case_size.h"
#include "harness/mutate/source.h"
#include "harness/triage/given_names.h"
#include "harness/triage/landmarks.h"
#include "harness/triage/ordered.h"
#include "harness/triage/subject_lines.h"
#include "harness/triage/unused_names.h"
#include "kernels/variant.h"

namespace assay::harness {
namespace {

// The most suspect line, the first of several.
std::uint32_t most_suspect(const LineSuspicion& suspicion) {
  std::uint32_t line = 0;
  double most = 0;
  for (const auto& [number, value] : suspicion.by_line) {
    if (value <= most) continue;
    line = number;
    most = value;
  }
  return line;
}

// Raises the suspicion of lines that use arguments like those that no line uses.
void suspect_like_unused(const std::map<std::uint32_t, LikeUnused>& lines, LineSuspicion& suspicion) {
  for (const auto& [line, like] : lines) {
    const auto found = suspicion.by_line.find(line);
    if (found != suspicion.by_line.end()) found->second *= 1 + 2 * like.likeness;
  }
}

std::vector<const Observation*> most_telling(std::span<const Observation> failing) {
  constexpr std::size_t tried = 4;
  std::vector<const Observation*> ordered;
  for (const Observation& observation : failing) ordered.push_back(&observation);
  order_by(ordered, [](const Observation* one) { return distance_from_telling(size_of(one->test_case)); });
  ordered.resize(std::min(ordered.size(), tried));
  return ordered;
}

// Whether an index in the line is computed of several numbers: `out[(row * heads + head) * size + i]`.
bool computes_index(const Source& source, std::uint32_t line) {
  constexpr std::size_t several = 2;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
      if (!tokens[i].is("[") || tokens[i].match <= i || source.place(tokens[i].offset).line != line) continue;
      const auto products =
          std::count_if(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.begin() + static_cast<std::ptrdiff_t>(tokens[i].match),
                        [](const SourceToken& token) { return token.is("*") || token.is("/") || token.is("%"); });
      if (static_cast<std::size_t>(products) >= several) return true;
    }
  }
  return false;
}

// How much is known of where a kernel parts from right ones.
double knowledge(const LandmarkFinding& found) { return (found.is_sure ? 2 : 0) + (found.has_factor ? 1 : 0) + found.confidence / 2; }

}  // namespace

std::string says_first_wrong(std::string_view landmark) {
  return fmt::format("the {} is the first value that no line holds as a right kernel does", landmark);
}

double distance_from_telling(double size) {
  constexpr double best = 8e3;
  size = std::max(1.0, size);
  return std::max(size / best, best / size);
}

Focus focus_on(Laboratory& laboratory, std::span<const Observation> failing) {
  Focus focus;
  const std::string file = laboratory.variant().source.string();
  const Source source(kernels::read_text(laboratory.variant().source), file);
  struct Found {
    LandmarkFinding finding;
    const Observation* observation;
  };
  std::vector<Found> findings;
  for (const Observation* observation : most_telling(failing)) {
    if (std::optional<LandmarkFinding> found = find_landmarks(laboratory, *observation))
      findings.push_back({std::move(*found), observation});
  }
  order_by(findings, [](const Found& found) { return -knowledge(found.finding); });
  const std::map<std::uint32_t, LikeUnused> unused = lines_like_unused(source, given_names(laboratory.variant(), source));
  for (const auto& [found, observation] : findings) {
    const PreparedVariant* prepared = laboratory.prepared(observation->test_case);
    const Slices slices(source, found.executed,
                        prepared == nullptr ? KnownConstants() : known_constants(*prepared, observation->test_case, source));
    LineSuspicion suspicion = suspicion_of(slices, {.wrong = found.line,
                                                    .also_wrong = found.also_wrong,
                                                    .right = found.right,
                                                    .right_loads = found.right_loads,
                                                    .settled = found.settled,
                                                    .needed = found.needed,
                                                    .executed = found.executed,
                                                    .is_missing = found.is_missing,
                                                    .is_inside = found.is_inside,
                                                    .is_common = found.has_factor,
                                                    .is_load = found.is_load,
                                                    .is_shared = found.is_shared,
                                                    .is_place = found.is_place,
                                                    .has_index = computes_index(source, found.line),
                                                    .is_start = found.is_start});
    suspect_like_unused(unused, suspicion);
    // The first tells most; what the others say is tried later.
    constexpr double later = 0.3;
    const bool is_first = focus.suspects.empty();
    for (const auto& [line, value] : suspicion.by_line) {
      double& kept = focus.suspicion.by_line[line];
      kept = std::max(kept, value * (is_first ? 1.0 : later));
    }
    if (!is_first) continue;
    focus.suspicion.fault = suspicion.fault;
    focus.is_sure = found.is_sure;
    focus.is_left_out = found.is_left_out;
    focus.is_missing = found.is_missing;
    if (!found.is_missing && !found.is_place) {
      focus.landmark = found.landmark;
      focus.kind = found.kind();
    }
    // The last landmark is the output: if that is wrong first, no edit gets further without being a repair.
    if (found.first_wrong + 1 < found.all)
      focus.landmarks = WrongLandmark{observation->test_case, found.first_wrong, found.all, found.landmark};
    const std::uint32_t line = most_suspect(suspicion);
    std::string why =
        line == found.line || found.line == 0 ? found.sentence : fmt::format("line {} depends on it: {}", found.line, found.sentence);
    // What follows from the source alone, and not from a value, is not certain.
    if (!found.is_sure || line != found.line) why.insert(0, kPlaceToLook);
    if (line != 0)
      focus.suspects.push_back({.file = file, .line = line, .why = std::move(why), .is_elsewhere = false, .context = {}, .repaired = {}});
  }
  return focus;
}

bool focus_on_subject(const Laboratory& laboratory, const Classification& classification, Focus& focus) {
  const std::string file = laboratory.variant().source.string();
  const Source source(kernels::read_text(laboratory.variant().source), file);
  const Slices slices(source, {});
  const std::map<std::uint32_t, SubjectLine> lines = subject_lines(laboratory.variant(), source, slices, classification);
  // What landmarks say for certain says more than a class does, but for a wrong row: they see where it is read.
  const families::MistakeSubject* subject = families::subject_of(classification.kind);
  const bool chooses_row = subject != nullptr && subject->chooses_rows && classification.goodness >= kSureFit &&
                           std::holds_alternative<decided::BestFit>(classification.decided);
  const std::uint32_t line = most_suspect(lines, focus.suspicion, chooses_row);
  if (line == 0) return false;
  // Where a step is left out, right values are held, and a line that makes it elsewhere, with its own number, says more. A sum without its
  // sink has right addends.
  constexpr double own = 0.7;
  const bool is_step = focus.is_left_out && (classification.kind == mistake::kScale || classification.kind == mistake::kSoftcap);
  const bool is_addend = classification.kind == mistake::kSinks;
  const bool is_elsewhere = lines.at(line).weight >= own && (is_step || is_addend);
  suspect_subject(lines, source.line_count(), classification.goodness >= kSureFit, focus.suspicion);
  const SubjectLine& found = lines.at(line);
  const std::string meaning = found.meaning.empty() ? std::string() : fmt::format(" (the launch gives it '{}')", found.meaning);
  focus.suspects.insert(
      focus.is_sure && !chooses_row && !is_elsewhere ? focus.suspects.end() : focus.suspects.begin(),
      {.file = file,
       .line = line,
       .why = fmt::format("{}a mistake of this class is about '{}'{}, with which this line computes", kPlaceToLook, found.name, meaning),
       .is_elsewhere = false,
       .context = {},
       .repaired = {}});
  return true;
}

}  // namespace assay::harness
