// Finds sums that deal out two counts, and names with parts that other names have.
#include "harness/triage/exchanged_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/triage/edit_maker.h"
#include "harness/triage/ordered.h"

namespace assay::harness {
namespace {

class ExchangedEdits : public EditMaker {
 public:
  ExchangedEdits(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion) : EditMaker(source, piece, suspicion) {
    find_counts();
  }

  std::vector<Edit> run() {
    for (std::size_t i = 0; i < structure_.expressions.size(); ++i) {
      const Expression& expression = structure_.expressions[i];
      if (expression.is_fixed || !is_suspect(expression.range)) continue;
      exchange_orders(expression, terms_[i]);
      turn_differences(terms_[i]);
      turn_rings(expression);
      rename(expression);
    }
    return std::move(edits_);
  }

 private:
  // What something is divided by, and small literal numbers of the source.
  void find_counts() {
    constexpr std::size_t most = 16;
    const std::set<std::string_view> small = {"2", "3", "4", "8", "16", "32"};
    std::set<std::string_view> known;
    for (std::size_t i = 0; i + 1 < tokens_.size() && counts_.size() < most; ++i) {
      TokenRange count = {i, i + 1};
      if (tokens_[i].is("/") || tokens_[i].is("%")) {
        count = {i + 1, i + 2};
        while (count.last + 1 < tokens_.size() && tokens_[count.last].is(".")) count.last += 2;
        if (!tokens_[count.first].is_identifier() || is_called(count.last - 1)) continue;
      } else if (!small.contains(tokens_[i].text)) {
        continue;
      }
      if (known.insert(text_of(count)).second) counts_.push_back(count);
    }
  }

  void turn_differences(const ExpressionTerms& terms) {
    std::vector<TokenRange> operands;
    for (const ExpressionTerms::Term& term : terms.terms) operands.push_back(term.range);
    for (const TokenRange& one : operands) {
      if (one.last >= tokens_.size() || !tokens_[one.last].is("-")) continue;
      const auto other = std::ranges::find(operands, one.last + 1, &TokenRange::first);
      if (other == operands.end() || one.is_empty() || text_of(one) == text_of(*other)) continue;
      const TokenRange whole = {one.first, other->last};
      const bool is_exponent = std::ranges::any_of(
          terms.terms, [&](const ExpressionTerms::Term& term) { return term.is_exponent && term.range.first == whole.first; });
      replace(is_exponent ? "turned_exponent" : "turned", whole, fmt::format("{} - {}", text_of(*other), text_of(one)));
    }
  }

  // `(slot + n - start) % n` for `(slot + start) % n` or `(slot - start) % n`, and the other way round.
  void turn_rings(const Expression& expression) {
    for (std::size_t i = expression.range.first + 1; i + 1 < expression.range.last; ++i) {
      if (!tokens_[i].is("%") || !tokens_[i - 1].is(")") || tokens_[i - 1].match < expression.range.first) continue;
      std::size_t end = i + 2;
      while (end + 1 < expression.range.last && (tokens_[end].is(".") || tokens_[end].is("->"))) end += 2;
      const std::string_view size = text_of({i + 1, end});
      const TokenRange sum = {tokens_[i - 1].match + 1, i - 1};
      std::size_t sign = 0;  // the last one outside of brackets
      for (std::size_t at = sum.first; at<sum.last; at = tokens_[at].match> at ? tokens_[at].match + 1 : at + 1) {
        if (at > sum.first && (tokens_[at].is("+") || tokens_[at].is("-"))) sign = at;
      }
      if (sign == 0) continue;
      const std::string_view start = text_of({sum.first, sign}), moved = text_of({sign + 1, sum.last});
      const std::string whole = fmt::format(" + {}", size);
      if (!start.ends_with(whole)) {
        replace("turned_ring", sum, fmt::format("{} + {} - {}", start, size, moved));
      } else if (tokens_[sign].is("-")) {
        replace("turned_ring", sum, fmt::format("{} + {}", start.substr(0, start.size() - whole.size()), moved));
      }
    }
  }

  [[nodiscard]] std::vector<std::string> factors_in(const Expression& expression) const {
    constexpr std::size_t most_names = 12;
    std::vector<std::string> factors;
    const auto add = [&](std::string text) {
      if (std::ranges::find(factors, text) == factors.end()) factors.push_back(std::move(text));
    };
    for (const TokenRange& count : counts_) {
      if (is_known_in(expression, count) && !is_float(expression, count.last - 1)) add(std::string(text_of(count)));
    }
    for (const std::string_view size : sizes_) add(std::string(size));
    std::vector<std::string> names = integers_in_scope(expression);
    names.resize(std::min(names.size(), most_names));
    std::ranges::for_each(names, add);
    return factors;
  }

  // Whether the term is one of integers, which nothing outside of it changes the meaning of.
  [[nodiscard]] bool is_count(const Expression& expression, TokenRange term) const {
    if (term.is_empty() || is_target(term) || changes_something(term) || names_pointer(expression, term)) return false;
    for (std::size_t i = term.first; i < term.last; ++i) {
      if (is_float(expression, i) || tokens_[i].is("?") || tokens_[i].is("[")) return false;
    }
    return true;
  }

  void exchange_orders(const Expression& expression, const ExpressionTerms& terms) {
    std::vector<TokenRange> parts;
    for (const ExpressionTerms::Term& term : terms.terms) parts.push_back(term.range);
    order_by(parts, [](const TokenRange& range) { return range.first; });
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const TokenRange &one = parts[i], &other = parts[i + 1];
      const bool is_sum = one.last + 1 == other.first && tokens_[one.last].is("+") && (one.first == 0 || !tokens_[one.first - 1].is("-"));
      if (!is_sum || !is_count(expression, one) || !is_count(expression, other)) continue;
      exchange(expression, {one.first, other.last}, one, other);
      exchange(expression, {one.first, other.last}, other, one);
    }
  }

  // `product` is `a * n`, where either may be the count.
  void exchange(const Expression& expression, TokenRange whole, TokenRange product, TokenRange other) {
    for (std::size_t i = product.first + 1; i + 1 < product.last; ++i) {
      if (tokens_[i].is("(") && tokens_[i].match > i) i = tokens_[i].match;
      if (!tokens_[i].is("*")) continue;
      for (const TokenRange& counted : {TokenRange{product.first, i}, TokenRange{i + 1, product.last}}) {
        for (const std::string& factor : factors_in(expression)) {
          if (factor != text_of(counted) && factor != text_of(other))
            replace("other_order", whole, fmt::format("{} * {} + {}", text_of(other), factor, text_of(counted)));
        }
      }
    }
  }

  // A part of a name, and what it becomes.
  using Part = std::pair<std::string_view, std::string_view>;

  // In what two names differ; empty if that is most of them.
  [[nodiscard]] static Part difference(std::string_view one, std::string_view other) {
    std::size_t front = 0, back = 0;
    const std::size_t shorter = std::min(one.size(), other.size());
    while (front < shorter && one[front] == other[front]) ++front;
    while (back < shorter - front && one[one.size() - 1 - back] == other[other.size() - 1 - back]) ++back;
    constexpr std::size_t least = 2;
    if (front + back < least) return {};
    return {one.substr(front, one.size() - front - back), other.substr(front, other.size() - front - back)};
  }

  [[nodiscard]] std::set<Part> parts_of(const Expression& expression, const std::vector<std::size_t>& names) const {
    std::set<Part> parts;
    for (const std::size_t i : names) {
      const auto compare = [&](std::string_view other, std::string_view type) {
        const Part part = difference(tokens_[i].text, other);
        if (other != tokens_[i].text && type == type_at(expression, i) && !part.first.empty() && !part.second.empty()) parts.insert(part);
      };
      if (is_member(i)) {
        for (const auto& [name, type] : members_.all) compare(name, type);
      } else {
        for (const Variable& variable : expression.variables) compare(variable.name, plain(variable.type));
      }
    }
    return parts;
  }

  void rename(const Expression& expression) {
    constexpr std::size_t most = 24;
    std::vector<std::size_t> names;
    for (std::size_t i = expression.range.first; i < expression.range.last; ++i) {
      const bool is_name = tokens_[i].is_identifier() && !is_called(i) && !is_target({i, i + 1}) && !type_at(expression, i).empty();
      if (is_name) names.push_back(i);
    }
    std::size_t count = 0;
    for (const auto& [from, to] : parts_of(expression, names)) {
      std::vector<std::pair<std::size_t, std::string>> renamed;
      std::set<std::string_view> different;
      for (const std::size_t i : names) {
        const std::size_t at = tokens_[i].text.find(from);
        if (at == std::string_view::npos) continue;
        std::string name(tokens_[i].text);
        name.replace(at, from.size(), to);
        if (type_as(expression, i, name) != type_at(expression, i)) continue;
        different.insert(tokens_[i].text);
        renamed.emplace_back(i, std::move(name));
      }
      if (different.size() < 2 || count++ >= most) continue;
      const TokenRange whole = {renamed.front().first, renamed.back().first + 1};
      std::string text;
      std::size_t behind = tokens_[whole.first].offset;
      for (const auto& [i, name] : renamed) {
        text.append(source_.text(), behind, tokens_[i].offset - behind).append(name);
        behind = tokens_[i].offset + tokens_[i].text.size();
      }
      replace("renamed", whole, std::move(text));
    }
  }

  std::vector<TokenRange> counts_;
};

}  // namespace

std::vector<Edit> exchanged_edits(const Source& source, const LineSuspicion& suspicion) {
  return edits_by<ExchangedEdits>(source, suspicion);
}

}  // namespace assay::harness
