// Rewrites compound assignments to vector components in templates, such as `v.xy += w`.
//
// For clang, vector components are properties (metal/shader/vec.h). If the type of the component depends on a template argument and the
// file defines an operator of that name, clang resolves the assignment wrongly: it changes a copy.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

namespace {

// Whether a token may name components of a vector: `x`, `zyx`, `rgb`.
bool is_swizzle(const Token& token) {
  if (token.kind != TokenKind::identifier || token.text.size() > 4) return false;
  return token.text.find_first_not_of("xyzw") == std::string_view::npos || token.text.find_first_not_of("rgba") == std::string_view::npos;
}

}  // namespace

bool Translator::is_compound_assignment(const Token& token) {
  static constexpr auto kAssignments = std::to_array<std::string_view>({"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="});
  return token.kind == TokenKind::punctuation && std::find(kAssignments.begin(), kAssignments.end(), token.text) != kAssignments.end();
}

bool Translator::inside_template() const {
  if (tokens_[declaration_].is("template")) return true;
  return std::any_of(frames_.begin(), frames_.end(), [this](const Frame& frame) {
    return frame.scope != Scope::name_space && tokens_[frame.outer_statement].is("template");
  });
}

// The first token of the postfix expression that ends at `last`.
std::optional<std::size_t> Translator::operand_start(std::size_t last) const {
  std::size_t index = last;
  for (;;) {
    if (tokens_[index].is(")") || tokens_[index].is("]")) {
      const auto open = tokens_.opening(index);
      if (!open || *open == 0) return std::nullopt;
      const bool is_group = tokens_[index].is(")") && tokens_[*open - 1].kind != TokenKind::identifier && !tokens_[*open - 1].is(">");
      index = *open;
      if (is_group) return index;
      --index;
      continue;
    }
    if (tokens_[index].is(">")) {
      const auto open = tokens_.opening_angle(index);
      if (!open || *open == 0) return std::nullopt;
      index = *open - 1;
      continue;
    }
    if (tokens_[index].kind != TokenKind::identifier) return std::nullopt;
    const Token& previous = tokens_[index - 1];
    if (!previous.is(".") && !previous.is("->") && !previous.is("::")) return index;
    index -= 2;
  }
}

// The last token of the value that begins at `first`, of an assignment or an initialiser.
std::size_t Translator::value_end(std::size_t first) const {
  std::size_t index = first;
  for (; !tokens_[index].is(";") && !tokens_[index].is(",") && !closes(tokens_[index]); ++index) {
    if (opens(tokens_[index])) {
      index = tokens_.closing(index);
    } else if (tokens_[index].is("<") && tokens_[index - 1].kind == TokenKind::identifier) {
      const auto close = tokens_.closing_angle(index);
      if (close && (tokens_[*close + 1].is("(") || tokens_[*close + 1].is("{") || tokens_[*close + 1].is("::"))) index = *close;
    }
  }
  return index - 1;
}

// Rewrites the compound assignment so that it assigns the sum if the object is a vector, and is unchanged otherwise.
void Translator::rewrite_assignment(std::size_t assignment) {
  const std::size_t component = assignment - 1;
  if (assignment < 3 || !is_swizzle(tokens_[component]) || !inside_template()) return;
  const bool is_arrow = tokens_[component - 1].is("->");
  if (!is_arrow && !tokens_[component - 1].is(".")) return;
  const auto first = operand_start(component - 2);
  if (!first) return;
  const std::size_t last = value_end(assignment + 1);
  const auto name = tokens_[component].text;
  tokens_[*first].before += fmt::format(
      " [](auto&& assay_o, auto&& assay_v) {{ if constexpr (::__assay::is_vector<decltype((assay_o))>) {{ auto assay_p = assay_o.{0}; "
      "assay_p {1} "
      "assay_v; assay_o.{0} = assay_p; }} else assay_o.{0} {1} assay_v; }}({2}",
      name, tokens_[assignment].text, is_arrow ? "*(" : "");
  tokens_[component - 1].replacement = is_arrow ? ")" : "";
  tokens_[component].replacement = "";
  tokens_[assignment].replacement = ",";
  tokens_[last].after += ")";
}

}  // namespace assay::metal::translate
