// Follows names from the description of a launch into the source.
#include "harness/triage/subject_lines.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "families/mistake_words.h"
#include "harness/triage/given_names.h"

namespace assay::harness {
namespace {

struct Weight {
  double value = 0;
  bool is_taken = false;  // families::SubjectName
};

struct Meaning {
  Weight weight;
  std::string text;
  std::optional<std::size_t> element = {};  // of a vector or an array; empty: all of it
};
using Meanings = std::multimap<std::string, Meaning, std::less<>>;  // by the kernel's name

// The names of a subject, with how much of it each is: those of which the sentence speaks come first.
using Weights = std::map<std::string_view, Weight>;
Weights weights_of(const families::MistakeSubject& subject, std::string_view says) {
  Weights weights;
  double weight = 1;
  for (const bool is_named : {true, false}) {
    for (const families::SubjectName& name : subject.names) {
      if ((says.find(name.word) != std::string_view::npos) != is_named || (name.only_named && !is_named)) continue;
      constexpr double next = 0.7;
      if (weights.emplace(name.name, Weight{weight, is_named && name.is_taken}).second) weight *= next;
    }
    constexpr double unnamed = 0.6;
    if (!weights.empty()) weight *= unnamed;
  }
  return weights;
}

Weight weight_of(const Weights& weights, const std::vector<std::string>& names) {
  Weight most;
  for (const std::string& name : names) {
    const auto found = weights.find(name);
    if (found != weights.end() && found->second.value > most.value) most = found->second;
  }
  return most;
}

void add(Meanings& meanings, std::string_view name, Weight weight, const std::string& text, std::optional<std::size_t> element = {}) {
  if (weight.value > 0) meanings.emplace(name, Meaning{weight, text == name ? std::string() : text, element});
}

// How many words of at least four letters the sentence of a mistake and an expression of the launch share: "head" and "mask" of
// `stride(mask, 'head')`.
std::size_t shared_words(std::string_view says, std::string_view expression) {
  constexpr std::size_t least = 4;
  std::set<std::string_view> shared;
  for (std::size_t i = 0; i < expression.size();) {
    std::size_t end = i;
    while (end < expression.size() && std::isalpha(static_cast<unsigned char>(expression[end])) != 0) ++end;
    const std::string_view word = expression.substr(i, end - i);
    if (word.size() >= least && says.find(word) != std::string_view::npos) shared.insert(word);
    i = end + 1;
  }
  return shared.size();
}

// `says`: the sentence of the mistake.
Meanings meanings_of(const kernels::Variant& variant, const Source& source, const Weights& weights, std::string_view says) {
  Meanings meanings;
  // Under a launch, a name of one letter is that of any variable.
  for (const auto& [name, weight] : weights) {
    if (!variant.launch || name.size() > 1) add(meanings, name, weight, std::string(name));
  }
  for (const auto& [name, own] : variant.bind) add(meanings, own, weight_of(weights, {name}), name);
  const std::vector<GivenName> given = given_names(variant, source);
  std::size_t most = 0;
  for (const GivenName& one : given) {
    if (weight_of(weights, one.given->names()).value > 0) most = std::max(most, shared_words(says, one.given->source()));
  }
  for (const GivenName& one : given) {
    constexpr double less = 0.8;
    Weight weight = weight_of(weights, one.given->names());
    if (shared_words(says, one.given->source()) < most) weight.value *= less;
    add(meanings, one.name, weight, one.given->source(), one.element);
  }
  for (const auto& [name, attribute] : names_with_attributes(source)) add(meanings, name, weight_of(weights, {attribute}), attribute);
  return meanings;
}

// Whether token i names a value: not where a struct or a function declares it.
bool is_use(const std::vector<SourceToken>& tokens, std::size_t i) {
  const bool is_declared = i > 0 && (tokens[i - 1].is_identifier() || tokens[i - 1].is("&") || tokens[i - 1].is("*")) &&
                           i + 1 < tokens.size() && (tokens[i + 1].is(";") || tokens[i + 1].is("[") || tokens[i + 1].is(","));
  return !is_declared || tokens[i - 1].is("return");
}

// Whether what token i names is used with this element, as far as the next tokens tell: `extent.y`, `extent[1]`.
bool is_element(const std::vector<SourceToken>& tokens, std::size_t i, std::size_t element) {
  constexpr std::string_view components = "xyzw";
  if (i + 2 >= tokens.size()) return true;
  if (tokens[i + 1].is(".") && tokens[i + 2].text.size() == 1 && components.find(tokens[i + 2].text) != std::string_view::npos)
    return components.find(tokens[i + 2].text) == element;
  const bool is_number = tokens[i + 1].is("[") && tokens[i + 2].kind == metal::translate::TokenKind::number;
  return !is_number || tokens[i + 2].text == std::to_string(element);
}

// The most telling meaning of token i; nullptr if it has none.
const Meaning* meaning_at(const Meanings& meanings, const std::vector<SourceToken>& tokens, std::size_t i) {
  const Meaning* most = nullptr;
  const auto [first, last] = meanings.equal_range(tokens[i].text);
  for (auto found = first; found != last; ++found) {
    const Meaning& meaning = found->second;
    if (meaning.element && !is_element(tokens, i, *meaning.element)) continue;
    if (most == nullptr || meaning.weight.value > most->weight.value) most = &meaning;
  }
  return most == nullptr || !is_use(tokens, i) ? nullptr : most;
}

// Whether something is computed in the statement of token i, or decided, rather than a value taken as it is.
bool computes_on(const std::vector<SourceToken>& tokens, std::size_t i) {
  constexpr std::string_view takes[] = {"=", ".", "->", ",", "::", "&"};  // and names
  constexpr std::string_view ends[] = {";", "{", "}"};
  const auto is_end = [&](const SourceToken& token) {
    return std::ranges::any_of(ends, [&](std::string_view end) { return token.is(end); });
  };
  std::size_t first = i, last = i;
  while (first > 0 && !is_end(tokens[first - 1])) --first;
  while (last < tokens.size() && !is_end(tokens[last])) ++last;
  return !std::all_of(tokens.begin() + static_cast<std::ptrdiff_t>(first), tokens.begin() + static_cast<std::ptrdiff_t>(last),
                      [&](const SourceToken& token) {
                        return token.is_identifier() || std::ranges::any_of(takes, [&](std::string_view take) { return token.is(take); });
                      });
}

}  // namespace

std::map<std::uint32_t, SubjectLine> subject_lines(const kernels::Variant& variant, const Source& source, const Slices& slices,
                                                   const Classification& mistake) {
  std::map<std::uint32_t, SubjectLine> lines;
  const families::MistakeSubject* subject = families::subject_of(mistake.kind);
  if (subject == nullptr) return lines;
  const Meanings meanings = meanings_of(variant, source, weights_of(*subject, mistake.says), mistake.says);
  const auto put = [&](std::uint32_t line, SubjectLine found) {
    SubjectLine& known = lines[line];
    if (found.weight > known.weight) known = std::move(found);
  };
  std::vector<std::uint32_t> direct;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
      const SourceToken& token = piece.tokens[i];
      const std::uint32_t line = source.place(token.offset).line;
      if (slices.is_global(line)) continue;
      if (std::ranges::find(subject->marks, token.text) != subject->marks.end()) put(line, {1.0, std::string(token.text), {}});
      if (!token.is_identifier()) continue;
      if (const Meaning* meaning = meaning_at(meanings, piece.tokens, i); meaning != nullptr) {
        constexpr double computes = 0.7;
        const bool is_second = meaning->weight.is_taken && computes_on(piece.tokens, i);
        put(line, {(is_second ? computes : 1.0) * meaning->weight.value, std::string(token.text), meaning->text});
        direct.push_back(line);
      } else if (std::ranges::find(subject->calls, token.text) != subject->calls.end()) {
        constexpr double by_function = 0.6;
        put(line, {by_function, std::string(token.text), {}});
      }
    }
  }
  // What is computed from it: `share` of `const uint share = shape.heads / shape.kv_heads;`.
  for (const std::uint32_t line : direct) {
    constexpr double computed = 0.5;
    const SubjectLine& from = lines.at(line);
    for (const auto& [next, distance] : slices.ahead(std::span(&line, 1), {.data = 1, .control = 3})) {
      if (distance > 0 && distance <= 1 && !slices.is_global(next)) put(next, {computed * from.weight, from.name, from.meaning});
    }
  }
  constexpr double head = 1.5;
  for (auto& [number, line] : lines) {
    if (subject->limits_loops && slices.is_loop(number)) line.weight = std::min(1.0, line.weight * head);
  }
  return lines;
}

std::uint32_t most_suspect(const std::map<std::uint32_t, SubjectLine>& lines, const LineSuspicion& suspicion, bool chooses_row) {
  // Landmarks decide among lines that name the same; where a wrong row is chosen, they see the lines that read it.
  const double unknown = chooses_row ? 4 : 2;
  std::uint32_t best = 0;
  double most = 0;
  for (const auto& [number, line] : lines) {
    const double value = line.weight * (unknown + suspicion.of(number));
    if (value <= most) continue;
    best = number;
    most = value;
  }
  return best;
}

void suspect_subject(const std::map<std::uint32_t, SubjectLine>& lines, std::uint32_t line_count, bool is_sure, LineSuspicion& suspicion) {
  constexpr double little = 0.15;
  if (suspicion.by_line.empty()) {
    for (std::uint32_t line = 1; line <= line_count; ++line) suspicion.by_line[line] = little;
  }
  constexpr double sure = 1, unsure = 0.5;
  for (const auto& [number, line] : lines) {
    double& known = suspicion.by_line[number];
    known = std::max(known, (is_sure ? sure : unsure) * line.weight);
  }
}

bool writes_element(const Source& source, std::uint32_t line) {
  for (const SourcePiece& piece : source.pieces()) {
    for (std::size_t i = 1; i < piece.tokens.size(); ++i) {
      if (piece.tokens[i].is("=") && piece.tokens[i - 1].is("]") && source.place(piece.tokens[i].offset).line == line) return true;
    }
  }
  return false;
}

}  // namespace assay::harness
