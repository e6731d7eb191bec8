#include "cli/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "metal/compile/cache.h"

namespace assay::cli {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw std::invalid_argument(fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)));
}

}  // namespace

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) refuse(file);
}

void require_writable(const std::filesystem::path& file) {
  if (!file.empty() && !std::ofstream(file, std::ios::binary | std::ios::app)) refuse(file);
}

std::string build_of_assay() { return metal::compile::Hash().add(read_file("/proc/self/exe")).hex(); }

}  // namespace assay::cli
