// Names files of kernels as a repository names them.
#pragma once

#include <filesystem>
#include <string>

namespace assay::reports {

// The folder to which reports for other programs give paths: the top of a repository.
class SourceRoot {
 public:
  explicit SourceRoot(std::filesystem::path folder);

  // `workspace` if it contains the file, else the nearest folder above the file that has a `.git`, else `current`. Empty paths contain
  // nothing. `file` may be relative to `current`.
  [[nodiscard]] static SourceRoot around(const std::filesystem::path& file, const std::filesystem::path& workspace,
                                         const std::filesystem::path& current);

  // The path from the root, with '/' between folders. Of a file that is not below the root: its absolute path. Nothing has to exist;
  // relative paths begin in the working directory.
  [[nodiscard]] std::string path_of(const std::string& file) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;  // absolute
};

}  // namespace assay::reports
