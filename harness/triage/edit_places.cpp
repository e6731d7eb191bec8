// Looks at the tokens around edits.
#include "harness/triage/edit_places.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace assay::harness {
namespace {

struct Bytes {
  std::size_t begin = 0, end = 0;
};

// The end of the declaration that begins at token i of the file: behind its semicolon, or behind the body of a function.
std::size_t end_of_declaration(const std::vector<SourceToken>& tokens, std::size_t i) {
  for (; i < tokens.size(); ++i) {
    if (tokens[i].is(";")) return i + 1;
    const bool is_body =
        tokens[i].is("{") && (i + 1 >= tokens.size() || tokens[i].match + 1 >= tokens.size() || !tokens[tokens[i].match + 1].is(";"));
    if (tokens[i].match > i) i = tokens[i].match;
    if (is_body) return i + 1;
  }
  return i;
}

std::vector<Bytes> instantiations_of(const Source& source) {
  std::vector<Bytes> found;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 0; i + 1 < tokens.size();) {
      const bool is_call = tokens[i].is_identifier() && tokens[i + 1].is("(") && tokens[i + 1].match > i + 1;
      const bool is_template = tokens[i].is("template") && !tokens[i + 1].is("<");
      // A macro that is called needs no semicolon.
      const std::size_t end = is_call ? tokens[i + 1].match + 1 : end_of_declaration(tokens, i);
      if (is_call || is_template) found.push_back({tokens[i].offset, tokens[end - 1].offset + tokens[end - 1].text.size()});
      i = std::max(end, i + 1);
    }
  }
  return found;
}

// Whether the tokens around place `one`, `before` in front of it and one behind its `count` tokens, are also at place `other`.
bool is_alike(const std::vector<SourceToken>& tokens, std::size_t one, std::size_t other, std::size_t count) {
  constexpr std::size_t before = 2;
  if (one < before || other < before || one + count >= tokens.size() || other + count >= tokens.size()) return false;
  for (std::size_t i = 0; i < before + count + 1; ++i) {
    if (tokens[one - before + i].text != tokens[other - before + i].text) return false;
  }
  return true;
}

}  // namespace

void leave_out_instantiations(const Source& source, std::vector<Edit>& edits) {
  const std::vector<Bytes> left_out = instantiations_of(source);
  std::erase_if(edits, [&](const Edit& edit) {
    return std::ranges::any_of(left_out, [&](const Bytes& bytes) { return edit.offset >= bytes.begin && edit.offset < bytes.end; });
  });
}

std::optional<Edit> repeated(const Source& source, const Edit& edit) {
  constexpr std::size_t most = 4;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    const auto at = std::ranges::lower_bound(tokens, edit.offset, {}, &SourceToken::offset);
    if (piece.is_macro || at == tokens.end() || at->offset != edit.offset) continue;
    const auto first = static_cast<std::size_t>(at - tokens.begin());
    std::size_t count = 0;
    while (first + count < tokens.size() && tokens[first + count].offset < edit.offset + edit.length) ++count;
    Edit everywhere = edit;
    everywhere.also.clear();
    std::vector<std::size_t> offsets;
    const std::string_view text = std::string_view(source.text()).substr(edit.offset, edit.length);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool is_same =
          i == first || (is_alike(tokens, first, i, count) && source.text().compare(tokens[i].offset, edit.length, text) == 0);
      if (is_same && (offsets.empty() || tokens[i].offset >= offsets.back() + edit.length)) offsets.push_back(tokens[i].offset);
    }
    if (offsets.size() < 2 || offsets.size() > most) return std::nullopt;
    everywhere.offset = offsets.front();
    everywhere.also.assign(offsets.begin() + 1, offsets.end());
    return everywhere;
  }
  return std::nullopt;
}

}  // namespace assay::harness
