// Rewrites functions as template arguments: Metal takes pointers to them, C++ for OpenCL only references.
#include <fmt/format.h>

#include "metal/translate/translator.h"

namespace assay::metal::translate {

// Collects names of aliases of pointers to functions: `using F = float (*)(float);`, `typedef float (*F)(float);`.
void Translator::collect_callable_names() {
  for (std::size_t index = 0; index + 2 < tokens_.size(); ++index) {
    const bool alias = tokens_[index].is("using") && tokens_[index + 2].is("=");
    if (!alias && !tokens_[index].is("typedef")) continue;
    const std::size_t end = tokens_.semicolon(index);
    for (std::size_t open = index; open + 2 < end; ++open) {
      if (!tokens_[open].is("(") || !tokens_[open + 1].is("*")) continue;
      const Token& name = tokens_[alias ? index + 1 : open + 2];
      if (name.kind == TokenKind::identifier) callable_names_.emplace(name.text);
      break;
    }
    index = end;
  }
}

// Turns a pointer to a function in `template <...>` into a reference. Remembers the name declared after the list, because its arguments
// may be written as addresses.
void Translator::rewrite_template_parameters(std::size_t keyword) {
  if (!tokens_[keyword + 1].is("<")) return;
  const auto close = tokens_.closing_angle(keyword + 1);
  if (!close) return;
  bool takes_function = false;
  for (std::size_t index = keyword + 2; index + 1 < *close; ++index) {
    const Token& token = tokens_[index];
    if (token.is("(") && tokens_[index + 1].is("*")) {
      tokens_[index + 1].replacement = "&";
      takes_function = true;
    } else if (token.kind == TokenKind::identifier && callable_names_.contains(token.text) && !tokens_[index - 1].is("=") &&
               !tokens_[index - 1].is("typename") && !tokens_[index - 1].is("class")) {
      std::size_t last = index;
      if (tokens_[index + 1].is("<")) last = tokens_.closing_angle(index + 1).value_or(index);
      std::size_t first = index;
      while (tokens_[first - 1].is("::") || (tokens_[first].is("::") && tokens_[first - 1].kind == TokenKind::identifier)) --first;
      tokens_[first].before += " ::__assay::Callable<";
      tokens_[last].after += ">";
      takes_function = true;
    }
  }
  if (!takes_function) return;
  for (std::size_t index = *close + 1; !tokens_[index].is(";") && !tokens_[index].is("{"); ++index) {
    if (attribute_end_.contains(index)) {
      index = attribute_end_.at(index);
    } else if (tokens_[index].is("(") || tokens_[index].is(":") || tokens_[index].is("=")) {
      if (index > 0 && tokens_[index - 1].kind == TokenKind::identifier) takers_.emplace(tokens_[index - 1].text);
      return;
    }
  }
  for (std::size_t index = *close + 1; !tokens_[index].is(";") && !tokens_[index].is("{"); ++index) {
    if (tokens_[index].is("struct") || tokens_[index].is("class")) takers_.emplace(tokens_[index + 1].text);
  }
}

// Turns `apply<&f>` into `apply<f>`.
void Translator::name_callables(std::size_t open) {
  if (open == 0 || !takers_.contains(tokens_[open - 1].text)) return;
  const auto close = tokens_.closing_angle(open);
  if (!close) return;
  for (std::size_t index = open + 1; index < *close; ++index) {
    if (tokens_[index].is("&") && (tokens_[index - 1].is("<") || tokens_[index - 1].is(",")) &&
        (tokens_[index + 1].kind == TokenKind::identifier || tokens_[index + 1].is("::")))
      tokens_[index].replacement = "";
  }
}

}  // namespace assay::metal::translate
