// Splits a source into words for comparisons.
#include "harness/compare/source_words.h"

#include <string>

#include "metal/translate/lexer.h"

namespace assay::harness {

std::vector<SourceWord> source_words(std::string_view source) {
  using metal::translate::TokenKind;
  const metal::translate::TokenStream stream = metal::translate::tokenize(std::string(source), {}, metal::translate::Form::compared);
  std::vector<SourceWord> words;
  bool may_go_on = false;  // the last word may continue with a character directly after it
  for (const metal::translate::Token& token : stream.tokens) {
    if (token.kind == TokenKind::end) break;
    const auto offset = static_cast<std::size_t>(token.text.data() - stream.source->data());
    const bool is_part_of_word = token.kind == TokenKind::identifier || token.kind == TokenKind::number || token.is(".") || token.is("...");
    if (!words.empty() && words.back().offset + words.back().text.size() == offset &&
        ((may_go_on && is_part_of_word) || metal::translate::is_shift(words.back().text, token.text))) {
      words.back().text = source.substr(words.back().offset, words.back().text.size() + token.text.size());
    } else {
      words.push_back({source.substr(offset, token.text.size()), offset, token.line, !is_part_of_word && token.kind != TokenKind::string});
      may_go_on = is_part_of_word;
    }
  }
  return words;
}

}  // namespace assay::harness
