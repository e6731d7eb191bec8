// Functions that the compiler may evaluate.
#include <algorithm>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

bool Translator::inside_constexpr_function() const {
  const auto frame = std::find_if(frames_.rbegin(), frames_.rend(),
                                  [](const Frame& f) { return f.scope == Scope::function || f.scope == Scope::constexpr_function; });
  return frame != frames_.rend() && frame->scope == Scope::constexpr_function;
}

// One that calls itself is legal as long as the compiler does evaluate it, which only the pass can tell (metal/pass/constant_calls.cpp).
void Translator::mark_recursion(std::size_t brace) {
  std::size_t keyword = statement_;
  while (keyword < brace && !tokens_[keyword].is("constexpr")) ++keyword;
  std::size_t open = keyword;
  while (open < brace && !tokens_[open].is("(")) ++open;
  if (open == brace || tokens_[open - 1].kind != TokenKind::identifier) return;
  const auto name = tokens_[open - 1].text;
  const std::size_t last = tokens_.closing(brace);
  for (std::size_t index = brace; index < last; ++index) {
    if (!tokens_[index].is(name) || !(tokens_[index + 1].is("(") || tokens_[index + 1].is("<"))) continue;
    tokens_[keyword].before += " __attribute__((annotate(\"assay.recursive_constexpr\"))) ";
    return;
  }
}

}  // namespace assay::metal::translate
