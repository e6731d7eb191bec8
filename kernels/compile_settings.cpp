// Parses and checks compile settings, from options and from [compile].
#include "kernels/compile_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>
#include <utility>

#include "kernels/compile_toml.h"
#include "kernels/variant.h"

namespace assay::kernels {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 11> kVersions = {{{"1.0", 100},
                                                                         {"1.1", 110},
                                                                         {"1.2", 120},
                                                                         {"2.0", 200},
                                                                         {"2.1", 210},
                                                                         {"2.2", 220},
                                                                         {"2.3", 230},
                                                                         {"2.4", 240},
                                                                         {"3.0", 300},
                                                                         {"3.1", 310},
                                                                         {"3.2", 320}}};

bool starts_name(char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

void CompileSettings::lay(const CompileSettings& over) {
  include_directories.insert(include_directories.begin(), over.include_directories.begin(), over.include_directories.end());
  definitions.insert(definitions.end(), over.definitions.begin(), over.definitions.end());
  if (over.metal_version) metal_version = over.metal_version;
}

int parse_metal_version(std::string_view text) {
  std::vector<std::string_view> known;
  for (const auto& [name, number] : kVersions) {
    if (text == name || text == std::to_string(number)) return number;
    known.push_back(name);
  }
  if (text.starts_with('4'))
    throw VariantError(fmt::format("Metal {} is not supported: its tensors are not simulated; accepted: {}", text, fmt::join(known, ", ")));
  throw VariantError(fmt::format("'{}' is not a version of Metal; accepted: {}", text, fmt::join(known, ", ")));
}

std::string parse_definition(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, continues_name);
  const std::string_view rest = text.substr(static_cast<std::size_t>(end - text.begin()));
  const bool has_arguments = rest.starts_with('(') && rest.find(")=") != std::string_view::npos;
  const bool is_sound = end != text.begin() && starts_name(text.front()) && (rest.empty() || rest.front() == '=' || has_arguments);
  if (!is_sound || text.find_first_of("\n\r") != std::string_view::npos)
    throw VariantError(fmt::format("'{}' is not a macro definition; write NAME or NAME=VALUE", text));
  return std::string(text);
}

std::filesystem::path parse_include_directory(std::string_view text) {
  std::error_code error;
  if (text.empty() || !std::filesystem::is_directory(text, error)) throw VariantError(fmt::format("'{}' is not a folder", text));
  return text;
}

std::vector<std::string> read_definitions(const TomlReader& reader, const toml::node& node, std::string_view what) {
  std::vector<std::string> definitions = reader.strings_of(node, what);
  for (const std::string& definition : definitions) {
    try {
      static_cast<void>(parse_definition(definition));
    } catch (const VariantError& error) {
      reader.fail(node, fmt::format("{}: {}", what, error.what()));
    }
  }
  return definitions;
}

CompileSettings read_compile_settings(const TomlReader& reader, const toml::table& table) {
  reader.accept_keys(table, "in [compile]", {"include", "define", "metal_version"});
  CompileSettings settings;
  if (const toml::node* node = table.get("include")) {
    for (const std::string& folder : reader.strings_of(*node, "[compile] include"))
      settings.include_directories.push_back(reader.file().parent_path() / folder);
  }
  if (const toml::node* node = table.get("define")) settings.definitions = read_definitions(reader, *node, "[compile] define");
  if (const toml::node* node = table.get("metal_version")) {
    const std::string version = reader.string_of(*node, "[compile] metal_version");
    try {
      settings.metal_version = parse_metal_version(version);
    } catch (const VariantError& error) {
      reader.fail(*node, fmt::format("[compile] metal_version: {}", error.what()));
    }
  }
  return settings;
}

}  // namespace assay::kernels
