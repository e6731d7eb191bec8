// Writes whole files.
#include "cli/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "base/text.h"
#include "cli/printable.h"

namespace assay::cli {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& file) {
  throw std::invalid_argument(fmt::format("{} cannot be written: {}", file.string(), std::strerror(errno)));
}

void require_no_link(const std::filesystem::path& file) {
  if (base::is_link_to_file(file))
    throw std::invalid_argument(fmt::format("{} is a link, through which nothing is written: name the file itself", file.string()));
}

void replace_file(const std::filesystem::path& file, const std::string& safe) {
  require_no_link(file);
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << safe;
  stream.close();
  if (!stream) refuse(file);
}

}  // namespace

void write_file(const std::filesystem::path& file, const std::string& text) { replace_file(file, printable(text)); }

void write_annotations(const std::filesystem::path& file, const std::string& text) { replace_file(file, printable_annotations(text)); }

void require_writable(const std::filesystem::path& file) {
  if (!file.empty()) require_no_link(file);
  if (!file.empty() && !std::ofstream(file, std::ios::binary | std::ios::app)) refuse(file);
}

}  // namespace assay::cli
