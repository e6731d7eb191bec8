// Spells number literals for C++ for OpenCL.
#include "metal/translate/literals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace assay::metal::translate {

bool is_floating(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  return text.find_first_of(hexadecimal ? "pP" : ".eE") != std::string_view::npos;
}

std::size_t suffix_of(std::string_view text) { return std::min(text.find('_'), text.size()); }

namespace {

// Rounds `value`, from decimal or hexadecimal digits, to the 8 bits of a bfloat's significand. The smallest subnormal is 2^-133.
double to_bfloat(long double value) {
  if (value == 0.0L) return 0.0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - 8, -133);
  return static_cast<double>(std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit));
}

}  // namespace

std::optional<std::string> literal_for_opencl(std::string_view text) {
  if (suffix_of(text) != text.size() || !is_floating(text)) return std::nullopt;
  std::string digits(text);
  std::erase(digits, '\'');
  if (digits.ends_with("bf") || digits.ends_with("BF")) {
    // In a hexadecimal literal the digits b and f cannot be confused with this suffix, because an exponent separates them from it.
    const std::string number = digits.substr(0, digits.size() - 2);
    return fmt::format("((__bf16){:a}f)", to_bfloat(std::strtold(number.c_str(), nullptr)));
  }
  const char last = digits.back();
  if ((last >= '0' && last <= '9') || last == '.') return std::string(text) + "f";
  return std::nullopt;
}

}  // namespace assay::metal::translate
