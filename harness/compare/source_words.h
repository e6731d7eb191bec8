// A source as comparisons see it: its words and signs, including directives and the `\` of their lines, without blanks and comments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::harness {

struct SourceWord {
  std::string_view text;   // refers to the source
  std::size_t offset = 0;  // in bytes
  std::uint32_t line = 0;  // from 1
  bool is_sign = false;    // not a name, number, string or member access (`a.b`)
};

// In the order of the source, to which the words refer. Accepts any text.
[[nodiscard]] std::vector<SourceWord> source_words(std::string_view source);

}  // namespace assay::harness
