// Parses the `shows` of a known finding, and matches it with verdicts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "harness/findings/known_finding_text.h"

namespace assay::harness {
namespace {

struct SymptomWord {
  std::string_view word;
  Symptom symptom;
};
constexpr std::array<SymptomWord, 6> kWords = {{{"nan", Symptom::nan},
                                                {"inf", Symptom::infinite},
                                                {"not_written", Symptom::not_written},
                                                {"crashed", Symptom::crashed},
                                                {"timeout", Symptom::timeout},
                                                {"rejected", Symptom::rejected}}};
constexpr std::array kHazardKinds = {metal::HazardKind::barrier_divergence, metal::HazardKind::dispatch_hazard,
                                     metal::HazardKind::invalid_access,     metal::HazardKind::out_of_bounds,
                                     metal::HazardKind::uninitialised_read, metal::HazardKind::misaligned_access,
                                     metal::HazardKind::threadgroup_race,   metal::HazardKind::unfenced_barrier,
                                     metal::HazardKind::device_race,        metal::HazardKind::lost_index_bits};

std::string word_of(metal::HazardKind kind) {
  std::string word(metal::to_string(kind));
  std::ranges::replace(word, ' ', '_');
  return word;
}

[[noreturn]] void refuse(std::string_view text) {
  std::vector<std::string> kinds;
  for (const metal::HazardKind kind : kHazardKinds) kinds.push_back(word_of(kind));
  throw FindingSyntaxError(
      fmt::format("'{}' is not a signature; accepted: nan, inf, not_written, error/bound > X, failed, hazard:KIND, hazard:KIND@LINE, "
                  "hazard:KIND@FILE:LINE (kinds: {}), crashed, timeout, rejected, or several joined by ||",
                  text, fmt::join(kinds, ", ")));
}

Signature hazard_signature(std::string_view text) {
  Signature signature;
  signature.symptom = Symptom::hazard;
  std::string_view rest = text.substr(std::string_view("hazard:").size());
  const std::size_t at = rest.find('@');
  signature.hazard_kind = base::trimmed(rest.substr(0, at));
  if (std::ranges::none_of(kHazardKinds, [&](metal::HazardKind kind) { return word_of(kind) == signature.hazard_kind; })) refuse(text);
  if (at == std::string_view::npos) return signature;
  std::string_view place = base::trimmed(rest.substr(at + 1));
  if (const std::size_t colon = place.rfind(':'); colon != std::string_view::npos) {
    signature.file = place.substr(0, colon);
    place.remove_prefix(colon + 1);
    if (signature.file.empty()) refuse(text);
  }
  signature.line = base::number_of<std::uint32_t>(place).value_or(0);
  if (signature.line == 0) refuse(text);
  return signature;
}

Signature parse_one(std::string_view text) {
  Signature signature;
  if (text == "failed") {
    signature.any_failure = true;
    return signature;
  }
  if (const auto* word = std::ranges::find(kWords, text, &SymptomWord::word); word != kWords.end()) {
    signature.symptom = word->symptom;
    return signature;
  }
  if (text.starts_with("hazard:")) return hazard_signature(text);
  constexpr std::string_view ratio = "error/bound";
  if (text.starts_with(ratio)) {
    const std::string_view rest = base::trimmed(text.substr(ratio.size()));
    signature.symptom = Symptom::above_bound;
    // A ratio below 1 would include elements that are right.
    if (rest.starts_with(">")) signature.ratio = base::number_of<double>(base::trimmed(rest.substr(1))).value_or(0.0);
    if (std::isfinite(signature.ratio) && signature.ratio >= 1.0) return signature;
    throw FindingSyntaxError(fmt::format("'{}': write error/bound > X with a number X >= 1", text));
  }
  refuse(text);
}

bool is_wrong_output(Symptom symptom) {
  return symptom == Symptom::nan || symptom == Symptom::infinite || symptom == Symptom::not_written || symptom == Symptom::above_bound ||
         symptom == Symptom::other;
}

}  // namespace

std::vector<Signature> parse_signatures(std::string_view text) {
  std::vector<Signature> signatures;
  for (std::string_view rest = text;;) {
    const std::size_t bar = rest.find("||");
    signatures.push_back(parse_one(base::trimmed(rest.substr(0, bar))));
    if (bar == std::string_view::npos) return signatures;
    rest.remove_prefix(bar + 2);
  }
}

std::vector<Symptom> symptoms_of(const Verdict& verdict) {
  switch (verdict.status) {
    case Status::crashed:
      return {Symptom::crashed};
    case Status::timeout:
      return {Symptom::timeout};
    case Status::rejected:
      return {Symptom::rejected};
    case Status::mistrusted:
      return {Symptom::other};
    case Status::hazard:
      // A misaligned access is executed as written, so the output counts. With any other hazard the output means nothing: it was cut
      // short, or contains poison.
      if (!std::ranges::all_of(verdict.hazards,
                               [](const metal::Hazard& hazard) { return hazard.kind == metal::HazardKind::misaligned_access; }))
        return {};
      break;
    default:
      break;
  }
  const Judgement& judgement = verdict.judgement;
  std::vector<Symptom> symptoms;
  const auto add = [&](bool shown, Symptom symptom) {
    if (shown) symptoms.push_back(symptom);
  };
  add(judgement.nans != 0, Symptom::nan);
  add(judgement.infs != 0, Symptom::infinite);
  add(judgement.not_written != 0, Symptom::not_written);
  add(judgement.above_bound != 0, Symptom::above_bound);
  // Failures without a signature: guard words changed, an input was written, bits depend on the schedule.
  const bool unnamed = verdict.status == Status::failed && symptoms.empty();
  add(judgement.guard_violations != 0 || unnamed, Symptom::other);
  return symptoms;
}

bool Signature::needs_checked() const {
  constexpr std::array seen_by_all = {metal::HazardKind::barrier_divergence, metal::HazardKind::dispatch_hazard,
                                      metal::HazardKind::invalid_access, metal::HazardKind::misaligned_access};
  return symptom == Symptom::hazard && !any_failure &&
         std::ranges::none_of(seen_by_all, [&](metal::HazardKind kind) { return word_of(kind) == hazard_kind; });
}

bool Signature::accounts_for(const metal::Hazard& hazard) const {
  if (symptom != Symptom::hazard || any_failure) return false;
  // The policy `checked` reports an out-of-bounds access before it can become an invalid one.
  const auto kind = hazard.kind == metal::HazardKind::out_of_bounds && hazard_kind == word_of(metal::HazardKind::invalid_access)
                        ? metal::HazardKind::invalid_access
                        : hazard.kind;
  // The file may be given with or without its folders.
  return word_of(kind) == hazard_kind && (line == 0 || hazard.first.line == line) &&
         (file.empty() || hazard.first.file == file || hazard.first.file.ends_with('/' + file));
}

bool Signature::accounts_for(Symptom other) const { return any_failure ? is_wrong_output(other) : symptom == other; }

bool Signature::is_shown_by(const Verdict& verdict) const {
  if (symptom == Symptom::hazard && !any_failure) {
    return std::ranges::any_of(verdict.hazards, [&](const metal::Hazard& hazard) { return accounts_for(hazard); });
  }
  // A mistrusted comparison proves nothing, so it never shows a declared failure.
  if (verdict.status == Status::mistrusted) return false;
  if (any_failure) return verdict.status == Status::failed;
  const std::vector<Symptom> symptoms = symptoms_of(verdict);
  if (std::ranges::find(symptoms, symptom) == symptoms.end()) return false;
  return symptom != Symptom::above_bound || verdict.judgement.max_ratio > ratio;
}

}  // namespace assay::harness
