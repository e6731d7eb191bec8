// A mutant: one small planted mistake in a Metal source, and all of them for a source.
//
// Operators, in the order of their mutants at one place:
//
//   arithmetic      + and - change places, * and /, += and -=, *= and /=; % becomes /
//   relation        < and <=, > and >=, == and !=
//   logic           && and ||
//   bits            & and |, << and >>, also as assignments; ^ becomes &
//   step            ++ and --
//   drop_operand    one operand of + - * / && || with the operator: a rescale, a term or a condition that is forgotten
//   plus_one        an integer constant one larger
//   drop_constant   an integer constant replaced by what does nothing there: 0 in a sum, 1 in a product; 0 elsewhere
//   float_constant  a floating constant larger by a thousandth; 0 becomes 1
//   sign            a minus dropped; the initial value of a variable negated
//   min_max         min and max, also fmin, simd_min ...
//   drop_barrier    a barrier that is a statement of its own
//   drop_statement  any other expression statement, `return`, `break`, `continue`
//   condition       `if (c)` and `c ? a : b` with true and with false, `while (c)` with false
//   swap_arguments  two neighbouring arguments of a call; not of functions that do not mind
//   swap_indices    two integer variables of one index expression change places in it
//   other_index     one integer variable of an index expression replaced by the nearest other one of its type
//
// Nothing is changed in comments, preprocessor lines other than macro bodies, attributes, template arguments, array extents,
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

// `count` of the mutants, picked by the seed alone and left in order; all of them if there are no more.
[[nodiscard]] std::vector<Mutant> sample(std::vector<Mutant> mutants, std::size_t count, std::uint64_t seed);

}  // namespace assay::harness
