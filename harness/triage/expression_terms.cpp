// Splits expressions into terms, and reads the members of structs.
#include "harness/triage/expression_terms.h"

#include <algorithm>
#include <array>

namespace assay::harness {
namespace {

using metal::translate::TokenKind;

constexpr std::array<std::string_view, 6> kComparisons = {"<", ">", "<=", ">=", "==", "!="};
constexpr std::array<std::string_view, 13> kSeparators = {",", "?", ":", "=", "+=", "-=", "*=", "/=", "&&", "||", "return", ";", "%="};
constexpr std::array<std::string_view, 5> kExponentials = {"exp", "exp2", "exp10", "precise", "fast"};

class TermReader {
 public:
  TermReader(const std::vector<SourceToken>& tokens, ExpressionTerms& terms) : tokens_(tokens), terms_(terms) {}

  void read(TokenRange range, bool is_index, bool is_exponent) {
    if (range.is_empty()) return;
    if (is_index) terms_.indices.push_back(range);
    read_condition(range);
    std::size_t start = range.first;
    for (std::size_t i = range.first; i <= range.last;) {
      if (i == range.last || separates(i, range.first)) {
        if (start < i) {
          terms_.terms.push_back({{start, i}, is_index, is_exponent});
          if (is_index && (i - start > 1 || tokens_[start].is_identifier())) terms_.index_terms.push_back({start, i});
        }
        start = ++i;
        continue;
      }
      const SourceToken& token = tokens_[i];
      const bool opens = (token.is("(") || token.is("[") || token.is("{") || (token.is_angle && token.is("<"))) && token.match > i;
      if (!opens) {
        ++i;
        continue;
      }
      const bool is_call = i > 0 && tokens_[i - 1].is_identifier();
      if (!token.is_angle)
        read({i + 1, token.match}, is_index || token.is("["), token.is("(") && is_call && among(kExponentials, tokens_[i - 1].text));
      i = token.match + 1;
    }
  }

 private:
  [[nodiscard]] bool ends_operand(std::size_t i) const {
    const SourceToken& token = tokens_[i];
    return token.kind == TokenKind::number || token.is_identifier() || token.is(")") || token.is("]");
  }
  [[nodiscard]] bool separates(std::size_t i, std::size_t first) const {
    const SourceToken& token = tokens_[i];
    if (token.is_angle) return false;
    if (token.is("+") || token.is("-")) return i > first && ends_operand(i - 1);
    return among(kSeparators, token.text) || among(kComparisons, token.text);
  }

  // The part behind an assignment, in front of a `?` and between semicolons, if it compares.
  void read_condition(TokenRange range) {
    std::size_t start = range.first;
    for (std::size_t i = range.first; i <= range.last;) {
      const bool ends = i == range.last || tokens_[i].is("=") || tokens_[i].is("?") || tokens_[i].is(",") || tokens_[i].is(":");
      if (ends) {
        if (start < i) add_condition({start, i});
        start = ++i;
        continue;
      }
      const bool opens = (tokens_[i].is("(") || tokens_[i].is("[") || tokens_[i].is("{")) && tokens_[i].match > i;
      i = opens ? tokens_[i].match + 1 : i + 1;
    }
  }

  void add_condition(TokenRange range) {
    bool compares = false;
    std::size_t start = range.first;
    std::vector<TokenRange> parts;
    for (std::size_t i = range.first; i <= range.last; ++i) {
      if (i == range.last || tokens_[i].is("&&") || tokens_[i].is("||")) {
        if (start < i) parts.push_back({start, i});
        start = i + 1;
        compares = compares || i != range.last;
        continue;
      }
      compares = compares || (among(kComparisons, tokens_[i].text) && !tokens_[i].is_angle);
      if (tokens_[i].is("(") && tokens_[i].match > i) i = tokens_[i].match;
    }
    if (!compares) return;
    terms_.conditions.push_back(range);
    terms_.condition_terms.insert(terms_.condition_terms.end(), parts.begin(), parts.end());
  }

  const std::vector<SourceToken>& tokens_;
  ExpressionTerms& terms_;
};

constexpr std::array<std::string_view, 7> kBeforeTypes = {"const", "device", "constant", "threadgroup", "thread", "volatile", "struct"};

// The index behind a group of brackets, or behind one token.
std::size_t behind(const std::vector<SourceToken>& tokens, std::size_t i) { return tokens[i].match > i ? tokens[i].match + 1 : i + 1; }

// Reads the names behind the type, [first, last): `a = 1, b[4]`.
void read_names(const std::vector<SourceToken>& tokens, std::size_t first, std::size_t last, std::string_view type,
                std::vector<StructMembers::Member>& members) {
  bool is_value = false;  // of the name before
  for (std::size_t i = first; i < last; i = behind(tokens, i)) {
    if (tokens[i].is(",")) {
      is_value = false;
    } else if (tokens[i].is("=") || tokens[i].is(":")) {
      is_value = true;
    } else if (tokens[i].is_identifier() && !is_value && !is_builtin_type(tokens[i].text)) {
      members.emplace_back(tokens[i].text, type);
    }
  }
}

void read_members(const std::vector<SourceToken>& tokens, std::size_t open, std::vector<StructMembers::Member>& members) {
  const std::size_t close = tokens[open].match;
  for (std::size_t i = open + 1; i < close;) {
    std::size_t first = i;
    bool is_method = tokens[i].is("using") || tokens[i].is("typedef");
    bool has_value = false;
    // Of a method, its body is the end.
    while (i < close && !tokens[i].is(";") && !(is_method && tokens[i].is("{"))) {
      has_value = has_value || tokens[i].is("=");
      is_method = is_method || (tokens[i].is("(") && !has_value);
      i = behind(tokens, i);
    }
    const std::size_t last = std::min(i, close);
    i = last < close ? behind(tokens, last) : close;
    if (is_method) continue;
    while (first < last && among(kBeforeTypes, tokens[first].text)) ++first;
    if (first >= last || !tokens[first].is_identifier()) continue;
    const std::size_t names = tokens[first + 1].is_angle ? behind(tokens, first + 1) : first + 1;
    read_names(tokens, names, last, tokens[first].text, members);
  }
}

}  // namespace

ExpressionTerms terms_of(const std::vector<SourceToken>& tokens, TokenRange expression, bool is_offset) {
  ExpressionTerms terms;
  TermReader(tokens, terms).read(expression, is_offset, false);
  return terms;
}

bool holds_comparison(const std::vector<SourceToken>& tokens, TokenRange expression) {
  for (std::size_t i = expression.first; i < expression.last; ++i) {
    const SourceToken& token = tokens[i];
    if (!token.is_angle && (among(kComparisons, token.text) || token.is("/") || token.is("%") || token.is("min") || token.is("max")))
      return true;
  }
  return false;
}

std::string_view StructMembers::type_of(std::string_view name) const {
  const auto found = std::ranges::find(all, name, &Member::first);
  return found == all.end() ? std::string_view() : found->second;
}

std::vector<StructMembers::Member> StructMembers::of_struct(std::string_view name) const {
  for (const auto& [known, members] : structs) {
    if (known == name) return members;
  }
  return {};
}

StructMembers members_of(const SourcePiece& piece) {
  StructMembers read;
  const std::vector<SourceToken>& tokens = piece.tokens;
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i) {
    // `struct Shape {`, or `typedef struct {`, whose name is behind it.
    const std::size_t open = tokens[i + 1].is("{") ? i + 1 : i + 2;
    if (!tokens[i].is("struct") || !tokens[open].is("{") || tokens[open].match <= open) continue;
    const std::size_t name = open == i + 1 ? tokens[open].match + 1 : i + 1;
    if (name >= tokens.size() || !tokens[name].is_identifier()) continue;
    std::vector<StructMembers::Member> members;
    read_members(tokens, open, members);
    read.all.insert(read.all.end(), members.begin(), members.end());
    read.structs.emplace_back(tokens[name].text, std::move(members));
  }
  return read;
}

std::string_view ExpressionTerms::array_at(const std::vector<SourceToken>& tokens, TokenRange range) const {
  for (const TokenRange& index : indices) {
    const bool is_within = index.first <= range.first && range.last <= index.last && index.first >= 2;
    if (is_within && tokens[index.first - 1].is("[") && tokens[index.first - 2].is_identifier()) return tokens[index.first - 2].text;
  }
  return {};
}

}  // namespace assay::harness
