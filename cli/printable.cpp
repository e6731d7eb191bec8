// Escapes control characters and invalid UTF-8.
#include "cli/printable.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace assay::cli {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  // 0: no UTF-8 begins here
};

Character character_at(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast.at(bytes) || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, bytes};
}

bool is_control(std::uint32_t code) {
  if (code == '\n' || code == '\t') return false;
  const bool turns_direction = code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns_direction;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Character next = character_at(text);
    if (next.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    } else if (is_control(next.code)) {
      result += next.code < 0x80 ? fmt::format("\\x{:02x}", next.code) : fmt::format("\\u{:04x}", next.code);
    } else {
      result += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return result;
}

}  // namespace assay::cli
