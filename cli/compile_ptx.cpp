// Compiles functions to PTX, writes the files and prints a line for each.
#include "cli/compile_ptx.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "cli/say.h"
#include "metal/errors.h"

namespace assay::cli {
namespace {

// A file name of a host name, which may have any characters.
std::string file_name(std::string name) {
  for (char& c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    if (!is_plain) c = '_';
  }
  return name + ".ptx";
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) throw std::invalid_argument(fmt::format("--output: cannot write {}", file.string()));
}

}  // namespace

bool list_ptx(const metal::Library& library, const std::vector<harness::InspectedFunction>& functions, const PtxListing& options) {
  metal::compile::PtxOptions compilation = options.compilation;
  compilation.is_fast = options.math == "fast";
  bool is_complete = true;
  for (const auto& function : functions) {
    if (!function.is_compiled) continue;
    try {
      const auto kernel = metal::compile::compile_ptx(library, function.compiled, compilation);
      const auto file = std::filesystem::path(options.folder) / file_name(function.declaration.name);
      if (!options.folder.empty()) write(file, kernel.text);
      say("{}: {} bytes of threadgroup memory, {} bytes of PTX{}\n", function.declaration.name, kernel.threadgroup_bytes,
          kernel.text.size(), options.folder.empty() ? "" : " in " + file.string());
    } catch (const metal::CompileError& error) {
      say("{}: does not compile\n{}\n", function.declaration.name, error.what());
      is_complete = false;
    }
  }
  return is_complete;
}

}  // namespace assay::cli
