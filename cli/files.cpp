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

void require_file_name(const std::filesystem::path& file) {
  if (file == "-")
    throw std::invalid_argument(
        "'-' is not standard output here, where the lines of the command go: name a file (./- for one with this name), or print a report "
        "of the recorded run with `assay report --format NAME`");
  if (base::is_link_to_file(file))
    throw std::invalid_argument(fmt::format("{} is a link, through which nothing is written: name the file itself", file.string()));
}

void replace_file(const std::filesystem::path& file, const std::string& safe) {
  require_file_name(file);
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << safe;
  stream.close();
  if (!stream) refuse(file);
}

}  // namespace

void write_file(const std::filesystem::path& file, const std::string& text) { replace_file(file, printable(text)); }

void write_annotations(const std::filesystem::path& file, const std::string& text) { replace_file(file, printable_annotations(text)); }

void require_writable(const std::filesystem::path& file) {
  if (!file.empty()) require_file_name(file);
  if (!file.empty() && !std::ofstream(file, std::ios::binary | std::ios::app)) refuse(file);
}

}  // namespace assay::cli
