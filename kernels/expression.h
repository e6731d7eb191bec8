// Expressions of a variant.toml: launches, sizes, bounds. docs/LAUNCH.md has the grammar for users.
//
//   choice  = either [ "?" choice ":" choice ]
//   either  = both { "||" both }              both = not { "&&" not }           not = "!" not | compare
//   compare = sum [ ("==" | "!=" | "<" | "<=" | ">" | ">=") sum ]
//   sum     = product { ("+" | "-") product } product = factor { ("*" | "/" | "%") factor }
//   factor  = "-" factor | atom
//   atom    = number | "true" | "false" | "text" in double or single quotes | name | name "(" choice { "," choice } ")" | "(" choice ")"
//
// Integers have 64 bits, and / truncates. An operation with a double gives a double. No expression loops, so each one ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay::kernels {

// An expression that cannot be parsed or has no value. what() gives the expression, the column in it, the reason, and the values of names.
class ExpressionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In the order of the alternatives of Value.
enum class ValueType : std::uint8_t { integer, floating, boolean, text };
using Value = std::variant<std::int64_t, double, bool, std::string>;

// "3", "0.5", "true", "'causal'".
[[nodiscard]] std::string to_string(const Value& value);

// The layout of a tensor in a buffer, for size(), stride() and offset(). Lengths are in elements; for blocks of values, an element is a
// block. An expression names an axis by its name or its number, from 0 on.
struct NamedTensor {
  struct Axis {
    std::string name;
    std::int64_t extent = 0;
    std::int64_t stride = 0;
  };
  std::vector<Axis> axes;          // from the outermost inwards
  std::int64_t offset = 0;         // of its first element from the start of the buffer
  std::int64_t element_bytes = 0;  // of one element
};

// The meaning of names in an expression.
class Names {
 public:
  Names() = default;
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;
  virtual ~Names() = default;
  // Nothing if there is no such name.
  [[nodiscard]] virtual std::optional<Value> value(std::string_view name) const = 0;
  [[nodiscard]] virtual const NamedTensor* tensor(std::string_view name) const = 0;
  // All names, for messages.
  [[nodiscard]] virtual std::vector<std::string> all() const = 0;
};

class Expression {
 public:
  // An expression without a text: always `value`.
  [[nodiscard]] static Expression of_value(Value value, std::string where = {});
  // `where` precedes every message: "file:line". At most 4,096 characters and 32 levels of parentheses. Throws ExpressionError.
  Expression(std::string text, std::string where);

  // Throws ExpressionError: an unknown name, a wrong type, an overflow, a division by zero, a result that is not finite.
  [[nodiscard]] Value evaluate(const Names& names) const;
  // The same, for places that need a certain type. An integer is accepted as a double.
  [[nodiscard]] std::int64_t integer(const Names& names) const;
  [[nodiscard]] double number(const Names& names) const;
  [[nodiscard]] bool condition(const Names& names) const;
  [[nodiscard]] std::string text(const Names& names) const;

  // The type of its values, for names of these types (nothing: there is no such name). Throws ExpressionError for an unknown name and for
  // operands that no value can make right.
  [[nodiscard]] ValueType type(const std::function<std::optional<ValueType>(std::string_view)>& of_name) const;
  // The literal texts that it compares with this name.
  [[nodiscard]] std::vector<std::string> texts_compared_with(std::string_view name) const;
  // The name, if the expression is nothing else.
  [[nodiscard]] std::optional<std::string_view> sole_name() const;
  // The name that it comes to, also behind conditions: "b" of "n > 1 ? a : b". Throws ExpressionError from a condition.
  [[nodiscard]] std::optional<std::string_view> chosen_name(const Names& names) const;
  // The names that occur in it, in order; those of functions are not among them.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const std::string& source() const { return text_; }
  [[nodiscard]] const std::string& where() const { return where_; }

  struct Node;

 private:
  Expression() = default;
  template <typename Convert>
  [[nodiscard]] auto evaluate_as(const Names& names, const Convert& convert) const;

  std::string text_;
  std::string where_;
  std::shared_ptr<const Node> root_;
};

// A text with expressions in braces: "decode_{type}_{dk}".
class TextTemplate {
 public:
  // Throws ExpressionError.
  TextTemplate(std::string text, std::string where);
  [[nodiscard]] std::string evaluate(const Names& names) const;
  [[nodiscard]] const std::string& source() const { return text_; }
  // Whether it contains no expression.
  [[nodiscard]] bool is_constant() const { return parts_.empty(); }

 private:
  struct Part {
    std::string before;
    Expression expression;
  };
  std::string text_;
  std::vector<Part> parts_;
  std::string rest_;
};

}  // namespace assay::kernels
