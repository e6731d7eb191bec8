// Checks the limits of a TOML text before toml++ parses it.
#include "kernels/toml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay::kernels {
namespace {

// Counts dots outside of quotes and comments. A multi-line string may be counted wrongly, but has no line with dozens of dots.
std::size_t dots_of(std::string_view line) {
  std::size_t dots = 0;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      break;
    } else if (c == '.') {
      ++dots;
    }
  }
  return dots;
}

}  // namespace

toml::table parse_toml(std::string_view text, const std::filesystem::path& file) {
  const auto fail = [&](std::size_t line, const std::string& what) {
    throw VariantError(fmt::format("{}:{}: {}", file.string(), line, what));
  };
  if (text.size() > kLargestToml) fail(1, fmt::format("the file has {} bytes; the limit is {}", text.size(), kLargestToml));
  std::size_t number = 1;
  for (const std::string_view line : base::lines_of(text)) {
    if (dots_of(line) > kMostDots) fail(number, fmt::format("more than {} dots in one line of keys", kMostDots));
    ++number;
  }
  try {
    return toml::parse(text, file.string());
  } catch (const toml::parse_error& error) {
    fail(error.source().begin.line, fmt::format("not valid TOML: {}", error.description()));
  }
  return {};
}

}  // namespace assay::kernels
