// Parses and evaluates integer constant expressions.
#include "metal/translate/constant_expression.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "metal/translate/limits.h"

namespace assay::metal::translate {

namespace {

using Value = std::optional<Integer>;

constexpr IntegerType kBool{1, false};

constexpr std::array<std::pair<std::string_view, IntegerType>, 15> kTypeNames = {{{"bool", kBool},
                                                                                  {"uchar", {8, false}},
                                                                                  {"ushort", {16, false}},
                                                                                  {"uint", {32, false}},
                                                                                  {"ulong", {64, false}},
                                                                                  {"size_t", {64, false}},
                                                                                  {"ptrdiff_t", {64, true}},
                                                                                  {"int8_t", {8, true}},
                                                                                  {"int16_t", {16, true}},
                                                                                  {"int32_t", {32, true}},
                                                                                  {"int64_t", {64, true}},
                                                                                  {"uint8_t", {8, false}},
                                                                                  {"uint16_t", {16, false}},
                                                                                  {"uint32_t", {32, false}},
                                                                                  {"uint64_t", {64, false}}}};

Integer truth(bool value) { return {value ? 1 : 0, kBool}; }

Integer promoted(const Integer& integer) { return integer.type.bits < 32 ? converted(integer, kInt) : integer; }

IntegerType common_type(IntegerType a, IntegerType b) {
  if (a.bits != b.bits) return a.bits > b.bits ? a : b;
  return {a.bits, a.is_signed && b.is_signed};
}

// A signed result outside the range of its type is not a constant; an unsigned one wraps.
Value in_type(std::int64_t value, bool overflows, IntegerType type) {
  const Integer result = converted({value, {64, true}}, type);
  if (type.is_signed && (overflows || result.value != value)) return std::nullopt;
  return result;
}

Value shift(std::string_view op, const Integer& left, const Integer& amount) {
  if (amount.value < 0 || amount.value >= left.type.bits) return std::nullopt;
  const auto by = static_cast<unsigned>(amount.value);
  const auto bits = static_cast<std::uint64_t>(left.value);
  if (op == "<<") return converted({static_cast<std::int64_t>(bits << by), {64, true}}, left.type);
  return Integer{left.type.is_signed ? left.value >> by : static_cast<std::int64_t>(bits >> by), left.type};
}

std::optional<bool> compare(std::string_view op, const Integer& a, const Integer& b) {
  const bool less = a.type.is_signed ? a.value < b.value : static_cast<std::uint64_t>(a.value) < static_cast<std::uint64_t>(b.value);
  const bool equal = a.value == b.value;
  if (op == "==") return equal;
  if (op == "!=") return !equal;
  if (op == "<") return less;
  if (op == "<=") return less || equal;
  if (op == ">") return !less && !equal;
  if (op == ">=") return !less;
  return std::nullopt;
}

Value quotient(std::string_view op, const Integer& a, const Integer& b) {
  if (b.value == 0) return std::nullopt;
  if (!a.type.is_signed) {
    const auto x = static_cast<std::uint64_t>(a.value);
    const auto y = static_cast<std::uint64_t>(b.value);
    return Integer{static_cast<std::int64_t>(op == "/" ? x / y : x % y), a.type};
  }
  if (b.value == -1) {
    if (op == "%") return Integer{0, a.type};
    return in_type(static_cast<std::int64_t>(-static_cast<std::uint64_t>(a.value)), a.value == std::numeric_limits<std::int64_t>::min(),
                   a.type);
  }
  return Integer{op == "/" ? a.value / b.value : a.value % b.value, a.type};
}

Value apply(std::string_view op, const Value& left, const Value& right) {
  if (op == "&&" && left && left->value == 0) return truth(false);
  if (op == "||" && left && left->value != 0) return truth(true);
  if (!left || !right) return std::nullopt;
  if (op == "&&" || op == "||") return truth(right->value != 0);
  if (op == "<<" || op == ">>") return shift(op, promoted(*left), promoted(*right));
  const IntegerType type = common_type(promoted(*left).type, promoted(*right).type);
  const Integer a = converted(*left, type);
  const Integer b = converted(*right, type);
  if (const auto answer = compare(op, a, b)) return truth(*answer);
  if (op == "|") return Integer{a.value | b.value, type};
  if (op == "^") return Integer{a.value ^ b.value, type};
  if (op == "&") return Integer{a.value & b.value, type};
  if (op == "/" || op == "%") return quotient(op, a, b);
  std::int64_t result = 0;
  const bool overflows = op == "+"   ? __builtin_add_overflow(a.value, b.value, &result)
                         : op == "-" ? __builtin_sub_overflow(a.value, b.value, &result)
                                     : __builtin_mul_overflow(a.value, b.value, &result);
  return in_type(result, overflows, type);
}

Value literal(std::string_view text) {
  std::string digits(text);
  std::erase(digits, '\'');
  const bool prefixed = digits.size() > 1 && digits[0] == '0';
  const char mark = prefixed ? static_cast<char>(digits[1] | 0x20) : ' ';
  const int base = mark == 'x' ? 16 : mark == 'b' ? 2 : prefixed ? 8 : 10;
  const char* begin = digits.data() + (mark == 'x' || mark == 'b' ? 2 : 0);
  const char* end = digits.data() + digits.size();
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(begin, end, value, base);
  const std::string_view suffix(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (parsed.ec != std::errc() || suffix.find_first_not_of("uUlL") != std::string_view::npos) return std::nullopt;
  const bool is_unsigned = suffix.find_first_of("uU") != std::string_view::npos;
  const bool is_long = suffix.find_first_of("lL") != std::string_view::npos;
  // The first type that can represent the value. A decimal literal without `u` has only signed types.
  for (const unsigned bits : {32u, 64u}) {
    if (is_long && bits == 32) continue;
    const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits);
    if (!is_unsigned && value <= largest >> 1) return Integer{static_cast<std::int64_t>(value), {bits, true}};
    if ((is_unsigned || base != 10) && value <= largest) return Integer{static_cast<std::int64_t>(value), {bits, false}};
  }
  return std::nullopt;
}

// Evaluates an expression. A part without a value is accepted where it is not used, as `4 / n` in `n == 0 ? 1 : 4 / n`. A part that
// cannot be parsed is not.
class Evaluator {
 public:
  Evaluator(const Cursor& tokens, std::size_t first, std::size_t last, const ConstantNames& names)
      : tokens_(tokens), position_(first), last_(last), names_(names) {}

  Value run() {
    const auto value = conditional();
    return position_ == last_ && readable_ ? value : std::nullopt;
  }

  std::optional<IntegerType> run_type() {
    const auto result = type();
    return position_ == last_ ? result : std::nullopt;
  }

 private:
  bool at(std::string_view text) const { return position_ < last_ && tokens_[position_].is(text); }

  bool take(std::string_view text) {
    if (!at(text)) return false;
    ++position_;
    return true;
  }

  void expect(std::string_view text) { readable_ = take(text) && readable_; }

  // One level of recursion. An expression that nests too deep counts as one that cannot be parsed.
  class Level {
   public:
    explicit Level(Evaluator& evaluator) : evaluator_(evaluator) {
      if (++evaluator_.depth_ > kDeepestExpression) evaluator_.readable_ = false;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --evaluator_.depth_; }
    [[nodiscard]] bool is_too_deep() const { return evaluator_.depth_ > kDeepestExpression; }

   private:
    Evaluator& evaluator_;
  };

  Value conditional() {
    const Level level(*this);
    if (level.is_too_deep()) return std::nullopt;
    const auto condition = binary(1);
    if (!take("?")) return condition;
    const auto chosen = conditional();
    expect(":");
    const auto other = conditional();
    if (!condition) return std::nullopt;
    const auto& result = condition->value != 0 ? chosen : other;
    if (!chosen || !other) return result;
    return converted(*result, common_type(promoted(*chosen).type, promoted(*other).type));
  }

  Value binary(int lowest) {
    auto left = unary();
    while (readable_) {
      const std::string_view op = operator_here();
      const int precedence = binary_precedence(op);
      if (precedence < lowest) break;
      position_ += op == "<<" || op == ">>" ? 2 : 1;
      left = apply(op, left, binary(precedence + 1));
    }
    return left;
  }

  std::string_view operator_here() const {
    if (position_ >= last_) return {};
    const std::string_view text = tokens_[position_].text;
    const bool is_shift = position_ + 1 < last_ && tokens_[position_ + 1].is(text) && tokens_[position_ + 1].leading.empty();
    if (is_shift && text == "<") return "<<";
    if (is_shift && text == ">") return ">>";
    return text;
  }

  Value unary() {
    const Level level(*this);
    if (level.is_too_deep()) return std::nullopt;
    if (take("-")) return apply("-", Integer{}, unary());
    if (take("+")) return apply("+", Integer{}, unary());
    if (take("~")) return apply("^", Integer{-1, kInt}, unary());
    if (take("!")) return apply("==", Integer{}, unary());
    const std::size_t start = position_;
    if (take("(")) {
      const auto cast = type();
      if (cast && take(")")) return cast_to(*cast, unary());
      position_ = start;
    }
    return primary();
  }

  static Value cast_to(IntegerType type, const Value& value) { return value ? Value(converted(*value, type)) : std::nullopt; }

  Value enclosed(std::string_view close) {
    const auto value = conditional();
    expect(close);
    return value;
  }

  Value primary() {
    if (take("(")) return enclosed(")");
    if (take("true")) return truth(true);
    if (take("false")) return truth(false);
    if (take("static_cast")) {
      expect("<");
      const auto cast = type();
      expect(">");
      expect("(");
      const auto value = enclosed(")");
      readable_ = readable_ && cast.has_value();
      return readable_ ? cast_to(*cast, value) : std::nullopt;
    }
    const std::size_t start = position_;
    if (const auto cast = type()) {
      if (take("(")) return cast_to(*cast, enclosed(")"));
      if (take("{")) return cast_to(*cast, enclosed("}"));
    }
    position_ = start;
    const bool is_number = position_ < last_ && tokens_[position_].kind == TokenKind::number;
    const auto value = is_number ? literal(tokens_[position_++].text) : names_.value(name());
    if (!value) readable_ = false;
    return value;
  }

  // Reads a name: `a::b`, `::a`. Empty if there is none.
  std::string name() {
    std::string result;
    if (take("::")) result = "::";
    while (position_ < last_ && tokens_[position_].kind == TokenKind::identifier) {
      result += tokens_[position_++].text;
      if (!take("::")) break;
      result += "::";
    }
    return result;
  }

  std::optional<IntegerType> type() {
    static constexpr std::array<std::string_view, 6> kWords = {"unsigned", "signed", "char", "short", "int", "long"};
    std::vector<std::string_view> words;
    while (position_ < last_ && std::find(kWords.begin(), kWords.end(), tokens_[position_].text) != kWords.end())
      words.push_back(tokens_[position_++].text);
    if (!words.empty()) {
      const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
      return IntegerType{has("char") ? 8u : has("short") ? 16u : has("long") ? 64u : 32u, !has("unsigned")};
    }
    std::string text = name();
    if (text.starts_with("metal::")) text.erase(0, 7);
    const auto* found = std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](const auto& entry) { return entry.first == text; });
    return found != kTypeNames.end() ? std::optional(found->second) : names_.type(text);
  }

  const Cursor& tokens_;
  std::size_t position_;
  std::size_t last_;
  const ConstantNames& names_;
  bool readable_ = true;
  int depth_ = 0;
};

}  // namespace

Integer converted(const Integer& integer, IntegerType type) {
  if (type.bits == 1) return truth(integer.value != 0);
  const auto bits = static_cast<std::uint64_t>(integer.value) << (64 - type.bits);
  const auto value =
      type.is_signed ? static_cast<std::int64_t>(bits) >> (64 - type.bits) : static_cast<std::int64_t>(bits >> (64 - type.bits));
  return {value, type};
}

Value evaluate(const Cursor& tokens, std::size_t first, std::size_t last, const ConstantNames& names) {
  return Evaluator(tokens, first, last, names).run();
}

std::optional<IntegerType> integer_type(const Cursor& tokens, std::size_t first, std::size_t last, const ConstantNames& names) {
  return Evaluator(tokens, first, last, names).run_type();
}

}  // namespace assay::metal::translate
