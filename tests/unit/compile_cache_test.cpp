// The cache of compiled files: which entries are believed, and whose folder it may be.
#include "metal/compile/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "metal/errors.h"
#include "tests/support/files.h"

namespace assay::tests::compile_cache_test {
namespace {

using namespace ::testing;
using metal::compile::Cache;
namespace fs = std::filesystem;

class CompileCache : public Test {
 protected:
  CompileCache() { setenv("ASSAY_KEY", (folder_.path() / "key").c_str(), 1); }
  ~CompileCache() override { unsetenv("ASSAY_KEY"); }

  [[nodiscard]] fs::path directory() const { return folder_.path() / "parent" / "cache"; }
  [[nodiscard]] fs::path key() const { return folder_.path() / "key"; }
  [[nodiscard]] fs::path entry(const std::string& name) const { return directory() / name; }

  // What entry `name` holds, made as `text` if it has to be.
  std::string get(const std::string& name, const std::string& text) {
    const fs::path path = Cache(directory()).get(name, [&](const fs::path& output) {
      ++made;
      std::ofstream(output) << text;
    });
    const std::string whole = read_file(path);
    return whole.substr(0, metal::compile::content_size(whole));
  }
  // Replaces a sound entry by `damage` and expects it to be rebuilt and kept afterwards.
  void expect_made_again(const std::string& what, const std::function<void(const fs::path&)>& damage) {
    get("a.so", "kernel a");
    damage(entry("a.so"));
    made = 0;
    EXPECT_EQ(get("a.so", "kernel a"), "kernel a") << what;
    EXPECT_EQ(made, 1) << what;
    EXPECT_EQ(get("a.so", "another"), "kernel a") << what;
    EXPECT_EQ(made, 1) << what;
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(entry("a.so")))) << what;
  }

  int made = 0;

 private:
  TemporaryFolder folder_;
};

void write_text(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary | std::ios::trunc) << text; }

TEST_F(CompileCache, MakesAnEntryOnce) {
  EXPECT_EQ(get("a.so", "kernel a"), "kernel a");
  EXPECT_EQ(get("a.so", "another"), "kernel a");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()), 1) << "nothing temporary is left";
}

TEST_F(CompileCache, AnEntryThatIsNotItselfIsMadeAgain) {
  expect_made_again("empty", [](const fs::path& path) { fs::resize_file(path, 0); });
  expect_made_again("short", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 1); });
  expect_made_again("nothing but a seal", [](const fs::path& path) { write_text(path, read_file(path).substr(8)); });
  expect_made_again("longer", [](const fs::path& path) { std::ofstream(path, std::ios::app) << "x"; });
  expect_made_again("a huge hole", [](const fs::path& path) { fs::resize_file(path, std::uintmax_t{1} << 40U); });
  expect_made_again("another byte", [](const fs::path& path) { write_text(path, replaced(read_file(path), "kernel a", "kernel b")); });
  expect_made_again("unreadable", [](const fs::path& path) { fs::permissions(path, fs::perms::none), fs::resize_file(path, 3); });
  expect_made_again("absent", [](const fs::path& path) { fs::remove(path); });
}

// Everything else about it is right.
TEST_F(CompileCache, AnEntryCopiedUnderAnotherNameIsMadeAgain) {
  get("b.so", "kernel b");
  expect_made_again("a copy", [&](const fs::path& path) { fs::copy_file(entry("b.so"), path, fs::copy_options::overwrite_existing); });
  expect_made_again("a hard link", [&](const fs::path& path) { fs::remove(path), fs::create_hard_link(entry("b.so"), path); });
}

TEST_F(CompileCache, AnEntryThatAnotherUserSealedIsMadeAgain) {
  expect_made_again("another key", [&](const fs::path&) { fs::remove(key()); });
}

TEST_F(CompileCache, OnlyPlainFilesAreEntries) {
  expect_made_again("a symbolic link to a sound entry", [&](const fs::path& path) {
    fs::rename(path, directory() / "elsewhere");
    fs::create_symlink(directory() / "elsewhere", path);
  });
  expect_made_again("a broken link", [&](const fs::path& path) { fs::remove(path), fs::create_symlink("/nowhere", path); });
  expect_made_again("a pipe", [&](const fs::path& path) {
    fs::remove(path);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
  });
  expect_made_again("a folder", [&](const fs::path& path) { fs::remove(path), fs::create_directories(path / "with" / "content"); });
}

TEST_F(CompileCache, IsPrivate) {
  get("a.so", "kernel a");
  struct stat status = {};
  ASSERT_EQ(stat(directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  fs::permissions(directory(), fs::perms(0777));
  get("a.so", "kernel a");
  ASSERT_EQ(stat(directory().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U) << "it was open to others";
  EXPECT_EQ(made, 1);
}

TEST_F(CompileCache, OfAnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  fs::create_directories(directory());
  ASSERT_EQ(chown(directory().c_str(), 12345, 12345), 0);
  try {
    (void)get("a.so", "kernel a");
    FAIL() << "accepted";
  } catch (const metal::EnvironmentError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("belongs to another user (uid 12345)"), HasSubstr("set XDG_CACHE_HOME")));
  }
}

TEST_F(CompileCache, TemporaryFilesHaveNamesOfTheirOwn) {
  const Cache cache(directory());
  const fs::path one = cache.make_temporary("source", ".o");
  const fs::path two = cache.make_temporary("source", ".o");
  EXPECT_NE(one, two);
  EXPECT_EQ(one.extension(), ".o");
  EXPECT_TRUE(fs::is_empty(one) && fs::is_empty(two));
}

}  // namespace
}  // namespace assay::tests::compile_cache_test
