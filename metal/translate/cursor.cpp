// Finds matching brackets, and the ends of statements and attributes.
#include "metal/translate/cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "metal/errors.h"

namespace assay::metal::translate {

namespace {

constexpr std::size_t kLongestMessage = 2000;

}  // namespace

bool is_space_word(const Token& token) {
  return token.is("device") || token.is("constant") || token.is("thread") || token.is("threadgroup");
}

const Attribute* AttributeList::find(std::string_view name) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(), [&](const Attribute& attribute) { return attribute.name == name; });
  return found == attributes.end() ? nullptr : &*found;
}

void Cursor::fail(std::size_t index, std::string_view message) const {
  const Token& token = stream_.tokens[std::min(index, size())];
  const bool is_short = message.size() <= kLongestMessage;
  throw CompileError(fmt::format("{}:{}: error: {}{}", stream_.files[token.file], token.line, printable(message.substr(0, kLongestMessage)),
                                 is_short ? "" : " ..."));
}

void Cursor::refuse_place(std::size_t index) const {
  // An index so large is the result of a step back from the first token.
  if (index > std::numeric_limits<std::size_t>::max() / 2) fail(0, "the file begins in the middle of a declaration");
  fail(size(), "the file ends in the middle of a declaration");
}

void Cursor::refuse_work(std::size_t index) const {
  fail(index, "the file takes too long to translate: something in it is repeated or nested thousands of times within one statement");
}

void Cursor::require_shallow() const {
  int depth = 0;
  for (std::size_t index = 0; index < size(); ++index) {
    if (opens((*this)[index]) && ++depth > kDeepestNesting) fail(index, fmt::format("brackets nest more than {} deep", kDeepestNesting));
    if (closes((*this)[index]) && depth > 0) --depth;
  }
}

std::size_t Cursor::closing(std::size_t open) const {
  int depth = 0;
  for (std::size_t index = open; index < size(); ++index) {
    if (opens((*this)[index])) ++depth;
    if (closes((*this)[index]) && --depth == 0) return index;
  }
  fail(open, fmt::format("'{}' is never closed", (*this)[open].text));
}

std::optional<std::size_t> Cursor::opening(std::size_t close) const {
  int depth = 0;
  for (std::size_t index = close + 1; index-- > 0;) {
    if (closes((*this)[index])) ++depth;
    if (opens((*this)[index]) && --depth == 0) return index;
  }
  return std::nullopt;
}

std::optional<std::size_t> Cursor::closing_angle(std::size_t open) const {
  int depth = 0;
  for (std::size_t index = open; index < size(); ++index) {
    const Token& token = (*this)[index];
    if (opens(token)) {
      index = closing(index);
    } else if (closes(token) || token.is(";") || token.is("&&") || token.is("||")) {
      // A template argument may contain a logical operator, but only in parentheses. A bare one means that the `<` is a comparison.
      if (!(token.is("&&") || token.is("||"))) return std::nullopt;
    } else if (token.is("<")) {
      ++depth;
    } else if (token.is(">") && --depth == 0) {
      return index;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> Cursor::opening_angle(std::size_t close) const {
  int depth = 0;
  for (std::size_t index = close + 1; index-- > 0;) {
    const Token& token = (*this)[index];
    if (closes(token)) {
      const auto open = opening(index);
      if (!open) return std::nullopt;
      index = *open;
    } else if (opens(token) || token.is(";")) {
      return std::nullopt;
    } else if (token.is(">")) {
      ++depth;
    } else if (token.is("<") && --depth == 0) {
      return index;
    }
  }
  return std::nullopt;
}

std::size_t Cursor::semicolon(std::size_t first) const {
  for (std::size_t index = first; index < size(); ++index) {
    if (opens((*this)[index])) {
      index = closing(index);
    } else if ((*this)[index].is(";")) {
      return index;
    } else if (closes((*this)[index])) {
      break;
    }
  }
  fail(first, fmt::format("no ';' ends what begins with '{}'", (*this)[first].text));
}

std::size_t Cursor::statement_end(std::size_t first) const { return end_of_statement(first, 0); }

std::size_t Cursor::end_of_statement(std::size_t first, int depth) const {
  if (depth > kDeepestStatement) fail(first, fmt::format("statements nest more than {} deep", kDeepestStatement));
  const Token& token = (*this)[first];
  const auto after_parentheses = [&](std::size_t index) {
    while (index < size() && !(*this)[index].is("(")) ++index;
    return closing(index) + 1;
  };
  if (attributes_at(first)) return end_of_statement(read_attributes(first).last + 1, depth + 1);
  if (token.is("{")) return closing(first);
  if (token.is("if")) {
    const std::size_t end = end_of_statement(after_parentheses(first + 1), depth + 1);
    return (*this)[end + 1].is("else") ? end_of_statement(end + 2, depth + 1) : end;
  }
  if (token.is("for") || token.is("while") || token.is("switch")) return end_of_statement(after_parentheses(first + 1), depth + 1);
  if (token.is("do")) return semicolon(end_of_statement(first + 1, depth + 1) + 1);
  return semicolon(first);
}

bool Cursor::attributes_at(std::size_t index) const {
  return (*this)[index].is("[") && (*this)[index + 1].is("[") && (*this)[index + 1].leading.empty() &&
         ((*this)[index + 2].kind == TokenKind::identifier || (*this)[index + 2].is("]"));
}

AttributeList Cursor::read_attributes(std::size_t index) const {
  AttributeList list{index, closing(index), {}};
  const std::size_t end = list.last - 1;
  for (std::size_t position = index + 2; position < end;) {
    Attribute attribute;
    while (position < end && !(*this)[position].is(",") && !(*this)[position].is("(")) attribute.name += (*this)[position++].text;
    if (position < end && (*this)[position].is("(")) {
      attribute.first_argument = position + 1;
      attribute.last_argument = closing(position);
      position = attribute.last_argument + 1;
    }
    list.attributes.push_back(std::move(attribute));
    if (position < end && (*this)[position].is(",")) ++position;
  }
  return list;
}

std::string Cursor::text(std::size_t first, std::size_t last) const {
  std::string result;
  for (std::size_t index = first; index < last; ++index) {
    const Token& token = (*this)[index];
    if (!result.empty() && !token.leading.empty()) result += ' ';
    result += token.text;
    spend(index, token.text.size());
  }
  return result;
}

std::string Cursor::brief(std::size_t first, std::size_t last) const {
  constexpr std::size_t kLongest = 200;
  std::string result = text(first, std::min(last, first + kLongest));
  if (result.size() <= kLongest && last <= first + kLongest) return result;
  return result.substr(0, kLongest) + " ...";
}

void Cursor::remove(std::size_t first, std::size_t last) {
  for (std::size_t index = first; index <= last; ++index) {
    (*this)[index].replacement = "";
    (*this)[index].before.clear();
    (*this)[index].after.clear();
  }
}

}  // namespace assay::metal::translate
