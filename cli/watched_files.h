// Notices when files change, however they are saved.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "base/descriptor.h"

namespace assay::cli {

// Watches the folders of files, not the files themselves: many editors write a new file and rename it.
class WatchedFiles {
 public:
  // Throws metal::EnvironmentError if the system cannot watch files.
  WatchedFiles();

  // Watches these files, which are absolute paths, and no others any more. A file need not exist, nor its folder: then the files are
  // watched that lead to it. Throws metal::EnvironmentError if the system does not let a folder be watched.
  void follow(const std::set<std::filesystem::path>& files);

  // Readable when take_changes() has something to do.
  [[nodiscard]] int descriptor() const { return descriptor_.number(); }

  // What has happened to any of the files since the last call.
  enum class Change {
    none,
    unsettled,  // one of them is gone, or was just created: more will probably follow
    written,    // one of them has new contents
  };
  [[nodiscard]] Change take_changes();

 private:
  [[nodiscard]] int watch(const std::filesystem::path& folder) const;

  base::Descriptor descriptor_;
  std::map<int, std::set<std::string>> names_;  // of the files in each watched folder, by the number of the watch
};

}  // namespace assay::cli
