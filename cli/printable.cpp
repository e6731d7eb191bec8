// Escapes control characters, invalid UTF-8 and commands to CI runners.
#include "cli/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/text.h"

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
  const bool turns_direction =
      code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool ends_line = code == 0x2028 || code == 0x2029;
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || turns_direction || ends_line;
}

// What runners skip in front of a command.
bool is_blank(std::uint32_t code) {
  return code <= ' ' || code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200d) || code == 0x2028 ||
         code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000 || code == 0xfeff;
}

// Whether text that ends before this bracket makes it a command wherever it stands: "##[", "##vso[".
bool is_after_mark(std::string_view before) {
  while (!before.empty() && ((before.back() | 0x20) >= 'a' && (before.back() | 0x20) <= 'z')) before.remove_suffix(1);
  return before.ends_with("##");
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool is_at_start = true;  // of a line, but for blanks
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const Character next = character_at(rest);
    const bool is_command = (is_at_start && rest.starts_with("::")) || (rest.front() == '[' && is_after_mark(text.substr(0, at)));
    if (next.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(rest.front()));
    } else if (is_command || is_control(next.code)) {
      result += next.code < 0x20 ? fmt::format("\\x{:02x}", next.code) : fmt::format("\\u{:04x}", next.code);
    } else {
      result += rest.substr(0, next.bytes);
    }
    is_at_start = next.code == '\n' || (is_at_start && next.bytes != 0 && is_blank(next.code));
    at += std::max<std::size_t>(next.bytes, 1);
  }
  return result;
}

std::string printable_annotations(std::string_view text) {
  constexpr std::array<std::string_view, 3> kCommands = {"::error ", "::warning ", "::notice "};
  std::string result;
  for (const std::string_view line : base::lines_of(text)) {
    const auto* const command = std::ranges::find_if(kCommands, [&](std::string_view it) { return line.starts_with(it); });
    const std::string_view kept = command == kCommands.end() ? std::string_view() : *command;
    // Behind the command, the rest is no start of a line.
    result += kept.empty() ? printable(line) : std::string(kept) + printable("." + std::string(line.substr(kept.size()))).substr(1);
    result += '\n';
  }
  return result;
}

}  // namespace assay::cli
