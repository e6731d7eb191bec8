// Replaces bytes that documents cannot contain.
#include "reports/clean_text.h"

#include <cstddef>

namespace assay::reports {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// The length of the well-formed UTF-8 sequence (RFC 3629) at the start of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = lead == 0xED && byte(1) >= 0xA0;
  const bool is_beyond = lead == 0xF4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const bool is_control = length == 1 && static_cast<unsigned char>(text[0]) < 0x20 && text[0] != '\n' && text[0] != '\t';
    // U+FFFE and U+FFFF are not allowed in XML.
    const bool is_no_character = length == 3 && (text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF"));
    result += length == 0 || is_control || is_no_character ? kReplacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace assay::reports
