// Rewrites user-defined literals whose operators take text.
//
// Clang accepts operators for numbers, characters and `template <char...>` as they are. In Metal, operators for text take a pointer
// into constant memory, but clang places its literals elsewhere. Such a literal becomes the operator call that it stands for.
#include <fmt/format.h>

#include "metal/translate/literals.h"
#include "metal/translate/translator.h"

namespace assay::metal::translate {

// Collects `operator""_deg(unsigned long long degrees)`, `operator "" _raw(constant char* digits)`.
void Translator::collect_literal_operators() {
  for (std::size_t index = 0; index + 3 < tokens_.size(); ++index) {
    if (!tokens_[index].is("operator") || tokens_[index + 1].text != "\"\"" || !tokens_[index + 3].is("(")) continue;
    auto& operators = literal_operators_[tokens_[index + 2].text];
    const std::size_t close = tokens_.closing(index + 3);
    bool is_pointer = false;
    bool is_long = false;
    bool has_length = false;
    for (std::size_t word = index + 4; word < close; ++word) {
      const Token& token = tokens_[word];
      if (token.is("double") && (tokens_[word - 1].is("long") || tokens_[word + 1].is("long"))) {
        literal_doubles_.insert(word);
        operators.cooked_floating = true;
      }
      is_pointer = is_pointer || token.is("*") || token.is("[");
      is_long = is_long || token.is("long");
      has_length = has_length || token.is(",");
    }
    if (is_pointer && !has_length) operators.raw = true;
    if (!is_pointer && is_long && !operators.cooked_floating) operators.cooked_integer = true;
    index = close;
  }
}

// Rewrites a number whose operator takes its digits as text.
void Translator::place_digits(std::size_t number) {
  const std::string_view text = tokens_[number].text;
  const std::size_t suffix = suffix_of(text);
  const auto found = literal_operators_.find(text.substr(suffix));
  if (suffix == text.size() || found == literal_operators_.end() || !found->second.raw) return;
  const std::string_view digits = text.substr(0, suffix);
  if (is_floating(digits) ? found->second.cooked_floating : found->second.cooked_integer) return;
  tokens_[number].replacement = fmt::format("operator\"\"{}({})", text.substr(suffix), table_of(fmt::format("\"{}\"", digits)));
}

}  // namespace assay::metal::translate
