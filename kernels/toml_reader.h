// Reads the keys of an untrusted TOML table; every error starts with `file:line:`. Internal to kernels/.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/toml_text.h"

namespace assay::kernels {

// All members throw VariantError.
class TomlReader {
 public:
  explicit TomlReader(std::filesystem::path file) : file_(std::move(file)) {}

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

  [[noreturn]] void fail(std::uint32_t line, const std::string& message) const;
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const { fail(node.source().begin.line, message); }

  // The type of a value for messages, such as "an integer".
  [[nodiscard]] static std::string_view type_name(const toml::node& node);

  void accept_keys(const toml::table& table, std::string_view where, const std::vector<std::string_view>& keys) const;
  // Returns nullptr if the key is missing.
  [[nodiscard]] const toml::table* subtable(const toml::table& root, std::string_view key) const;
  [[nodiscard]] std::string string_of(const toml::node& node, std::string_view what) const;
  [[nodiscard]] std::int64_t integer_of(const toml::node& node, std::string_view what) const;
  [[nodiscard]] std::vector<std::string> strings_of(const toml::node& node, std::string_view what) const;
  [[nodiscard]] std::string required_string(const toml::table& table, std::string_view key, std::string_view where,
                                            std::uint32_t line) const;

 private:
  std::filesystem::path file_;
};

}  // namespace assay::kernels
