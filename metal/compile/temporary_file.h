// A file in the cache's directory that exists as long as this object.
#pragma once

#include <filesystem>
#include <fstream>
#include <string_view>

#include "metal/compile/cache.h"

namespace assay::metal::compile {

class TemporaryFile {
 public:
  TemporaryFile(const Cache& cache, std::string_view text, std::string_view extension) : path_(cache.make_temporary("source", extension)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay::metal::compile
