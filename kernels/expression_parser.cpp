// Parses the expressions of a variant.toml.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "base/nearest_word.h"
#include "kernels/expression_tree.h"

namespace assay::kernels {
namespace {

using Node = Expression::Node;
using NodePtr = std::shared_ptr<const Node>;

constexpr std::size_t kLongest = 4096;
constexpr int kDeepest = 32;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct Function {
  std::string_view name;
  std::size_t fewest;
  std::size_t most;
};

constexpr std::size_t kAny = 16;
constexpr std::array kFunctions = {
    Function{"min", 2, kAny}, Function{"max", 2, kAny}, Function{"ceil_div", 2, 2}, Function{"round_up", 2, 2}, Function{"pow", 2, 2},
    Function{"log2", 1, 1},   Function{"exp2", 1, 1},   Function{"sqrt", 1, 1},     Function{"floor", 1, 1},    Function{"abs", 1, 1},
    Function{"select", 3, 3}, Function{"size", 1, 2},   Function{"stride", 2, 2},   Function{"offset", 1, 1},   Function{"bytes", 1, 1},
};

// Recursive descent, with one function per line of the grammar in expression.h.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  NodePtr parse() {
    if (text_.size() > kLongest) throw Failure{0, fmt::format("it has more than {} characters", kLongest)};
    NodePtr root = choice();
    skip_blanks();
    if (at_ != text_.size()) fail("an operator or the end");
    return root;
  }

 private:
  [[noreturn]] void fail(std::string_view accepted) const {
    throw Failure{at_, fmt::format("expected {}, but found {}", accepted,
                                   at_ == text_.size() ? "the end" : fmt::format("'{}'", text_.substr(at_, 1)))};
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  // Consumes the first of `operators` that comes next. Longer operators must come before their prefixes.
  std::string_view take(std::initializer_list<std::string_view> operators) {
    skip_blanks();
    for (const std::string_view candidate : operators) {
      if (!text_.substr(at_).starts_with(candidate)) continue;
      at_ += candidate.size();
      return candidate;
    }
    return {};
  }

  template <typename Read>
  NodePtr deeper(const Read& read) {
    if (depth_ == kDeepest) throw Failure{at_, fmt::format("it nests deeper than {} levels", kDeepest)};
    ++depth_;
    NodePtr node = read();
    --depth_;
    return node;
  }

  static NodePtr operation(std::string_view word, std::vector<NodePtr> operands, std::size_t column) {
    return std::make_shared<Node>(Node{Node::Kind::operation, {}, std::string(word), std::move(operands), column});
  }

  // Left-associative operators of one level.
  template <typename Operand>
  NodePtr chain(std::initializer_list<std::string_view> operators, const Operand& operand) {
    NodePtr left = operand();
    while (true) {
      skip_blanks();
      const std::size_t column = at_;
      const std::string_view word = take(operators);
      if (word.empty()) return left;
      left = operation(word, {left, operand()}, column);
    }
  }

  NodePtr choice() {
    NodePtr condition = chain({"||"}, [this] { return both(); });
    skip_blanks();
    const std::size_t column = at_;
    if (take({"?"}).empty()) return condition;
    NodePtr yes = deeper([this] { return choice(); });
    if (take({":"}).empty()) fail("':'");
    NodePtr no = deeper([this] { return choice(); });
    return operation("?", {condition, yes, no}, column);
  }

  NodePtr both() {
    return chain({"&&"}, [this] { return negation(); });
  }

  NodePtr negation() {
    skip_blanks();
    const std::size_t column = at_;
    if (text_.substr(at_).starts_with("!=") || take({"!"}).empty()) return comparison();
    return operation("!", {deeper([this] { return negation(); })}, column);
  }

  NodePtr comparison() {
    NodePtr left = sum();
    skip_blanks();
    const std::size_t column = at_;
    const std::string_view word = take({"==", "!=", "<=", ">=", "<", ">"});
    return word.empty() ? left : operation(word, {left, sum()}, column);
  }

  NodePtr sum() {
    return chain({"+", "-"}, [this] { return chain({"*", "/", "%"}, [this] { return factor(); }); });
  }

  NodePtr factor() {
    skip_blanks();
    const std::size_t column = at_;
    if (take({"-"}).empty()) return atom();
    return operation("negate", {deeper([this] { return factor(); })}, column);
  }

  NodePtr atom() {
    skip_blanks();
    if (at_ == text_.size()) fail("a number, a name, a quoted text or '('");
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      NodePtr inner = deeper([this] { return choice(); });
      if (take({")"}).empty()) fail("')'");
      return inner;
    }
    if (is_digit(c)) return number();
    if (c == '"' || c == '\'') return quoted(c);
    if (is_letter(c)) return name();
    fail("a number, a name, a quoted text or '('");
  }

  NodePtr literal(Value value, std::size_t column) const {
    return std::make_shared<Node>(Node{Node::Kind::literal, std::move(value), {}, {}, column});
  }

  NodePtr number() {
    const std::size_t column = at_;
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    std::int64_t integer = 0;
    const auto [end, error] = std::from_chars(first, last, integer);
    if (end == last || (*end != '.' && *end != 'e' && *end != 'E')) {
      if (error != std::errc{}) fail("a 64-bit integer");
      at_ += static_cast<std::size_t>(end - first);
      if (at_ < text_.size() && is_letter(text_[at_])) fail("an operator");
      return literal(integer, column);
    }
    double value = 0;
    const auto [stop, problem] = std::from_chars(first, last, value);
    if (problem != std::errc{}) fail("a number that a double can represent");
    at_ += static_cast<std::size_t>(stop - first);
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) fail("an operator");
    return literal(value, column);
  }

  NodePtr quoted(char quote) {
    const std::size_t column = at_;
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      at_ = text_.size();
      fail(fmt::format("a closing {}", quote));
    }
    at_ = end + 1;
    return literal(std::string(text_.substr(column + 1, end - column - 1)), column);
  }

  NodePtr name() {
    const std::size_t column = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string word(text_.substr(column, at_ - column));
    if (word == "true" || word == "false") return literal(word == "true", column);
    if (take({"("}).empty()) return std::make_shared<Node>(Node{Node::Kind::name, {}, word, {}, column});
    const auto* const function = std::ranges::find(kFunctions, word, &Function::name);
    if (function == kFunctions.end()) {
      std::vector<std::string_view> known;
      for (const Function& one : kFunctions) known.push_back(one.name);
      throw Failure{column,
                    fmt::format("unknown function '{}'{}; accepted: {}", word, base::did_you_mean(word, known), fmt::join(known, ", "))};
    }
    std::vector<NodePtr> arguments;
    do arguments.push_back(deeper([this] { return choice(); }));
    while (!take({","}).empty());
    if (take({")"}).empty()) fail("',' or ')'");
    check_call(*function, arguments, column);
    return std::make_shared<Node>(Node{Node::Kind::call, {}, word, std::move(arguments), column});
  }

  static void check_call(const Function& function, const std::vector<NodePtr>& arguments, std::size_t column) {
    if (arguments.size() < function.fewest || arguments.size() > function.most)
      throw Failure{column, fmt::format("{}() takes {} {}, but has {}", function.name, function.fewest,
                                        function.most == kAny  ? "or more arguments"
                                        : function.fewest == 1 ? "argument"
                                                               : "arguments",
                                        arguments.size())};
    if (takes_tensor(function.name) && arguments.front()->kind != Node::Kind::name)
      throw Failure{arguments.front()->column, fmt::format("the first argument of {}() must be the name of a tensor", function.name)};
    if (function.name == "bytes" && (arguments.front()->kind != Node::Kind::call || !takes_tensor(arguments.front()->word)))
      throw Failure{arguments.front()->column, "bytes() takes size(...), stride(...) or offset(...) of a tensor"};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool takes_tensor(std::string_view function) { return function == "size" || function == "stride" || function == "offset"; }

NodePtr parse_expression(std::string_view text) { return Parser(text).parse(); }

}  // namespace assay::kernels
