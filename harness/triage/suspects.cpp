// Finds suspected lines: by undoing differences from correct sources, by hazards, and by shadows.
#include "harness/triage/suspects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "harness/compare/source_words.h"
#include "harness/execute/explain.h"
#include "harness/mutate/source.h"
#include "harness/triage/ordered.h"
#include "harness/triage/wrong_table.h"
#include "kernels/variant.h"
#include "metal/compile/cache.h"
#include "metal/errors.h"
#include "metal/source_files.h"

namespace assay::harness {
namespace {

namespace fs = std::filesystem;

// Writes the text where the compiler finds it.
fs::path write_suspect(const fs::path& home, const std::string& text) {
  const metal::compile::Cache cache({});
  const fs::path folder = cache.directory() / "triage" / base::Hash().add(home.string()).add(text).hex();
  fs::create_directories(folder);
  const fs::path file = folder / home.filename();
  const fs::path temporary = folder / fmt::format("{}.tmp", std::chrono::steady_clock::now().time_since_epoch().count());
  std::ofstream stream(temporary, std::ios::binary);
  stream << text;
  stream.close();
  std::error_code error;
  if (stream) fs::rename(temporary, file, error);
  if (!stream || error) throw metal::EnvironmentError(fmt::format("cannot write {}; is the disk full?", file.string()));
  return file;
}

std::size_t changed_bytes(const std::vector<Hunk>& hunks) {
  std::size_t bytes = 0;
  for (const Hunk& hunk : hunks) bytes += hunk.end - hunk.begin + hunk.other.size() + 8;
  return bytes;
}

// The lines of these hunks, from the start of the first to the end of the last, as in the other source.
std::string repaired_lines(std::string_view text, std::vector<Hunk> hunks) {
  const std::size_t start = hunks.front().begin == 0 ? 0 : text.rfind('\n', hunks.front().begin - 1) + 1;
  const std::size_t end = std::min(text.find('\n', hunks.back().end), text.size());
  for (Hunk& hunk : hunks) hunk.begin -= start, hunk.end -= start;
  return undone(text.substr(start, end - start), hunks);
}

struct Relative {
  fs::path file;
  std::vector<Hunk> hunks;
  bool is_given = false;  // by the user, as the right version of this source
};

// Those that the user gave, then the nearest of ours.
std::vector<Relative> relatives_of(const std::string& text, const kernels::Variant& variant, const TriageOptions& options) {
  constexpr std::size_t most_of_ours = 2;
  std::vector<Relative> given;
  std::vector<Relative> relatives;
  const auto add = [&](std::vector<Relative>& to, const fs::path& file, bool is_given) {
    std::error_code ignored;
    if (fs::equivalent(file, variant.source, ignored)) return;
    const std::string other = kernels::read_text(file);
    auto hunks = hunks_between(text, is_given ? with_names_of(text, other) : other, is_given);
    if (hunks && !hunks->empty()) to.push_back({file, std::move(*hunks), is_given});
  };
  for (const fs::path& file : options.against) add(given, file, true);
  for (const fs::path& file : options.relatives) add(relatives, file, false);
  order_by(relatives, [](const Relative& relative) { return changed_bytes(relative.hunks); });
  relatives.resize(std::min(relatives.size(), most_of_ours));
  std::ranges::move(relatives, std::back_inserter(given));
  return given;
}

}  // namespace

Laboratory with_text(const Laboratory& laboratory, const std::string& text) {
  return laboratory.with_source(write_suspect(laboratory.variant().source, text));
}

bool passes_all(const Laboratory& laboratory, const std::string& text, std::span<const Case> cases) {
  Laboratory repaired = with_text(laboratory, text);
  return std::ranges::all_of(cases, [&](const Case& test_case) { return repaired.verdict(test_case).status == Status::passed; });
}

Blame blame_differences(const Laboratory& laboratory, std::span<const Case> cases, const TriageOptions& options) {
  Blame blamed;
  const fs::path& source = laboratory.variant().source;
  const std::string text = kernels::read_text(source);
  for (const Relative& relative : relatives_of(text, laboratory.variant(), options)) {
    // The user asks which of these differences it is, so that question is answered whatever it takes.
    std::size_t tries = relative.is_given ? options.most_compilations_against : options.most_compilations;
    const std::vector<Hunk> guilty = blame(
        text, relative.hunks, [&](const std::string& candidate) { return passes_all(laboratory, candidate, cases); },
        [&] { return tries > 0 && tries-- > 0; });
    if (guilty.empty()) continue;
    const std::vector<std::vector<Hunk>> places = by_lines(guilty);
    // Replacing most of the kernel by another one of ours would explain nothing.
    constexpr std::size_t most_places = 4;
    if (!relative.is_given && places.size() > most_places) continue;
    for (const std::vector<Hunk>& hunks : places) {
      blamed.suspects.push_back(
          {.file = source.string(),
           .line = hunks.front().line,
           .why = fmt::format("undoing {} from {} makes the failing cases pass",
                              places.size() == 1 ? "this difference" : fmt::format("the differences at these {} places", places.size()),
                              relative.file.string()),
           .is_elsewhere = false,
           .context = {},
           .repaired = repaired_lines(text, hunks)});
    }
    blamed.repaired = undone(text, guilty);
    return blamed;
  }
  return blamed;
}

namespace {

// Places may name the kernel's own file without its folder.
bool is_same_file(const fs::path& place, const fs::path& own) {
  if (!place.has_parent_path()) return place == own.filename();
  std::error_code unreadable;
  return fs::equivalent(place, own, unreadable);
}

// The line of an element of an array that is declared at a place: each comma ends one.
std::uint32_t line_of_entry(const std::string& own, const metal::SourceLocation& place, std::size_t index) {
  if (!is_same_file(place.file, own)) return place.line;
  const std::string text = kernels::read_text(own);
  bool is_inside = false;
  std::size_t passed = 0;
  for (const SourceWord& word : source_words(text)) {
    if (word.line < place.line || (!is_inside && word.text != "{")) continue;
    if (word.text == "{") {
      is_inside = true;
      continue;
    }
    if (word.text == "," && ++passed <= index) continue;
    if (passed >= index || word.text == "}" || word.text == ";") return word.line;
  }
  return place.line;
}

// "kernel.metal:51: uninitialised read: ..." without the parts that the report shows anyway.
std::string without_place(std::string why, const metal::SourceLocation& place) {
  const std::string prefix = fmt::format("{}:{}: ", place.file, place.line);
  return why.starts_with(prefix) ? why.substr(prefix.size()) : why;
}

// The last `return` in front of the line, in the same function; 0 if there is none.
std::uint32_t return_before(const Source& source, std::uint32_t line) {
  constexpr auto blocks = std::to_array<std::string_view>({"if", "for", "while", "switch"});
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    const std::vector<SourceToken>& tokens = piece.tokens;
    const auto is_before = [&](const SourceToken& token) { return source.place(token.offset).line < line; };
    std::size_t i = static_cast<std::size_t>(std::ranges::partition_point(tokens, is_before) - tokens.begin());
    int closed = 0;  // blocks whose end was passed
    while (i-- > 0) {
      if (tokens[i].is("return")) return source.place(tokens[i].offset).line;
      if (tokens[i].is("}")) ++closed;
      if (!tokens[i].is("{") || closed-- > 0) continue;
      closed = 0;
      // The parameters of a function are in front of its body, conditions in front of a block.
      if (i < 1 || !tokens[i - 1].is(")") || tokens[i - 1].match < 1) continue;
      if (!among(blocks, tokens[tokens[i - 1].match - 1].text)) return 0;
    }
  }
  return 0;
}

// What decided the class comes first: with a race, a read of what is not written yet follows from it. Invalid accesses come last: outside
// of the policy `checked`, only their function is known.
std::vector<metal::Hazard> likely_first(std::vector<metal::Hazard> hazards, const Classification& classification) {
  const auto* deciding = std::get_if<metal::Hazard>(&classification.decided);
  order_by(hazards, [&](const metal::Hazard& hazard) {
    if (deciding != nullptr && hazard.kind == deciding->kind) return 0;
    return hazard.kind == metal::HazardKind::invalid_access ? 2 : 1;
  });
  return hazards;
}

}  // namespace

std::optional<Suspect> suspect_at(const Laboratory& laboratory, const metal::SourceLocation& place, std::string why) {
  if (place.line == 0) return std::nullopt;
  const std::string own = laboratory.variant().source.string();
  const bool is_own = is_same_file(place.file, own);
  return Suspect{.file = is_own ? own : place.file,
                 .line = place.line,
                 .why = without_place(std::move(why), place),
                 .is_elsewhere = !is_own,
                 .context = {},
                 .repaired = {}};
}

std::vector<Suspect> observed_suspects(Laboratory& laboratory, const Finding& finding, bool with_shadows) {
  std::vector<Suspect> suspects;
  const std::string own = laboratory.variant().source.string();
  const auto add = [&](const metal::SourceLocation& place, std::string why) {
    std::optional<Suspect> suspect = suspect_at(laboratory, place, std::move(why));
    if (!suspect) return;
    const bool is_known =
        std::ranges::any_of(suspects, [&](const Suspect& known) { return known.file == suspect->file && known.line == suspect->line; });
    if (!is_known) suspects.push_back(std::move(*suspect));
  };
  for (const Fault& fault : finding.minimal.faults) {
    const auto* table = fault.as<fault::WrongTable>();
    if (table == nullptr || table->entries.empty()) continue;
    metal::SourceLocation place = table->place;
    if (!table->table.empty()) place.line = line_of_entry(own, place, table->entries.front().index);
    // A repair of the table says it too.
    if (is_same_file(place.file, own) && std::ranges::find(finding.suspects, place.line, &Suspect::line) != finding.suspects.end())
      continue;
    add(place, difference_of(*table));
  }
  for (const metal::Hazard& hazard : likely_first(finding.hazards, finding.classification)) {
    if (hazard.lacks_line) continue;
    if (hazard.kind == metal::HazardKind::barrier_divergence && hazard.message.find("had returned") != std::string::npos &&
        is_same_file(hazard.first.file, own)) {
      const std::uint32_t left = return_before(Source(kernels::read_text(own), own), hazard.first.line);
      add({.file = own, .line = left},
          fmt::format("{}threads that leave the kernel here do not reach the barrier in line {}", kPlaceToLook, hazard.first.line));
    }
    add(hazard.first, hazard.message);
    if (hazard.second) add(*hazard.second, fmt::format("the other access of the {}", metal::to_string(hazard.kind)));
  }
  if (!with_shadows || finding.minimal.status != Status::failed) return suspects;
  const PreparedVariant* prepared = laboratory.prepared(finding.minimal.test_case);
  if (prepared == nullptr) return suspects;
  ExecutionOptions options;
  options.shelf = laboratory.shelf();
  options.profile = laboratory.profile();
  ExplainOptions asked;
  if (const double allowed = finding.minimal.judgement.median_bound_ratio; allowed > 0.0) asked.large_error = allowed;
  constexpr std::size_t few = 4;
  asked.most_lines = finding.classification.kind == mistake::kHalf ? few : 0;
  const Explanation explanation = explain_case(*prepared, finding.minimal.test_case, options, asked);
  // Where a right number is rounded says nothing about a wrong one.
  const std::optional<ErrorSplit>& split = explanation.verdict.split;
  const bool is_worst_logic = split && split->above_bound != 0 && (split->worst.empty() || split->worst.front().is_mostly_logic());
  const bool is_wrong_unrounded = explanation.logic > explanation.rounding || is_worst_logic;
  for (const LineContribution& line : explanation.lines) {
    // Nor does it where no number is wrong by more than its bound.
    if (is_wrong_unrounded || finding.minimal.judgement.above_bound == 0) break;
    add(line.rounding.place, fmt::format("the rounding in this line changes the output by {:.3g} times its bound", line.contribution));
    break;
  }
  const bool is_rounded_wrong = !is_wrong_unrounded && finding.minimal.judgement.above_bound > 0;
  if (explanation.has_telling_birth() && (explanation.birth->is_overflow || is_rounded_wrong))
    add(explanation.birth->place, explanation.birth->message);
  return suspects;
}

void add_context(Suspect& suspect) {
  const std::vector<std::string> lines = metal::source_lines(suspect.file);
  constexpr std::uint32_t around = 2;
  const std::uint32_t first = suspect.line > around ? suspect.line - around : 1;
  for (std::uint32_t number = first; number <= std::min<std::size_t>(suspect.line + around, lines.size()); ++number)
    suspect.context.push_back(fmt::format("{}{:5} | {}", number == suspect.line ? ">" : " ", number, lines[number - 1]));
}

}  // namespace assay::harness
