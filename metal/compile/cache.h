// The cache of compiled files: an entry is complete or absent, also if other processes write at the same time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace assay::metal::compile {

class Cache {
 public:
  // An empty directory stands for $XDG_CACHE_HOME/assay, or ~/.cache/assay. Only this user may look into it: its mode becomes 0700. Throws
  // EnvironmentError if it cannot be created or written, or belongs to another user.
  explicit Cache(std::filesystem::path directory);

  // The path of entry `name`, made by `make(path)` unless a sound one is there. `make` writes a temporary file, which is
  // sealed and renamed: a reader never sees half an entry. The seal is a hash of name and content with the user's key (base/user_key.h).
  // An entry that is damaged, sealed by somebody else, copied from another name or no plain file is made again. The first
  // entry that a process makes has it remove temporary files of more than an hour ago, whose makers were killed.
  [[nodiscard]] std::filesystem::path get(const std::string& name, const std::function<void(const std::filesystem::path&)>& make) const;

  // A new, empty file with a name of its own that no other process knows.
  [[nodiscard]] std::filesystem::path make_temporary(std::string_view stem, std::string_view extension) const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

// How many bytes of an entry's text are content; the rest is its seal.
[[nodiscard]] std::size_t content_size(std::string_view entry);

// Hash of what an entry of the cache holds: equal for entries of equal content, whatever their names.
[[nodiscard]] std::string entry_digest(const std::filesystem::path& entry);

}  // namespace assay::metal::compile
