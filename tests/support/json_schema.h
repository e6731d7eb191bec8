// Documents against the schemas in docs/.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace assay::tests {

// The part of JSON Schema that our documents use; a keyword that it does not know fails. Stricter in one thing: what is not described is an
// error, since a field that nobody documented is.
class Validator {
 public:
  explicit Validator(nlohmann::json root) : root_(std::move(root)) {}

  std::vector<std::string> errors_of(const nlohmann::json& document) {
    errors_.clear();
    check(document, root_, "");
    return errors_;
  }

 private:
  static bool is_type(const nlohmann::json& value, const std::string& type) {
    return type == "object"    ? value.is_object()
           : type == "array"   ? value.is_array()
           : type == "string"  ? value.is_string()
           : type == "integer" ? value.is_number_integer()
           : type == "number"  ? value.is_number()
           : type == "boolean" ? value.is_boolean()
                               : type == "null" && value.is_null();
  }
  void fail(const std::string& path, const std::string& what) { errors_.push_back(path + ": " + what); }

  void check(const nlohmann::json& value, const nlohmann::json& rule, const std::string& path) {
    for (const auto& [keyword, expected] : rule.items()) check_keyword(value, rule, keyword, expected, path);
    if (!value.is_object() || rule.contains("$ref") || rule.contains("oneOf")) return;
    for (const auto& [name, member] : value.items()) {
      const std::string place = path + "/" + name;
      if (rule.contains("properties") && rule["properties"].contains(name)) {
        check(member, rule["properties"][name], place);
      } else if (rule.contains("additionalProperties") && rule["additionalProperties"].is_object()) {
        check(member, rule["additionalProperties"], place);
      } else {
        fail(place, "is not documented");
      }
    }
  }

  void check_keyword(const nlohmann::json& value, const nlohmann::json& rule, const std::string& keyword, const nlohmann::json& expected,
                     const std::string& path) {
    if (keyword == "type") {
      const nlohmann::json types = expected.is_array() ? expected : nlohmann::json::array({expected});
      if (std::none_of(types.begin(), types.end(), [&](const nlohmann::json& type) { return is_type(value, type); }))
        fail(path, "is no " + expected.dump() + ": " + value.dump());
    } else if (keyword == "const") {
      if (value != expected) fail(path, "is not " + expected.dump());
    } else if (keyword == "enum") {
      if (std::find(expected.begin(), expected.end(), value) == expected.end()) fail(path, "is none of " + expected.dump());
    } else if (keyword == "minimum") {
      if (value.is_number() && value < expected) fail(path, "is below " + expected.dump());
    } else if (keyword == "maximum") {
      if (value.is_number() && value > expected) fail(path, "is above " + expected.dump());
    } else if (keyword == "minItems" || keyword == "maxItems") {
      const bool is_least = keyword == "minItems";
      if (value.is_array() && (is_least ? value.size() < expected : value.size() > expected))
        fail(path, "has " + keyword + " of another size");
    } else if (keyword == "pattern") {
      if (value.is_string() && !std::regex_search(value.get<std::string>(), std::regex(expected.get<std::string>())))
        fail(path, "does not match " + expected.dump());
    } else if (keyword == "oneOf") {
      check_one_of(value, expected, path);
    } else if (keyword == "required") {
      for (const nlohmann::json& name : expected) {
        if (value.is_object() && !value.contains(name.get<std::string>())) fail(path, "lacks " + name.get<std::string>());
      }
    } else if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) check(value[i], expected, path + "/" + std::to_string(i));
    } else if (keyword == "$ref") {
      check(value, root_[nlohmann::json::json_pointer(expected.get<std::string>().substr(1))], path);
    } else if (keyword != "properties" && keyword != "additionalProperties" && keyword != "description" && keyword != "title" &&
               keyword != "$schema" && keyword != "$defs") {
      fail(path, "the test does not know the keyword " + keyword + " of " + rule.dump());
    }
  }

  void check_one_of(const nlohmann::json& value, const nlohmann::json& rules, const std::string& path) {
    const auto matching = std::count_if(rules.begin(), rules.end(), [&](const nlohmann::json& rule) {
      Validator alone(root_);
      alone.check(value, rule, path);
      return alone.errors_.empty();
    });
    if (matching != 1) fail(path, "matches " + std::to_string(matching) + " of " + rules.dump());
  }

  nlohmann::json root_;
  std::vector<std::string> errors_;
};

}  // namespace assay::tests
