// Reads constants of a case and of its source, and evaluates conditions as far as they decide.
#include "harness/triage/known_constants.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <variant>

#include "families/described_launch.h"

namespace assay::harness {
namespace {

using Number = std::optional<std::int64_t>;
using ValueOf = std::function<Number(std::string_view)>;

Number number_of(const metal::FunctionConstant& constant) {
  if (const bool* boolean = std::get_if<bool>(&constant)) return *boolean ? 1 : 0;
  if (const std::int64_t* integer = std::get_if<std::int64_t>(&constant)) return *integer;
  return std::nullopt;
}

// "3", "0x10", "8u"
Number literal(std::string_view text) {
  while (!text.empty() && std::string_view("uUlL").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (is_hexadecimal) text.remove_prefix(2);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, is_hexadecimal ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class ConditionReader {
 public:
  ConditionReader(const std::vector<SourceToken>& tokens, const ValueOf& value_of) : tokens_(tokens), value_of_(value_of) {}

  [[nodiscard]] Number value(std::size_t first, std::size_t last) const {
    if (first >= last) return std::nullopt;
    if (find("?", first, last) < last) return std::nullopt;
    if (const Number any = joined("||", first, last, 1); any || find("||", first, last) < last) return any;
    if (const Number all = joined("&&", first, last, 0); all || find("&&", first, last) < last) return all;
    for (const std::string_view operation : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (const std::size_t at = find(operation, first, last); at < last) return compared(operation, value(first, at), value(at + 1, last));
    }
    if (tokens_[first].is("!")) {
      const Number inner = value(first + 1, last);
      return inner ? Number(*inner == 0 ? 1 : 0) : std::nullopt;
    }
    if (tokens_[first].is("(") && tokens_[first].match + 1 == last) return value(first + 1, last - 1);
    if (first + 1 != last) return std::nullopt;
    const SourceToken& token = tokens_[first];
    if (token.is("true") || token.is("false")) return token.is("true") ? 1 : 0;
    return token.is_identifier() ? value_of_(token.text) : literal(token.text);
  }

 private:
  // The first such operator outside of brackets; `last` if there is none.
  [[nodiscard]] std::size_t find(std::string_view operation, std::size_t first, std::size_t last) const {
    for (std::size_t i = first; i < last; ++i) {
      const SourceToken& token = tokens_[i];
      if (token.is(operation) && !token.is_angle) return i;
      const bool opens = token.is("(") || token.is("[") || token.is("{") || (token.is_angle && token.is("<"));
      if (opens && token.match > i) i = token.match;
    }
    return last;
  }

  // One part that is true decides `||`, one that is false `&&`.
  [[nodiscard]] Number joined(std::string_view operation, std::size_t first, std::size_t last, std::int64_t deciding) const {
    if (find(operation, first, last) == last) return std::nullopt;
    bool are_known = true;
    for (std::size_t from = first; from <= last;) {
      const std::size_t to = find(operation, from, last);
      const Number part = value(from, to);
      if (part && (*part != 0) == (deciding != 0)) return deciding;
      are_known = are_known && part.has_value();
      from = to + 1;
    }
    return are_known ? Number(1 - deciding) : std::nullopt;
  }

  [[nodiscard]] static Number compared(std::string_view operation, Number left, Number right) {
    if (!left || !right) return std::nullopt;
    if (operation == "==") return *left == *right ? 1 : 0;
    if (operation == "!=") return *left != *right ? 1 : 0;
    if (operation == "<=") return *left <= *right ? 1 : 0;
    if (operation == ">=") return *left >= *right ? 1 : 0;
    return (operation == "<" ? *left < *right : *left > *right) ? 1 : 0;
  }

  const std::vector<SourceToken>& tokens_;
  const ValueOf& value_of_;
};

// `constant int kCausal = 2;` outside of functions, of all names that are defined once.
void add_literals(const Source& source, KnownConstants& known) {
  std::set<std::string_view> seen;
  for (const SourcePiece& piece : source.pieces()) {
    const std::vector<SourceToken>& tokens = piece.tokens;
    for (std::size_t i = 1; i + 3 < tokens.size() && !piece.is_macro; ++i) {
      if (tokens[i].is("{") && tokens[i].match > i && tokens[i - 1].is(")")) i = tokens[i].match;
      if (!tokens[i].is_identifier() || !tokens[i + 1].is("=") || !tokens[i + 3].is(";")) continue;
      std::size_t begin = i;
      while (begin > 0 && !tokens[begin - 1].is(";") && !tokens[begin - 1].is("}") && !tokens[begin - 1].is("{")) --begin;
      const bool is_constant =
          std::any_of(tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(i),
                      [](const SourceToken& token) { return token.is("constant") || token.is("constexpr"); });
      const Number value = literal(tokens[i + 2].text);
      if (!is_constant || !value) continue;
      if (seen.insert(tokens[i].text).second) {
        known.emplace(tokens[i].text, *value);
      } else {
        known.erase(std::string(tokens[i].text));
      }
    }
  }
}

}  // namespace

KnownConstants known_constants(const PreparedVariant& prepared, const Case& test_case, const Source& source) {
  KnownConstants known;
  std::set<std::string> differing;
  for (const families::LaunchedFunction& function : families::DescribedLaunch(test_case, prepared.variant).functions()) {
    const kernels::BoundKernel* kernel = function.family.empty() ? prepared.kernel(function.key) : nullptr;
    if (kernel == nullptr) continue;
    for (const metal::FunctionConstantDeclaration& declared : prepared.libraries.front()->function_constants()) {
      const auto given = kernel->entry().pipeline.constants.find(declared.index);
      const Number value = given == kernel->entry().pipeline.constants.end() ? std::nullopt : number_of(given->second);
      if (!value) continue;
      if (known.try_emplace(declared.name, *value).first->second != *value) differing.insert(declared.name);
    }
  }
  for (const std::string& name : differing) known.erase(name);
  add_literals(source, known);
  return known;
}

std::optional<bool> known_condition(const std::vector<SourceToken>& tokens, std::size_t first, std::size_t last, const ValueOf& value_of) {
  // Each `!` and each parenthesis is one step deeper.
  constexpr std::size_t most = 256;
  if (last - first > most) return std::nullopt;
  const Number value = ConditionReader(tokens, value_of).value(first, last);
  return value ? std::optional(*value != 0) : std::nullopt;
}

}  // namespace assay::harness
