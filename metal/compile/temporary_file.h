// A file in the cache's directory that exists as long as this object.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "metal/compile/cache.h"

namespace assay::metal::compile {

class TemporaryFile {
 public:
  TemporaryFile(const Cache& cache, std::string_view text, std::string_view extension) {
    static std::atomic<unsigned> serial = 0;
    path_ = cache.directory() / fmt::format("source.{}.{}.tmp{}", getpid(), serial++, extension);
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
