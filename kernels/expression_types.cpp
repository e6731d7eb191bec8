// The types of expressions, found before any name has a value.
#include <fmt/format.h>

#include "kernels/expression_tree.h"

namespace assay::kernels {
namespace {

using Node = Expression::Node;
using TypeOfName = std::function<std::optional<ValueType>(std::string_view)>;

std::string_view word_of(ValueType type) {
  switch (type) {
    case ValueType::integer:
      return "an integer";
    case ValueType::floating:
      return "a number";
    case ValueType::boolean:
      return "a condition";
    case ValueType::text:
      return "a text";
  }
  return "?";
}

bool is_number(ValueType type) { return type == ValueType::integer || type == ValueType::floating; }

// A result of two numbers is an integer if both are.
ValueType wider(ValueType a, ValueType b) {
  return a == ValueType::integer && b == ValueType::integer ? ValueType::integer : ValueType::floating;
}

class Typing {
 public:
  explicit Typing(const TypeOfName& of_name) : of_name_(of_name) {}

  // NOLINTNEXTLINE(misc-no-recursion): the parser limits the depth
  ValueType of(const Node& node) const {
    switch (node.kind) {
      case Node::Kind::literal:
        return static_cast<ValueType>(node.literal.index());
      case Node::Kind::name: {
        const std::optional<ValueType> type = of_name_(node.word);
        if (!type) fail(node, fmt::format("unknown name '{}'", node.word));
        return *type;
      }
      case Node::Kind::call:
        return of_call(node);
      case Node::Kind::operation:
        return of_operation(node);
    }
    return ValueType::integer;
  }

 private:
  [[noreturn]] static void fail(const Node& node, std::string what) { throw Failure{node.column, std::move(what)}; }

  // NOLINTNEXTLINE(misc-no-recursion)
  void require_condition(const Node& node) const {
    const ValueType type = of(node);
    if (type != ValueType::boolean)
      fail(node, fmt::format("{} is not a condition; compare it with something, as in 'n <= 32'", word_of(type)));
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ValueType number(const Node& node, std::string_view word) const {
    const ValueType type = of(node);
    if (!is_number(type)) fail(node, fmt::format("{} is not a number, as '{}' needs", word_of(type), word));
    return type;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ValueType of_operation(const Node& node) const {
    const std::string& word = node.word;
    const Node& first = *node.operands[0];
    if (word == "?") {
      require_condition(first);
      return common(node, of(*node.operands[1]), of(*node.operands[2]));
    }
    if (word == "||" || word == "&&" || word == "!") {
      for (const auto& operand : node.operands) require_condition(*operand);
      return ValueType::boolean;
    }
    if (word == "negate") return number(first, "-");
    const Node& second = *node.operands[1];
    const bool compares = word.size() == 2 || word == "<" || word == ">";
    if (!compares) return wider(number(first, word), number(second, word));
    const ValueType a = of(first);
    const ValueType b = of(second);
    const bool is_equality = word == "==" || word == "!=";
    if (!(is_number(a) && is_number(b)) && !(is_equality && a == b))
      fail(node, fmt::format("{} and {} cannot be compared by {}", word_of(a), word_of(b), word));
    if (a == ValueType::text && first.kind == Node::Kind::literal && second.kind == Node::Kind::literal)
      fail(node, "compares two texts that never change");
    return ValueType::boolean;
  }

  static ValueType common(const Node& node, ValueType a, ValueType b) {
    if (a == b) return a;
    if (!is_number(a) || !is_number(b)) fail(node, fmt::format("its values are {} and {}", word_of(a), word_of(b)));
    return ValueType::floating;
  }

  // NOLINTNEXTLINE(misc-no-recursion)
  ValueType of_call(const Node& node) const {
    if (takes_tensor(node.word) || node.word == "bytes" || node.word == "ceil_div" || node.word == "round_up") return ValueType::integer;
    if (node.word == "select") {
      require_condition(*node.operands[0]);
      return common(node, of(*node.operands[1]), of(*node.operands[2]));
    }
    ValueType type = ValueType::integer;
    for (const auto& operand : node.operands) type = wider(type, number(*operand, node.word));
    if (node.word == "floor") return ValueType::integer;
    return node.word == "min" || node.word == "max" || node.word == "abs" ? type : ValueType::floating;
  }

  const TypeOfName& of_name_;
};

// NOLINTNEXTLINE(misc-no-recursion)
void collect_compared(const Node& node, std::string_view name, std::vector<std::string>& texts) {
  const bool is_equality = node.kind == Node::Kind::operation && (node.word == "==" || node.word == "!=");
  for (std::size_t i = 0; is_equality && i < 2; ++i) {
    const Node& named = *node.operands[i];
    const Node& other = *node.operands[1 - i];
    if (named.kind != Node::Kind::name || named.word != name) continue;
    if (const auto* text = std::get_if<std::string>(&other.literal); text != nullptr && other.kind == Node::Kind::literal)
      texts.push_back(*text);
  }
  for (const auto& operand : node.operands) collect_compared(*operand, name, texts);
}

}  // namespace

ValueType Expression::type(const TypeOfName& of_name) const {
  try {
    return Typing(of_name).of(*root_);
  } catch (const Failure& failure) {
    throw ExpressionError(message_of(failure, text_, where_));
  }
}

std::vector<std::string> Expression::texts_compared_with(std::string_view name) const {
  std::vector<std::string> texts;
  collect_compared(*root_, name, texts);
  return texts;
}

}  // namespace assay::kernels
