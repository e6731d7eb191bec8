// The cache of compiled files: an entry is complete or absent, even if several processes write at the same time.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace assay::metal::compile {

class Cache {
 public:
  // An empty directory stands for $XDG_CACHE_HOME/assay, or ~/.cache/assay. Only this user may look into it: its mode becomes 0700. Throws
  // EnvironmentError if the directory cannot be created or written, or belongs to another user.
  explicit Cache(std::filesystem::path directory);

  // The path of entry `name`. If there is no intact entry, `make(path)` makes it: `make` writes a temporary file, which is sealed and then
  // renamed. So a reader never sees half an entry. The seal is a hash of name and content with the user's key (base/user_key.h). An entry
  // that is damaged, sealed by another user, copied from another name or not a plain file is made again. The first entry that a process
  // makes also removes temporary files more than an hour old, which killed processes left behind. Throws EnvironmentError if the entry
  // cannot be written.
  [[nodiscard]] std::filesystem::path get(const std::string& name, const std::function<void(const std::filesystem::path&)>& make) const;

  // Whether there is an intact entry.
  [[nodiscard]] bool has(const std::string& name) const;

  // A new, empty file with a name of its own that no other process knows.
  [[nodiscard]] std::filesystem::path make_temporary(std::string_view stem, std::string_view extension) const;

  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  std::filesystem::path directory_;
};

// The size in bytes of the content of an entry's text; the rest is the seal.
[[nodiscard]] std::size_t content_size(std::string_view entry);

// The hash of the content of an entry: equal for entries of equal content under different names.
[[nodiscard]] std::string entry_digest(const std::filesystem::path& entry);

}  // namespace assay::metal::compile
