// Parses assignments on the command line: `axis=value` of --limit, `name=value` of --set and --constant.
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kernels/axis_text.h"
#include "kernels/variant.h"

namespace assay::kernels {

AxisLimit parse_limit_assignment(std::string_view text, const FamilyContract& contract) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw VariantError(fmt::format("'{}' is not a limit; write the supported values as axis=value or axis=value,value", text));
  AxisLimit limit{std::string(text.substr(0, equals)), {}};
  for (const std::string_view number : base::split(text.substr(equals + 1), ',')) {
    const auto value = axis_value(contract, limit.axis, number);
    if (!value)
      throw VariantError(fmt::format("'{}' of the limit '{}' is not an integer; write axis=value or axis=value,value", number, text));
    limit.values.push_back(*value);
  }
  return limit;
}

namespace {

// Returns nothing if the text is not a number.
std::optional<metal::FieldValue> value_of(std::string_view text) {
  if (text == "true" || text == "false") return metal::FieldValue::of(text == "true");
  if (const auto integer = base::number_of<std::int64_t>(text)) return metal::FieldValue::of(*integer);
  if (const auto large = base::number_of<std::uint64_t>(text)) return metal::FieldValue::of(*large);
  if (const auto floating = base::number_of<double>(text)) return metal::FieldValue::of(*floating);
  return std::nullopt;
}

// Splits an assignment into its name and the text after `=`.
std::pair<std::string, std::string_view> split_assignment(std::string_view text, std::string_view form) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || name.empty()) throw VariantError(fmt::format("'{}' is not an assignment; write {}", text, form));
  return {std::string(name), text.substr(equals + 1)};
}

}  // namespace

std::pair<std::string, metal::FieldValue> parse_field_assignment(std::string_view text) {
  auto [name, number] = split_assignment(text, "name=value");
  const auto value = value_of(number);
  if (!value)
    throw VariantError(fmt::format("the value of '{}' is not a number; accepted: an integer, a floating-point number, true, false", text));
  return {std::move(name), *value};
}

std::pair<std::string, std::vector<metal::FieldValue>> parse_constant_assignment(std::string_view text) {
  auto [name, numbers] = split_assignment(text, "name=value, or name=value,value for a vector");
  std::vector<metal::FieldValue> values;
  for (const std::string_view number : base::split(numbers, ',')) {
    const auto value = value_of(number);
    if (!value) {
      throw VariantError(fmt::format(
          "'{}' in the value of '{}' is not a number; accepted: an integer, a floating-point number, true, false", number, text));
    }
    values.push_back(*value);
  }
  return {std::move(name), std::move(values)};
}

}  // namespace assay::kernels
