// Mutants of a Metal source: copies with one small planted mistake each.
//
// Operators, in the order of their mutants at one place:
//
//   arithmetic      exchanges + and -, * and /, += and -=, *= and /=; % becomes /
//   relation        < and <=, > and >=, == and !=
//   logic           && and ||
//   bits            & and |, << and >>, also as assignments; ^ becomes &
//   step            ++ and --
//   drop_operand    drops one operand of + - * / && || with the operator, like a forgotten rescale, term or condition
//   plus_one        adds one to an integer constant
//   drop_constant   replaces an integer constant by the neutral one: 0 in a sum, 1 in a product; 0 elsewhere
//   float_constant  increases a floating constant by a thousandth; 0 becomes 1
//   sign            drops a minus; negates the initial value of a variable
//   min_max         exchanges min and max, also fmin, simd_min ...
//   drop_barrier    drops a barrier that is a whole statement
//   drop_statement  drops any other expression statement, `return`, `break`, `continue`
//   condition       replaces c by true and by false in `if (c)` and `c ? a : b`, by false in `while (c)`
//   swap_arguments  exchanges two neighbouring arguments of a call, except where the order has no effect
//   swap_indices    exchanges two integer variables of one index expression
//   other_index     replaces one integer variable of an index expression by the nearest other one of its type
//
// Not changed are comments, preprocessor lines other than macro bodies, attributes, template arguments, array extents,
// static_assert, using, typedef, explicit instantiations and declarations without a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"

namespace assay::harness {

struct Mutant {
  std::string_view op;  // one of operator_names()
  std::uint32_t line = 0, column = 0;
  std::uint32_t number = 1;  // among the mutants of this operator at this place, from 1
  std::size_t offset = 0;    // the edit: bytes [offset, offset + length) become `replacement`
  std::size_t length = 0;
  std::string replacement;

  [[nodiscard]] std::string id() const;  // "operator:line:column:number"
};

[[nodiscard]] const std::vector<std::string_view>& operator_names();

// Every mutant of the source by position, operator and number; the same list for the same text. No two have the same text.
[[nodiscard]] std::vector<Mutant> make_mutants(const Source& source);

// The source with the mistake in it.
[[nodiscard]] std::string mutated_text(const Source& source, const Mutant& mutant);

// A unified diff of one hunk, three lines of context, without the two lines that name the files.
[[nodiscard]] std::string diff_hunk(const Source& source, const Mutant& mutant);

// Selects `count` of the mutants by the seed alone, and keeps their order. All of them if there are no more.
[[nodiscard]] std::vector<Mutant> sample(std::vector<Mutant> mutants, std::size_t count, std::uint64_t seed);

}  // namespace assay::harness
