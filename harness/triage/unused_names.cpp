// Counts where names of arguments occur.
#include "harness/triage/unused_names.h"

#include <algorithm>
#include <cstddef>
#include <set>

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

std::map<std::uint32_t, LikeUnused> lines_like_unused(const Source& source) {
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
        const double like = name == token.text ? 0 : likeness(name, token.text);
        if (like < least) continue;
        LikeUnused& known = lines[source.place(token.offset).line];
        if (like > known.likeness) known = {like, name, token.text};
      }
    }
  }
  return lines;
}

}  // namespace assay::harness
