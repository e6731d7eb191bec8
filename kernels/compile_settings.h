// How the host compiles the kernel: the settings of MTLCompileOptions and of the `metal` command line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::kernels {

struct CompileSettings {
  std::vector<std::filesystem::path> include_directories;  // like -I, searched after the folder of the including file
  std::vector<std::string> definitions;                    // "NAME", "NAME=VALUE", as -D
  std::optional<int> metal_version;                        // __METAL_VERSION__; nothing: the default of metal/

  // Applies `over`: its folders come first, its definitions last so that they take precedence, and its version replaces this one.
  void lay(const CompileSettings& over);
};

// Parses "3.1" or "310", up to version 3.2. Throws VariantError.
[[nodiscard]] int parse_metal_version(std::string_view text);

// Returns `text` if it is NAME, NAME=VALUE or NAME(ARGUMENTS)=VALUE. Throws VariantError.
[[nodiscard]] std::string parse_definition(std::string_view text);

// Returns `text` as an include folder. Throws VariantError if it does not exist.
[[nodiscard]] std::filesystem::path parse_include_directory(std::string_view text);

}  // namespace assay::kernels
