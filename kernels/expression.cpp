// Evaluates the expressions of a variant.toml.
#include "kernels/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/nearest_word.h"
#include "kernels/expression_tree.h"
#include "math/functions.h"

namespace assay::kernels {
namespace {

using Node = Expression::Node;
using NodePtr = std::shared_ptr<const Node>;

class Evaluation {
 public:
  explicit Evaluation(const Names& names) : names_(names) {}

  Value of(const Node& node) {
    switch (node.kind) {
      case Node::Kind::literal:
        return node.literal;
      case Node::Kind::name:
        return named(node);
      case Node::Kind::call:
        return call(node);
      case Node::Kind::operation:
        break;
    }
    if (node.word == "?") return of(*node.operands[condition(*node.operands[0]) ? 1 : 2]);
    if (node.word == "||") return condition(*node.operands[0]) || condition(*node.operands[1]);
    if (node.word == "&&") return condition(*node.operands[0]) && condition(*node.operands[1]);
    if (node.word == "!") return !condition(*node.operands[0]);
    if (node.word == "negate") return arithmetic(node, "-", std::int64_t{0}, of(*node.operands[0]));
    const Value left = of(*node.operands[0]);
    const Value right = of(*node.operands[1]);
    const bool compares = node.word.size() == 2 || node.word == "<" || node.word == ">";
    return compares ? Value(compare(node, left, right)) : arithmetic(node, node.word, left, right);
  }

  static double as_double(const Node& node, const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* floating = std::get_if<double>(&value)) return *floating;
    fail(node, fmt::format("{} is not a number", to_string(value)));
  }
  static std::int64_t as_integer(const Node& node, const Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
    fail(node, fmt::format("{} is not an integer", to_string(value)));
  }
  static bool as_condition(const Node& node, const Value& value) {
    if (const bool* truth = std::get_if<bool>(&value)) return *truth;
    fail(node, fmt::format("{} is not a condition; compare it with something, as in 'n <= 32'", to_string(value)));
  }

  // "b = 2, h = 4": the names that have been read.
  [[nodiscard]] const std::vector<std::string>& read() const { return read_; }

 private:
  [[noreturn]] static void fail(const Node& node, std::string what) { throw Failure{node.column, std::move(what)}; }

  Value named(const Node& node) {
    std::optional<Value> value = names_.value(node.word);
    if (!value) {
      if (names_.tensor(node.word) != nullptr)
        fail(node, fmt::format("'{0}' is a tensor, not a number; use size({0}, 'axis') or stride({0}, 'axis')", node.word));
      fail(node, fmt::format("unknown name '{}'{}; accepted: {}", node.word, base::did_you_mean(node.word, names_.all()),
                             fmt::join(names_.all(), ", ")));
    }
    std::string text = fmt::format("{} = {}", node.word, to_string(*value));
    if (std::ranges::find(read_, text) == read_.end()) read_.push_back(std::move(text));
    return *value;
  }

  bool condition(const Node& node) { return as_condition(node, of(node)); }

  static bool is_less(const Node& node, const Value& a, const Value& b) {
    if (std::holds_alternative<std::int64_t>(a) && std::holds_alternative<std::int64_t>(b))
      return std::get<std::int64_t>(a) < std::get<std::int64_t>(b);
    return as_double(node, a) < as_double(node, b);
  }

  double floating(const Node& node) { return as_double(node, of(node)); }
  std::int64_t integer(const Node& node) { return as_integer(node, of(node)); }

  static Value finite(const Node& node, double value) {
    if (!std::isfinite(value)) fail(node, "the result is not a finite number");
    return value;
  }

  static std::int64_t checked(const Node& node, std::string_view word, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool overflows = false;
    if (word == "+") overflows = __builtin_add_overflow(a, b, &result);
    if (word == "-") overflows = __builtin_sub_overflow(a, b, &result);
    if (word == "*") overflows = __builtin_mul_overflow(a, b, &result);
    if (word == "/" || word == "%") {
      if (b == 0) fail(node, "division by zero");
      overflows = a == std::numeric_limits<std::int64_t>::min() && b == -1;
      if (!overflows) result = word == "/" ? a / b : a % b;
    }
    if (overflows) fail(node, "the result does not fit into 64 bits");
    return result;
  }

  static Value arithmetic(const Node& node, std::string_view word, const Value& left, const Value& right) {
    if (std::holds_alternative<std::int64_t>(left) && std::holds_alternative<std::int64_t>(right))
      return checked(node, word, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
    const double a = as_double(node, left);
    const double b = as_double(node, right);
    if (word == "+") return finite(node, a + b);
    if (word == "-") return finite(node, a - b);
    if (word == "*") return finite(node, a * b);
    if (word == "%") fail(node, "% needs integers");
    if (b == 0) fail(node, "division by zero");
    return finite(node, a / b);
  }

  static bool compare(const Node& node, const Value& left, const Value& right) {
    const bool equality = node.word == "==" || node.word == "!=";
    if (equality && left.index() == right.index()) return (left == right) == (node.word == "==");
    if (std::holds_alternative<std::string>(left) || std::holds_alternative<std::string>(right) || std::holds_alternative<bool>(left) ||
        std::holds_alternative<bool>(right))
      fail(node, fmt::format("{} and {} cannot be compared by {}", to_string(left), to_string(right), node.word));
    if (std::holds_alternative<std::int64_t>(left) && std::holds_alternative<std::int64_t>(right))
      return holds(node.word, std::get<std::int64_t>(left), std::get<std::int64_t>(right));
    return holds(node.word, as_double(node, left), as_double(node, right));
  }

  template <typename T>
  static bool holds(std::string_view word, T a, T b) {
    if (word == "==") return a == b;
    if (word == "!=") return a != b;
    if (word == "<") return a < b;
    if (word == "<=") return a <= b;
    return word == ">" ? a > b : a >= b;
  }

  Value call(const Node& node) {
    const auto& arguments = node.operands;
    const std::string& word = node.word;
    if (takes_tensor(word)) return of_tensor(node).first;
    if (word == "bytes") {
      const auto [elements, tensor] = of_tensor(*arguments[0]);
      return checked(node, "*", elements, tensor->element_bytes);
    }
    if (word == "select") return of(*arguments[condition(*arguments[0]) ? 1 : 2]);
    if (word == "min" || word == "max") return extreme(node);
    if (word == "ceil_div" || word == "round_up") {
      const std::int64_t a = integer(*arguments[0]);
      const std::int64_t b = integer(*arguments[1]);
      if (a < 0 || b < 1) fail(node, fmt::format("{}({}, {}) needs a number from 0 on and a divisor from 1 on", word, a, b));
      const std::int64_t quotient = a / b + (a % b != 0 ? 1 : 0);
      return word == "ceil_div" ? quotient : checked(node, "*", quotient, b);
    }
    if (word == "abs" || word == "floor") {
      const Value value = of(*arguments[0]);
      if (const auto* whole = std::get_if<std::int64_t>(&value))
        return word == "floor" || *whole >= 0 ? value : arithmetic(node, "-", std::int64_t{0}, value);
      const double number = as_double(node, value);
      if (word == "abs") return std::abs(number);
      if (!(std::abs(number) < 0x1p62)) fail(node, "the result does not fit into 64 bits");
      return static_cast<std::int64_t>(std::floor(number));
    }
    const double x = floating(*arguments[0]);
    if (word == "pow") return finite(node, math::pow(x, floating(*arguments[1])));
    if (word == "log2") return finite(node, math::log2(x));
    return finite(node, word == "exp2" ? math::exp2(x) : std::sqrt(x));
  }

  Value extreme(const Node& node) {
    Value best = of(*node.operands.front());
    static_cast<void>(as_double(node, best));
    for (std::size_t i = 1; i < node.operands.size(); ++i) {
      Value other = of(*node.operands[i]);
      if (node.word == "min" ? is_less(node, other, best) : is_less(node, best, other)) best = std::move(other);
    }
    return best;
  }

  // size(), stride() or offset() in elements, and the tensor.
  std::pair<std::int64_t, const NamedTensor*> of_tensor(const Node& node) {
    const Node& name = *node.operands[0];
    const NamedTensor* tensor = names_.tensor(name.word);
    if (tensor == nullptr) fail(name, fmt::format("unknown tensor '{}'; accepted: {}", name.word, fmt::join(names_.all(), ", ")));
    if (node.word == "offset") return {tensor->offset, tensor};
    if (node.operands.size() == 1) {
      std::int64_t count = 1;
      for (const NamedTensor::Axis& axis : tensor->axes) count = checked(node, "*", count, axis.extent);
      return {count, tensor};
    }
    const Value axis_name = of(*node.operands[1]);
    auto axis = tensor->axes.end();
    if (const auto* text = std::get_if<std::string>(&axis_name)) axis = std::ranges::find(tensor->axes, *text, &NamedTensor::Axis::name);
    if (const auto* number = std::get_if<std::int64_t>(&axis_name); number != nullptr && *number >= 0 && *number < std::ssize(tensor->axes))
      axis = tensor->axes.begin() + *number;
    if (axis == tensor->axes.end()) {
      std::vector<std::string_view> known;
      for (const NamedTensor::Axis& one : tensor->axes) known.push_back(one.name);
      fail(*node.operands[1],
           fmt::format("tensor {} has no axis {}; it has '{}'", name.word, to_string(axis_name), fmt::join(known, "', '")));
    }
    return {node.word == "size" ? axis->extent : axis->stride, tensor};
  }

  const Names& names_;
  std::vector<std::string> read_;
};

void collect_names(const Node& node, std::vector<std::string>& names) {
  if (node.kind == Node::Kind::name) names.push_back(node.word);
  for (const NodePtr& operand : node.operands) collect_names(*operand, names);
}

ExpressionError error_of(const Failure& failure, std::string_view text, std::string_view where, const std::vector<std::string>& values) {
  return ExpressionError(message_of(failure, text, where) + (values.empty() ? "" : fmt::format(" ({})", fmt::join(values, ", "))));
}

}  // namespace

std::string message_of(const Failure& failure, std::string_view text, std::string_view where) {
  return fmt::format("{}{}'{}', column {}: {}", where, where.empty() ? "" : ": ", text, failure.column + 1, failure.what);
}

std::string to_string(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("'{}'", *text);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const auto* floating = std::get_if<double>(&value)) {
    std::string text = fmt::format("{}", *floating);
    return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
  }
  return fmt::format("{}", std::get<std::int64_t>(value));
}

Expression Expression::of_value(Value value, std::string where) {
  Expression expression;
  expression.text_ = to_string(value);
  expression.where_ = std::move(where);
  expression.root_ = std::make_shared<Node>(Node{Node::Kind::literal, std::move(value), {}, {}, 0});
  return expression;
}

Expression::Expression(std::string text, std::string where) : text_(std::move(text)), where_(std::move(where)) {
  try {
    root_ = parse_expression(text_);
  } catch (const Failure& failure) {
    throw error_of(failure, text_, where_, {});
  }
}

template <typename Convert>
auto Expression::evaluate_as(const Names& names, const Convert& convert) const {
  Evaluation evaluation(names);
  try {
    return convert(evaluation.of(*root_));
  } catch (const Failure& failure) {
    throw error_of(failure, text_, where_, evaluation.read());
  }
}

Value Expression::evaluate(const Names& names) const {
  return evaluate_as(names, [](const Value& value) { return value; });
}

std::int64_t Expression::integer(const Names& names) const {
  return evaluate_as(names, [&](const Value& value) { return Evaluation::as_integer(*root_, value); });
}

double Expression::number(const Names& names) const {
  return evaluate_as(names, [&](const Value& value) { return Evaluation::as_double(*root_, value); });
}

bool Expression::condition(const Names& names) const {
  return evaluate_as(names, [&](const Value& value) { return Evaluation::as_condition(*root_, value); });
}

std::string Expression::text(const Names& names) const {
  const Value value = evaluate(names);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? to_string(value) : *text;
}

std::optional<std::string_view> Expression::sole_name() const {
  return root_->kind == Node::Kind::name ? std::optional<std::string_view>(root_->word) : std::nullopt;
}

std::optional<std::string_view> Expression::chosen_name(const Names& names) const {
  Evaluation evaluation(names);
  const Node* node = root_.get();
  try {
    while (node->word == "?")
      node = node->operands[Evaluation::as_condition(*node->operands[0], evaluation.of(*node->operands[0])) ? 1 : 2].get();
  } catch (const Failure& failure) {
    throw error_of(failure, text_, where_, evaluation.read());
  }
  return node->kind == Node::Kind::name ? std::optional<std::string_view>(node->word) : std::nullopt;
}

std::vector<std::string> Expression::names() const {
  std::vector<std::string> names;
  collect_names(*root_, names);
  return names;
}

TextTemplate::TextTemplate(std::string text, std::string where) : text_(std::move(text)) {
  std::string_view rest = text_;
  for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
    const std::size_t close = rest.find('}', open);
    if (close == std::string_view::npos) throw error_of({text_.size() - rest.size() + open, "expected '}'"}, text_, where, {});
    parts_.push_back({std::string(rest.substr(0, open)), Expression(std::string(rest.substr(open + 1, close - open - 1)), where)});
    rest.remove_prefix(close + 1);
  }
  rest_ = rest;
}

std::string TextTemplate::evaluate(const Names& names) const {
  std::string text;
  for (const Part& part : parts_) text += part.before + part.expression.text(names);
  return text + rest_;
}

}  // namespace assay::kernels
