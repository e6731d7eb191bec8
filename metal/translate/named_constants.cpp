// Collects the named integer constants of a file, and their values.
#include "metal/translate/named_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace assay::metal::translate {

namespace {

bool is_specifier(const Token& token) {
  static constexpr std::array<std::string_view, 6> kSpecifiers = {"static", "constant", "constexpr", "const", "inline", "volatile"};
  return std::find(kSpecifiers.begin(), kSpecifiers.end(), token.text) != kSpecifiers.end();
}

// The scope around `a::b::`, which is `a::`.
std::string outer(const std::string& scope) {
  if (scope.size() < 3) return {};
  const auto colon = scope.rfind("::", scope.size() - 3);
  return colon == std::string::npos ? std::string() : scope.substr(0, colon + 2);
}

}  // namespace

void NamedConstants::collect() { read_scope(0, tokens_.size(), ""); }

std::optional<std::int64_t> NamedConstants::value(std::size_t first, std::size_t last, const std::string& scope) const {
  const auto result = evaluate(tokens_, first, last, names_in(scope));
  if (result) return result->value;
  if (questions_ == nullptr || first == last || last - first > kMostQuestionTokens) return std::nullopt;
  return ask(tokens_.text(first, last), scope);
}

std::optional<std::int64_t> NamedConstants::ask(std::string expression, const std::string& scope) const {
  if (questions_ == nullptr) return std::nullopt;
  ConstantQuestions::Question question{scope, std::move(expression)};
  if (const auto answer = questions_->answers.find(question); answer != questions_->answers.end()) return answer->second;
  if (questions_->open.size() >= kMostQuestions) return std::nullopt;
  questions_->open.push_back(std::move(question));
  return 0;
}

ConstantNames NamedConstants::names_in(const std::string& scope) const {
  return {[this, scope](const std::string& name) { return find(values_, name, scope); },
          [this, scope](const std::string& name) { return find(types_, name, scope); }};
}

// Searches from the innermost scope outwards. In each scope, names from its `using namespace` directives come after its own.
template <typename Entry>
std::optional<Entry> NamedConstants::find(const std::map<std::string, Entry>& table, const std::string& name,
                                          const std::string& scope) const {
  const bool is_global = name.starts_with("::");
  const std::string relative = is_global ? name.substr(2) : name;
  for (std::string place = is_global ? "" : scope;; place = outer(place)) {
    tokens_.spend(0, 1 + place.size() + directives_.size());
    if (const auto found = table.find(place + relative); found != table.end()) return found->second;
    for (const auto& [where, nominated] : directives_) {
      if (where != place) continue;
      for (std::string around = place;; around = outer(around)) {
        tokens_.spend(0, 1 + around.size() + nominated.size());
        if (const auto found = table.find(around + nominated + relative); found != table.end()) return found->second;
        if (around.empty()) break;
      }
    }
    if (place.empty()) return std::nullopt;
  }
}

std::size_t NamedConstants::past_attributes(std::size_t index) const {
  for (;;) {
    if (tokens_.attributes_at(index)) {
      index = tokens_.closing(index) + 1;
    } else if ((tokens_[index].is("__attribute__") || tokens_[index].is("alignas")) && tokens_[index + 1].is("(")) {
      index = tokens_.closing(index + 1) + 1;
    } else {
      return index;
    }
  }
}

// Limits the length, because every name is stored with its scope in front.
void NamedConstants::require_short(std::size_t index, std::size_t characters) const {
  if (characters > kLongestName) tokens_.fail(index, fmt::format("a qualified name of more than {} characters", kLongestName));
}

// The first of the two tokens in [first, last) outside of all brackets, or `last`.
std::size_t NamedConstants::next_of(std::size_t first, std::size_t last, std::string_view one, std::string_view other) const {
  for (std::size_t index = first; index < last; ++index) {
    if (tokens_[index].is(one) || tokens_[index].is(other)) return index;
    if (opens(tokens_[index])) index = tokens_.closing(index);
  }
  return last;
}

void NamedConstants::read_scope(std::size_t first, std::size_t last, const std::string& scope) {
  for (std::size_t index = first; index < last;) index = std::max(index + 1, read_declaration(index, last, scope));
}

std::size_t NamedConstants::read_declaration(std::size_t first, std::size_t last, const std::string& scope) {
  const std::size_t start = past_attributes(first);
  if (start >= last) return last;
  const Token& token = tokens_[start];
  const Token& next = tokens_[start + 1];
  // Skips the rest of a constructor's `member{value}`.
  if (token.is("{")) return tokens_.closing(start) + 1;
  if (token.is("template") && next.is("<")) return tokens_.closing_angle(start + 1).value_or(start) + 1;
  if (token.is("public") || token.is("private") || token.is("protected")) return start + 2;
  if (token.is("namespace") || (token.is("inline") && next.is("namespace"))) return read_namespace(start, last, scope);
  if (token.is("extern") && next.kind == TokenKind::string && tokens_[start + 2].is("{")) {
    const std::size_t close = tokens_.closing(start + 2);
    read_scope(start + 3, close, scope);
    return close + 1;
  }
  if (token.is("typedef") && next.is("enum")) return read_enumeration(start + 1, last, scope);
  if (token.is("using") || token.is("typedef")) return read_using(start, last, scope);
  if (token.is("enum")) return read_enumeration(start, last, scope);
  if (token.is("struct") || token.is("class") || token.is("union")) return read_type(start, last, scope);
  return read_variables(start, last, scope);
}

std::size_t NamedConstants::read_namespace(std::size_t keyword, std::size_t last, const std::string& scope) {
  const std::size_t open = next_of(keyword, last, "{", ";");
  if (open == last || tokens_[open].is(";")) return open;
  std::string name;
  for (std::size_t index = past_attributes(tokens_[keyword].is("inline") ? keyword + 2 : keyword + 1); index < open; ++index)
    name += tokens_[index].text;
  if (!name.empty()) name += "::";
  require_short(keyword, scope.size() + name.size());
  if (!name.empty() && tokens_[keyword].is("inline")) directives_.emplace_back(scope, name);
  const std::size_t close = tokens_.closing(open);
  read_scope(open + 1, close, scope + name);
  return close + 1;
}

std::size_t NamedConstants::read_using(std::size_t keyword, std::size_t last, const std::string& scope) {
  const std::size_t end = next_of(keyword, last, ";", ";");
  if (tokens_[keyword].is("typedef")) {
    if (const auto type = integer_type(tokens_, keyword + 1, end - 1, names_in(scope)))
      types_[scope + std::string(tokens_[end - 1].text)] = *type;
  } else if (tokens_[keyword + 1].is("namespace")) {
    std::string name;
    for (std::size_t index = keyword + 2; index < end; ++index) name += tokens_[index].text;
    require_short(keyword, name.size());
    directives_.emplace_back(scope, name + "::");
  } else if (tokens_[keyword + 2].is("=")) {
    if (const auto type = integer_type(tokens_, keyword + 3, end, names_in(scope)))
      types_[scope + std::string(tokens_[keyword + 1].text)] = *type;
  }
  return end;
}

// The enumerators of a plain enum belong to the enclosing scope too.
std::size_t NamedConstants::read_enumeration(std::size_t keyword, std::size_t last, const std::string& scope) {
  const bool is_scoped = tokens_[keyword + 1].is("class") || tokens_[keyword + 1].is("struct");
  const std::size_t start = past_attributes(keyword + (is_scoped ? 2 : 1));
  const std::size_t open = next_of(start, last, "{", ";");
  if (open == last || tokens_[open].is(";")) return open;
  std::vector<std::string> scopes;
  if (!is_scoped) scopes.push_back(scope);
  const std::size_t colon = next_of(start, open, ":", ":");
  const auto type = colon == open ? std::nullopt : integer_type(tokens_, colon + 1, open, names_in(scope));
  if (tokens_[start].kind == TokenKind::identifier) {
    const std::string name = scope + std::string(tokens_[start].text);
    types_[name] = type.value_or(kInt);
    scopes.push_back(name + "::");
  }
  if (!scopes.empty()) read_enumerators(open, type.value_or(kInt), scopes);
  const std::size_t end = next_of(open, last, ";", ";");
  if (keyword > 0 && tokens_[keyword - 1].is("typedef")) types_[scope + std::string(tokens_[end - 1].text)] = type.value_or(kInt);
  return end;
}

void NamedConstants::read_enumerators(std::size_t open, IntegerType type, const std::vector<std::string>& scopes) {
  const std::size_t close = tokens_.closing(open);
  std::optional<Integer> following = Integer{0, type};
  for (std::size_t name = open + 1; name < close;) {
    const std::size_t end = next_of(name, close, ",", ",");
    const std::size_t equals = next_of(name, end, "=", "=");
    if (equals != end) {
      following = evaluate(tokens_, equals + 1, end, names_in(scopes.back()));
      // An enumeration without a declared type gets one that can represent all its values.
      if (following && (type.bits != kInt.bits || !type.is_signed)) following = converted(*following, type);
    }
    if (following) {
      for (const auto& scope : scopes) values_[scope + std::string(tokens_[name].text)] = *following;
      // A value with no successor in 64 bits.
      if (following->value == std::numeric_limits<std::int64_t>::max()) {
        following.reset();
      } else {
        ++following->value;
      }
    }
    name = end + 1;
  }
}

std::size_t NamedConstants::read_type(std::size_t keyword, std::size_t last, const std::string& scope) {
  const std::size_t name = past_attributes(keyword + 1);
  const std::size_t stop = next_of(keyword, last, "{", ";");
  if (stop == last || tokens_[stop].is(";")) return stop;
  // `struct S f() {` and `struct S s = {` do not define a type.
  if (next_of(keyword, stop, "=", "(") != stop) return read_variables(keyword, last, scope);
  const std::size_t close = tokens_.closing(stop);
  require_short(name, scope.size() + tokens_[name].text.size());
  if (tokens_[name].kind == TokenKind::identifier) read_scope(stop + 1, close, scope + std::string(tokens_[name].text) + "::");
  return next_of(close + 1, last, ";", ";");
}

// Reads variables if this is such a declaration: `constexpr int a = 1, b{2};`. A function ends with its body.
std::size_t NamedConstants::read_variables(std::size_t first, std::size_t last, const std::string& scope) {
  std::size_t index = first;
  for (; index < last && !tokens_[index].is(";") && !tokens_[index].is("=") && !tokens_[index].is("{"); ++index) {
    if (tokens_[index].is("(") || tokens_[index].is("operator")) {
      const std::size_t end = next_of(index, last, "{", ";");
      return end < last && tokens_[end].is("{") ? tokens_.closing(end) + 1 : end;
    }
    if (tokens_[index].is("<")) index = tokens_.closing_angle(index).value_or(index);
    if (tokens_[index].is("[")) index = tokens_.closing(index);
  }
  const std::size_t end = next_of(index, last, ";", ";");
  const std::size_t type_end = index - 1;
  for (std::size_t name = type_end; name < end;) {
    const std::size_t stop = next_of(name, end, ",", ",");
    if (tokens_[name].kind == TokenKind::identifier) read_variable({first, type_end}, name, stop, scope);
    name = stop + 1;
  }
  return end;
}

void NamedConstants::read_variable(std::pair<std::size_t, std::size_t> type, std::size_t name, std::size_t end, const std::string& scope) {
  auto [first, last] = type;
  const auto is_constant = [this](std::size_t index) {
    return tokens_[index].is("constexpr") || tokens_[index].is("constant") || tokens_[index].is("const");
  };
  bool constant = false;
  for (std::size_t index = first; index < last; ++index) constant = constant || is_constant(index);
  const bool in_braces = tokens_[name + 1].is("{");
  if (!constant || !(in_braces || tokens_[name + 1].is("="))) return;
  const auto value = evaluate(tokens_, name + 2, in_braces ? end - 1 : end, names_in(scope));
  while (first < last && is_specifier(tokens_[first])) ++first;
  while (last > first && is_specifier(tokens_[last - 1])) --last;
  const bool deduced = last == first + 1 && tokens_[first].is("auto");
  const auto declared = deduced ? std::optional(value ? value->type : kInt) : integer_type(tokens_, first, last, names_in(scope));
  if (value && declared) values_[scope + std::string(tokens_[name].text)] = converted(*value, *declared);
}

}  // namespace assay::metal::translate
