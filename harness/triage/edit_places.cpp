// Looks at the tokens around edits.
#include "harness/triage/edit_places.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"

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

// Tokens between which an operand needs no parentheses, whatever it is but a comma or an assignment.
constexpr std::array<std::string_view, 20> kBefore = {
    "(", "[", "{", ",", ";", "=", "==", "!=", "<=", ">=", "&&", "||", "?", ":", "+=", "-=", "*=", "/=", "return", "<"};
constexpr std::array<std::string_view, 14> kBehind = {")", "]", "}", ",", ";", "==", "!=", "<=", ">=", "&&", "||", "?", ":", "<"};
constexpr std::array<std::string_view, 2> kSignOperators = {"+", "-"};

// "(1 - 1)" with its result in place of it; empty for anything else, and for a result below 0.
std::string folded(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')')) return {};
  const std::vector<std::string_view> words = base::split(text.substr(1, text.size() - 2), ' ');
  if (words.size() != 3 || words[1].size() != 1) return {};
  const std::size_t digits = std::min(words[0].find_first_not_of("0123456789"), words[0].size());
  const std::string_view suffix = words[0].substr(digits);
  const auto left = base::number_of<std::uint32_t>(words[0].substr(0, digits)), right = base::number_of<std::uint32_t>(words[2]);
  // A leading 0 makes another number of the digits.
  if (!left || !right || suffix.find_first_not_of("uUlL") != std::string_view::npos || (digits > 1 && words[0].front() == '0')) return {};
  const std::uint64_t one = *left, other = *right;
  if (words[1] == "-" && one >= other) return std::to_string(one - other) + std::string(suffix);
  if (words[1] == "*") return std::to_string(one * other) + std::string(suffix);
  if (words[1] == "/" && other != 0) return std::to_string(one / other) + std::string(suffix);
  return {};
}

// The tokens that an edit replaces in a piece: [first, last); nothing if they do not begin there.
std::optional<std::pair<std::size_t, std::size_t>> tokens_of(const std::vector<SourceToken>& tokens, std::size_t offset,
                                                             std::size_t length) {
  const auto at = std::ranges::lower_bound(tokens, offset, {}, &SourceToken::offset);
  if (at == tokens.end() || at->offset != offset) return std::nullopt;
  const auto first = static_cast<std::size_t>(at - tokens.begin());
  std::size_t last = first;
  while (last < tokens.size() && tokens[last].offset < offset + length) ++last;
  return std::pair(first, last);
}

// Whether the parentheses are around all of the text.
bool is_parenthesised(std::string_view text) {
  // What binds less than a sum may need them.
  if (!text.starts_with('(') || !text.ends_with(')') || text.find_first_of("?=<>&|^,:;") != std::string_view::npos) return false;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return false;
  }
  return true;
}

// Makes the edit of `+ 0` or `- 0` behind an operand one that leaves out both.
void leave_out_zero(const std::vector<SourceToken>& tokens, std::size_t first, std::size_t last, Edit& edit) {
  if (first < 2 || last >= tokens.size() || !among(kSignOperators, tokens[first - 1].text)) return;
  const SourceToken& before = tokens[first - 2];
  const bool is_operand = before.is_identifier() ? before.text != "return"
                                                 : before.kind == metal::translate::TokenKind::number || before.is(")") || before.is("]");
  if (!is_operand || !(among(kBehind, tokens[last].text) || among(kSignOperators, tokens[last].text))) return;
  std::size_t begin = before.offset + before.text.size(), end = edit.offset + edit.length;
  edit.replacement.clear();
  // Of `(size - 0)` the parentheses are left, which do nothing around a name.
  std::size_t operand = first - 2;
  while (operand >= 2 && (tokens[operand - 1].is(".") || tokens[operand - 1].is("->"))) operand -= 2;
  if (tokens[last].is(")") && operand >= 2 && tokens[operand - 1].is("(") && before.is_identifier() &&
      (among(kBefore, tokens[operand - 2].text) || among(kSignOperators, tokens[operand - 2].text))) {
    edit.replacement = std::string(tokens[operand].text);
    for (std::size_t i = operand + 1; i <= first - 2; ++i) edit.replacement += tokens[i].text;
    begin = tokens[operand - 1].offset;
    end = tokens[last].offset + 1;
  }
  edit.offset = begin;
  edit.length = end - begin;
}

}  // namespace

Edit simplified(const Source& source, Edit edit) {
  if (std::string value = folded(edit.replacement); !value.empty()) edit.replacement = std::move(value);
  for (const SourcePiece& piece : source.pieces()) {
    const auto range = tokens_of(piece.tokens, edit.offset, edit.length);
    if (!range) continue;
    const auto [first, last] = *range;
    // At several places, the tokens farther away may differ.
    if (edit.replacement.starts_with('0') && edit.replacement.find_first_not_of("uUlL", 1) == std::string::npos && edit.also.empty()) {
      leave_out_zero(piece.tokens, first, last, edit);
    } else if (is_parenthesised(edit.replacement) && first > 0 && last < piece.tokens.size() && !piece.tokens[first - 1].is_angle &&
               among(kBefore, piece.tokens[first - 1].text) && among(kBehind, piece.tokens[last].text)) {
      edit.replacement = edit.replacement.substr(1, edit.replacement.size() - 2);
    }
    break;
  }
  return edit;
}

void leave_out_instantiations(const Source& source, std::vector<Edit>& edits) {
  const std::vector<Bytes> left_out = instantiations_of(source);
  std::erase_if(edits, [&](const Edit& edit) {
    return std::ranges::any_of(left_out, [&](const Bytes& bytes) { return edit.offset >= bytes.begin && edit.offset < bytes.end; });
  });
}

std::optional<Edit> repeated(const Source& source, const Edit& edit) {
  // Who takes one function for another does so in all places, whatever stands beside them.
  const bool is_anywhere = edit.op == "other_function";
  const std::size_t most = is_anywhere ? 8 : 4;
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
      const bool is_same = i == first || ((is_anywhere ? tokens[i].is(text) : is_alike(tokens, first, i, count)) &&
                                          source.text().compare(tokens[i].offset, edit.length, text) == 0);
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
