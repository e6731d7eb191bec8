// Counts where names of arguments occur.
#include "harness/triage/unused_names.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "families/mistake_words.h"
#include "harness/triage/edit_maker.h"

namespace assay::harness {
namespace {

// Whether token i is the name of a parameter in a buffer: in front of `[[buffer(`.
bool is_argument(const std::vector<SourceToken>& tokens, std::size_t i) {
  return i + 3 < tokens.size() && tokens[i].is_identifier() && tokens[i + 1].is("[") && tokens[i + 2].is("[") && tokens[i + 3].is("buffer");
}

struct Names {
  std::map<std::string_view, std::size_t> declared, found;
};

Names names_of(const Source& source) {
  Names names;
  for (const SourcePiece& piece : source.pieces()) {
    const StructMembers members = members_of(piece);
    for (const auto& [name, type] : members.all) ++names.declared[name];
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
      if (!piece.tokens[i].is_identifier()) continue;
      ++names.found[piece.tokens[i].text];
      if (is_argument(piece.tokens, i)) ++names.declared[piece.tokens[i].text];
    }
  }
  return names;
}

double alike(std::string_view one, std::string_view other, std::span<const GivenName> given) {
  const double by_name = likeness(one, other);
  const std::vector<std::string> of_one = given_to(given, one), of_other = given_to(given, other);
  if (of_one.empty() || of_other.empty()) return by_name;
  const bool shares =
      std::ranges::any_of(of_one, [&](const std::string& name) { return std::ranges::find(of_other, name) != of_other.end(); });
  // `mask_heads` and `key_heads`: what they are of counts more than how they are called.
  constexpr double of_name = 0.4;
  return of_name * by_name + (shares ? 1 - of_name : 0);
}

}  // namespace

std::vector<std::string_view> unused_names(const Source& source) {
  constexpr std::size_t many = 4;
  const Names names = names_of(source);
  std::vector<std::string_view> unused;
  for (const auto& [name, count] : names.declared) {
    if (names.found.at(name) <= count) unused.push_back(name);
  }
  if (unused.size() > many) unused.clear();
  return unused;
}

std::vector<std::string> names_of_class(const kernels::Variant& variant, const Source& source, std::string_view kind) {
  std::vector<std::string> found;
  const families::MistakeSubject* subject = families::subject_of(kind);
  if (subject == nullptr) return found;
  for (const GivenName& one : given_names(variant, source)) {
    const std::vector<std::string> names = one.given->names();
    const auto is_given = [&](const families::SubjectName& name) {
      return !name.only_named && std::ranges::find(names, name.name) != names.end();
    };
    const bool is_known = std::ranges::find(found, one.name) != found.end();
    if (!is_known && std::ranges::any_of(subject->names, is_given)) found.push_back(one.name);
  }
  return found;
}

std::map<std::uint32_t, LikeUnused> lines_like_unused(const Source& source, std::span<const GivenName> given) {
  constexpr double least = 0.5;
  std::map<std::uint32_t, LikeUnused> lines;
  const std::vector<std::string_view> unused = unused_names(source);
  if (unused.empty()) return lines;
  const Names names = names_of(source);
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
      const SourceToken& token = piece.tokens[i];
      // Only arguments are compared with arguments.
      if (!token.is_identifier() || !names.declared.contains(token.text) || is_argument(piece.tokens, i)) continue;
      for (const std::string_view name : unused) {
        const double like = name == token.text ? 0 : alike(name, token.text, given);
        if (like < least) continue;
        LikeUnused& known = lines[source.place(token.offset).line];
        if (like > known.likeness) known = {like, name, token.text};
      }
    }
  }
  return lines;
}

}  // namespace assay::harness
