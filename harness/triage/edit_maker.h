// What makers of edits know of a source: variables in scope, terms, structs. Internal to harness/triage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/mutate/operators.h"
#include "harness/mutate/source.h"
#include "harness/mutate/structure.h"
#include "harness/triage/expression_terms.h"
#include "harness/triage/slices.h"

namespace assay::harness {

inline constexpr std::array<std::string_view, 4> kTwoSignComparisons = {"==", "!=", "<=", ">="};

// "ulong" of "ulong &".
[[nodiscard]] std::string_view plain(std::string_view type);
// The part of the longer name that both have at their ends.
[[nodiscard]] double likeness(std::string_view one, std::string_view other);

class EditMaker {
 public:
  EditMaker(const Source& source, const SourcePiece& piece, const LineSuspicion& suspicion);

 protected:
  [[nodiscard]] std::uint32_t line_of(TokenRange range) const { return source_.place(tokens_[range.first].offset).line; }
  [[nodiscard]] bool is_suspect(TokenRange range) const;
  [[nodiscard]] std::string_view text_of(TokenRange range) const;
  void replace(std::string_view op, TokenRange range, std::string text);
  [[nodiscard]] bool is_member(std::size_t i) const { return i > 0 && (tokens_[i - 1].is(".") || tokens_[i - 1].is("->")); }
  // What token i names, with the struct before it.
  [[nodiscard]] TokenRange whole_name(std::size_t i) const { return {is_member(i) && i >= 2 ? i - 2 : i, i + 1}; }
  // Arrays and pointers, which have elements but no value to compute with.
  [[nodiscard]] bool is_array(std::string_view name) const { return arrays_.contains(name); }
  // Whether the range is what an assignment changes.
  [[nodiscard]] bool is_target(TokenRange range) const {
    return range.last < tokens_.size() && tokens_[range.last].text.ends_with("=") && !among(kTwoSignComparisons, tokens_[range.last].text);
  }
  [[nodiscard]] bool is_called(std::size_t i) const {
    return i + 1 < tokens_.size() && (tokens_[i + 1].is("(") || tokens_[i + 1].is("::"));
  }
  [[nodiscard]] static const Variable* find_variable(const Expression& expression, std::string_view name);
  // Whether an operand whose last token this is has a fraction, as far as its type is known.
  [[nodiscard]] bool is_float(const Expression& expression, std::size_t i) const;
  // The type of the variable or member that token i names, without qualifiers; `type_as`: with another name. Empty if there is none.
  [[nodiscard]] std::string_view type_as(const Expression& expression, std::size_t i, std::string_view name) const;
  [[nodiscard]] std::string_view type_at(const Expression& expression, std::size_t i) const {
    return type_as(expression, i, tokens_[i].text);
  }
  // Integers, also members and components, the nearest declarations first.
  [[nodiscard]] std::vector<std::string> integers_in_scope(const Expression& expression) const;
  [[nodiscard]] bool names_pointer(const Expression& expression, TokenRange term) const;
  // Whether all variables of the term exist there.
  [[nodiscard]] bool is_known_in(const Expression& expression, TokenRange term) const;
  [[nodiscard]] bool changes_something(TokenRange term) const;

  const Source& source_;
  const std::vector<SourceToken>& tokens_;
  const LineSuspicion& suspicion_;
  Structure structure_;
  StructMembers members_;
  std::vector<ExpressionTerms> terms_;  // by expression
  std::set<std::string_view> arrays_;
  std::set<std::string_view> named_;  // all variables of the source
  std::set<std::string_view> sizes_;  // integers that are declared outside of functions, or as parameters of templates
  std::vector<Edit> edits_;

 private:
  void find_arrays();
  void find_sizes();

  std::set<std::tuple<std::size_t, std::size_t, std::string>> known_;
};

// What a maker of this type makes of all pieces of the source, without macros.
template <typename Maker>
[[nodiscard]] std::vector<Edit> edits_by(const Source& source, const LineSuspicion& suspicion) {
  std::vector<Edit> edits;
  for (const SourcePiece& piece : source.pieces()) {
    if (piece.is_macro) continue;
    for (Edit& edit : Maker(source, piece, suspicion).run()) edits.push_back(std::move(edit));
  }
  return edits;
}

}  // namespace assay::harness
