// Adds unused arguments to expressions of suspect lines.
#include "harness/triage/unused_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/triage/edit_maker.h"
#include "harness/triage/ordered.h"
#include "harness/triage/unused_names.h"

namespace assay::harness {
namespace {

class UnusedEdits : public EditMaker {
 public:
  UnusedEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion, std::span<const std::string> subject)
      : EditMaker(source, piece, suspicion), subject_(subject.begin(), subject.end()) {
    for (const std::string_view name : unused_names(source)) unused_.insert(name);
    find_lengths();
  }

  std::vector<Edit> run() {
    for (std::size_t i = 0; i < structure_.expressions.size(); ++i) {
      const Expression& expression = structure_.expressions[i];
      if (expression.is_fixed || !is_suspect(expression.range)) continue;
      add_unused(i);
      add_flagged(expression);
      add_subject(i);
    }
    return std::move(edits_);
  }

 private:
  struct Unused {
    std::string text;  // "heads", "params.heads"
    std::string_view name;
    std::string type;
  };

  [[nodiscard]] std::vector<Unused> unused_in(const Expression& expression) const { return named_in(expression, unused_); }

  [[nodiscard]] std::vector<Unused> named_in(const Expression& expression, const std::set<std::string_view>& names) const {
    std::vector<Unused> found;
    for (const Variable& variable : expression.variables) {
      if (names.contains(variable.name)) found.push_back({std::string(variable.name), variable.name, std::string(plain(variable.type))});
      for (const auto& [name, type] : members_.of_struct(plain(variable.type))) {
        if (names.contains(name) && !is_array(name)) found.push_back({fmt::format("{}.{}", variable.name, name), name, std::string(type)});
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
      TokenRange range = {i - 1, i + 2};
      while (range.last + 1 < tokens_.size() && tokens_[range.last].is(".")) range.last += 2;
      if (!tokens_[i - 1].is_identifier() || !tokens_[i + 1].is_identifier() || is_member(i - 1) || is_called(range.last - 1)) continue;
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

  // `+ query * mask_row` where the strides of heads and batches of the mask are, and `(key + start) % rows` for `key % rows`.
  void add_subject(std::size_t edited) {
    const Expression& expression = structure_.expressions[edited];
    bool has_another = false;
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i)
      has_another = has_another || (tokens_[i].is_identifier() && subject_.contains(tokens_[i].text));
    const std::vector<std::string> factors = factors_in(expression);
    for (const Unused& name : named_in(expression, subject_)) {
      const bool is_here = text_of(expression.range).find(name.text) != std::string_view::npos;
      if (is_here || unused_.contains(name.name) || !is_integer_type(name.type)) continue;
      shift_names(expression, name, true);
      for (const ExpressionTerms::Term& term : terms_[edited].terms) {
        if (!has_another || !is_product(expression, term.range) || names_pointer(expression, term.range)) continue;
        for (const std::string& factor : factors) {
          if (factor != name.text)
            replace("unused_stride", term.range, fmt::format("{} + {} * {}", text_of(term.range), factor, name.text));
        }
      }
    }
  }

  void add_unused(std::size_t edited) {
    const Expression& expression = structure_.expressions[edited];
    for (const Unused& unused : unused_in(expression)) {
      replace_like(expression, unused);
      choose(expression, unused);
      if (unused.type == "float") cap_value(expression, unused);
      if (!is_integer_type(unused.type)) continue;
      replace_groups(expression, unused);
      replace_sums(edited, unused);
      divide_first(expression, unused);
      shift_names(expression, unused);
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

  // An offset or a start that no line adds: `(key + start) % rows` for `key % rows`.
  void shift_names(const Expression& expression, const Unused& unused, bool of_remainders = false) {
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      if (of_remainders && (i + 1 >= expression.range.last || !tokens_[i + 1].is("%"))) continue;
      if (!tokens_[i].is_identifier() || is_called(i) || is_array(tokens_[i].text) || !is_integer_type(type_at(expression, i))) continue;
      const TokenRange name = whole_name(i);
      if (name.first < expression.range.first || is_target(name)) continue;
      for (const std::string_view how : {"+", "-"})
        replace("unused_shift", name, fmt::format("({} {} {})", text_of(name), how, unused.text));
    }
  }

  // A soft cap that no line applies, of what is assigned or returned: `(cap > 0.0f ? cap * tanh((dot) / cap) : (dot))` for `dot`.
  void cap_value(const Expression& expression, const Unused& unused) {
    TokenRange value = expression.range;
    for (std::size_t i = value.first; i < value.last; ++i) {
      if (tokens_[i].is("=")) value.first = i + 1;
    }
    const bool is_value =
        value.first > 0 && !value.is_empty() && (tokens_[value.first - 1].is("=") || tokens_[value.first - 1].is("return"));
    bool has_fraction = false;
    for (std::size_t i = value.first; i < value.last; ++i) has_fraction = has_fraction || is_float(expression, i);
    if (!is_value || !has_fraction) return;
    const std::string_view text = text_of(value), cap = unused.text;
    replace("capped", value, fmt::format("({} > 0.0f ? {} * precise::tanh(({}) / {}) : ({}))", cap, cap, text, cap, text));
  }

  // What is divided may be in smaller units: `row / queries % heads` for `row % heads`.
  void divide_first(const Expression& expression, const Unused& unused) {
    for (std::size_t i = expression.range.first + 1; i < expression.range.last; ++i) {
      const bool is_division = tokens_[i].is("/") || tokens_[i].is("%");
      if (!is_division || !tokens_[i - 1].is_identifier() || is_float(expression, i - 1)) continue;
      const TokenRange name = whole_name(i - 1);
      if (name.first < expression.range.first || is_target(name)) continue;
      replace("divided", name, fmt::format("{} / {}", text_of(name), unused.text));
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

  std::set<std::string_view> unused_;
  std::set<std::string_view> subject_;
  std::set<std::string, std::less<>> lengths_;
};

}  // namespace

std::vector<Edit> unused_edits(const Source& source, const LineSuspicion& suspicion, std::span<const std::string> subject) {
  std::vector<Edit> edits;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    for (Edit& edit : UnusedEdits(source, piece, suspicion, subject).run()) edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace assay::harness
