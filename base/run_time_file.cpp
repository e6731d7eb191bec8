// Finds run-time files below the prefix of the running program.
#include "base/run_time_file.h"

#include <cstdlib>
#include <system_error>

// Programs of other projects define it: cmake/assay-config.cmake.in adds a source with the prefix to what links our libraries.
extern "C" const char assay_prefix[] __attribute__((weak));

namespace assay::base {
namespace fs = std::filesystem;

namespace {

fs::path find_prefix() {
  if (const char* wanted = std::getenv("ASSAY_PREFIX"); wanted != nullptr && *wanted != '\0') return wanted;
  std::error_code error;
  if (assay_prefix != nullptr && fs::is_directory(assay_prefix, error)) return assay_prefix;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

}  // namespace

fs::path run_time_file(std::string_view installed) {
  static const fs::path prefix = find_prefix();
  std::error_code error;
  const fs::path file = fs::weakly_canonical(prefix / installed, error);
  return error ? prefix / installed : file;
}

}  // namespace assay::base
