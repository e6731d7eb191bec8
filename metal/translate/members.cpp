// Rewrites member functions and their address spaces, of which OpenCL has fewer.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// Rewrites the qualifiers after a member function's parameters, where OpenCL accepts only its own keywords. Both `constant` and
// `device` become `__global`; an attribute marks `device` (metal/pass/device_members.cpp).
void Translator::rewrite_member_qualifiers(std::size_t close_parenthesis) {
  std::size_t end = close_parenthesis + 1;
  bool any = false;
  while (tokens_[end].is("const") || tokens_[end].is("volatile") || tokens_[end].is("noexcept") || is_space_word(tokens_[end]))
    any = is_space_word(tokens_[end++]) || any;
  const Token& next = tokens_[end];
  const bool ends_declarator = next.is("{") || next.is(";") || next.is(":") || next.is("=");
  if (ends_declarator && names_constructor(close_parenthesis)) return keep_one_constructor(close_parenthesis, end);
  if (!any) return note_unqualified_member(close_parenthesis, end);
  if (!(ends_declarator || next.is("->") || next.is("override"))) return;

  bool is_const = false;
  bool is_constant = false;
  bool is_device = false;
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    Token& token = tokens_[index];
    if (token.is("const")) is_const = true;
    if (!is_space_word(token)) continue;
    is_constant = is_constant || token.is("constant");
    is_device = is_device || token.is("device");
    token.replacement = token.is("thread") ? "__private" : token.is("threadgroup") ? "__local" : "__global";
  }
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    if (tokens_[index].is("thread")) (is_const ? result_.const_thread_words_ : result_.thread_members_).push_back(index);
  }
  if (is_device) tokens_[behind_templates()].before += "__attribute__((assay_device_member)) ";
  if (!is_constant) return;
  if (!is_const) tokens_[close_parenthesis].after += " const";
  // After the rewrite, `f() constant` and `f() const constant` are the same.
  if (!frames_.empty() && frames_.back().scope == Scope::type)
    keep_one(signature_of(close_parenthesis) + " constant", end, is_const ? 1 : 0, false);
}

// The first token of the statement after its `template <...>` lists and attributes.
std::size_t Translator::behind_templates() const {
  std::size_t first = statement_;
  while (true) {
    if (attribute_end_.contains(first)) {
      first = attribute_end_.at(first) + 1;
    } else if (tokens_[first].is("template") && tokens_[first + 1].is("<")) {
      const auto close = tokens_.closing_angle(first + 1);
      if (!close) return first;
      first = *close + 1;
    } else {
      return first;
    }
  }
}

// In clang, a constructor serves every address space and may not name one. Only objects in thread and constant memory
// are ever constructed.
void Translator::keep_one_constructor(std::size_t close_parenthesis, std::size_t end) {
  int rank = 2;
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    if (is_space_word(tokens_[index])) rank = tokens_[index].is("thread") ? 3 : tokens_[index].is("constant") ? 1 : 0;
    if (is_space_word(tokens_[index]) || tokens_[index].is("const")) tokens_[index].replacement = "";
  }
  keep_one(signature_of(close_parenthesis), end, rank, true);
}

// A member's template parameters, name and parameters, which distinguish overloads.
std::string Translator::signature_of(std::size_t close_parenthesis) const {
  std::size_t name = tokens_.opening(close_parenthesis).value_or(close_parenthesis);
  const std::size_t head = behind_templates();
  std::size_t first = name > head ? name - 1 : name;
  for (std::size_t index = head; index < name; ++index) {
    if (tokens_[index].is("operator")) first = index;
  }
  const std::string templates = tokens_.text(statement_, head);
  return templates + (templates.empty() ? "" : " ") + tokens_.text(first, close_parenthesis + 1);
}

// Of members of a type that have become equal, keeps the one of the highest rank. They must have the same body, unless
// `only_one_counts` because only one of them is ever called. Returns whether the member whose declarator ends before `end` stays.
bool Translator::keep_one(const std::string& signature, std::size_t end, int rank, bool only_one_counts) {
  const std::size_t last = member_end(end);
  std::string text;
  for (std::size_t index = statement_; index <= last; ++index) {
    if (is_space_word(tokens_[index]) || tokens_[index].is("const")) continue;
    text += tokens_[index].text;
    text += ' ';
    tokens_.spend(index, tokens_[index].text.size());
  }
  const auto [entry, is_first] = frames_.back().members.try_emplace(signature, Member{text, rank, statement_, last});
  if (is_first) return true;
  Member& earlier = entry->second;
  if (!only_one_counts && earlier.text != text) {
    tokens_.fail(statement_, fmt::format("two functions '{}' of '{}' do different things, and cannot be told apart here", signature,
                                         frames_.back().name));
  }
  if (earlier.rank >= rank) {
    drop_member(last);
    return false;
  }
  drop(earlier.first, earlier.last);
  earlier = {text, rank, statement_, last};
  return true;
}

// Whether the parameter list that ends at `close_parenthesis` is that of a constructor of the enclosing type.
bool Translator::names_constructor(std::size_t close_parenthesis) const {
  const auto open = tokens_.opening(close_parenthesis);
  return open && *open > 0 && !frames_.empty() && frames_.back().scope == Scope::type && tokens_[*open - 1].text == frames_.back().name;
}

// The last token of the member whose declarator ends before `end`.
std::size_t Translator::member_end(std::size_t end) const {
  bool in_initializers = false;
  std::size_t last = end;
  for (; !tokens_[last].is(";"); ++last) {
    if (tokens_[last].is(":")) in_initializers = true;
    if (tokens_[last].is("(")) last = tokens_.closing(last);
    if (!tokens_[last].is("{")) continue;
    const bool body = !in_initializers || tokens_[last - 1].kind != TokenKind::identifier;  // `member{value}`
    last = tokens_.closing(last);
    if (body) break;
  }
  return last;
}

// Removes the member that ends at `last`, because an earlier one has become the same.
void Translator::drop_member(std::size_t last) {
  // Blanks the tokens too, because the walk must not see braces that no longer exist.
  tokens_.remove(statement_, last);
  for (std::size_t index = statement_; index <= last; ++index) {
    tokens_[index].text = "";
    tokens_[index].kind = TokenKind::identifier;
  }
  tokens_[last].text = ";";
  tokens_[last].kind = TokenKind::punctuation;
}

// Records member functions without an address space. Constructors, static and friend functions have no `this` to qualify.
void Translator::note_unqualified_member(std::size_t close_parenthesis, std::size_t end) {
  const Token& next = tokens_[end];
  const bool is_defaulted = next.is("=") && tokens_[end + 1].is("default");
  if (inside_function() || !(next.is("{") || next.is(";") || next.is("->") || is_defaulted)) return;
  const auto open = tokens_.opening(close_parenthesis);
  if (!open || *open <= statement_) return;
  std::size_t name = *open - 1;
  std::string last_word;
  for (std::size_t index = statement_; index < *open; ++index) {
    const Token& token = tokens_[index];
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (token.is("template") && tokens_[index + 1].is("<")) {
      if (const auto close = tokens_.closing_angle(index + 1)) index = *close;
    } else if (token.is("__attribute__") || token.is("alignas") || token.is("decltype")) {
      if (index + 1 == *open) return;
      index = tokens_.closing(index + 1);
    } else if (token.is("operator")) {
      name = index;
      break;
    } else if (token.is("static") || token.is("friend") || token.is("typedef") || token.is("using") || token.is("static_assert") ||
               token.is("=") || token.is("~") || token.is("(") || token.is("{")) {
      return;
    }
  }
  if (tokens_[name].kind != TokenKind::identifier) return;
  const bool in_type = !frames_.empty() && frames_.back().scope == Scope::type;
  const bool qualified_name = name > 1 && tokens_[name - 1].is("::");
  if (!in_type && !qualified_name) return;
  const std::string_view owner = in_type ? std::string_view(frames_.back().name) : std::string_view();
  if (in_type && tokens_[name].text == owner) return;
  if (!in_type) {
    // `X::X(...)` and `X<T>::X(...)` are constructors.
    std::size_t type = name - 2;
    if (tokens_[type].is(">")) type = tokens_.opening_angle(type).value_or(type) - 1;
    if (tokens_[type].text == tokens_[name].text) return;
  }
  // The compiler requires the qualifier before `noexcept`.
  std::size_t qualified_up_to = close_parenthesis;
  while (tokens_[qualified_up_to + 1].is("const") || tokens_[qualified_up_to + 1].is("volatile")) ++qualified_up_to;
  const bool is_const = qualified_up_to != close_parenthesis;
  (is_const ? result_.unqualified_const_members_ : result_.unqualified_members_).push_back(qualified_up_to);
}

}  // namespace assay::metal::translate
