// Handles brackets that are never closed: rejects their declaration and keeps the declarations after it.
#include <fmt/format.h>

#include <algorithm>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

constexpr std::size_t kMostUnclosed = 16;  // per file; a file with more is rejected as a whole

}  // namespace

// Whether a declaration of a namespace begins at `first`. Accepts only forms that no function can contain, and mostly no type either.
bool Translator::begins_outside(std::size_t first, bool in_type) const {
  if (tokens_[first].is("kernel")) return tokens_[first + 1].kind == TokenKind::identifier || tokens_.attributes_at(first + 1);
  if (tokens_[first].is("namespace")) return tokens_[first + 1].kind == TokenKind::identifier && tokens_[first + 2].is("{");
  if (tokens_.attributes_at(first) && tokens_[first + 2].is("kernel")) return true;
  if (tokens_[first].is("template")) {
    // An instantiation, or a template of a kernel function.
    if (!tokens_[first + 1].is("<")) return true;
    const std::size_t behind = tokens_.closing_angle(first + 1).value_or(first) + 1;
    if (tokens_[behind].is("kernel") || (tokens_.attributes_at(behind) && tokens_[behind + 2].is("kernel"))) return true;
  }
  return !in_type && (tokens_[first].is("inline") || (tokens_[first].is("template") && tokens_[first + 1].is("<")));
}

bool Translator::begins_namespace(std::size_t first, std::size_t brace) const {
  const bool is_linkage = brace >= first + 2 && tokens_[brace - 1].kind == TokenKind::string && tokens_[brace - 2].is("extern");
  for (std::size_t index = first; index < brace && !tokens_[index].is("("); ++index) {
    if (tokens_[index].is("namespace")) return true;
  }
  return is_linkage;
}

// Inserts the missing brackets at the end of the file, or before the next declaration that proves one missing, and
// records the declarations.
void Translator::close_unclosed() {
  std::vector<std::size_t> open;
  std::size_t namespaces = 0;  // how many of the open brackets, from the outermost inwards, are braces of namespaces
  std::size_t start = 0;       // of the declaration
  for (std::size_t index = 0; unclosed_.size() < kMostUnclosed; ++index) {
    const bool is_inside = open.size() > namespaces;
    const bool is_at_end = index >= tokens_.size();
    if (is_inside) {
      const bool follows = index > 0 && (tokens_[index - 1].is(";") || tokens_[index - 1].is("{") || tokens_[index - 1].is("}"));
      if (is_at_end || (follows && begins_outside(index, is_type(start, open[namespaces])))) {
        unclosed_.emplace(start, open[namespaces]);
        index = insert_closing(index, {open.begin() + static_cast<std::ptrdiff_t>(namespaces), open.end()});
        open.resize(namespaces);
        start = index;
        if (is_at_end) return;
      }
    }
    if (index >= tokens_.size()) return;
    const Token& token = tokens_[index];
    if (opens(token)) {
      if (open.size() == namespaces && token.is("{") && begins_namespace(start, index)) {
        ++namespaces;
        start = index + 1;
      }
      open.push_back(index);
    } else if (closes(token)) {
      if (open.empty()) return;  // reported where the bracket is
      open.pop_back();
      namespaces = std::min(namespaces, open.size());
      if (open.size() == namespaces && token.is("}")) start = index + 1;
    } else if (token.is(";") && open.size() == namespaces) {
      start = index + 1;
    }
  }
}

bool Translator::is_type(std::size_t first, std::size_t brace) const {
  for (std::size_t index = first; index < brace && !tokens_[index].is("("); ++index) {
    if (tokens_[index].is("template") && tokens_[index + 1].is("<")) {
      index = tokens_.closing_angle(index + 1).value_or(index);
    } else if (tokens_[index].is("struct") || tokens_[index].is("class") || tokens_[index].is("union") || tokens_[index].is("enum")) {
      return true;
    }
  }
  return false;
}

// Inserts closing brackets before the token at `index`, and returns the new index of that token. A brace is followed by
// an empty declaration.
std::size_t Translator::insert_closing(std::size_t index, const std::vector<std::size_t>& open) {
  auto& tokens = result_.stream_.tokens;
  std::vector<Token> closing;
  const auto add = [&](std::string_view text) {
    Token token;
    token.kind = TokenKind::punctuation;
    token.text = text;
    token.file = tokens[index - 1].file;
    token.line = tokens[index - 1].line;
    closing.push_back(std::move(token));
  };
  for (auto bracket = open.rbegin(); bracket != open.rend(); ++bracket)
    add(tokens[*bracket].is("(") ? ")" : tokens[*bracket].is("[") ? "]" : "}");
  add(";");
  tokens.insert(tokens.begin() + static_cast<std::ptrdiff_t>(index), closing.begin(), closing.end());
  return index + closing.size();
}

// Throws CompileError if the declaration at `first` has a bracket that is never closed.
void Translator::require_closed(std::size_t first) const {
  const auto found = unclosed_.find(first);
  if (found == unclosed_.end()) return;
  const std::size_t bracket = found->second;
  std::string owner;
  std::size_t last = bracket;
  for (std::size_t index = first; index < bracket; ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (tokens_[index].is("template") && tokens_[index + 1].is("<")) {
      index = tokens_.closing_angle(index + 1).value_or(index);
    } else if (tokens_[index].is("(") || tokens_[index].is("=") || tokens_[index].is(":")) {
      last = index;
      break;
    }
  }
  for (std::size_t index = first; index < last; ++index) {
    if (tokens_[index].is("[")) break;
    if (tokens_[index].kind == TokenKind::identifier) owner = tokens_[index].text;
  }
  tokens_.fail(bracket, fmt::format("'{}'{} is never closed", tokens_[bracket].text, owner.empty() ? "" : fmt::format(" of '{}'", owner)));
}

}  // namespace assay::metal::translate
