// How the host that a kernel belongs to has it compiled: what MTLCompileOptions and the command line of `metal` say.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::kernels {

struct CompileSettings {
  std::vector<std::filesystem::path> include_directories;  // as -I, behind the folder of the file that includes
  std::vector<std::string> definitions;                    // "NAME", "NAME=VALUE", as -D
  std::optional<int> metal_version;                        // __METAL_VERSION__; nothing: the default of metal/

  // What `over` says as well: its folders first, its definitions last, so that they count; its version in place of this one.
  void lay(const CompileSettings& over);
};

// "3.1" or "310": the language's versions up to 3.2. Throws VariantError.
[[nodiscard]] int parse_metal_version(std::string_view text);

// `text` itself if it is NAME, NAME=VALUE or NAME(ARGUMENTS)=VALUE. Throws VariantError.
[[nodiscard]] std::string parse_definition(std::string_view text);

// `text` as a folder to look for included files in. Throws VariantError if there is none.
[[nodiscard]] std::filesystem::path parse_include_directory(std::string_view text);

}  // namespace assay::kernels
