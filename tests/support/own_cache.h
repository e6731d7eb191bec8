// A cache of compiled kernels of a test's own, so that what is found in it was put there by the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace assay::tests {

class OwnCache {
 public:
  explicit OwnCache(const std::filesystem::path& folder) {
    if (const char* value = std::getenv(kName)) before_ = value;
    setenv(kName, folder.c_str(), 1);
  }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;
  ~OwnCache() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }

 private:
  static constexpr const char* kName = "XDG_CACHE_HOME";
  std::optional<std::string> before_;
};

}  // namespace assay::tests
