// Decides which names of metal/shader/offered.h a source needs.
#include "metal/translate/offered_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace assay::metal::translate {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({
    "__is_valid_simdgroup_type",
    "__is_valid_simdgroup_type_v",
    "alignment_of",
    "alignment_of_v",
    "common_type",
    "common_type_t",
    "conjunction",
    "conjunction_v",
    "disjunction",
    "disjunction_v",
    "extent",
    "extent_v",
    "forward",
    "is_assignable",
    "is_assignable_v",
    "is_base_of",
    "is_base_of_v",
    "is_constructible",
    "is_constructible_v",
    "is_copy_constructible",
    "is_copy_constructible_v",
    "is_default_constructible",
    "is_default_constructible_v",
    "is_empty",
    "is_empty_v",
    "is_fundamental",
    "is_fundamental_v",
    "is_scalar",
    "is_scalar_v",
    "is_standard_layout",
    "is_standard_layout_v",
    "is_trivial",
    "is_trivial_v",
    "is_trivially_copyable",
    "is_trivially_copyable_v",
    "is_trivially_default_constructible",
    "is_trivially_default_constructible_v",
    "is_vector",
    "is_vector_v",
    "make_pair",
    "make_scalar",
    "make_scalar_t",
    "move",
    "negation",
    "negation_v",
    "pair",
    "rank",
    "rank_v",
    "remove_addrspace",
    "remove_addrspace_t",
    "remove_all_extents",
    "remove_all_extents_t",
    "remove_cvref",
    "remove_cvref_t",
    "swap",
    "type_identity",
    "type_identity_t",
    "underlying_type",
    "underlying_type_t",
    "vec_elements",
    "vec_elements_v",
    "void_t",
});

struct Mentions {
  bool is_declared = false;            // outside of all namespaces, or in metal
  bool is_declared_elsewhere = false;  // in another namespace
  bool is_qualified = false;           // metal::name
};

// Tracks which namespaces enclose a token. Any other brace makes its contents local.
class Scopes {
 public:
  enum class Kind { outermost, other, local };

  void pass(const std::vector<Token>& tokens, std::size_t index) {
    const Token& token = tokens[index];
    if (token.is("namespace")) {
      expected_ = Kind::outermost;
      is_expecting_ = true;
    } else if (is_expecting_ && token.kind == TokenKind::identifier && !token.is("metal") && !token.is("inline")) {
      expected_ = Kind::other;
    } else if (token.is(";")) {
      is_expecting_ = false;  // `using namespace metal;`, `namespace m = metal;`
    } else if (token.is("{")) {
      open_.push_back(is_expecting_ ? std::max(expected_, current()) : Kind::local);
      is_expecting_ = false;
    } else if (token.is("}") && !open_.empty()) {
      open_.pop_back();
    }
  }
  [[nodiscard]] Kind current() const { return open_.empty() ? Kind::outermost : open_.back(); }

 private:
  std::vector<Kind> open_;
  Kind expected_ = Kind::outermost;
  bool is_expecting_ = false;
};

// `int name;`, `constant bool name [[function_constant(0)]];`
bool is_variable(const std::vector<Token>& tokens, std::size_t index) {
  if (index == 0 || index + 1 >= tokens.size()) return false;
  const Token& before = tokens[index - 1];
  const Token& behind = tokens[index + 1];
  const bool follows_type = before.kind == TokenKind::identifier || before.is(">") || before.is("*") || before.is("&");
  return follows_type && !before.is("typename") && (behind.is(";") || behind.is("[") || behind.is("{"));
}

// `struct name`, `using name = ...`, `constexpr constant bool name = ...`
bool is_declaration(const std::vector<Token>& tokens, std::size_t index) {
  const auto follows = [&](std::string_view word) { return index > 0 && tokens[index - 1].is(word); };
  return follows("struct") || follows("class") || follows("union") || follows("enum") || follows("using") ||
         (index + 1 < tokens.size() && tokens[index + 1].is("=")) || is_variable(tokens, index);
}

// `metal::name`
bool is_qualified(const std::vector<Token>& tokens, std::size_t index) {
  return index > 1 && tokens[index - 1].is("::") && tokens[index - 2].is("metal");
}

}  // namespace

std::span<const std::string_view> offered_names() { return kNames; }

std::string offer_names(const TokenStream& stream) {
  std::map<std::string_view, Mentions> mentioned;
  Scopes scopes;
  for (std::size_t index = 0; index < stream.tokens.size(); ++index) {
    const Token& token = stream.tokens[index];
    scopes.pass(stream.tokens, index);
    if (token.kind != TokenKind::identifier || !std::binary_search(kNames.begin(), kNames.end(), token.text)) continue;
    Mentions& mentions = mentioned[token.text];
    if (is_qualified(stream.tokens, index)) mentions.is_qualified = true;
    if (!is_declaration(stream.tokens, index)) continue;
    if (scopes.current() == Scopes::Kind::outermost) mentions.is_declared = true;
    if (scopes.current() == Scopes::Kind::other) mentions.is_declared_elsewhere = true;
  }
  std::string line;
  for (const auto& [name, mentions] : mentioned) {
    if (mentions.is_declared || (mentions.is_declared_elsewhere && !mentions.is_qualified)) continue;
    line += fmt::format(" using ::__assay::offered::{};", name);
  }
  return line.empty() ? line : fmt::format("namespace metal {{{} }} ", line);
}

}  // namespace assay::metal::translate
