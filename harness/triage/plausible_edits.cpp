// Makes edits of suspect lines from the names and terms that a source has.
//
// Long because every kind of edit needs what one class knows of the source.
#include "harness/triage/plausible_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/triage/edit_maker.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 4> kStarts = {"0.0f", "1.0f", "-INFINITY", "-FLT_MAX / 2"};
constexpr std::array<std::string_view, 2> kLogarithms = {"1.44269504f", "0.69314718f"};
constexpr std::array<std::string_view, 3> kFloats = {"float", "half", "bfloat"};
// Functions that are taken for one another.
constexpr std::array<std::array<std::string_view, 2>, 10> kPairs = {{{"exp", "exp2"},
                                                                     {"log", "log2"},
                                                                     {"sqrt", "rsqrt"},
                                                                     {"simd_sum", "simd_max"},
                                                                     {"simd_shuffle_up", "simd_shuffle_down"},
                                                                     {"simd_shuffle_xor", "simd_shuffle_down"},
                                                                     {"floor", "ceil"},
                                                                     {"floor", "rint"},
                                                                     {"sin", "cos"},
                                                                     {"simd_prefix_inclusive_sum", "simd_prefix_exclusive_sum"}}};

class PlausibleEdits : public EditMaker {
 public:
  PlausibleEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion) : EditMaker(source, piece, suspicion) {
    find_whole_statements();
  }

  std::vector<Edit> run() {
    for (const TokenRange& value : structure_.initial_values) edit_start(value);
    for (std::size_t i = 0; i < structure_.expressions.size(); ++i) {
      const Expression& expression = structure_.expressions[i];
      if (!is_suspect(expression.range)) continue;
      edit_names(expression);
      edit_functions(expression);
      edit_quotients(expression);
      move_factors(expression);
      move_parentheses(expression);
      edit_sizes(expression);
      edit_weights(expression);
      edit_factors(expression, terms_[i]);
      edit_indices(expression, terms_[i]);
      edit_sums(expression);
      share_weights(expression);
      edit_logarithms(expression);
      edit_terms(i);
    }
    insert_statements();
    rescale_arrays();
    swap_statements();
    keep_old_values();
    edit_types();
    return std::move(edits_);
  }

 private:
  // Whether the term stands there by itself: "t" does in "c + t", not in "count".
  static bool holds_word(std::string_view text, std::string_view term) {
    const auto is_of_name = [&](std::size_t at) {
      return at < text.size() && (text[at] == '_' || std::isalnum(static_cast<unsigned char>(text[at])) != 0);
    };
    for (std::size_t at = text.find(term); at != std::string_view::npos; at = text.find(term, at + 1)) {
      if ((at == 0 || !is_of_name(at - 1)) && !is_of_name(at + term.size())) return true;
    }
    return false;
  }

  // "0.5f", "1e4h"
  static bool is_fraction(std::string_view number) {
    const bool is_hexadecimal = number.starts_with("0x") || number.starts_with("0X");
    return !is_hexadecimal && number.find_first_of(".eE") != std::string_view::npos;
  }

  void edit_start(TokenRange value) {
    if (value.is_empty()) return;
    const std::string_view text = text_of(value);
    const bool is_float =
        text.find("INFINITY") != std::string_view::npos || text.find("FLT_MAX") != std::string_view::npos ||
        (tokens_[value.last - 1].kind == metal::translate::TokenKind::number && is_fraction(tokens_[value.last - 1].text));
    constexpr std::size_t most = 5;
    if (!is_float || value.last - value.first > most) return;
    for (const std::string_view start : kStarts) replace("start", value, std::string(start));
  }

  void edit_names(const Expression& expression) {
    const bool compares = holds_comparison(tokens_, expression.range);
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!tokens_[i].is_identifier() || is_called(i) || is_target({i, i + 1})) continue;
      std::string_view type;
      std::vector<std::string_view> others;
      if (is_member(i)) {
        type = members_.type_of(tokens_[i].text);
        for (const auto& [name, of] : members_.all) {
          if (!type.empty() && of == type && name != tokens_[i].text) others.push_back(name);
        }
        if (!type.empty()) edit_from_member(expression, i);
      } else if (const Variable* variable = find_variable(expression, tokens_[i].text); variable != nullptr) {
        type = plain(variable->type);
        for (auto other = expression.variables.rbegin(); other != expression.variables.rend(); ++other) {
          if (other->name != variable->name && is_alike(*other, *variable) && is_array(other->name) == is_array(variable->name))
            others.push_back(other->name);
        }
        edit_to_members(expression, i, type);
      }
      if (sizes_.contains(tokens_[i].text) && others.empty() && !is_member(i)) {
        for (const std::string_view size : sizes_) {
          if (size != tokens_[i].text) others.push_back(size);
        }
      }
      if (compares && is_constant_of_file(expression, i)) {
        for (auto other = expression.variables.rbegin(); other != expression.variables.rend(); ++other) {
          if (is_integer_type(plain(other->type)) && !is_array(other->name)) others.push_back(other->name);
        }
      }
      constexpr std::size_t most = 10;
      order_by(others, [&](std::string_view other) { return -likeness(tokens_[i].text, other); });
      others.resize(std::min(others.size(), most));
      for (const std::string_view other : others) replace("other_name", {i, i + 1}, std::string(other));
      // `position + 1` for `length`: the number of one thing is one more than the index of the last.
      constexpr std::size_t nearest = 4;
      if (compares && is_integer_type(type) && !is_member(i)) {
        for (const std::string_view other : std::span(others).first(std::min(nearest, others.size())))
          replace("other_near", {i, i + 1}, fmt::format("({} + 1)", other));
      }
      if ((compares || is_within_index(expression, i)) && is_integer_type(type)) edit_near(i);
    }
  }

  // A number of the same name in a struct: `at.head` for `kv_head`.
  void edit_to_members(const Expression& expression, std::size_t i, std::string_view type) {
    constexpr std::size_t least = 3, most = 3;
    std::vector<std::string> members;
    for (const Variable& variable : expression.variables) {
      if (variable.type.find('*') != std::string::npos || is_array(variable.name)) continue;
      for (const auto& [name, of] : members_.of_struct(plain(variable.type))) {
        const bool is_number = of == type || (is_integer_type(of) && is_integer_type(type));
        if (is_number && !is_array(name) && common_end(name, tokens_[i].text) >= least)
          members.push_back(fmt::format("{}.{}", variable.name, name));
      }
    }
    order_by(members, [&](const std::string& member) { return -likeness(tokens_[i].text, own_name(member)); });
    members.resize(std::min(members.size(), most));
    for (std::string& member : members) replace("other_name", {i, i + 1}, std::move(member));
  }

  // `kv_head` for `at.head`.
  void edit_from_member(const Expression& expression, std::size_t i) {
    constexpr std::size_t least = 3, most = 3;
    if (i < 2 || !tokens_[i - 2].is_identifier() || is_member(i - 2)) return;
    const std::string_view type = members_.type_of(tokens_[i].text);
    std::vector<std::string_view> names;
    for (const Variable& variable : expression.variables) {
      const bool is_number = plain(variable.type) == type || (is_integer_type(plain(variable.type)) && is_integer_type(type));
      if (is_number && !is_array(variable.name) && common_end(variable.name, tokens_[i].text) >= least) names.push_back(variable.name);
    }
    order_by(names, [&](std::string_view name) { return -likeness(tokens_[i].text, name); });
    names.resize(std::min(names.size(), most));
    for (const std::string_view name : names) replace("other_name", {i - 2, i + 1}, std::string(name));
  }

  // The number of letters that both names have at their ends.
  static std::size_t common_end(std::string_view one, std::string_view other) {
    std::size_t same = 0;
    while (same < std::min(one.size(), other.size()) && one[one.size() - 1 - same] == other[other.size() - 1 - same]) ++same;
    return same;
  }

  // Such as a size of blocks where the last block has less.
  [[nodiscard]] bool is_constant_of_file(const Expression& expression, std::size_t i) const {
    return !is_member(i) && !named_.contains(tokens_[i].text) && !is_builtin_type(tokens_[i].text) && !expression.is_fixed;
  }

  // One more and one less of a variable, or of a member with the struct before it.
  void edit_near(std::size_t i) {
    const std::size_t first = is_member(i) && i >= 2 ? i - 2 : i;
    const TokenRange range = {first, i + 1};
    for (const std::string_view change : {"+ 1", "- 1"}) replace("near_number", range, fmt::format("({} {})", text_of(range), change));
  }

  [[nodiscard]] bool is_within_index(const Expression& expression, std::size_t i) const {
    if (expression.is_offset) return true;
    for (std::size_t at = expression.range.first; at < i; ++at) {
      if (tokens_[at].is("[") && tokens_[at].match > i) return true;
    }
    return false;
  }

  void edit_functions(const Expression& expression) {
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!is_called(i)) continue;
      for (const auto& pair : kPairs) {
        for (const bool first : {false, true}) {
          if (tokens_[i].is(pair[first ? 0 : 1])) replace("other_function", {i, i + 1}, std::string(pair[first ? 1 : 0]));
        }
      }
    }
  }

  // Another operator and another operand: `h % heads` for `h / group`, or for `h / (all / heads)`.
  void edit_quotients(const Expression& expression) {
    // No variable has a value there.
    if (expression.is_fixed) return;
    for (std::size_t i = expression.range.first + 1; i + 1 < expression.range.last; ++i) {
      if (!tokens_[i].is("/") && !tokens_[i].is("%")) continue;
      const std::size_t last = operand_end(i + 1, expression.range.last);
      // A division of fractions has no remainder.
      if (is_float(expression, i - 1) || is_float(expression, last - 1)) continue;
      if (tokens_[i].is("/") && is_operand(i - 1)) round_up(i, last);
      const std::string_view other = tokens_[i].is("/") ? "%" : "/";
      const std::string_view divisor = text_of({i + 1, last});
      constexpr std::size_t most = 16;
      std::vector<std::string> names = integers_in_scope(expression);
      // What divides elsewhere comes first.
      order_by(names, [&](const std::string& name) { return (divides(name) ? -1 : 0) - likeness(own_name(name), own_name(divisor)); });
      names.resize(std::min(names.size(), most));
      for (const std::string& name : names) {
        replace("other_quotient", {i, last}, fmt::format("{} {}", other, name));
        if (name == divisor) continue;
        replace("other_quotient", {i, last}, fmt::format("/ ({} / {})", name, divisor));
        if (tokens_[i].is("%")) replace("other_turn", {i + 1, last}, name);
      }
    }
  }

  // `(keys + block - 1) / block` for `keys / block`: what remains has a part of its own.
  void round_up(std::size_t division, std::size_t last) {
    const std::size_t first = is_member(division - 1) ? division - 3 : division - 1;
    const std::string_view divisor = text_of({division + 1, last});
    replace("rounded_up", {first, last}, fmt::format("(({} + {} - 1) / {})", text_of({first, division}), divisor, divisor));
  }

  static std::string_view own_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

  // Whether an integer is a divisor somewhere in the source.
  [[nodiscard]] bool divides(std::string_view name) const {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is("/") && !tokens_[i].is("%")) continue;
      std::size_t last = i + 1;
      while (last + 2 < tokens_.size() && tokens_[last + 1].is(".")) last += 2;
      if (text_of({i + 1, last + 1}) == name) return true;
    }
    return false;
  }

  // A factor on the wrong side of a function: `f(x * c)` for `f(x) * c`, and the other way round.
  void move_factors(const Expression& expression) {
    for (std::size_t i = expression.range.first; i + 1 < expression.range.last; ++i) {
      if (!tokens_[i].is_identifier() || !tokens_[i + 1].is("(") || is_builtin_type(tokens_[i].text)) continue;
      const std::size_t close = tokens_[i + 1].match;
      if (close <= i + 2 || close >= expression.range.last) continue;
      std::size_t end = i + 2;  // of the first argument
      std::size_t product = close;
      while (end < close && !tokens_[end].is(",")) {
        if (tokens_[end].is("*")) product = end;
        end = tokens_[end].match > end ? tokens_[end].match + 1 : end + 1;
      }
      const std::string_view name = tokens_[i].text;
      const std::string rest = end < close ? std::string(text_of({end, close})) : std::string();
      if (product < end && product > i + 2 && product + 1 < end) {
        const std::string_view one = text_of({i + 2, product});
        const std::string_view other = text_of({product + 1, end});
        replace("moved_factor", {i, close + 1}, fmt::format("({}({}{}) * {})", name, one, rest, other));
        replace("moved_factor", {i, close + 1}, fmt::format("({}({}{}) * {})", name, other, rest, one));
      }
      if (close + 2 < expression.range.last && tokens_[close + 1].is("*") && tokens_[close + 2].is_identifier() && !is_called(close + 2))
        replace("moved_factor", {i, close + 3}, fmt::format("{}(({}) * {}{})", name, text_of({i + 2, end}), tokens_[close + 2].text, rest));
    }
  }

  // `a * (b + c)` for `a * b + c`.
  void move_parentheses(const Expression& expression) {
    for (std::size_t i = expression.range.first; i + 1 < expression.range.last; ++i) {
      if (!tokens_[i].is("*") || !tokens_[i + 1].is("(") || i == expression.range.first) continue;
      const std::size_t close = tokens_[i + 1].match;
      for (std::size_t at = i + 2; at<close; at = tokens_[at].match> at ? tokens_[at].match + 1 : at + 1) {
        if (!tokens_[at].is("+") && !tokens_[at].is("-")) continue;
        replace("moved_parenthesis", {i + 1, close + 1}, fmt::format("({}) {}", text_of({i + 2, at}), text_of({at, close})));
      }
    }
    for (std::size_t i = expression.range.first; i + 4 < expression.range.last; ++i) {
      const bool is_sum = tokens_[i + 3].is("+") || tokens_[i + 3].is("-");
      const bool is_simple = is_operand(i + 2) && is_operand(i + 4) && !is_called(i + 4);
      if (tokens_[i + 1].is("*") && is_sum && is_simple)
        replace("moved_parenthesis", {i + 2, i + 5}, fmt::format("({})", text_of({i + 2, i + 5})));
    }
  }
  // One past the operand that begins there: `f(x)`, `a.b[i]`, `(x + y)`, `int(x)`.
  [[nodiscard]] std::size_t operand_end(std::size_t i, std::size_t last) const {
    std::size_t end = tokens_[i].match > i ? tokens_[i].match + 1 : i + 1;
    while (end + 1 < last) {
      const bool opens = tokens_[end].is("(") || tokens_[end].is("[");
      if (opens && tokens_[end].match > end) {
        end = tokens_[end].match + 1;
      } else if (tokens_[end].is(".") || tokens_[end].is("->")) {
        end += 2;
      } else {
        break;
      }
    }
    return end;
  }
  [[nodiscard]] bool is_operand(std::size_t i) const {
    return tokens_[i].is_identifier() || tokens_[i].kind == metal::translate::TokenKind::number;
  }

  // A small number where a size of the file is meant: one row of a tile for all of them.
  void edit_sizes(const Expression& expression) {
    if (!holds_comparison(tokens_, expression.range)) return;
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!tokens_[i].is("1") && !tokens_[i].is("0")) continue;
      for (const std::string_view size : sizes_) replace("size", {i, i + 1}, std::string(size));
    }
  }

  // Two statements in the wrong order.
  void swap_statements() {
    for (std::size_t i = 0; i + 1 < whole_statements_.size(); ++i) {
      const TokenRange one = whole_statements_[i];
      const TokenRange other = whole_statements_[i + 1];
      if (one.last != other.first || (!is_suspect(one) && !is_suspect(other))) continue;
      replace("swapped_statements", {one.first, other.last}, fmt::format("{} {}", text_of(other), text_of(one)));
    }
  }

  // The statement without a body that begins there, with its semicolon; empty if there is none.
  [[nodiscard]] TokenRange simple_statement(std::size_t first) const {
    for (std::size_t i = first; i < tokens_.size();) {
      if (tokens_[i].is(";")) return i == first ? TokenRange{} : TokenRange{first, i + 1};
      if (tokens_[i].is("{") || tokens_[i].is("}") || tokens_[i].is("for") || tokens_[i].is("return")) return {};
      i = tokens_[i].match > i ? tokens_[i].match + 1 : i + 1;
    }
    return {};
  }

  // A running value that is assigned before what is computed from the old one: `top = max(top, x); const float f = exp(top - top);`.
  void keep_old_values() {
    constexpr std::size_t most = 4;
    for (const TokenRange& whole : whole_statements_) {
      std::size_t sign = whole.first;
      while (sign < whole.last && !tokens_[sign].is("=")) ++sign;
      if (sign >= whole.last || !tokens_[whole.first].is_identifier() || !is_suspect(whole)) continue;
      const std::string_view value = text_of({whole.first, sign});
      if (text_of({sign, whole.last}).find(value) == std::string_view::npos) continue;
      TokenRange next = simple_statement(whole.last);
      for (std::size_t count = 0; count < most && !next.is_empty(); ++count, next = simple_statement(next.last)) {
        const std::string_view between = text_of({whole.first, next.last});
        std::string text(text_of(next));
        const bool is_new = tokens_[next.first + 1].is_identifier() || tokens_[next.first].is("const");
        if (count == 0 && is_new) replace("old_value", {whole.first, next.last}, fmt::format("{} {}", text, text_of(whole)));
        const std::size_t at = text.find(value, text.find('='));
        if (at == std::string::npos) continue;
        text.replace(at, value.size(), "old_value");
        const std::string_view before = between.substr(0, between.size() - text_of(next).size());
        replace("old_value", {whole.first, next.last}, fmt::format("const float old_value = {}; {}{}", value, before, text));
      }
    }
  }

  // Statements with their semicolons and conditions, in the order of the text.
  void find_whole_statements() {
    for (const TokenRange& statement : structure_.statements) {
      TokenRange whole = {statement.first, statement.last + 1};
      if (whole.last > tokens_.size() || !tokens_[statement.last].is(";")) continue;
      if (whole.first > 0 && tokens_[whole.first - 1].is(")") && tokens_[whole.first - 1].match > 0) {
        const std::size_t head = tokens_[whole.first - 1].match - 1;
        if (tokens_[head].is("for") || tokens_[head].is("while")) continue;
        if (tokens_[head].is("if")) whole.first = head;
      }
      whole_statements_.push_back(whole);
    }
    order_by(whole_statements_, [](const TokenRange& range) { return range.first; });
  }

  // Integers of different widths are mixed freely.
  static bool is_alike(const Variable& one, const Variable& other) {
    if (one.type.find('*') != std::string::npos || other.type.find('*') != std::string::npos) return one.type == other.type;
    return plain(one.type) == plain(other.type) || (is_integer_type(plain(one.type)) && is_integer_type(plain(other.type)));
  }

  [[nodiscard]] std::vector<std::string> numbers_in_scope(const Expression& expression) const {
    constexpr std::size_t most = 8;
    std::vector<std::string> numbers;
    for (auto variable = expression.variables.rbegin(); variable != expression.variables.rend(); ++variable) {
      if (variable->type.find('*') != std::string::npos || is_array(variable->name)) continue;
      if (among(kFloats, plain(variable->type)) && numbers.size() < most) numbers.emplace_back(variable->name);
      for (const auto& [name, type] : members_.of_struct(plain(variable->type))) {
        if (among(kFloats, type) && !is_array(name)) numbers.push_back(fmt::format("{}.{}", variable->name, name));
      }
    }
    return numbers;
  }

  // Whether a term may be a number with a fraction: not if it compares, if it is a pointer, or if all that it names are integers.
  [[nodiscard]] bool is_fraction(const Expression& expression, TokenRange term) const {
    bool has_integer = false;
    for (std::size_t i = term.first; i < term.last; ++i) {
      if (tokens_[i].is("[") && tokens_[i].match > i) i = tokens_[i].match;
      if (among(kTwoSignComparisons, tokens_[i].text) || ((tokens_[i].is("<") || tokens_[i].is(">")) && !tokens_[i].is_angle)) return false;
      if (tokens_[i].kind == metal::translate::TokenKind::number && tokens_[i].text.find('.') != std::string_view::npos) return true;
      if (!tokens_[i].is_identifier()) continue;
      const Variable* variable = find_variable(expression, tokens_[i].text);
      const bool is_indexed = i + 1 < tokens_.size() && tokens_[i + 1].is("[");
      const std::string_view type = is_member(i) ? members_.type_of(tokens_[i].text) : variable == nullptr ? "" : plain(variable->type);
      if (variable != nullptr && !is_member(i) && variable->type.find('*') != std::string::npos && !is_indexed) return false;
      if (is_integer_type(type) || is_integer_type(tokens_[i].text)) {
        has_integer = true;
      } else if (variable != nullptr || is_called(i) || !type.empty()) {
        return true;
      }
    }
    return !has_integer && term.last > term.first && tokens_[term.first].is_identifier() && is_called(term.first);
  }

  // Whether the expression assigns to what this is: `sum` in `sum = sum + weight`.
  [[nodiscard]] bool is_assigned(const Expression& expression, std::string_view text) const {
    std::size_t end = expression.range.first;
    while (end < expression.range.last && !tokens_[end].is("=")) ++end;
    return end < expression.range.last && text_of({expression.range.first, end}) == text;
  }

  void edit_factors(const Expression& expression, const ExpressionTerms& terms) {
    const std::vector<std::string> numbers = numbers_in_scope(expression);
    for (const ExpressionTerms::Term& term : terms.terms) {
      if (term.is_index || is_target(term.range) || !is_suspect(term.range) || !is_fraction(expression, term.range)) continue;
      const std::string text(text_of(term.range));
      const bool is_sum_so_far = is_assigned(expression, text);
      for (const std::string& number : numbers) {
        if (text == number) continue;
        replace(is_sum_so_far ? "more_rescaling" : "more_factor", term.range, fmt::format("{} * {}", text, number));
        replace("more_factor", term.range, fmt::format("{} / {}", text, number));
        if (term.is_exponent) replace("more_factor", term.range, fmt::format("{} - {}", text, number));
      }
      for (const std::string_view logarithm : kLogarithms) replace("other_base", term.range, fmt::format("{} * {}", text, logarithm));
      replace("minus", term.range, fmt::format("-({})", text));
    }
  }

  // A stride that is missing.
  void edit_indices(const Expression& expression, const ExpressionTerms& terms) {
    constexpr std::size_t most = 16;
    std::vector<std::string> names = integers_in_scope(expression);
    names.resize(std::min(names.size(), most));
    for (const TokenRange& term : terms.index_terms) {
      if (!is_suspect(term) || is_target(term) || names_pointer(expression, term)) continue;
      const std::string text(text_of(term));
      for (const std::string& name : names) {
        if (!holds_word(text, name)) replace("more_stride", term, fmt::format("{} * {}", text, name));
      }
    }
  }
  // A weight that one addend of a merge lacks and the other has: `sum * old + more` for `sum * old + more * weight`.
  void edit_weights(const Expression& expression) {
    const TokenRange range = expression.range;
    std::size_t value = range.first;
    while (value < range.last && !tokens_[value].is("=")) ++value;
    if (++value >= range.last) return;
    std::vector<TokenRange> addends = {{value, value}};
    std::vector<bool> is_product = {false};
    for (std::size_t i = value; i<range.last; i = tokens_[i].match> i ? tokens_[i].match + 1 : i + 1) {
      if (tokens_[i].is("?") || tokens_[i].is(",")) return;
      if (tokens_[i].is("+") && i > addends.back().first) {
        addends.push_back({i + 1, i + 1});
        is_product.push_back(false);
        continue;
      }
      if (tokens_[i].is("*")) is_product.back() = true;
      addends.back().last = tokens_[i].match > i ? tokens_[i].match + 1 : i + 1;
    }
    if (std::ranges::find(is_product, true) == is_product.end()) return;
    for (std::size_t i = 0; i < addends.size(); ++i) {
      if (is_product[i] || addends[i].is_empty() || !is_fraction(expression, addends[i])) continue;
      for (const std::string& number : numbers_in_scope(expression))
        replace("more_weight", addends[i], fmt::format("{} * {}", text_of(addends[i]), number));
    }
  }

  // A weight that a sum lacks and a sum beside it has: `sum += other_sum` for `sum += weight * other_sum`.
  void share_weights(const Expression& expression) {
    constexpr std::uint32_t near = 6;
    const TokenRange range = expression.range;
    const auto sum_of = [&](TokenRange whole) {
      std::size_t at = whole.first;
      while (at < whole.last && !tokens_[at].is("+=")) ++at;
      return at;
    };
    const std::size_t own = sum_of(range);
    if (own + 1 >= range.last || !is_fraction(expression, {own + 1, range.last})) return;
    const std::string_view added = text_of({own + 1, range.last});
    std::set<std::string_view> weights;
    for (const Expression& other : structure_.expressions) {
      const std::uint32_t line = line_of(other.range), here = line_of(range);
      const std::size_t at = sum_of(other.range);
      if (at + 3 >= other.range.last || (line > here ? line - here : here - line) > near || at == own) continue;
      for (std::size_t i = at + 1; i < other.range.last; ++i) {
        const bool is_factor = (i + 1 < other.range.last && tokens_[i + 1].is("*")) || (tokens_[i - 1].is("*") && !is_called(i));
        const bool is_name = tokens_[i].is_identifier() && !is_member(i) && find_variable(expression, tokens_[i].text) != nullptr;
        if (is_factor && is_name && is_float(expression, i) && added.find(tokens_[i].text) == std::string_view::npos)
          weights.insert(tokens_[i].text);
      }
    }
    for (const std::string_view weight : weights) replace("more_weight", {own + 1, range.last}, fmt::format("{} * ({})", weight, added));
  }

  // A factor that what has been summed up lacks.
  void edit_sums(const Expression& expression) {
    const TokenRange range = expression.range;
    for (std::size_t i = range.first; i + 1 < range.last; ++i) {
      if (tokens_[i].is("(") && tokens_[i].match > i) i = tokens_[i].match;
      if (!tokens_[i].is("+=") || i == range.first) continue;
      const std::string_view sum = text_of({range.first, i});
      const std::string_view added = text_of({i + 1, range.last});
      for (const std::string& number : numbers_in_scope(expression)) {
        if (sum != number) replace("more_rescaling", range, fmt::format("{0} = {0} * {1} + ({2})", sum, number, added));
      }
      return;
    }
  }

  // What is stored for a merge or as a second output is a maximum and the logarithm of a sum, of which one may be missing.
  void edit_logarithms(const Expression& expression) {
    const TokenRange range = expression.range;
    std::size_t value = range.first;
    while (value < range.last && !tokens_[value].is("=")) ++value;
    if (++value >= range.last) return;
    std::size_t question = value;
    while (question < range.last && !tokens_[question].is("?")) ++question;
    std::size_t colon = question;
    while (colon < range.last && !tokens_[colon].is(":")) ++colon;
    const TokenRange stored = colon < range.last ? TokenRange{question + 1, colon} : TokenRange{value, range.last};
    if (!is_stored_as_it_is(expression, stored)) return;
    const std::string text(text_of(stored));
    std::vector<std::string> numbers = numbers_in_scope(expression);
    const std::size_t bracket = text.find('[');
    for (const Variable& variable : expression.variables) {
      if (bracket != std::string::npos && is_array(variable.name) && plain(variable.type) == "float")
        numbers.push_back(std::string(variable.name) + text.substr(bracket));
    }
    for (const std::string& number : numbers) {
      if (number == text) continue;
      for (const std::string_view function : {"log", "log2"}) {
        replace("more_logarithm", stored, fmt::format("{} + {}({})", text, function, number));
        replace("more_logarithm", stored, fmt::format("{}({}) + {}", function, text, number));
      }
    }
  }

  // Whether the range is a variable, a member or an element with a fraction, and nothing else.
  [[nodiscard]] bool is_stored_as_it_is(const Expression& expression, TokenRange range) const {
    if (range.is_empty() || !tokens_[range.first].is_identifier() || is_called(range.first)) return false;
    std::size_t end = range.first + 1;
    while (end + 1 < range.last && tokens_[end].is(".")) end += 2;
    if (end < range.last && tokens_[end].is("[") && tokens_[end].match > end) end = tokens_[end].match + 1;
    return end == range.last && is_float(expression, range.last - 1);
  }

  // The type of a variable: too narrow, or with the other kind of sign.
  void edit_types() {
    constexpr std::array<std::array<std::string_view, 2>, 12> other_types = {{{"uint", "int"},
                                                                              {"int", "uint"},
                                                                              {"half", "float"},
                                                                              {"bfloat", "float"},
                                                                              {"T", "float"},
                                                                              {"ushort", "uint"},
                                                                              {"short", "int"},
                                                                              {"char", "uchar"},
                                                                              {"uchar", "char"},
                                                                              {"uint", "ulong"},
                                                                              {"int", "long"},
                                                                              {"half4", "float4"}}};
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      const bool declares = named_.contains(tokens_[i + 1].text) && tokens_[i + 1].is_identifier() && i + 2 < tokens_.size() &&
                            (tokens_[i + 2].is("=") || tokens_[i + 2].is("[") || tokens_[i + 2].is(";") || tokens_[i + 2].is(","));
      if (!declares || !is_suspect({i, i + 1})) continue;
      for (const auto& [type, other] : other_types) {
        if (!tokens_[i].is(type)) continue;
        replace("other_type", {i, i + 1}, std::string(other));
        const std::vector<std::size_t> casts = casts_to(type, i + 1);
        if (casts.empty()) continue;
        edits_.push_back({"other_type", tokens_[i].offset, tokens_[i].text.size(), std::string(other), casts});
      }
    }
  }

  // Where values are converted to the type as they are assigned to the variable that token `declared` declares: offsets, ascending, all
  // behind it.
  [[nodiscard]] std::vector<std::size_t> casts_to(std::string_view type, std::size_t declared) const {
    std::vector<std::size_t> casts;
    const std::string_view variable = tokens_[declared].text;
    for (std::size_t i = declared; i + 2 < tokens_.size(); ++i) {
      if (!tokens_[i].is(variable) || is_member(i)) continue;
      const std::size_t sign = tokens_[i + 1].is("[") && tokens_[i + 1].match > i ? tokens_[i + 1].match + 1 : i + 1;
      if (sign >= tokens_.size() || !(tokens_[sign].is("=") || tokens_[sign].is("+=") || tokens_[sign].is("*="))) continue;
      for (std::size_t at = sign + 1; at + 1 < tokens_.size() && !tokens_[at].is(";"); ++at) {
        if (tokens_[at].is(type) && tokens_[at + 1].is("(")) casts.push_back(tokens_[at].offset);
      }
    }
    return casts;
  }

  // A line that is missing: an assignment between numbers in scope, before a statement.
  void insert_statements() {
    for (const TokenRange& statement : structure_.statements) {
      if (!is_suspect(statement)) continue;
      const auto at = std::ranges::find_if(structure_.expressions,
                                           [&](const Expression& expression) { return expression.range.first == statement.first; });
      if (at == structure_.expressions.end()) continue;
      const std::vector<std::string> numbers = numbers_in_scope(*at);
      const std::string_view text = text_of(statement);
      for (const std::string& to : numbers) {
        const Variable* variable = find_variable(*at, to);
        if (variable == nullptr || variable->is_fixed) continue;
        for (const std::string& from : numbers) {
          if (to == from) continue;
          for (const std::string_view sign : {"=", "*=", "/="})
            replace("more_statement", statement, fmt::format("{{ {} {} {}; {}; }}", to, sign, from, text));
        }
      }
    }
  }

  // What each thread has summed up in an array is not rescaled: `for (...) sums[i] *= fade;` before a statement.
  void rescale_arrays() {
    struct Array {
      std::string_view name, size;
    };
    std::vector<Array> arrays;
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i) {
      const bool is_sum = tokens_[i - 1].is("float") || tokens_[i - 1].is("float4") || tokens_[i - 1].is("half");
      if (is_sum && tokens_[i].is_identifier() && tokens_[i + 1].is("[") && tokens_[tokens_[i + 1].match + 1].is(";"))
        arrays.push_back({tokens_[i].text, text_of({i + 2, tokens_[i + 1].match})});
    }
    for (const TokenRange& statement : structure_.statements) {
      const auto at = std::ranges::find_if(structure_.expressions,
                                           [&](const Expression& expression) { return expression.range.first == statement.first; });
      if (!is_suspect(statement) || at == structure_.expressions.end()) continue;
      for (const Array& array : arrays) {
        const Variable* variable = find_variable(*at, array.name);
        if (variable == nullptr || variable->is_fixed) continue;
        for (const std::string& factor : numbers_in_scope(*at))
          replace("rescaled_array", statement,
                  fmt::format("{{ for (int each = 0; each < {}; ++each) {}[each] *= {}; {}; }}", array.size, array.name, factor,
                              text_of(statement)));
      }
    }
  }

  // Terms of other expressions, the nearest first: of indices for indices, of conditions for conditions.
  void edit_terms(std::size_t edited) {
    constexpr std::size_t most = 8;
    const Expression& expression = structure_.expressions[edited];
    for (const bool of_conditions : {false, true}) {
      const std::vector<TokenRange>& places = of_conditions ? terms_[edited].conditions : terms_[edited].indices;
      if (places.empty()) continue;
      struct Found {
        std::uint32_t distance = 0;
        std::string_view term, array;
      };
      std::vector<Found> found;
      const std::uint32_t line = line_of(expression.range);
      for (std::size_t i = 0; i < terms_.size(); ++i) {
        for (const TokenRange& term : of_conditions ? terms_[i].condition_terms : terms_[i].index_terms) {
          if (!is_known_in(expression, term) || changes_something(term) || names_pointer(structure_.expressions[i], term)) continue;
          const std::uint32_t other = line_of(term);
          found.emplace_back(line > other ? line - other : other - line, text_of(term), terms_[i].array_at(tokens_, term));
        }
      }
      for (const TokenRange& place : places) {
        const std::string_view text = text_of(place);
        // What another index of the same array has is the likeliest.
        const std::string_view array = terms_[edited].array_at(tokens_, place);
        order_by(found, [&](const Found& one) { return !array.empty() && one.array == array ? 0U : 1 + one.distance; });
        if (of_conditions) replace("more_term", place, fmt::format("!({})", text));
        std::set<std::string_view> used;
        for (const auto& [distance, term, of] : found) {
          if (used.size() >= most || holds_word(text, term) || !used.insert(term).second) continue;
          if (of_conditions) {
            replace("more_term", place, fmt::format("({}) || ({})", text, term));
            replace("more_term", place, fmt::format("({}) && ({})", text, term));
          } else {
            replace("more_term", place, fmt::format("{} + {}", text, term));
          }
        }
      }
    }
  }

  std::vector<TokenRange> whole_statements_;
};

}  // namespace

std::vector<Edit> plausible_edits(const Source& source, const LineSuspicion& suspicion) {
  return edits_by<PlausibleEdits>(source, suspicion);
}

}  // namespace assay::harness
