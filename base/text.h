// Splits and trims text, parses numbers, and reads whole files.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace assay::base {

// `text` without blanks, tabs and carriage returns at both ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// The parts between separators: one more than there are separators.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(separator, start), text.size());
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

// The lines without their ends; the last one may lack it.
[[nodiscard]] inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

// The number that the whole text is in decimal; nothing if it is none, or does not fit.
template <typename Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// All that is left in the stream, which may be a file without a size, such as one of /proc. By blocks: character by character, the
// programs that are hashed took half of the time of short runs.
[[nodiscard]] inline std::string read_all(std::istream& stream) {
  std::string text;
  std::array<char, 1U << 16U> block;
  do {
    stream.read(block.data(), block.size());
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
  } while (stream);
  return text;
}

// The contents of the file; nothing if it cannot be opened, and errno says why.
[[nodiscard]] inline std::optional<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return read_all(stream);
}

// For messages: line breaks in a name, which would make lines of their own, become `\n`.
[[nodiscard]] inline std::string on_one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\n");
  return text;
}

// Whether the file, which may be a link, lies in the folder or below. False if either does not exist.
[[nodiscard]] inline bool is_inside(const std::filesystem::path& folder, const std::filesystem::path& file) {
  std::error_code error;
  const auto root = std::filesystem::canonical(folder.empty() ? "." : folder, error);
  const auto real = error ? std::filesystem::path() : std::filesystem::canonical(file, error);
  return !error && std::ranges::mismatch(root, real).in1 == root.end();
}

// Whether the file is a link to a regular file, a folder or nothing. Nothing is written through such a link, because a checkout may
// contain links that lead anywhere. A link to a device or a pipe, such as /dev/stdout, may be written through.
[[nodiscard]] inline bool is_link_to_file(const std::filesystem::path& file) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(file, ignored)) return false;
  const auto target = std::filesystem::status(file, ignored).type();
  using enum std::filesystem::file_type;
  return target == regular || target == directory || target == not_found || target == none;
}

}  // namespace assay::base
