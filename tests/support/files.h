// Files of tests: the repository's, what stands in a file, and a folder that is gone when the test is over.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay::tests {

inline const std::filesystem::path kRoot = ASSAY_SOURCE_DIR;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// The source of one of our variants.
inline std::string source_of(const std::string& variant) { return read_file(kRoot / "kernels/variants" / variant / "kernel.metal"); }

// `text` with the first piece like `from` replaced, which must be there.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << "does not occur: " << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}
// The same of a piece that must be there once.
inline std::string replaced_once(const std::string& text, std::string_view from, std::string_view to) {
  EXPECT_EQ(text.find(from), text.rfind(from)) << "occurs twice: " << from;
  return replaced(text, from, to);
}

// `text` against tests/golden/<name>, to the byte.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string golden = read_file(kRoot / "tests/golden" / name);
  if (text != golden) std::ofstream(::testing::TempDir() + name, std::ios::binary) << text;
  EXPECT_EQ(text, golden) << "what was written is in " << ::testing::TempDir() << name;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "assay_test_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A test with a folder of its own.
class TestInFolder : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "kernel.metal") const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

 private:
  TemporaryFolder own_;

 protected:
  const std::filesystem::path& folder_ = own_.path();
};

}  // namespace assay::tests
