// What the tokens of a source mean, as far as mutation must know: statements, expressions, conditions, declared variables.
//
// This is no parser of Metal: it knows how functions, statements and declarations look, and leaves the judgement of what it
// misreads to the compiler, which refuses the mutant.
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
  bool is_constant = false;  // constexpr
};

// A range of tokens that computes something.
struct Expression {
  TokenRange range;
  bool is_offset = false;           // initial value of a pointer: index arithmetic without brackets
  std::vector<Variable> variables;  // what is in scope, nearest declaration last
};

struct Structure {
  std::vector<Expression> expressions;      // in the order of the text, none inside another
  std::vector<TokenRange> statements;       // that may be dropped, without their semicolon: expressions and jumps
  std::vector<TokenRange> conditions;       // of `if`
  std::vector<TokenRange> loop_conditions;  // of `while`
  std::vector<TokenRange> initial_values;   // of numbers and vectors of numbers
};

[[nodiscard]] Structure read_structure(const SourcePiece& piece);

// bool, an integer, half, bfloat, float, double, and vectors and matrices of them.
[[nodiscard]] bool is_builtin_type(std::string_view word);
// A scalar integer.
[[nodiscard]] bool is_integer_type(std::string_view type);

}  // namespace assay::harness
