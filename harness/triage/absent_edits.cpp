// Adds bounds, windows and sizes to expressions of suspect lines.
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

namespace assay::harness {
namespace {

constexpr std::array<std::string_view, 4> kOrders = {"<", "<=", ">", ">="};

class AbsentEdits : public EditMaker {
 public:
  AbsentEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion) : EditMaker(source, piece, suspicion) {
    find_limits();
    find_numbers();
  }

  std::vector<Edit> run() {
    for (std::size_t i = 0; i < structure_.expressions.size(); ++i) {
      const Expression& expression = structure_.expressions[i];
      if (expression.is_fixed || !is_suspect(expression.range)) continue;
      add_bounds(i);
      add_windows(i);
      add_first_only(expression);
      add_sizes(i);
      shift_limits(expression, terms_[i]);
    }
    guard_maxima();
    guard_weights();
    return std::move(edits_);
  }

 private:
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

  // A window that a condition does not have: `(shown) && key > position - window` for `shown`, if that compares the key and the position.
  void add_windows(std::size_t edited) {
    const Expression& expression = structure_.expressions[edited];
    std::vector<std::string> windows;
    for (std::string& name : integers_in_scope(expression)) {
      if (name.find("win") != std::string::npos || name.find("Win") != std::string::npos) windows.push_back(std::move(name));
    }
    for (const TokenRange& condition : terms_[edited].conditions) {
      const std::string_view text = text_of(condition);
      for (std::size_t i = condition.first + 1; i + 1 < condition.last; ++i) {
        const bool compares = among(kOrders, tokens_[i].text) && !tokens_[i].is_angle && tokens_[i - 1].is_identifier();
        if (!compares || !tokens_[i + 1].is_identifier() || is_called(i + 1)) continue;
        const bool is_up_to = tokens_[i].text.front() == '<';
        const bool is_of_struct = i + 3 < condition.last && tokens_[i + 2].is(".");
        const TokenRange left = whole_name(i - 1), right = whole_name(is_of_struct ? i + 3 : i + 1);
        const std::string_view key = text_of(is_up_to ? left : right), position = text_of(is_up_to ? right : left);
        for (const std::string& window : windows) {
          replace("windowed", condition, fmt::format("({}) && {} > {} - {}", text, key, position, window));
          replace("windowed", condition, fmt::format("({}) && ({} <= 0 || {} > {} - {})", text, window, key, position, window));
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

  std::set<std::string_view> numbers_;
  std::vector<TokenRange> limits_;
};

}  // namespace

std::vector<Edit> absent_edits(const Source& source, const LineSuspicion& suspicion) { return edits_by<AbsentEdits>(source, suspicion); }

}  // namespace assay::harness
