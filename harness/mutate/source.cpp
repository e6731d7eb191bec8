// Splits a source into pieces, and matches their brackets.
#include "harness/mutate/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "kernels/variant.h"
#include "metal/errors.h"

namespace assay::harness {
namespace {

using metal::translate::TokenKind;

// Templates of the standard library and of C++ itself. Those of the file are found in its text.
constexpr std::array<std::string_view, 20> kTemplates = {
    "template",         "vec",         "packed_vec",  "matrix",         "array",   "simdgroup_matrix", "make_filled_simdgroup_matrix",
    "as_type",          "static_cast", "const_cast",  "numeric_limits", "is_same", "is_same_v",        "conditional",
    "reinterpret_cast", "enable_if",   "enable_if_t", "conditional_t",  "atomic",  "integral_constant"};

bool opens(const SourceToken& token) { return token.is("(") || token.is("[") || token.is("{"); }
bool closes(const SourceToken& token) { return token.is(")") || token.is("]") || token.is("}"); }

// Matches brackets, including angle brackets after names of templates, and joins shifts.
class Brackets {
 public:
  Brackets(std::vector<SourceToken>& tokens, const Source& source) : tokens_(tokens), source_(source) {}

  void pair() {
    pair_round_and_square();
    find_templates();
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].is_identifier() && templates_.contains(tokens_[i].text) && tokens_[i + 1].is("<")) pair_angles(i + 1);
    }
    join_shifts();
    pair_round_and_square();
    re_pair_angles();
  }

 private:
  void pair_round_and_square() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (opens(tokens_[i])) open.push_back(i);
      if (!closes(tokens_[i])) continue;
      const std::string_view partner = tokens_[i].is(")") ? "(" : tokens_[i].is("]") ? "[" : "{";
      if (open.empty() || !tokens_[open.back()].is(partner)) fail(i);
      tokens_[i].match = open.back();
      tokens_[open.back()].match = i;
      open.pop_back();
    }
    if (!open.empty()) fail(open.back());
  }

  [[noreturn]] void fail(std::size_t i) const {
    throw metal::CompileError(
        fmt::format("{}:{}: error: '{}' has no matching bracket", source_.name(), source_.place(tokens_[i].offset).line, tokens_[i].text));
  }

  // Finds the names of `template <...> ... name`: the identifier before the first bracket, semicolon or `=`.
  void find_templates() {
    templates_.insert(kTemplates.begin(), kTemplates.end());
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
      if (!tokens_[i].is("template") || !tokens_[i + 1].is("<")) continue;
      std::size_t at = angle_end(i + 1) + 1;
      for (; at < tokens_.size(); ++at) {
        if (tokens_[at].is("[")) {
          at = tokens_[at].match;
        } else if (opens(tokens_[at]) || tokens_[at].is(";") || tokens_[at].is("=") || tokens_[at].is(":")) {
          break;
        }
      }
      if (at < tokens_.size() && tokens_[at - 1].is_identifier()) templates_.insert(tokens_[at - 1].text);
    }
  }

  // The `>` that closes the `<` at `open`; `open` itself if there is none before the end of the statement.
  std::size_t angle_end(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (opens(tokens_[i])) {
        i = tokens_[i].match;
      } else if (closes(tokens_[i]) || tokens_[i].is(";")) {
        return open;
      } else if (tokens_[i].is("<")) {
        ++depth;
      } else if (tokens_[i].is(">") && --depth == 0) {
        return i;
      }
    }
    return open;
  }

  void pair_angles(std::size_t open) {
    const std::size_t close = angle_end(open);
    if (close == open) return;
    tokens_[open].is_angle = tokens_[close].is_angle = true;
  }

  void join_shifts() {
    std::vector<SourceToken> joined;
    for (const SourceToken& token : tokens_) {
      SourceToken* last = joined.empty() ? nullptr : &joined.back();
      const bool adjacent = last != nullptr && last->offset + last->text.size() == token.offset && !last->is_angle && !token.is_angle;
      if (adjacent && metal::translate::is_shift(last->text, token.text)) {
        last->text = std::string_view(source_.text()).substr(last->offset, last->text.size() + token.text.size());
      } else {
        joined.push_back(token);
      }
    }
    tokens_ = std::move(joined);
  }

  void re_pair_angles() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!tokens_[i].is_angle) continue;
      if (tokens_[i].is("<")) {
        open.push_back(i);
      } else if (!open.empty()) {
        tokens_[i].match = open.back();
        tokens_[open.back()].match = i;
        open.pop_back();
      }
    }
  }

  std::vector<SourceToken>& tokens_;
  const Source& source_;
  std::set<std::string_view> templates_;
};

}  // namespace

Source::Source(std::string text, std::string name) : text_(std::make_shared<const std::string>(std::move(text))), name_(std::move(name)) {
  line_starts_.push_back(0);
  for (std::size_t at = 0; at < text_->size(); ++at) {
    if ((*text_)[at] == '\n') line_starts_.push_back(at + 1);
  }
  for (const metal::translate::Directive& directive : add_piece(*text_, 0, false)) {
    if (directive.body < directive.last) add_piece(text_->substr(directive.body, directive.last - directive.body), directive.body, true);
  }
}

std::vector<metal::translate::Directive> Source::add_piece(std::string code, std::size_t offset, bool is_macro) {
  metal::translate::TokenStream stream = metal::translate::tokenize(std::move(code), name_, metal::translate::Form::written);
  SourcePiece piece;
  piece.is_macro = is_macro;
  for (const metal::translate::Token& token : stream.tokens) {
    if (token.kind == TokenKind::end) break;
    SourceToken own;
    own.kind = token.kind;
    own.offset = offset + static_cast<std::size_t>(token.text.data() - stream.source->data());
    own.text = std::string_view(*text_).substr(own.offset, token.text.size());
    piece.tokens.push_back(own);
  }
  if (is_macro) {
    const auto declares = [&](std::size_t i) {
      const SourceToken& token = piece.tokens[i];
      return token.is("template") || token.is("#") || (token.is("[") && i + 1 < piece.tokens.size() && piece.tokens[i + 1].is("["));
    };
    for (std::size_t i = 0; i < piece.tokens.size(); ++i) {
      if (declares(i)) return {};
    }
    // Skipped if a bracket in a macro has its partner in another macro: such a body cannot be read alone.
    try {
      Brackets(piece.tokens, *this).pair();
    } catch (const metal::CompileError&) {
      return {};
    }
  } else {
    Brackets(piece.tokens, *this).pair();
  }
  if (!piece.tokens.empty()) pieces_.push_back(std::move(piece));
  return std::move(stream.directives);
}

SourcePlace Source::place(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(line_starts_, offset);
  const auto line = static_cast<std::size_t>(after - line_starts_.begin());
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(offset - line_starts_[line - 1] + 1)};
}

std::string_view Source::line(std::uint32_t number) const {
  const std::size_t first = line_starts_.at(number - 1);
  const std::size_t last = number < line_starts_.size() ? line_starts_[number] - 1 : text_->size();
  return std::string_view(*text_).substr(first, last - first);
}

}  // namespace assay::harness
