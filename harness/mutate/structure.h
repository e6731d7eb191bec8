// The parts of a source that mutation edits: statements, expressions, conditions, declared variables.
//
// This is not a parser of Metal: it recognises the form of functions, statements and declarations. If it misreads something, the
// compiler rejects the mutant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutate/source.h"

namespace assay::harness {

// Tokens [first, last) of a piece.
struct TokenRange {
  std::size_t first = 0, last = 0;
  [[nodiscard]] bool is_empty() const { return first >= last; }
};

// A parameter or local variable.
struct Variable {
  std::string_view name;
  std::string type;          // without address space, const and attributes: "uint", "float4", "half *"
  bool is_constant = false;  // declared constexpr
  bool is_fixed = false;     // no statement may assign to it: declared const, and no pointer
};

// A range of tokens that computes a value.
struct Expression {
  TokenRange range;
  bool is_offset = false;           // initial value of a pointer: index arithmetic without brackets
  bool is_fixed = false;            // the compiler needs its value: outside of functions, of constexpr, in `if constexpr`
  std::vector<Variable> variables;  // in scope, nearest declaration last
};

struct Structure {
  std::vector<Expression> expressions;      // in the order of the text, not nested
  std::vector<TokenRange> statements;       // that may be dropped, without their semicolon: expressions and jumps
  std::vector<TokenRange> conditions;       // of `if`
  std::vector<TokenRange> loop_conditions;  // of `while`
  std::vector<TokenRange> initial_values;   // of numbers and vectors of numbers
};

// Recognises the structure of one piece. Unknown constructs are skipped, not errors.
[[nodiscard]] Structure read_structure(const SourcePiece& piece);

// Whether the word is bool, an integer, half, bfloat, float, double, or a vector or matrix of them.
[[nodiscard]] bool is_builtin_type(std::string_view word);
// Whether the type is a scalar integer.
[[nodiscard]] bool is_integer_type(std::string_view type);

}  // namespace assay::harness
