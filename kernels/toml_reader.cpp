// Typed access to TOML tables, with errors that name file and line.
#include "kernels/toml_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/nearest_word.h"
#include "base/text.h"

namespace assay::kernels {

void TomlReader::fail(std::uint32_t line, const std::string& message) const {
  throw VariantError(fmt::format("{}:{}: {}", base::on_one_line(file_.string()), line, message));
}
std::string_view TomlReader::type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

void TomlReader::accept_keys(const toml::table& table, std::string_view where, const std::vector<std::string_view>& keys) const {
  for (const auto& [key, value] : table) {
    if (std::ranges::find(keys, key.str()) == keys.end()) {
      fail(key.source().begin.line, fmt::format("unknown key '{}'{} {}; accepted: {}", key.str(), base::did_you_mean(key.str(), keys),
                                                where, fmt::join(keys, ", ")));
    }
  }
}

const toml::table* TomlReader::subtable(const toml::table& root, std::string_view key) const {
  const toml::node* node = root.get(key);
  if (node == nullptr) return nullptr;
  if (!node->is_table()) fail(*node, fmt::format("'{}' must be a table, [{}], but is {}", key, key, type_name(*node)));
  return node->as_table();
}

std::string TomlReader::string_of(const toml::node& node, std::string_view what) const {
  const auto value = node.value_exact<std::string>();
  if (!value) fail(node, fmt::format("{} must be a string, but is {}", what, type_name(node)));
  if (value->empty()) fail(node, fmt::format("{} is empty", what));
  if (value->find('\0') != std::string::npos) fail(node, fmt::format("{} contains a character of value 0", what));
  return *value;
}

std::int64_t TomlReader::integer_of(const toml::node& node, std::string_view what) const {
  const auto value = node.value_exact<std::int64_t>();
  if (!value) fail(node, fmt::format("{} must be an integer, but is {}", what, type_name(node)));
  return *value;
}

std::vector<std::string> TomlReader::strings_of(const toml::node& node, std::string_view what) const {
  const toml::array* array = node.as_array();
  if (array == nullptr) fail(node, fmt::format("{} must be an array of strings, but is {}", what, type_name(node)));
  std::vector<std::string> values;
  for (const toml::node& element : *array) values.push_back(string_of(element, fmt::format("an element of {}", what)));
  return values;
}

std::string TomlReader::required_string(const toml::table& table, std::string_view key, std::string_view where, std::uint32_t line) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) fail(line, fmt::format("'{}' is missing {}", key, where));
  return string_of(*node, fmt::format("'{}'", key));
}

}  // namespace assay::kernels
