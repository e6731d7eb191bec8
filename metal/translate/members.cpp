// Member functions and the address spaces that they name, of which OpenCL has fewer.
#include <fmt/format.h>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// The qualifiers behind a member function's parameters: OpenCL knows only its own keywords there, and `device` and
// `constant` become one, so the second of two overloads that differ in nothing else goes.
void Translator::rewrite_member_qualifiers(std::size_t close_parenthesis) {
  std::size_t end = close_parenthesis + 1;
  bool any = false;
  while (tokens_[end].is("const") || tokens_[end].is("volatile") || tokens_[end].is("noexcept") || is_space_word(tokens_[end]))
    any = is_space_word(tokens_[end++]) || any;
  const Token& next = tokens_[end];
  const bool ends_declarator = next.is("{") || next.is(";") || next.is(":") || next.is("=");
  if (!any && ends_declarator && names_constructor(close_parenthesis))
    (void)first_of_its_signature(tokens_.text(statement_, close_parenthesis + 1), end);
  if (!any) return note_unqualified_member(close_parenthesis, end);
  if (!(next.is("{") || next.is(";") || next.is(":") || next.is("=") || next.is("->") || next.is("override"))) return;

  if (names_constructor(close_parenthesis)) {
    // Constructors serve every address space in clang, and may not name one.
    for (std::size_t index = close_parenthesis + 1; index < end; ++index) tokens_[index].replacement = "";
    if (!first_of_its_signature(tokens_.text(statement_, close_parenthesis + 1), end)) drop_member(member_end(end));
    return;
  }
  bool is_const = false;
  bool is_constant = false;
  std::string space;
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    Token& token = tokens_[index];
    if (token.is("const")) is_const = true;
    if (!is_space_word(token)) continue;
    is_constant = is_constant || token.is("constant");
    space = token.is("thread") ? "__private" : token.is("threadgroup") ? "__local" : "__global";
    token.replacement = space;
  }
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    if (is_const && tokens_[index].is("thread")) result_.const_thread_words_.push_back(index);
  }
  if (is_constant && !is_const) tokens_[close_parenthesis].after += " const";
  if (frames_.empty() || frames_.back().scope != Scope::type || space != "__global") return;
  const std::string signature = tokens_.text(statement_, close_parenthesis + 1) + (is_const || is_constant ? " const" : "");
  if (!first_of_its_signature(signature, end)) return drop_member(member_end(end));
  if (is_constant || !next.is("{")) return;
  place_returned_in_device(close_parenthesis, end);
  place_locals_in_device(end);
}

// Whether no earlier member of the type has become the same. One that has, must do the same: only one of the two is kept.
bool Translator::first_of_its_signature(const std::string& signature, std::size_t end) {
  std::string text;
  for (std::size_t index = statement_; index <= member_end(end); ++index) {
    if (is_space_word(tokens_[index]) || tokens_[index].is("const")) continue;
    text += tokens_[index].text;
    text += ' ';
    tokens_.spend(index, tokens_[index].text.size());
  }
  const auto [earlier, is_first] = frames_.back().members.emplace(signature, text);
  if (!is_first && earlier->second != text) {
    tokens_.fail(statement_, fmt::format("'{}' of '{}' does something else in another address space, and the two cannot be told apart here",
                                         signature, frames_.back().name));
  }
  return is_first;
}

// In a `device` member function `this` points to the space that device and constant share; what it returns lies in device.
void Translator::place_returned_in_device(std::size_t close_parenthesis, std::size_t brace) {
  const auto open = tokens_.opening(close_parenthesis);
  bool in_device = false;
  std::string_view kind;
  for (std::size_t index = statement_; open && index < *open; ++index) {
    if (tokens_[index].is("device")) in_device = true;
    if (in_device && (tokens_[index].is("&") || tokens_[index].is("*")) && !tokens_[index - 1].is("operator")) kind = tokens_[index].text;
  }
  if (kind.empty()) return;
  const std::size_t last = tokens_.closing(brace);
  for (std::size_t index = brace; index < last; ++index) {
    if (!tokens_[index].is("return")) continue;
    tokens_[index].after += fmt::format(" ::__assay::device_{}(", kind == "&" ? "reference" : "pointer");
    tokens_[tokens_.semicolon(index) - 1].after += ")";
  }
}

// The same for what it keeps: `device T* p = this;`, `const device T& r = member;`.
void Translator::place_locals_in_device(std::size_t brace) {
  const std::size_t last = tokens_.closing(brace);
  for (std::size_t index = brace; index < last; ++index) {
    if (!tokens_[index].is("device")) continue;
    std::size_t kind = index + 1;
    while (tokens_[kind].kind == TokenKind::identifier || tokens_[kind].is("::") || tokens_[kind].is("<"))
      kind = tokens_[kind].is("<") ? tokens_.closing_angle(kind).value_or(kind) + 1 : kind + 1;
    std::size_t equals = kind + 1;
    while (tokens_[equals].kind == TokenKind::identifier) ++equals;
    if (!(tokens_[kind].is("*") || tokens_[kind].is("&")) || !tokens_[equals].is("=") || tokens_[equals + 1].is("{")) continue;
    std::size_t end = equals + 1;
    while (!(tokens_[end].is(";") || tokens_[end].is(",") || tokens_[end].is(")")))
      end = tokens_[end].is("(") || tokens_[end].is("[") || tokens_[end].is("{") ? tokens_.closing(end) + 1 : end + 1;
    if (end == equals + 2 && (tokens_[equals + 1].kind == TokenKind::number || tokens_[equals + 1].is("nullptr"))) continue;
    tokens_[equals].after += fmt::format(" ::__assay::device_{}(", tokens_[kind].is("&") ? "reference" : "pointer");
    tokens_[end - 1].after += ")";
  }
}

// Whether the parameter list that ends here is a constructor's of the type around it.
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

// Takes out the member that ends at `last`: an earlier one has become the same.
void Translator::drop_member(std::size_t last) {
  // Blank the tokens themselves too: what follows in the walk must not see braces that are no longer there.
  tokens_.remove(statement_, last);
  for (std::size_t index = statement_; index <= last; ++index) {
    tokens_[index].text = "";
    tokens_[index].kind = TokenKind::identifier;
  }
  tokens_[last].text = ";";
  tokens_[last].kind = TokenKind::punctuation;
}

// Member functions without an address space: constructors, static and friend functions have no `this` to qualify.
void Translator::note_unqualified_member(std::size_t close_parenthesis, std::size_t end) {
  const Token& next = tokens_[end];
  if (inside_function() || !(next.is("{") || next.is(";") || next.is("->"))) return;
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
    // `X::X(...)` and `X<T>::X(...)` construct.
    std::size_t type = name - 2;
    if (tokens_[type].is(">")) type = tokens_.opening_angle(type).value_or(type) - 1;
    if (tokens_[type].text == tokens_[name].text) return;
  }
  // Before `noexcept`, where the compiler wants it.
  std::size_t qualified_up_to = close_parenthesis;
  while (tokens_[qualified_up_to + 1].is("const") || tokens_[qualified_up_to + 1].is("volatile")) ++qualified_up_to;
  const bool is_const = qualified_up_to != close_parenthesis;
  (is_const ? result_.unqualified_const_members_ : result_.unqualified_members_).push_back(qualified_up_to);
}

}  // namespace assay::metal::translate
