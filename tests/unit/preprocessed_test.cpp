// Preprocessed text from the cache: as long as nothing that the preprocessor could read has changed, and not longer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "metal/compile/compiler.h"
#include "metal/compile/reachable_text.h"
#include "metal/errors.h"
#include "tests/support/files.h"

namespace assay::tests::preprocessed_test {
namespace {

using namespace ::testing;
namespace fs = std::filesystem;
using metal::compile::Compiler;

class Preprocessed : public Test {
 protected:
  Preprocessed() {
    write("kernel/kernel.metal", "#include \"sizes.h\"\nint size = SIZE;\n");
    fs::create_directories(at("first"));
    write("second/sizes.h", "#define SIZE 32\n");
    write_clang("exec /usr/bin/env clang++-19 \"$@\"");
    setenv("ASSAY_CLANG", at("clang").c_str(), 1);
  }
  ~Preprocessed() override { unsetenv("ASSAY_CLANG"); }

  [[nodiscard]] fs::path at(const std::string& name) const { return folder_.path() / name; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(at(name).parent_path());
    std::ofstream(at(name), std::ios::binary) << text;
  }
  // A compiler of the same size and date, whatever it does: for the cache it stays the same.
  void write_clang(const std::string& does) const {
    std::string text = "#!/bin/sh\n" + does + "\n";
    text.resize(200, '#');
    write("clang", text);
    fs::permissions(at("clang"), fs::perms::owner_all);
    fs::last_write_time(at("clang"), fs::file_time_type::clock::time_point(std::chrono::hours(1)));
  }
  void break_clang() const { write_clang("exit 1"); }

  // The last line of the preprocessed kernel.
  [[nodiscard]] std::string preprocess() const {
    metal::CompileOptions options;
    options.definitions = definitions_;
    options.include_directories = {at("first"), at("second")};
    options.cache_directory = at("cache");
    const fs::path file = at("kernel/kernel.metal");
    std::string text = Compiler(options).preprocess({{file, "kernel.metal"}});
    whole_ = text;
    text.pop_back();
    return text.substr(text.rfind('\n') + 1);
  }
  // Whether it is preprocessed without clang.
  [[nodiscard]] bool is_known() const {
    break_clang();
    try {
      static_cast<void>(preprocess());
    } catch (const metal::CompileError&) {
      write_clang("exec /usr/bin/env clang++-19 \"$@\"");
      return false;
    }
    write_clang("exec /usr/bin/env clang++-19 \"$@\"");
    return true;
  }
  void expect_not_kept() const {
    static_cast<void>(preprocess());
    EXPECT_FALSE(is_known());
  }

  std::vector<std::string> definitions_;
  mutable std::string whole_;

 private:
  TemporaryFolder folder_;
};

TEST_F(Preprocessed, IsKnownUntilSomethingChanges) {
  EXPECT_FALSE(is_known());
  EXPECT_EQ(preprocess(), "int size = 32;");
  const std::string whole = whole_;
  EXPECT_TRUE(is_known());
  EXPECT_EQ(preprocess(), "int size = 32;");
  EXPECT_EQ(whole_, whole) << "line markers included";
  EXPECT_THAT(whole, HasSubstr("\"<reach>\""));
  EXPECT_THAT(whole, HasSubstr("\"kernel.metal\""));
}

TEST_F(Preprocessed, AChangedIncludeIsNoticed) {
  EXPECT_EQ(preprocess(), "int size = 32;");
  const auto date = fs::last_write_time(at("second/sizes.h"));
  write("second/sizes.h", "#define SIZE 64\n");
  fs::last_write_time(at("second/sizes.h"), date);
  EXPECT_EQ(preprocess(), "int size = 64;") << "of the same size and date";
  write("second/sizes.h", "#define SIZE 32\n");
  EXPECT_TRUE(is_known()) << "as it was before";
}

TEST_F(Preprocessed, AnIncludeThatAppearsEarlierOnThePathIsNoticed) {
  EXPECT_EQ(preprocess(), "int size = 32;");
  write("first/sizes.h", "#define SIZE 1\n");
  EXPECT_EQ(preprocess(), "int size = 1;");
  write("kernel/sizes.h", "#define SIZE 2\n");
  EXPECT_EQ(preprocess(), "int size = 2;");
  fs::remove(at("kernel/sizes.h"));
  fs::remove(at("first/sizes.h"));
  EXPECT_EQ(preprocess(), "int size = 32;");
  fs::remove(at("second/sizes.h"));
  EXPECT_THROW(static_cast<void>(preprocess()), metal::CompileError);
}

TEST_F(Preprocessed, AFolderOfThePathThatAppearsIsNoticed) {
  fs::remove(at("first"));
  EXPECT_EQ(preprocess(), "int size = 32;");
  write("first/sizes.h", "#define SIZE 1\n");
  EXPECT_EQ(preprocess(), "int size = 1;");
}

TEST_F(Preprocessed, ALinkThatLeadsToAnotherFileIsNoticed) {
  write("second/other.h", "#define SIZE 1\n");
  write("second/third.h", "#define SIZE 2\n");
  fs::remove(at("second/sizes.h"));
  fs::create_symlink("other.h", at("second/sizes.h"));
  EXPECT_EQ(preprocess(), "int size = 1;");
  EXPECT_TRUE(is_known());
  fs::remove(at("second/sizes.h"));
  fs::create_symlink("third.h", at("second/sizes.h"));
  EXPECT_EQ(preprocess(), "int size = 2;");
}

TEST_F(Preprocessed, DefinitionsAreNoticed) {
  write("second/sizes.h", "#ifndef SIZE\n#define SIZE 32\n#endif\n");
  EXPECT_EQ(preprocess(), "int size = 32;");
  definitions_ = {"SIZE=8"};
  EXPECT_EQ(preprocess(), "int size = 8;");
  definitions_ = {"SIZE", "a=8"};
  EXPECT_EQ(preprocess(), "int size = 1;");
}

TEST_F(Preprocessed, ADamagedEntryIsMadeAgain) {
  EXPECT_EQ(preprocess(), "int size = 32;");
  for (const auto& entry : fs::directory_iterator(at("cache"))) {
    if (entry.path().extension() != ".i") continue;
    const std::string damaged = replaced(read_file(entry.path()), "= 32", "= 33");
    std::ofstream(entry.path(), std::ios::binary) << damaged;
  }
  EXPECT_FALSE(is_known());
  EXPECT_EQ(preprocess(), "int size = 32;");
}

TEST_F(Preprocessed, WhatMayDependOnMoreIsNotKept) {
  for (const std::string line : {"const char* when = __TIME__;", "#if __has_include(\"/other/folder.h\")\n#endif", "// ../other"}) {
    write("kernel/kernel.metal", line + "\nint size = 4;\n");
    expect_not_kept();
  }
  write("kernel/kernel.metal", "int size = 4;\n");
  write("elsewhere/file.h", "");
  fs::create_symlink(at("elsewhere/file.h"), at("kernel/link.h"));
  expect_not_kept();
  fs::remove(at("kernel/link.h"));
  for (int i = 0; i < 400; ++i) write("first/" + std::to_string(i) + ".h", "");
  expect_not_kept();
  fs::remove_all(at("first"));
  static_cast<void>(preprocess());
  EXPECT_TRUE(is_known());
}

TEST(ReachableText, AContinuedLineHidesNoWord) {
  using metal::compile::may_depend_on_more;
  EXPECT_TRUE(may_depend_on_more("__DA\\\nTE__"));
  EXPECT_TRUE(may_depend_on_more("__has_\\\r\ninclude"));
  EXPECT_TRUE(may_depend_on_more("NOW=__TIMESTAMP__"));
  EXPECT_FALSE(may_depend_on_more("DATE \\\n TIME\\"));
}

}  // namespace
}  // namespace assay::tests::preprocessed_test
