// What a command line says of a kernel: `axis=value` of --limit, `name=value` of --set and --constant.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/variant.h"

namespace assay::kernels {

AxisLimit parse_limit_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw VariantError(fmt::format("'{}' is no limit; write axis=value or axis=value,value, the values that are supported", text));
  AxisLimit limit{std::string(text.substr(0, equals)), {}};
  for (std::size_t start = equals + 1; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view number = text.substr(start, end - start);
    const char* const stop = number.data() + number.size();
    const auto result = std::from_chars(number.data(), stop, limit.values.emplace_back());
    if (result.ec != std::errc{} || result.ptr != stop) {
      throw VariantError(fmt::format("'{}' of the limit '{}' is no whole number; write axis=value or axis=value,value", number, text));
    }
    start = end + 1;
  }
  return limit;
}

std::pair<std::string, metal::FieldValue> parse_field_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || name.empty()) {
    throw VariantError(fmt::format("'{}' is not an assignment; write name=value", text));
  }
  const std::string_view value = text.substr(equals + 1);
  const auto whole = [&](auto result) { return result.ec == std::errc{} && result.ptr == value.data() + value.size() && !value.empty(); };
  if (value == "true" || value == "false") return {std::string(name), metal::FieldValue::of(value == "true")};
  std::int64_t integer = 0;
  if (whole(std::from_chars(value.data(), value.data() + value.size(), integer)))
    return {std::string(name), metal::FieldValue::of(integer)};
  std::uint64_t large = 0;
  if (whole(std::from_chars(value.data(), value.data() + value.size(), large))) return {std::string(name), metal::FieldValue::of(large)};
  double floating = 0;
  if (whole(std::from_chars(value.data(), value.data() + value.size(), floating)))
    return {std::string(name), metal::FieldValue::of(floating)};
  throw VariantError(fmt::format("the value of '{}' is not a number; accepted: an integer, a floating-point number, true, false", text));
}

}  // namespace assay::kernels
