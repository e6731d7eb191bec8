// What of a file changes when somebody writes to it or puts another file in its place.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>

namespace assay::base {

struct FileState {
  std::int64_t device = 0, inode = 0, mode = 0;
  std::int64_t size = 0;                       // bytes
  std::int64_t changed_s = 0, changed_ns = 0;  // when contents or mode last changed; no program can set it
  bool operator==(const FileState&) const = default;

  // Whether another change would have another time: clocks of file systems advance in steps.
  [[nodiscard]] bool is_settled() const { return changed_s < std::time(nullptr) - 2; }
};

// Nothing if the path is not a regular file; a link is none.
[[nodiscard]] inline std::optional<FileState> file_state(const std::filesystem::path& path) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileState{.device = static_cast<std::int64_t>(status.st_dev),
                   .inode = static_cast<std::int64_t>(status.st_ino),
                   .mode = static_cast<std::int64_t>(status.st_mode),
                   .size = status.st_size,
                   .changed_s = status.st_ctim.tv_sec,
                   .changed_ns = status.st_ctim.tv_nsec};
}

}  // namespace assay::base
