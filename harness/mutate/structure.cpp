// Recognises statements, expressions and declarations in the tokens of a source.
#include "harness/mutate/structure.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 22> kIntegers = {
    "char",    "uchar",   "short",    "ushort",  "int",      "uint",    "long",     "ulong",    "size_t", "ptrdiff_t", "int8_t",
    "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "unsigned", "signed", "uintptr_t", "intptr_t"};
constexpr std::array<std::string_view, 5> kOtherScalars = {"bool", "half", "bfloat", "float", "double"};

// Words before a type that do not change its arithmetic.
constexpr std::array<std::string_view, 13> kQualifiers = {"const",    "constexpr",   "static",  "thread",   "device",
                                                          "constant", "threadgroup", "inline",  "volatile", "restrict",
                                                          "typename", "mutable",     "coherent"};

bool is_scalar(std::string_view word) { return among(kIntegers, word) || among(kOtherScalars, word); }

class PieceReader {
 public:
  explicit PieceReader(const SourcePiece& piece) : tokens_(piece.tokens) { find_types(); }

  Structure read(bool is_macro) {
    if (!is_macro) {
      read_namespace({0, tokens_.size()});
    } else if (std::ranges::any_of(tokens_, [](const SourceToken& token) { return token.is(";") || token.is("{"); })) {
      read_statements({0, tokens_.size()});
    } else {
      add_expression({0, tokens_.size()}, false);
    }
    return std::move(structure_);
  }

 private:
  const SourceToken& at(std::size_t i) const {
    static const SourceToken end;
    return i < tokens_.size() ? tokens_[i] : end;
  }

  // Finds the types that the file names, including template parameters.
  void find_types() {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const SourceToken& token = tokens_[i];
      const bool names =
          token.is("struct") || token.is("class") || token.is("union") || token.is("enum") || token.is("typename") || token.is("using");
      if (names && at(i + 1).is_identifier()) types_.insert(at(i + 1).text);
      if (token.is("typedef")) types_.insert(at(end_of_statement(i) - 1).text);
    }
  }

  bool is_type(std::string_view word) const { return is_builtin_type(word) || types_.contains(word); }

  // The index after the construct that starts at i: a bracketed group, or one token.
  std::size_t step(std::size_t i) const {
    const SourceToken& token = at(i);
    const bool opens = token.is("(") || token.is("[") || token.is("{") || (token.is_angle && token.is("<"));
    return opens && token.match > i ? token.match + 1 : i + 1;
  }

  // The `;` at the nesting depth of i, or the end of the piece.
  std::size_t end_of_statement(std::size_t i) const {
    while (i < tokens_.size() && !at(i).is(";") && !at(i).is("}")) i = step(i);
    return std::min(i, tokens_.size());
  }

  bool is_attribute(std::size_t i) const { return at(i).is("[") && at(i + 1).is("["); }

  void read_namespace(TokenRange range) {
    for (std::size_t i = range.first; i < range.last;) {
      if (at(i).is("template")) {
        i = at(i + 1).is_angle ? at(i + 1).match + 1 : end_of_statement(i) + 1;  // an explicit instantiation
      } else if (at(i).is("using") || at(i).is("typedef") || at(i).is("static_assert") || at(i).is("friend")) {
        i = end_of_statement(i) + 1;
      } else if (at(i).is("namespace") || at(i).is("extern") || at(i).is("struct") || at(i).is("class") || at(i).is("union") ||
                 at(i).is("enum")) {
        i = read_scope(i, range.last);
      } else {
        i = read_declaration(i, range.last);
      }
    }
  }

  // Reads the contents of the braces of a namespace, struct or similar.
  std::size_t read_scope(std::size_t i, std::size_t last) {
    const bool is_enum = at(i).is("enum");
    const bool has_semicolon = !at(i).is("namespace") && !at(i).is("extern");
    std::size_t open = i;
    while (open < last && !at(open).is("{") && !at(open).is(";") && !at(open).is("(") && !at(open).is("=")) ++open;
    if (open >= last || at(open).is(";")) return open + 1;
    if (!at(open).is("{")) return read_declaration(i + 1, last);  // `struct S f()`
    const std::size_t scope = variables_.size();
    if (at(i).is("struct") || at(i).is("class")) declare_members({open + 1, at(open).match});
    if (!is_enum) read_namespace({open + 1, at(open).match});
    variables_.resize(scope);
    return has_semicolon ? end_of_statement(at(open).match + 1) + 1 : at(open).match + 1;
  }

  // Methods use all members, also those that are declared behind them.
  void declare_members(TokenRange body) {
    for (std::size_t first = body.first; first < body.last;) {
      bool is_method = false;
      bool has_value = false;
      std::size_t i = first;
      while (i < body.last && !at(i).is(";") && !(is_method && at(i).is("{"))) {
        has_value = has_value || at(i).is("=");
        is_method = is_method || (at(i).is("(") && !has_value);
        i = step(i);
      }
      const std::size_t last = std::min(i, body.last);
      if (!is_method && is_declaration(first, last))
        read_declarators({first, last}, [&](TokenRange type, TokenRange declarator) { declare(type, at(declarator.first).text); });
      first = last < body.last ? step(last) : body.last;
    }
  }

  // Reads a variable or a function at namespace or class scope.
  std::size_t read_declaration(std::size_t i, std::size_t last) {
    TokenRange parameters;
    for (std::size_t at_token = i; at_token < last;) {
      const SourceToken& token = at(at_token);
      if (token.is(";")) return at_token + 1;
      if (token.is("}")) return at_token + 1;
      if (token.is("=")) {
        const std::size_t end = end_of_statement(at_token);
        if (parameters.is_empty()) add_expression({at_token + 1, end}, false, true);
        return end + 1;
      }
      if (token.is("{")) {
        if (parameters.last == 0) {
          add_expression({at_token + 1, token.match}, false, true);  // `float x{1}`
        } else {
          read_function(parameters, {at_token + 1, token.match});
        }
        return token.match + 1;
      }
      if (token.is("(") && parameters.last == 0) parameters = {at_token + 1, token.match};
      at_token = step(at_token);
    }
    return last;
  }

  void read_function(TokenRange parameters, TokenRange body) {
    const std::size_t scope = variables_.size();
    for (std::size_t first = parameters.first; first < parameters.last;) {
      std::size_t last = first;
      while (last < parameters.last && !at(last).is(",")) last = step(last);
      read_parameter({first, last});
      first = last + 1;
    }
    read_statements(body);
    variables_.resize(scope);
  }

  void read_parameter(TokenRange range) {
    std::size_t end = range.first;
    while (end < range.last && !at(end).is("[") && !at(end).is("=")) end = step(end);
    if (end > range.first + 1 && at(end - 1).is_identifier()) declare({range.first, end - 1}, at(end - 1).text);
  }

  void declare(TokenRange type, std::string_view name) {
    Variable variable;
    variable.name = name;
    for (std::size_t i = type.first; i < type.last; ++i) {
      if (at(i).is("constexpr")) variable.is_constant = true;
      if (among(kQualifiers, at(i).text)) continue;
      if (!variable.type.empty()) variable.type += ' ';
      variable.type += at(i).text;
    }
    const bool is_pointer = variable.type.find('*') != std::string::npos;
    for (std::size_t i = type.first; i < type.last; ++i)
      variable.is_fixed = variable.is_fixed || variable.is_constant || (at(i).is("const") && !is_pointer);
    variables_.push_back(std::move(variable));
  }

  void read_statements(TokenRange range) {
    const std::size_t scope = variables_.size();
    for (std::size_t i = range.first; i < range.last;) i = read_statement(i, range.last);
    variables_.resize(scope);
  }

  // Returns the index after the statement.
  std::size_t read_statement(std::size_t i, std::size_t last) {
    if (i >= last) return last;
    const SourceToken& token = at(i);
    if (token.is(";")) return i + 1;
    if (token.is("{")) {
      read_statements({i + 1, token.match});
      return token.match + 1;
    }
    if (is_attribute(i)) return token.match + 1;
    if (token.is("if")) return read_if(i, last);
    if (token.is("for")) return read_for(i, last);
    if (token.is("while") || token.is("switch")) {
      const std::size_t open = i + 1;
      const TokenRange condition = {open + 1, at(open).match};
      add_expression(condition, false);
      if (token.is("while")) structure_.loop_conditions.push_back(condition);
      return read_statement(condition.last + 1, last);
    }
    if (token.is("do")) return read_statement(i + 1, last);  // its `while (...)` is read as a loop without a body
    if (token.is("else")) return read_statement(i + 1, last);
    if (token.is("case") || token.is("default")) {
      while (i < last && !at(i).is(":")) i = step(i);
      return i + 1;
    }
    const std::size_t end = std::min(end_of_statement(i), last);
    if (token.is("using") || token.is("typedef") || token.is("static_assert")) return end + 1;
    if (token.is("return") || token.is("break") || token.is("continue")) {
      // `return x;` cannot be dropped: without its value the result would be arbitrary, which no test can detect.
      if (end == i + 1) structure_.statements.push_back({i, end});
      add_expression({i + 1, end}, false);
      return end + 1;
    }
    if (token.is("struct")) return read_scope(i, last);
    if (is_declaration(i, end)) {
      read_variables({i, end});
    } else {
      structure_.statements.push_back({i, end});
      add_expression({i, end}, false);
    }
    return end + 1;
  }

  std::size_t read_if(std::size_t i, std::size_t last) {
    const bool is_fixed = at(i + 1).is("constexpr");
    const std::size_t open = is_fixed ? i + 2 : i + 1;
    if (!at(open).is("(")) return i + 1;
    const TokenRange condition = {open + 1, at(open).match};
    structure_.conditions.push_back(condition);
    add_expression(condition, false, is_fixed);
    return read_statement(condition.last + 1, last);
  }

  std::size_t read_for(std::size_t i, std::size_t last) {
    const std::size_t open = i + 1;
    if (!at(open).is("(")) return i + 1;
    const std::size_t close = at(open).match;
    const std::size_t scope = variables_.size();
    const std::size_t first_end = std::min(end_of_statement(open + 1), close);
    if (first_end < close) {
      if (is_declaration(open + 1, first_end)) {
        read_variables({open + 1, first_end});
      } else {
        add_expression({open + 1, first_end}, false);
      }
      const std::size_t second_end = std::min(end_of_statement(first_end + 1), close);
      add_expression({first_end + 1, second_end}, false);
      add_expression({second_end + 1, close}, false);
    }
    const std::size_t next = read_statement(close + 1, last);
    variables_.resize(scope);
    return next;
  }

  // `type name`, `type * name`, `type<...> name`, or anything after a qualifier.
  bool is_declaration(std::size_t i, std::size_t end) const {
    if (!at(i).is_identifier()) return false;
    if (among(kQualifiers, at(i).text) || at(i).is("auto")) return true;
    std::size_t behind = i + 1;
    while (at(behind).is("::")) behind += 2;
    if (at(behind).is_angle) behind = at(behind).match + 1;
    if (behind < end && at(behind).is_identifier()) return true;
    return (at(behind).is("*") || at(behind).is("&")) && at(behind + 1).is_identifier() && is_type(at(behind - 1).text);
  }

  // Reads one declaration with one or more declarators.
  void read_variables(TokenRange range) {
    read_declarators(range, [&](TokenRange type, TokenRange declarator) { read_declarator(type, declarator, holds(type, "*")); });
  }

  // read_one(type, declarator), which begins with the name.
  template <typename ReadOne>
  void read_declarators(TokenRange range, ReadOne read_one) {
    std::size_t name = range.first;
    while (name < range.last && !starts_value(name + 1, range.last)) name = step(name);
    const TokenRange type = {range.first, name};
    for (std::size_t first = name; first < range.last;) {
      std::size_t last = first;
      while (last < range.last && !at(last).is(",")) last = step(last);
      std::size_t declared = first;
      while (declared + 1 < last && !at(declared).is_identifier()) ++declared;
      read_one(type, TokenRange{declared, last});
      first = last + 1;
    }
  }

  bool starts_value(std::size_t i, std::size_t last) const {
    return i >= last || at(i).is("=") || at(i).is(",") || at(i).is("[") || at(i).is("(") || at(i).is("{");
  }

  void read_declarator(TokenRange type, TokenRange range, bool is_pointer) {
    const bool is_fixed = holds(type, "constexpr") || holds(type, "constant");
    std::size_t value = range.first + 1;
    while (value < range.last && at(value).is("[")) value = at(value).match + 1;
    if (at(value).is("=") && value < range.last) {
      const TokenRange initial = {value + 1, range.last};
      if (is_number(type) && !is_pointer) structure_.initial_values.push_back(initial);
      add_expression(initial, is_pointer, is_fixed && !is_pointer);
    } else if ((at(value).is("(") || at(value).is("{")) && value < range.last) {
      add_expression({value + 1, at(value).match}, false, is_fixed);
    }
    declare(type, at(range.first).text);
  }

  [[nodiscard]] bool holds(TokenRange range, std::string_view word) const {
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (at(i).is(word)) return true;
    }
    return false;
  }

  bool is_number(TokenRange type) const {
    return std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(type.first), tokens_.begin() + static_cast<std::ptrdiff_t>(type.last),
                       [](const SourceToken& token) { return is_builtin_type(token.text) && !token.text.starts_with("bool"); });
  }

  void add_expression(TokenRange range, bool is_offset, bool is_fixed = false) {
    if (!range.is_empty()) structure_.expressions.push_back({range, is_offset, is_fixed, variables_});
  }

  const std::vector<SourceToken>& tokens_;
  std::set<std::string_view> types_;
  std::vector<Variable> variables_;
  Structure structure_;
};

}  // namespace

bool is_integer_type(std::string_view type) { return among(kIntegers, type); }

bool is_builtin_type(std::string_view word) {
  if (is_scalar(word) || word == "void" || word == "auto") return true;
  // float4, uchar2, half4x4.
  const std::size_t digit = word.find_first_of("23489");
  if (digit == std::string_view::npos || digit == 0 || !is_scalar(word.substr(0, digit))) return false;
  return word.find_first_not_of("2348x", digit) == std::string_view::npos;
}

Structure read_structure(const SourcePiece& piece) { return PieceReader(piece).read(piece.is_macro); }

}  // namespace assay::harness
