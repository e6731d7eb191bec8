// The folder of a bundle that comes from elsewhere: reads plain files of it, and nothing that they lead to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::harness {

// A bundle that cannot be used; what() names the file.
class BundleError : public std::invalid_argument {
 public:
  BundleError(const std::filesystem::path& file, std::string_view what);
};

class BundleFolder {
 public:
  // Throws BundleError if it is no folder.
  explicit BundleFolder(std::filesystem::path folder);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  // The contents of a file: `exactly` that many bytes, or at most `most`. `name` is relative, with '/' between folders, and ours: names
  // from a bundle must be compared with those that we would write before. Neither the file nor a folder on the way to it may be a link.
  // Throws BundleError for a file that is missing, no regular file or of another size.
  [[nodiscard]] std::string read(std::string_view name, std::uint64_t exactly) const;
  [[nodiscard]] std::string read_at_most(std::string_view name, std::uint64_t most) const;

 private:
  [[nodiscard]] std::string read(std::string_view name, std::uint64_t least, std::uint64_t most) const;

  std::filesystem::path path_;
};

}  // namespace assay::harness
