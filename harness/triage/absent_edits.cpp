// Adds unused arguments, bounds and sizes to expressions of suspect lines.
#include "harness/triage/absent_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/triage/edit_maker.h"
#include "harness/triage/ordered.h"
#include "harness/triage/unused_names.h"

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 4> kOrders = {"<", "<=", ">", ">="};

class AbsentEdits : public EditMaker {
 public:
  AbsentEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion) : EditMaker(source, piece, suspicion) {
    for (const std::string_view name : harness::unused_names(source)) unused_.insert(name);
    find_limits();
    find_numbers();
    find_lengths();
  }

  std::vector<Edit> run() {
    for (std::size_t i = 0; i < structure_.expressions.size(); ++i) {
      const Expression& expression = structure_.expressions[i];
      if (expression.is_fixed || !is_suspect(expression.range)) continue;
      add_unused(i);
      add_flagged(structure_.expressions[i]);
      add_bounds(i);
      add_first_only(expression);
      add_sizes(i);
      shift_limits(expression, terms_[i]);
    }
    guard_maxima();
    guard_weights();
    return std::move(edits_);
  }

 private:
  struct Unused {
    std::string text;  // "heads", "params.heads"
    std::string_view name;
    std::string type;
  };

  [[nodiscard]] std::vector<Unused> unused_in(const Expression& expression) const {
    std::vector<Unused> found;
    for (const Variable& variable : expression.variables) {
      if (unused_.contains(variable.name)) found.push_back({std::string(variable.name), variable.name, std::string(plain(variable.type))});
      for (const auto& [name, type] : members_.of_struct(plain(variable.type))) {
        if (unused_.contains(name) && !is_array(name))
          found.push_back({fmt::format("{}.{}", variable.name, name), name, std::string(type)});
      }
    }
    return found;
  }

  // Quotients and remainders of the source, and integers in scope, of which one is the factor of a stride.
  [[nodiscard]] std::vector<std::string> factors_in(const Expression& expression) const {
    constexpr std::size_t most_quotients = 6, most_names = 12;
    std::vector<std::string> factors;
    for (std::size_t i = 1; i + 1 < tokens_.size() && factors.size() < most_quotients; ++i) {
      if (!tokens_[i].is("%") && !tokens_[i].is("/")) continue;
      const TokenRange range = {i - 1, i + 2};
      if (!tokens_[i - 1].is_identifier() || !tokens_[i + 1].is_identifier() || is_member(i - 1) || is_called(i + 1)) continue;
      if (find_variable(expression, tokens_[i - 1].text) == nullptr || !is_known_in(expression, range) || is_float(expression, i - 1))
        continue;
      std::string text = fmt::format("({})", text_of(range));
      if (std::ranges::find(factors, text) == factors.end()) factors.push_back(std::move(text));
    }
    std::vector<std::string> names = integers_in_scope(expression);
    names.resize(std::min(names.size(), most_names));
    std::ranges::move(names, std::back_inserter(factors));
    return factors;
  }

  void add_unused(std::size_t edited) {
    const Expression& expression = structure_.expressions[edited];
    for (const Unused& unused : unused_in(expression)) {
      replace_like(expression, unused);
      choose(expression, unused);
      if (!is_integer_type(unused.type)) continue;
      replace_groups(expression, unused);
      replace_sums(edited, unused);
      const std::vector<std::string> factors = factors_in(expression);
      for (const ExpressionTerms::Term& term : terms_[edited].terms) {
        if (!is_product(expression, term.range) || names_pointer(expression, term.range)) continue;
        const std::string_view text = text_of(term.range);
        for (const std::string& factor : factors) {
          if (factor != unused.text) replace("unused", term.range, fmt::format("{} + {} * {}", text, factor, unused.text));
        }
        replace("unused", term.range, fmt::format("{} + {}", text, unused.text));
        replace("unused", term.range, fmt::format("({}) * {}", text, unused.text));
      }
    }
  }

  // In place of what stands in parentheses: `row * ((n + 3) / 4)` for `row * pitch`.
  void replace_groups(const Expression& expression, const Unused& unused) {
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      const bool is_group = tokens_[i].is("(") && tokens_[i].match > i && tokens_[i].match < expression.range.last &&
                            (i == 0 || (!tokens_[i - 1].is_identifier() && !tokens_[i - 1].is(">")));
      if (!is_group) continue;
      const TokenRange inside = {i + 1, tokens_[i].match};
      bool is_integer = !inside.is_empty() && !names_pointer(expression, inside);
      for (std::size_t at = inside.first; at < inside.last; ++at) is_integer = is_integer && !is_float(expression, at);
      if (is_integer) replace("given", {i, inside.last + 1}, unused.text);
    }
  }

  // What is read from an array, as the length of each sequence is.
  void find_lengths() {
    for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
      const bool is_read = tokens_[i].is_identifier() && tokens_[i + 1].is("=") && tokens_[i + 2].is_identifier() && tokens_[i + 3].is("[");
      if (is_read) lengths_.emplace(tokens_[i].text);
    }
  }

  // What only some launches want: `shift - (from_end ? longest - length : 0)`.
  void add_flagged(const Expression& expression) {
    constexpr std::size_t most_lengths = 2;
    const std::vector<Unused> all = unused_in(expression);
    if (all.size() < 2) return;
    std::vector<std::string> lengths;
    for (std::string& name : integers_in_scope(expression)) {
      if (lengths_.contains(name) && lengths.size() < most_lengths) lengths.push_back(std::move(name));
    }
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!tokens_[i].is_identifier() || is_called(i) || is_array(tokens_[i].text) || !is_integer_type(type_at(expression, i))) continue;
      const TokenRange name = whole_name(i);
      if (is_target(name)) continue;
      for (const Unused& flag : all) {
        for (const Unused& number : all) {
          if (flag.text == number.text || !is_integer_type(number.type)) continue;
          for (const std::string& length : lengths) {
            replace("flagged", name, fmt::format("({} - ({} ? {} - {} : 0))", text_of(name), flag.text, number.text, length));
            replace("flagged", name, fmt::format("({} + ({} ? {} - {} : 0))", text_of(name), flag.text, length, number.text));
          }
        }
      }
    }
  }

  // In place of a part of a sum: what is computed may be given.
  void replace_sums(std::size_t edited, const Unused& unused) {
    std::vector<TokenRange> terms;
    for (const ExpressionTerms::Term& term : terms_[edited].terms) terms.push_back(term.range);
    order_by(terms, [](const TokenRange& range) { return range.first; });
    for (std::size_t i = 0; i + 1 < terms.size(); ++i) {
      const SourceToken& between = tokens_[terms[i].last];
      const bool is_sum = terms[i].last + 1 == terms[i + 1].first && (between.is("+") || between.is("-"));
      const bool is_integer = is_integer_type(type_at(structure_.expressions[edited], terms[i].last - 1));
      if (is_sum && is_integer) replace("unused", {terms[i].first, terms[i + 1].last}, unused.text);
    }
  }

  // Whether the term is a product of integers, as in an index, or an integer within one.
  [[nodiscard]] bool is_product(const Expression& expression, TokenRange term) const {
    if (term.is_empty() || is_target(term)) return false;
    for (std::size_t i = term.first; i < term.last; ++i) {
      if (is_float(expression, i) || tokens_[i].is("[")) return false;
    }
    const bool is_offset =
        expression.is_offset || !terms_of(tokens_, expression.range, expression.is_offset).array_at(tokens_, term).empty();
    return is_offset ||
           std::any_of(tokens_.begin() + static_cast<std::ptrdiff_t>(term.first), tokens_.begin() + static_cast<std::ptrdiff_t>(term.last),
                       [](const SourceToken& token) { return token.is("*") || token.is("/") || token.is("%"); });
  }

  // The first token of what token i names, with the struct before it; i + 1 is behind its last.
  [[nodiscard]] TokenRange whole_name(std::size_t i) const { return {is_member(i) && i >= 2 ? i - 2 : i, i + 1}; }

  // In place of an argument of the same type.
  void replace_like(const Expression& expression, const Unused& unused) {
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!tokens_[i].is_identifier() || is_called(i) || is_array(tokens_[i].text) || type_at(expression, i) != unused.type) continue;
      if (!is_target({i, i + 1})) replace("unused", whole_name(i), unused.text);
    }
  }

  // A choice between the two, by a condition of another expression.
  void choose(const Expression& expression, const Unused& unused) {
    constexpr std::size_t most = 4;
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (!tokens_[i].is_identifier() || is_called(i) || is_array(tokens_[i].text) || type_at(expression, i) != unused.type) continue;
      const TokenRange name = whole_name(i);
      if (is_target(name)) continue;
      std::vector<std::pair<std::uint32_t, std::string_view>> conditions;
      for (const ExpressionTerms& terms : terms_) {
        for (const TokenRange& term : terms.condition_terms) {
          if (!is_known_in(expression, term) || changes_something(term)) continue;
          const std::uint32_t own = line_of(name), other = line_of(term);
          conditions.emplace_back(own > other ? own - other : other - own, text_of(term));
        }
      }
      order_by(conditions, [](const auto& one) { return one.first; });
      conditions.resize(std::min(conditions.size(), most));
      for (const auto& [distance, condition] : conditions) {
        replace("unused", name, fmt::format("(({}) ? {} : {})", condition, text_of(name), unused.text));
        replace("unused", name, fmt::format("(({}) ? {} : {})", condition, unused.text, text_of(name)));
      }
    }
  }

  // What stands behind a `<` somewhere: numbers of keys, lengths, capacities.
  void find_limits() {
    for (const ExpressionTerms& terms : terms_) {
      for (const TokenRange& condition : terms.condition_terms) {
        for (std::size_t i = condition.first; i + 1 < condition.last; ++i) {
          if (!among(kOrders, tokens_[i].text) || tokens_[i].is_angle || !tokens_[i + 1].is_identifier()) continue;
          std::size_t last = i + 2;
          while (last + 1 < condition.last && tokens_[last].is(".")) last += 2;
          if (last == condition.last) limits_.push_back({i + 1, last});
        }
      }
    }
  }

  void add_bounds(std::size_t edited) {
    constexpr std::size_t most_limits = 4, most_names = 2;
    const Expression& expression = structure_.expressions[edited];
    for (const TokenRange& condition : terms_[edited].conditions) {
      const std::string_view text = text_of(condition);
      std::set<std::string_view> names;
      for (std::size_t i = condition.first; i < condition.last && names.size() < most_names; ++i) {
        const bool is_name = tokens_[i].is_identifier() && !is_member(i) && !is_called(i) && !is_array(tokens_[i].text);
        if (is_name && is_integer_type(type_at(expression, i)) && (i + 1 >= tokens_.size() || !tokens_[i + 1].is(".")))
          names.insert(tokens_[i].text);
      }
      std::vector<std::pair<std::uint32_t, std::string_view>> limits;
      for (const TokenRange& limit : limits_) {
        const std::string_view other = text_of(limit);
        if (!is_known_in(expression, limit) || text.find(other) != std::string_view::npos) continue;
        const std::uint32_t own = line_of(condition), line = line_of(limit);
        const bool is_known = std::ranges::any_of(limits, [&](const auto& one) { return one.second == other; });
        if (!is_known && is_integer_type(type_at(expression, limit.last - 1)))
          limits.emplace_back(own > line ? own - line : line - own, other);
      }
      order_by(limits, [](const auto& one) { return one.first; });
      limits.resize(std::min(limits.size(), most_limits));
      for (const std::string_view name : names) {
        for (const auto& [distance, limit] : limits) {
          if (name == limit) continue;
          replace("more_bound", condition, fmt::format("({}) || {} >= {}", text, name, limit));
          replace("more_bound", condition, fmt::format("({}) && {} < {}", text, name, limit));
        }
      }
    }
  }

  // Names of threads, SIMD-groups, parts: what the launch gives each of them, and quotients and remainders.
  void find_numbers() {
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i) {
      if (tokens_[i].is_identifier() && tokens_[i + 1].is("[") && tokens_[i + 2].is("[")) numbers_.insert(tokens_[i].text);
      if (!tokens_[i].is_identifier() || !tokens_[i + 1].is("=")) continue;
      // Behind a long value nobody looks, and a file may be one long statement.
      constexpr std::size_t longest = 64;
      const std::size_t end = std::min(tokens_.size(), i + longest);
      for (std::size_t at = i + 2; at < end && !tokens_[at].is(";") && !tokens_[at].is(","); ++at) {
        if (tokens_[at].is("/") || tokens_[at].is("%")) numbers_.insert(tokens_[i].text);
      }
    }
  }

  // What all threads or parts do, and one should: `if (has_sink && part == 0)` for `if (has_sink)`.
  void add_first_only(const Expression& expression) {
    constexpr std::size_t most = 12;
    const auto is_whole = [&](TokenRange one) { return one.first == expression.range.first && one.last == expression.range.last; };
    if (!std::ranges::any_of(structure_.conditions, is_whole)) return;
    const std::string_view text = text_of(expression.range);
    std::size_t count = 0;
    for (const std::string& name : integers_in_scope(expression)) {
      const std::string_view own = std::string_view(name).substr(0, name.find('.'));
      if (!numbers_.contains(own) || text.find(name) != std::string_view::npos || count++ >= most) continue;
      replace("more_bound", expression.range, fmt::format("({}) && {} == 0", text, name));
    }
  }

  void add_sizes(std::size_t edited) {
    const Expression& expression = structure_.expressions[edited];
    if (!holds_comparison(tokens_, expression.range)) return;
    for (const ExpressionTerms::Term& term : terms_[edited].terms) {
      if (term.is_index || is_target(term.range) || term.range.is_empty() || !tokens_[term.range.first].is_identifier()) continue;
      const bool is_name = whole_name(term.range.last - 1).first == term.range.first;
      if (!is_name || !is_integer_type(type_at(expression, term.range.last - 1))) continue;
      const std::string_view text = text_of(term.range);
      for (const std::string_view size : sizes_) {
        if (size == text || !is_known_in(expression, term.range)) continue;
        replace("more_size", term.range, fmt::format("({} + {})", text, size));
        replace("more_size", term.range, fmt::format("({} - {})", text, size));
      }
    }
  }

  // Where nothing has been seen, the maximum is minus infinity: `if (top == -INFINITY) continue;` behind `top = simd_max(score)`.
  void guard_maxima() {
    constexpr std::array<std::string_view, 4> maxima = {"max", "fmax", "simd_max", "quad_max"};
    for (std::size_t i = 1; i + 2 < tokens_.size(); ++i) {
      if (!tokens_[i].is("=") || !tokens_[i - 1].is_identifier() || !among(maxima, tokens_[i + 1].text) || !tokens_[i + 2].is("("))
        continue;
      const std::size_t end = tokens_[i + 2].match + 1;
      if (end >= tokens_.size() || !tokens_[end].is(";")) continue;
      replace("guarded", {end, end + 1}, fmt::format("; if ({} == -INFINITY) continue;", tokens_[i - 1].text));
    }
  }

  // A weight of nothing is 0: `(score == -INFINITY ? 0.0f : exp(score - top))` for `exp(score - top)`.
  void guard_weights() {
    constexpr std::array<std::string_view, 2> powers = {"exp", "exp2"};
    for (std::size_t i = 0; i + 4 < tokens_.size(); ++i) {
      if (!among(powers, tokens_[i].text) || !tokens_[i + 1].is("(") || !tokens_[i + 2].is_identifier() || !tokens_[i + 3].is("-"))
        continue;
      // What stands in front of the name belongs to it.
      const bool is_qualified = i >= 2 && tokens_[i - 1].is("::");
      const TokenRange call = {is_qualified ? i - 2 : i, tokens_[i + 1].match + 1};
      replace("guarded", call, fmt::format("({} == -INFINITY ? 0.0f : {})", tokens_[i + 2].text, text_of(call)));
    }
  }

  // The one that a limit lacks: `min(place + 1, keys)` for `min(place, keys)`.
  void shift_limits(const Expression& expression, const ExpressionTerms& terms) {
    for (const ExpressionTerms::Term& term : terms.terms) {
      if (term.is_index || is_target(term.range) || term.range.is_empty() || !tokens_[term.range.first].is_identifier()) continue;
      const bool is_name = whole_name(term.range.last - 1).first == term.range.first;
      if (!is_name || is_called(term.range.first) || !is_integer_type(type_at(expression, term.range.last - 1))) continue;
      const bool is_limit =
          std::ranges::any_of(terms.condition_terms, [&](const TokenRange& one) { return one.first == term.range.first; }) ||
          is_argument(term.range);
      if (!is_limit) continue;
      for (const std::string_view how : {"+", "-"}) replace("one_off", term.range, fmt::format("({} {} 1)", text_of(term.range), how));
    }
  }

  // Of a minimum or maximum.
  [[nodiscard]] bool is_argument(TokenRange range) const {
    constexpr std::array<std::string_view, 3> limits = {"min", "max", "clamp"};
    std::size_t open = range.first;
    while (open > 0 && !tokens_[open].is("(") && !tokens_[open].is(";") && !tokens_[open].is("{")) {
      const bool closes = tokens_[open].is(")") && tokens_[open].match < open;
      open = closes && tokens_[open].match > 0 ? tokens_[open].match - 1 : open - 1;
    }
    return open > 0 && tokens_[open].is("(") && among(limits, tokens_[open - 1].text);
  }

  std::set<std::string_view> unused_;
  std::set<std::string_view> numbers_;
  std::set<std::string, std::less<>> lengths_;
  std::vector<TokenRange> limits_;
};

}  // namespace

std::vector<Edit> absent_edits(const Source& source, const LineSuspicion& suspicion) { return edits_by<AbsentEdits>(source, suspicion); }

}  // namespace assay::harness
