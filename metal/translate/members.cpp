// Member functions and the address spaces that they name, of which OpenCL has fewer.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/errors.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// The qualifiers behind a member function's parameters: OpenCL knows only its own keywords there, and `device` and
// `constant` become one, so one of two overloads that differ in nothing else goes.
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
    if (tokens_[index].is("thread")) (is_const ? result_.const_thread_words_ : result_.thread_members_).push_back(index);
  }
  if (is_constant && !is_const) tokens_[close_parenthesis].after += " const";
  if (frames_.empty() || frames_.back().scope != Scope::type || space != "__global") return;
  const std::string signature = signature_of(close_parenthesis) + (is_const || is_constant ? " const" : "");
  if (!keep_one(signature, end, is_constant ? 0 : 1, false)) return;
  if (is_constant || !next.is("{")) return;
  place_returned_in_device(close_parenthesis, end);
  place_members_in_device(close_parenthesis, end);
  place_locals_in_device(end);
}

// Constructors serve every address space in clang, and may not name one. Only objects of threads and constants are ever constructed.
void Translator::keep_one_constructor(std::size_t close_parenthesis, std::size_t end) {
  int rank = 2;
  for (std::size_t index = close_parenthesis + 1; index < end; ++index) {
    if (is_space_word(tokens_[index])) rank = tokens_[index].is("thread") ? 3 : tokens_[index].is("constant") ? 1 : 0;
    if (is_space_word(tokens_[index]) || tokens_[index].is("const")) tokens_[index].replacement = "";
  }
  keep_one(signature_of(close_parenthesis), end, rank, true);
}

// A member's template parameters, name and parameters: what overloads differ in.
std::string Translator::signature_of(std::size_t close_parenthesis) const {
  std::size_t name = tokens_.opening(close_parenthesis).value_or(close_parenthesis);
  std::size_t behind_templates = statement_;
  while (tokens_[behind_templates].is("template") && tokens_[behind_templates + 1].is("<")) {
    const auto close = tokens_.closing_angle(behind_templates + 1);
    if (!close) break;
    behind_templates = *close + 1;
  }
  std::size_t first = name > behind_templates ? name - 1 : name;
  for (std::size_t index = behind_templates; index < name; ++index) {
    if (tokens_[index].is("operator")) first = index;
  }
  const std::string templates = tokens_.text(statement_, behind_templates);
  return templates + (templates.empty() ? "" : " ") + tokens_.text(first, close_parenthesis + 1);
}

// Of the members of a type that have become the same, the one of the highest rank stays. They must do the same, unless only one of them
// is ever called. Whether the member whose declarator ends before `end` stays.
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
    tokens_.fail(statement_, fmt::format("'{}' of '{}' does something else in another address space, and the two cannot be told apart here",
                                         signature, frames_.back().name));
  }
  if (earlier.rank >= rank) {
    drop_member(last);
    return false;
  }
  drop(earlier.first, earlier.last);
  earlier = {text, rank, statement_, last};
  return true;
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

// The same for its data members, as far as its body names them: references in device stand before them, so that they can be handed on.
void Translator::place_members_in_device(std::size_t close_parenthesis, std::size_t brace) {
  const std::size_t last = tokens_.closing(brace);
  for (std::size_t index = brace; index < last; ++index) {
    if (tokens_[index].is("this") && !tokens_[index].replacement) tokens_[index].replacement = "::__assay::device_pointer(this)";
  }
  const std::size_t open = tokens_.opening(close_parenthesis).value_or(close_parenthesis);
  for (const auto& name : data_members()) {
    bool used = false;
    bool hidden = false;
    for (std::size_t index = open; index < close_parenthesis; ++index) hidden = hidden || tokens_[index].is(name);
    for (std::size_t index = brace + 1; index < last && !hidden; ++index) {
      if (!tokens_[index].is(name)) continue;
      used = true;
      hidden = may_declare(index);
    }
    if (used && !hidden) tokens_[brace].after += fmt::format(" auto&& {0} = ::__assay::device_reference(this->{0});", name);
  }
}

// Whether a name in a body may be declared where it stands.
bool Translator::may_declare(std::size_t name) const {
  const Token& previous = tokens_[name - 1];
  const Token& next = tokens_[name + 1];
  if (previous.is("return") || previous.is("case") || previous.is("else")) return false;
  const bool is_operator = previous.is("*") || previous.is("&");
  const Token& word = is_operator ? tokens_[name - 2] : previous;
  const bool follows_type = word.kind == TokenKind::identifier || word.is(">");
  return follows_type && (next.is("=") || next.is(";") || next.is("[") || next.is("{") || next.is(",") || next.is(":"));
}

// Names of the data members of the type around, bit-fields apart.
std::vector<std::string> Translator::data_members() {
  Frame& frame = frames_.back();
  if (frame.has_data_members) return frame.data_members;
  frame.has_data_members = true;
  const std::size_t last = tokens_.closing(frame.brace);
  for (std::size_t index = frame.brace + 1; index < last; ++index) {
    while (attribute_end_.contains(index)) index = attribute_end_.at(index) + 1;
    if ((tokens_[index].is("public") || tokens_[index].is("private") || tokens_[index].is("protected")) && tokens_[index + 1].is(":")) {
      ++index;
      continue;
    }
    index = read_data_members(index, last, frame.data_members);
  }
  return frame.data_members;
}

// Reads the member that begins at `first`; its last token.
std::size_t Translator::read_data_members(std::size_t first, std::size_t last, std::vector<std::string>& names) const {
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"static", "using", "typedef", "friend", "template", "struct", "class", "union", "enum", "static_assert", "constexpr"});
  bool is_data = std::find(kOthers.begin(), kOthers.end(), tokens_[first].text) == kOthers.end();
  std::vector<std::string> found;
  std::string name;
  for (std::size_t index = first; index < last; ++index) {
    const Token& token = tokens_[index];
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (token.is("alignas") || token.is("__attribute__") || token.is("decltype")) {
      if (tokens_[index + 1].is("(")) index = tokens_.closing(index + 1);
    } else if (token.is("(") || token.is(":")) {
      is_data = false;  // a function, or a bit-field
      if (token.is("(")) index = tokens_.closing(index);
    } else if (token.is("[")) {
      index = tokens_.closing(index);
    } else if (token.is("<")) {
      index = tokens_.closing_angle(index).value_or(index);
    } else if (token.is("{")) {
      index = tokens_.closing(index);
      if (!is_data && !tokens_[index + 1].is(";") && !tokens_[index + 1].is(",")) return index;
    } else if (token.is("=")) {
      index = initializer_end(index);
    } else if (token.is(",") || token.is(";")) {
      if (!name.empty()) found.push_back(name);
      if (!token.is(";")) continue;
      if (is_data) names.insert(names.end(), found.begin(), found.end());
      return index;
    } else if (token.kind == TokenKind::identifier) {
      name = token.text;
    }
  }
  return last;
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
      end = opens(tokens_[end]) ? tokens_.closing(end) + 1 : end + 1;
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
