// The cache of compiled files: an entry is complete or absent, also if other processes write at the same time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace assay::metal::compile {

class Cache {
 public:
  // An empty directory stands for $XDG_CACHE_HOME/assay, or ~/.cache/assay. Throws EnvironmentError if it cannot be
  // created or written.
  explicit Cache(std::filesystem::path directory);

  // The path of entry `name`, made by `make(path)` unless a sound one is there. `make` writes a temporary file, which is
  // sealed with a checksum and renamed: a reader never sees half an entry, and an entry whose checksum is wrong is made anew. The first
  // entry that a process makes has it remove temporary files of more than an hour ago, whose makers were killed.
  [[nodiscard]] std::filesystem::path get(const std::string& name, const std::function<void(const std::filesystem::path&)>& make) const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

// How many bytes of an entry's text are content; the rest is its seal.
[[nodiscard]] std::size_t content_size(std::string_view entry);

// Hash of what an entry of the cache holds: equal for entries of equal content, whatever their names.
[[nodiscard]] std::string entry_digest(const std::filesystem::path& entry);

}  // namespace assay::metal::compile
