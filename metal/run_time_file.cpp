// Finds run-time files below an install prefix or in the build tree.
#include "metal/run_time_file.h"

#include <cstdlib>
#include <optional>
#include <system_error>

namespace assay::metal {
namespace fs = std::filesystem;

namespace {

std::optional<fs::path> own_prefix() {
  if (const char* prefix = std::getenv("ASSAY_PREFIX"); prefix != nullptr && *prefix != '\0') return prefix;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return std::nullopt;
  fs::path prefix = program.parent_path().parent_path();
  if (!fs::is_directory(prefix / "share/assay/shader", error)) return std::nullopt;
  return prefix;
}

}  // namespace

fs::path run_time_file(std::string_view installed, std::string_view built) {
  static const std::optional<fs::path> prefix = own_prefix();
  if (prefix) return *prefix / installed;
  std::error_code error;
  if (fs::exists(built, error)) return built;
  fs::path configured = fs::path(ASSAY_INSTALL_PREFIX) / installed;
  return fs::exists(configured, error) ? configured : fs::path(built);
}

}  // namespace assay::metal
