// The terms of expressions, and the members of structs, in the tokens of a source. Internal to harness/triage.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/mutate/source.h"
#include "harness/mutate/structure.h"

namespace assay::harness {

struct ExpressionTerms {
  struct Term {
    TokenRange range;
    bool is_index = false;     // within brackets
    bool is_exponent = false;  // the argument of an exponential
  };
  std::vector<Term> terms;          // operands of sums, comparisons, assignments and calls, also nested ones
  std::vector<TokenRange> indices;  // whole indices, and the initial value of a pointer
  std::vector<TokenRange> index_terms;
  std::vector<TokenRange> conditions;  // whole conditions
  std::vector<TokenRange> condition_terms;

  // The name of the array in whose index the range is; empty if it is in none.
  [[nodiscard]] std::string_view array_at(const std::vector<SourceToken>& tokens, TokenRange range) const;
};

// `is_offset`: the whole expression is index arithmetic.
[[nodiscard]] ExpressionTerms terms_of(const std::vector<SourceToken>& tokens, TokenRange expression, bool is_offset);

// Whether the expression compares, divides, or takes a minimum or maximum: where one more or less matters.
[[nodiscard]] bool holds_comparison(const std::vector<SourceToken>& tokens, TokenRange expression);

// The members of all structs, with their types without qualifiers.
struct StructMembers {
  using Member = std::pair<std::string_view, std::string_view>;  // name and type
  std::vector<Member> all;
  std::vector<std::pair<std::string_view, std::vector<Member>>> structs;

  [[nodiscard]] std::string_view type_of(std::string_view name) const;
  [[nodiscard]] std::vector<Member> of_struct(std::string_view name) const;
};
[[nodiscard]] StructMembers members_of(const SourcePiece& piece);

}  // namespace assay::harness
