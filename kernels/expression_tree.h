// The syntax tree of an expression, and its parser. Internal to expression.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/expression.h"

namespace assay::kernels {

// A node of the syntax tree: a literal, a name, an operator with its operands, or a call.
struct Expression::Node {
  enum class Kind : std::uint8_t { literal, name, operation, call } kind = Kind::literal;
  Value literal = std::int64_t{0};
  std::string word;  // the name, the operator, or the function
  std::vector<std::shared_ptr<const Node>> operands = {};
  std::size_t column = 0;  // in the text, from 0
};

// The reason of an error, with its column. Expression adds the text and the values.
struct Failure {
  std::size_t column = 0;
  std::string what;
};

// Whether the first argument of the function is a tensor: size, stride and offset.
[[nodiscard]] bool takes_tensor(std::string_view function);

// "file:line: 'n +', column 4: ..."; without the place if `where` is empty.
[[nodiscard]] std::string message_of(const Failure& failure, std::string_view text, std::string_view where);

// Throws Failure.
[[nodiscard]] std::shared_ptr<const Expression::Node> parse_expression(std::string_view text);

}  // namespace assay::kernels
