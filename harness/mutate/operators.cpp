// The mutation operators: every edit that each of them makes in a source.
// Long because it is a list with a function for each operator.
#include "harness/mutate/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "harness/mutate/mutant.h"
#include "harness/mutate/structure.h"

namespace assay::harness {
namespace {

using metal::translate::TokenKind;

struct Swap {
  std::string_view op, from, to;
};

constexpr std::array<Swap, 37> kSwaps = {{
    {"arithmetic", "+", "-"},
    {"arithmetic", "-", "+"},
    {"arithmetic", "*", "/"},
    {"arithmetic", "/", "*"},
    {"arithmetic", "%", "/"},
    {"arithmetic", "+=", "-="},
    {"arithmetic", "-=", "+="},
    {"arithmetic", "*=", "/="},
    {"arithmetic", "/=", "*="},
    {"arithmetic", "%=", "/="},
    {"relation", "<", "<="},
    {"relation", "<=", "<"},
    {"relation", ">", ">="},
    {"relation", ">=", ">"},
    {"relation", "==", "!="},
    {"relation", "!=", "=="},
    {"logic", "&&", "||"},
    {"logic", "||", "&&"},
    {"bits", "&", "|"},
    {"bits", "|", "&"},
    {"bits", "^", "&"},
    {"bits", "<<", ">>"},
    {"bits", ">>", "<<"},
    {"bits", "&=", "|="},
    {"bits", "|=", "&="},
    {"bits", "^=", "&="},
    {"bits", "<<=", ">>="},
    {"bits", ">>=", "<<="},
    {"step", "++", "--"},
    {"step", "--", "++"},
    {"min_max", "min", "max"},
    {"min_max", "max", "min"},
    {"min_max", "fmin", "fmax"},
    {"min_max", "fmax", "fmin"},
    {"min_max", "simd_min", "simd_max"},
    {"min_max", "simd_max", "simd_min"},
    {"min_max", "quad_max", "quad_min"},
}};

// Functions whose first two arguments can be exchanged without effect.
constexpr std::array<std::string_view, 9> kSymmetric = {"min", "max", "fmin", "fmax", "dot", "distance", "fma", "mul24", "absdiff"};

constexpr std::array<std::string_view, 12> kNoCalls = {"if",      "for",      "while",         "switch",  "return", "sizeof",
                                                       "alignof", "decltype", "static_assert", "defined", "typeid", "catch"};

bool is_hexadecimal(std::string_view literal) { return literal.starts_with("0x") || literal.starts_with("0X"); }

bool is_floating(std::string_view literal) {
  if (is_hexadecimal(literal)) return literal.find_first_of(".pP") != std::string_view::npos;
  return literal.find_first_of(".eEfFhH") != std::string_view::npos;
}

struct Integer {
  std::uint64_t value = 0;
  std::size_t digits = 0;  // characters before the suffix
  int base = 10;
};

std::optional<Integer> read_integer(std::string_view literal) {
  if (is_floating(literal)) return std::nullopt;
  Integer result;
  std::string digits(literal);
  std::erase(digits, '\'');
  result.digits = literal.find_first_of("uUlLzZ");
  if (result.digits == std::string_view::npos) result.digits = literal.size();
  digits.resize(std::min(digits.find_first_of("uUlLzZ"), digits.size()));
  const bool binary = digits.starts_with("0b") || digits.starts_with("0B");
  result.base = is_hexadecimal(digits) ? 16 : binary ? 2 : digits.size() > 1 && digits[0] == '0' ? 8 : 10;
  const std::size_t prefix = result.base == 16 || result.base == 2 ? 2 : 0;
  try {
    std::size_t used = 0;
    result.value = std::stoull(digits.substr(prefix), &used, result.base);
    if (used + prefix != digits.size()) return std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return result;
}

// Makes the edits of one piece.
class Editor {
 public:
  Editor(const SourcePiece& piece, std::string_view text) : tokens_(piece.tokens), text_(text), structure_(read_structure(piece)) {}

  std::vector<Edit> run() {
    for (const Expression& expression : structure_.expressions) edit_expression(expression);
    for (const TokenRange& statement : structure_.statements) drop_statement(statement);
    for (const TokenRange& condition : structure_.conditions) fix(condition, {"true", "false"});
    for (const TokenRange& condition : structure_.loop_conditions) fix(condition, {"false"});
    for (const TokenRange& value : structure_.initial_values) negate(value);
    return std::move(edits_);
  }

 private:
  const SourceToken& at(std::size_t i) const {
    static const SourceToken end;
    return i < tokens_.size() ? tokens_[i] : end;
  }
  std::size_t first_byte(TokenRange range) const { return tokens_[range.first].offset; }
  std::size_t last_byte(TokenRange range) const { return tokens_[range.last - 1].offset + tokens_[range.last - 1].text.size(); }
  std::string_view text_of(TokenRange range) const { return text_.substr(first_byte(range), last_byte(range) - first_byte(range)); }

  void replace(std::string_view op, TokenRange range, std::string replacement) {
    edits_.push_back({op, first_byte(range), last_byte(range) - first_byte(range), std::move(replacement)});
  }
  void replace(std::string_view op, std::size_t token, std::string_view replacement) {
    replace(op, {token, token + 1}, std::string(replacement));
  }

  // The index after the construct that starts at i, if nothing in it may be edited.
  std::size_t behind_protected(std::size_t i) const {
    const bool attribute = at(i).is("[") && at(i + 1).is("[") && at(i).match > i;
    const bool angles = at(i).is_angle && at(i).match > i;
    return attribute || angles ? at(i).match + 1 : i;
  }

  // Whether a value ends here, so that an operator after it has two operands.
  bool ends_operand(std::size_t i, std::size_t first) const {
    if (i < first || i >= tokens_.size()) return false;
    const SourceToken& token = tokens_[i];
    if (token.kind == TokenKind::number || token.kind == TokenKind::string) return true;
    if (token.is_identifier()) return !is_builtin_type(token.text) && !token.is("return");
    if (token.is(")")) return !is_cast(i);
    return token.is("]") || token.is("}");
  }

  // `(float)` and `(device const float4 *)`: a type in parentheses.
  bool is_cast(std::size_t close) const {
    const std::size_t open = tokens_[close].match;
    bool has_type = false;
    for (std::size_t i = open + 1; i < close; ++i) {
      const SourceToken& token = tokens_[i];
      const bool word = token.is("const") || token.is("device") || token.is("constant") || token.is("threadgroup") || token.is("thread");
      if (is_builtin_type(token.text)) {
        has_type = true;
      } else if (!word && !token.is("*") && !token.is("&")) {
        return false;
      }
    }
    return has_type && (open == 0 || !tokens_[open - 1].is_identifier());
  }

  bool is_binary(std::size_t i, TokenRange range) const {
    return i > range.first && i + 1 < range.last && ends_operand(i - 1, range.first) && !at(i + 1).is(")") && !at(i + 1).is("]") &&
           !at(i + 1).is(",");
  }

  void edit_expression(const Expression& expression) {
    const TokenRange range = expression.range;
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (const std::size_t behind = behind_protected(i); behind != i) {
        i = behind - 1;
        continue;
      }
      if (tokens_[i].kind == TokenKind::number) edit_number(i, range);
      if (tokens_[i].kind == TokenKind::punctuation) edit_operator(i, range);
      if (tokens_[i].is("?")) edit_choice(i, range);
      if (tokens_[i].is_identifier()) edit_call(i, range);
      if (tokens_[i].is("[") && tokens_[i].match > i) edit_index({i + 1, tokens_[i].match}, expression.variables);
    }
    if (expression.is_offset) edit_index(range, expression.variables);
  }

  void edit_operator(std::size_t i, TokenRange range) {
    const SourceToken& token = tokens_[i];
    const bool assigns = token.text.size() > 1;
    if (token.is("-") && !is_binary(i, range)) {
      replace("sign", i, "");
      return;
    }
    const auto swap = std::ranges::find(kSwaps, token.text, &Swap::from);
    if (swap == kSwaps.end() || (!assigns && !is_binary(i, range))) return;
    replace(swap->op, i, swap->to);
    drop_operands(i, range);
  }

  // The precedence of a binary operator; 0 for tokens that end any operand.
  int strength(std::size_t i, TokenRange range) const {
    return !tokens_[i].is_angle && is_binary(i, range) ? metal::translate::binary_precedence(tokens_[i].text) : 0;
  }

  bool ends_expression(std::size_t i) const {
    const SourceToken& token = tokens_[i];
    const bool bracket = token.kind == TokenKind::punctuation && token.text.size() == 1 &&
                         std::string_view("()[]{},;?:").find(token.text) != std::string_view::npos;
    return bracket || (token.text.ends_with("=") && metal::translate::binary_precedence(token.text) == 0) || token.is("return");
  }

  // Removes the right operand of `a op b`, and the left one if the rest is an expression. A lone integer is left to drop_constant.
  void drop_operands(std::size_t i, TokenRange range) {
    const std::string_view op = tokens_[i].text;
    const bool both = op == "+" || op == "*" || op == "&&" || op == "||";
    if (!both && op != "-" && op != "/") return;
    const int own = strength(i, range);
    std::size_t last = i + 1;
    while (last < range.last) {
      const bool opens = at(last).match > last && !ends_group(last);
      if (!opens && (ends_expression(last) || (last > i + 1 && strength(last, range) != 0 && strength(last, range) <= own))) break;
      last = opens ? at(last).match + 1 : last + 1;
    }
    std::size_t first = i;
    while (first > range.first) {
      const bool closes = ends_group(first - 1);
      if (!closes && (ends_expression(first - 1) || (strength(first - 1, range) != 0 && strength(first - 1, range) < own))) break;
      first = closes ? at(first - 1).match : first - 1;
    }
    if (!is_integer_literal({i + 1, last})) replace("drop_operand", {i, last}, "");
    if (both && first < i && !is_integer_literal({first, i})) replace("drop_operand", {first, i + 1}, "");
  }

  bool ends_group(std::size_t i) const {
    return tokens_[i].match < i && (at(i).is(")") || at(i).is("]") || at(i).is("}") || at(i).is_angle);
  }
  bool is_integer_literal(TokenRange range) const {
    return range.last == range.first + 1 && tokens_[range.first].kind == TokenKind::number &&
           read_integer(tokens_[range.first].text).has_value();
  }

  void edit_number(std::size_t i, TokenRange range) {
    const std::string_view literal = tokens_[i].text;
    if (std::string changed = changed_float(literal); !changed.empty()) {
      replace("float_constant", i, changed);
      return;
    }
    const auto integer = read_integer(literal);
    if (!integer) return;
    replace("plus_one", i, plus_one(literal));
    if (i > range.first && tokens_[i - 1].is("%")) return;  // no constant leaves x % c unchanged, and 0 is not a valid divisor
    const std::string_view neutral = neutral_at(i, range);
    if (neutral != literal.substr(0, integer->digits))
      replace("drop_constant", i, std::string(neutral) + std::string(literal.substr(integer->digits)));
  }

  // The constant that leaves the result of the operation unchanged.
  std::string_view neutral_at(std::size_t i, TokenRange range) const {
    const bool has_left = i > range.first + 1 && is_binary(i - 1, range);
    if (has_left) {
      const SourceToken& left = tokens_[i - 1];
      if (left.is("*") || left.is("/")) return "1";
      if (left.is("&")) return "~0";
      if (left.is("+") || left.is("-") || left.is("<<") || left.is(">>") || left.is("|") || left.is("^")) return "0";
    } else if (i + 1 < range.last && tokens_[i + 1].is("*") && is_binary(i + 1, range)) {
      return "1";
    } else if (i + 1 < range.last && tokens_[i + 1].is("&") && is_binary(i + 1, range)) {
      return "~0";
    }
    return "0";
  }

  // Edits `condition ? a : b`.
  void edit_choice(std::size_t i, TokenRange range) {
    std::size_t first = i;
    while (first > range.first) {
      const SourceToken& before = tokens_[first - 1];
      if ((before.is(")") || before.is("]") || before.is("}")) && before.match < first) {
        first = before.match;
        continue;
      }
      const bool assigns = before.text.ends_with("=") && !before.is("==") && !before.is("!=") && !before.is("<=") && !before.is(">=");
      if (before.is("(") || before.is("[") || before.is("{") || before.is(",") || before.is("?") || before.is(":") || assigns) break;
      --first;
    }
    if (first < i) fix({first, i}, {"true", "false"});
  }

  void fix(TokenRange condition, std::initializer_list<std::string_view> values) {
    if (condition.is_empty()) return;
    for (const std::string_view value : values) replace("condition", condition, std::string(value));
  }

  void edit_call(std::size_t i, TokenRange range) {
    std::size_t open = i + 1;
    if (at(open).is_angle && at(open).is("<")) open = at(open).match + 1;
    if (open >= range.last || !at(open).is("(") || among(kNoCalls, tokens_[i].text)) return;
    const auto swap = std::ranges::find(kSwaps, tokens_[i].text, &Swap::from);
    if (swap != kSwaps.end()) replace(swap->op, i, swap->to);

    std::vector<TokenRange> arguments;
    for (std::size_t first = open + 1; first < at(open).match;) {
      std::size_t last = first;
      while (last < at(open).match && !at(last).is(",")) last = std::max(last, at(last).match) + 1;
      arguments.push_back({first, last});
      first = last + 1;
    }
    for (std::size_t k = 0; k + 1 < arguments.size(); ++k) {
      const TokenRange a = arguments[k];
      const TokenRange b = arguments[k + 1];
      if (a.is_empty() || b.is_empty() || (k == 0 && among(kSymmetric, tokens_[i].text))) continue;
      const std::string_view between = text_.substr(last_byte(a), first_byte(b) - last_byte(a));
      replace("swap_arguments", {a.first, b.last}, fmt::format("{}{}{}", text_of(b), between, text_of(a)));
    }
  }

  // The integer variables of an index expression, in order; excludes fields, functions and types.
  void edit_index(TokenRange range, const std::vector<Variable>& variables) {
    if (range.is_empty() || at(range.first).is("[")) return;
    struct Use {
      std::size_t token;
      const Variable* variable;
    };
    std::vector<Use> uses;
    std::vector<std::string_view> names;
    for (std::size_t i = range.first; i < range.last; ++i) {
      if (!tokens_[i].is_identifier() || at(i + 1).is("(") || (i > 0 && (at(i - 1).is(".") || at(i - 1).is("->") || at(i - 1).is("::"))))
        continue;
      const auto found = std::ranges::find(variables.rbegin(), variables.rend(), tokens_[i].text, &Variable::name);
      if (found == variables.rend() || found->is_constant || !is_integer_type(found->type)) continue;
      uses.push_back({i, &*found});
      if (std::ranges::find(names, found->name) == names.end()) names.push_back(found->name);
    }
    for (const Use& use : uses) {
      const auto other = std::ranges::find_if(variables.rbegin(), variables.rend(), [&](const Variable& variable) {
        return variable.type == use.variable->type && variable.name != use.variable->name && !variable.is_constant;
      });
      if (other != variables.rend()) replace("other_index", use.token, other->name);
    }
    for (std::size_t a = 0; a < names.size(); ++a) {
      for (std::size_t b = a + 1; b < names.size(); ++b) {
        std::string swapped(text_of(range));
        for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
          const std::string_view name = use->variable->name;
          if (name != names[a] && name != names[b]) continue;
          swapped.replace(tokens_[use->token].offset - first_byte(range), name.size(), name == names[a] ? names[b] : names[a]);
        }
        replace("swap_indices", range, std::move(swapped));
      }
    }
  }

  void drop_statement(TokenRange statement) {
    const SourceToken& first = tokens_[statement.first];
    const bool barrier = first.is_identifier() && first.text.ends_with("_barrier") && at(statement.first + 1).is("(");
    replace(barrier ? "drop_barrier" : "drop_statement", statement, "");
  }

  // Another operator already drops a leading minus, and the sign of 0 does not matter.
  void negate(TokenRange value) {
    const SourceToken& first = tokens_[value.first];
    const std::string_view digits = first.kind == TokenKind::number ? first.text : std::string_view("1");
    const bool zero = value.last == value.first + 1 && digits.find_first_of("123456789") == std::string_view::npos;
    if (value.is_empty() || first.is("-") || first.is("{") || zero) return;
    replace("sign", value, fmt::format("-({})", text_of(value)));
  }

  const std::vector<SourceToken>& tokens_;
  std::string_view text_;
  Structure structure_;
  std::vector<Edit> edits_;
};

}  // namespace

const std::vector<std::string_view>& operator_names() {
  static const std::vector<std::string_view> names = {"arithmetic",   "relation",     "logic",          "bits",           "step",
                                                      "drop_operand", "plus_one",     "drop_constant",  "float_constant", "sign",
                                                      "min_max",      "drop_barrier", "drop_statement", "condition",      "swap_arguments",
                                                      "swap_indices", "other_index"};
  return names;
}

std::string plus_one(std::string_view literal) {
  const auto integer = read_integer(literal);
  if (!integer) return {};
  const std::uint64_t value = integer->value + 1;
  const std::string_view suffix = literal.substr(integer->digits);
  switch (integer->base) {
    case 16:
      return fmt::format("0x{:x}{}", value, suffix);
    case 8:
      return fmt::format("0{:o}{}", value, suffix);
    case 2:
      return fmt::format("0b{:b}{}", value, suffix);
    default:
      return fmt::format("{}{}", value, suffix);
  }
}

std::string changed_float(std::string_view literal) {
  if (!is_floating(literal) || is_hexadecimal(literal)) return {};
  const std::size_t digits = std::min(literal.find_first_of("fFhH"), literal.size());
  double value = 0;
  try {
    std::string text(literal.substr(0, digits));
    std::erase(text, '\'');
    value = std::stod(text);
  } catch (const std::exception&) {
    return {};
  }
  std::string changed = fmt::format("{:.9g}", value == 0.0 ? 1.0 : value * 1.001);
  if (changed.find_first_of(".e") == std::string::npos) changed += ".0";
  return changed + std::string(literal.substr(digits));
}

std::string edited(std::string text, const Edit& edit) {
  const std::vector<std::size_t> offsets = edit.offsets();
  for (auto offset = offsets.rbegin(); offset != offsets.rend(); ++offset) text.replace(*offset, edit.length, edit.replacement);
  return text;
}

std::vector<Edit> edits_of(const SourcePiece& piece, std::string_view text) { return Editor(piece, text).run(); }

}  // namespace assay::harness
