// Parses and evaluates the `when` of a known finding.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <variant>

#include "harness/cases/case_data.h"
#include "harness/cases/file_case.h"
#include "harness/cases/suite.h"
#include "harness/findings/known_finding_text.h"

namespace assay::harness {
namespace {

constexpr std::size_t kLongestPredicate = 4096;  // characters
constexpr int kDeepestPredicate = 32;            // nested parentheses and signs

using Number = std::function<std::optional<std::int64_t>(const Case&)>;
using Text = std::function<std::string_view(const Case&)>;

// The value of an expression; `literal` is the text of a literal.
struct Value {
  std::variant<Number, Text, Predicate> function;
  std::optional<std::string> literal;
};

template <typename Operation>
Number combine(Number left, Number right, Operation operation) {
  return [left = std::move(left), right = std::move(right), operation](const Case& test_case) -> std::optional<std::int64_t> {
    const auto a = left(test_case);
    const auto b = right(test_case);
    if (!a || !b) return std::nullopt;
    return operation(*a, *b);
  };
}

std::optional<std::int64_t> add(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<std::int64_t> subtract(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
std::optional<std::int64_t> multiply(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}
bool divides(std::int64_t a, std::int64_t b) { return b != 0 && !(a == std::numeric_limits<std::int64_t>::min() && b == -1); }
std::optional<std::int64_t> divide(std::int64_t a, std::int64_t b) { return divides(a, b) ? std::optional(a / b) : std::nullopt; }
std::optional<std::int64_t> remainder(std::int64_t a, std::int64_t b) { return divides(a, b) ? std::optional(a % b) : std::nullopt; }

bool holds(std::string_view comparison, std::int64_t a, std::int64_t b) {
  if (comparison == "==") return a == b;
  if (comparison == "!=") return a != b;
  if (comparison == "<") return a < b;
  if (comparison == "<=") return a <= b;
  return comparison == ">" ? a > b : a >= b;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Recursive descent, with one function per line of the grammar in known_finding.h.
class Parser {
 public:
  Parser(std::string_view text, const Family& family) : text_(text), family_(family) {}

  Predicate parse() {
    // Each operator copies the predicate to its left, so the cost is quadratic in the length of the text.
    if (text_.size() > kLongestPredicate) throw FindingSyntaxError(fmt::format("it has more than {} characters", kLongestPredicate));
    Value value = either();
    skip_blanks();
    if (at_ != text_.size()) fail("an operator or the end");
    return predicate_of(std::move(value), "the expression");
  }

 private:
  [[noreturn]] void fail(const std::string& accepted) const {
    const std::string_view rest = text_.substr(at_);
    throw FindingSyntaxError(fmt::format("at {}: expected {}", rest.empty() ? "the end" : fmt::format("'{}'", rest), accepted));
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

  static Predicate predicate_of(Value value, std::string_view what) {
    if (auto* predicate = std::get_if<Predicate>(&value.function)) return std::move(*predicate);
    throw FindingSyntaxError(fmt::format("{} is not a condition; compare it with something, as in 'n <= 32'", what));
  }
  static Number number_of(Value value, std::string_view place) {
    if (auto* number = std::get_if<Number>(&value.function)) return std::move(*number);
    throw FindingSyntaxError(fmt::format("an operand of '{}' is not a number", place));
  }

  Value either() {
    Value left = both();
    while (!take({"||"}).empty()) {
      Predicate a = predicate_of(std::move(left), "the left operand of '||'");
      Predicate b = predicate_of(both(), "the right operand of '||'");
      left = {Predicate([a, b](const Case& test_case) -> std::optional<bool> {
                const auto first = a(test_case);
                if (!first) return std::nullopt;
                return *first ? first : b(test_case);
              }),
              {}};
    }
    return left;
  }

  Value both() {
    Value left = negation();
    while (!take({"&&"}).empty()) {
      Predicate a = predicate_of(std::move(left), "the left operand of '&&'");
      Predicate b = predicate_of(negation(), "the right operand of '&&'");
      left = {Predicate([a, b](const Case& test_case) -> std::optional<bool> {
                const auto first = a(test_case);
                if (!first) return std::nullopt;
                return *first ? b(test_case) : first;
              }),
              {}};
    }
    return left;
  }

  // Reads one more level of nesting.
  template <typename Read>
  Value deeper(const Read& read) {
    if (depth_ == kDeepestPredicate) throw FindingSyntaxError(fmt::format("it nests deeper than {} levels", kDeepestPredicate));
    ++depth_;
    Value value = read();
    --depth_;
    return value;
  }

  Value negation() {
    skip_blanks();
    if (text_.substr(at_).starts_with("!=") || take({"!"}).empty()) return comparison();
    Predicate inner = predicate_of(deeper([this] { return negation(); }), "the operand of '!'");
    return {Predicate([inner](const Case& test_case) -> std::optional<bool> {
              const auto value = inner(test_case);
              return value ? std::optional(!*value) : std::nullopt;
            }),
            {}};
  }

  Value comparison() {
    Value left = sum();
    const std::string_view sign = take({"==", "!=", "<=", ">=", "<", ">"});
    if (sign.empty()) return left;
    Value right = sum();
    if (std::holds_alternative<Text>(left.function) || std::holds_alternative<Text>(right.function)) {
      return compare_texts(std::move(left), sign, std::move(right));
    }
    const std::string relation(sign);
    return {Predicate([a = number_of(std::move(left), sign), b = number_of(std::move(right), sign),
                       relation](const Case& test_case) -> std::optional<bool> {
              const auto x = a(test_case);
              const auto y = b(test_case);
              if (!x || !y) return std::nullopt;
              return holds(relation, *x, *y);
            }),
            {}};
  }

  Value compare_texts(Value left, std::string_view sign, Value right) const {
    const auto* a = std::get_if<Text>(&left.function);
    const auto* b = std::get_if<Text>(&right.function);
    if (a == nullptr || b == nullptr || (sign != "==" && sign != "!=") || left.literal.has_value() == right.literal.has_value()) {
      throw FindingSyntaxError(R"(a string can only be compared as in fixture == "gauss" or fixture != "gauss")");
    }
    const std::string& name = left.literal ? *left.literal : *right.literal;
    const std::vector<std::string_view> fixtures = fixtures_of(family_);
    if (std::ranges::find(fixtures, name) == fixtures.end()) {
      throw FindingSyntaxError(
          fmt::format("family {1} has no fixture '{0}'; accepted: {2}", name, family_.name(), fmt::join(fixtures, ", ")));
    }
    const bool equal = sign == "==";
    return {Predicate(
                [x = *a, y = *b, equal](const Case& test_case) -> std::optional<bool> { return (x(test_case) == y(test_case)) == equal; }),
            {}};
  }

  Value sum() {
    Value left = product();
    for (std::string_view sign = take({"+", "-"}); !sign.empty(); sign = take({"+", "-"})) {
      Number a = number_of(std::move(left), sign);
      Number b = number_of(product(), sign);
      left = {combine(std::move(a), std::move(b), sign == "+" ? add : subtract), {}};
    }
    return left;
  }

  Value product() {
    Value left = factor();
    for (std::string_view sign = take({"*", "/", "%"}); !sign.empty(); sign = take({"*", "/", "%"})) {
      Number a = number_of(std::move(left), sign);
      Number b = number_of(factor(), sign);
      left = {combine(std::move(a), std::move(b), sign == "*" ? multiply : sign == "/" ? divide : remainder), {}};
    }
    return left;
  }

  Value factor() {
    if (take({"-"}).empty()) return atom();
    const Number zero = [](const Case&) { return std::optional<std::int64_t>(0); };
    return {combine(zero, number_of(deeper([this] { return factor(); }), "-"), subtract), {}};
  }

  Value atom() {
    skip_blanks();
    if (at_ == text_.size()) fail("a number, an axis, a quoted string or '('");
    const char c = text_[at_];
    if (c == '(') {
      ++at_;
      Value inner = deeper([this] { return either(); });
      if (take({")"}).empty()) fail("')'");
      return inner;
    }
    if (is_digit(c)) return integer();
    if (c == '"' || c == '\'') return quoted(c);
    if (is_letter(c)) return name();
    fail("a number, an axis, a quoted string or '('");
  }

  Value integer() {
    std::int64_t value = 0;
    const char* first = text_.data() + at_;
    const auto [end, error] = std::from_chars(first, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a 64-bit integer");
    at_ += static_cast<std::size_t>(end - first);
    if (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) fail("an operator (numbers must be integers)");
    return {Number([value](const Case&) { return std::optional(value); }), {}};
  }

  Value quoted(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail(fmt::format("a closing {}", quote));
    const std::string literal(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return {Text([literal](const Case&) { return std::string_view(literal); }), literal};
  }

  Value name() {
    std::size_t end = at_;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "fixture") {
      at_ = end;
      return {Text([](const Case& test_case) { return std::string_view(test_case.fixture); }), {}};
    }
    if (word == "seed") {
      at_ = end;
      return {Number([](const Case& test_case) -> std::optional<std::int64_t> {
                if (test_case.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
                return static_cast<std::int64_t>(test_case.seed);
              }),
              {}};
    }
    const auto axis_named = [&](std::string_view axis) { return std::ranges::find(family_.axes, axis, &Axis::name); };
    std::string quantities;
    for (const families::Quantity& quantity : family_.quantities) {
      if (word == quantity.name) {
        at_ = end;
        return {Number([of = quantity.of](const Case& test_case) { return of(test_case, is_on_file(test_case)); }), {}};
      }
      quantities += fmt::format(", {}", quantity.name);
    }
    auto axis = axis_named(word);
    if (axis == family_.axes.end()) axis = std::ranges::find(family_.axes, word, &Axis::brief);
    if (axis == family_.axes.end()) {
      std::vector<std::string> known;
      for (const Axis& candidate : family_.axes)
        known.push_back(candidate.brief.empty() ? std::string(candidate.name) : fmt::format("{} ({})", candidate.name, candidate.brief));
      throw FindingSyntaxError(fmt::format("family {1} has no axis '{0}'; accepted: {2}{3}, fixture, seed", word, family_.name(),
                                           fmt::join(known, ", "), quantities));
    }
    at_ = end;
    const auto index = static_cast<std::size_t>(axis - family_.axes.begin());
    return {Number([index](const Case& test_case) { return std::optional(test_case.values[index]); }), {}};
  }

  std::string_view text_;
  const Family& family_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Predicate parse_predicate(std::string_view text, const Family& family) { return Parser(text, family).parse(); }

}  // namespace assay::harness
