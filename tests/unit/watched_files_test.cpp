// What `assay watch` notices: files that are saved in all the ways in which editors save, and the files that a kernel includes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "cli/kernel_files.h"
#include "cli/options.h"
#include "cli/watched_files.h"
#include "tests/support/files.h"

namespace assay::tests::watched_files_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;
using cli::WatchedFiles;
using Change = WatchedFiles::Change;

class WatchedFilesTest : public TestInFolder {
 protected:
  void follow(const std::set<fs::path>& files) { watched_.follow(files); }
  Change change() { return watched_.take_changes(); }

  WatchedFiles watched_;
};

TEST_F(WatchedFilesTest, AFileThatIsWrittenOrReplacedHasChanged) {
  const fs::path file = write("one");
  follow({file});
  EXPECT_EQ(change(), Change::none);
  write("two");
  EXPECT_EQ(change(), Change::written);
  EXPECT_EQ(change(), Change::none);
  // As vim saves: the old file gets another name, the new one is written, the old one goes.
  fs::rename(file, folder_ / "kernel.metal~");
  EXPECT_EQ(change(), Change::unsettled);
  write("three");
  fs::remove(folder_ / "kernel.metal~");
  EXPECT_EQ(change(), Change::written);
  // As most others do.
  fs::rename(write("four", ".kernel.metal.new"), file);
  EXPECT_EQ(change(), Change::written);
  // The watch is on the folder, so it goes on for the new file.
  write("five");
  EXPECT_EQ(change(), Change::written);
}

TEST_F(WatchedFilesTest, AFileIsNotSavedUntilItIsClosed) {
  const fs::path file = write("one");
  follow({file});
  const int open_file = open(file.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  ASSERT_EQ(::write(open_file, "half", 4), 4);
  EXPECT_EQ(change(), Change::none);
  close(open_file);
  EXPECT_EQ(change(), Change::written);
}

TEST_F(WatchedFilesTest, OtherFilesOfTheFolderDoNotMatter) {
  follow({write("one")});
  write("swap", ".kernel.metal.swp");
  write("number", "4913");
  fs::remove(folder_ / "4913");
  EXPECT_EQ(read_file(folder_ / "kernel.metal"), "one");
  EXPECT_EQ(change(), Change::none);
}

TEST_F(WatchedFilesTest, AFileMayGoAndComeBackWithItsFolder) {
  fs::create_directories(folder_ / "common/deep");
  const fs::path file = write("one", "common/deep/norm.h");
  follow({file});
  fs::remove_all(folder_ / "common");
  EXPECT_EQ(change(), Change::unsettled);
  follow({file});
  EXPECT_EQ(change(), Change::none);
  fs::create_directories(folder_ / "common/deep");
  EXPECT_EQ(change(), Change::unsettled);
  follow({file});
  write("two", "common/deep/norm.h");
  EXPECT_EQ(change(), Change::written);
}

TEST_F(WatchedFilesTest, WhatALinkLeadsToIsWatchedToo) {
  fs::create_directory(folder_ / "real");
  const fs::path target = write("one", "real/kernel.metal");
  fs::create_symlink(target, folder_ / "kernel.metal");
  follow({folder_ / "kernel.metal"});
  write("two", "real/kernel.metal");
  EXPECT_EQ(change(), Change::written);
}

TEST_F(WatchedFilesTest, OnlyTheNewestSetOfFilesIsFollowed) {
  const fs::path one = write("1", "one.h"), two = write("2", "two.h");
  follow({one});
  follow({two});
  write("1", "one.h");
  EXPECT_EQ(change(), Change::none);
  write("2", "two.h");
  EXPECT_EQ(change(), Change::written);
}

class KernelFiles : public TestInFolder {
 protected:
  std::set<fs::path> files(const std::string& kernel = "kernel.metal") const {
    cli::Options options;
    options.kernel = (folder_ / kernel).string();
    options.family = "fwht";
    options.includes = includes_;
    return cli::kernel_files(options);
  }
  fs::path at(const std::string& name) const { return folder_ / name; }

  std::vector<std::string> includes_;
};

TEST_F(KernelFiles, AreTheSourceItsDescriptionAndAllThatItIncludes) {
  fs::create_directories(folder_ / "common");
  write("#include <metal_stdlib>\n  #  include \"common/a.h\"\n#if 0\n#include \"unused.h\"\n#endif\n");
  write("#pragma once\n#include \"b.h\"\n", "common/a.h");
  write("#include \"a.h\"\n#include \"missing.h\"\n", "common/b.h");
  EXPECT_THAT(files(), UnorderedElementsAre(at("kernel.metal"), at("variant.toml"), at("unused.h"), at("common/a.h"), at("common/b.h"),
                                            at("common/missing.h")));
}

TEST_F(KernelFiles, AreTheFilesThatWouldBeIncludedInsteadIfTheyExisted) {
  fs::create_directories(folder_ / "first");
  fs::create_directories(folder_ / "second");
  includes_ = {at("first"), at("second/")};
  write("#include \"norm.h\"\n#include <scale.h>\n");
  write("", "second/norm.h");
  write("", "first/scale.h");
  EXPECT_THAT(files(), UnorderedElementsAre(at("kernel.metal"), at("variant.toml"), at("norm.h"), at("first/norm.h"), at("second/norm.h"),
                                            at("first/scale.h")));
}

TEST_F(KernelFiles, AreThoseOfAFolderWithADescriptionEvenWhileItIsInvalid) {
  write("#include \"norm.h\"\n", "source.metal");
  write("family = \"fwht\"\nsource = \"source.metal\"\n", "variant.toml");
  EXPECT_THAT(files(""), IsSupersetOf({at("source.metal"), at("variant.toml"), at("norm.h")}));
  write("family = ", "variant.toml");
  EXPECT_THAT(files(""), ElementsAre(at("variant.toml")));
}

// The compiler reads nothing outside of the folders either, and a pipe would never end.
TEST_F(KernelFiles, OfAHostileSourceAreOrdinaryFilesInItsFolders) {
  fs::create_directories(folder_ / "own");
  write("#include \"../secret.h\"\n#include \"/etc/passwd\"\n#include \"pipe.h\"\n#include \"self.metal\"\n#include \"\"\n#include \"un\n",
        "own/self.metal");
  write("#include \"more.h\"\n", "secret.h");
  ASSERT_EQ(mkfifo(at("own/pipe.h").c_str(), 0600), 0);
  EXPECT_THAT(files("own/self.metal"), IsSupersetOf({at("own/self.metal"), at("own/pipe.h")}));
  EXPECT_THAT(files("own/self.metal"), Not(AnyOf(Contains(at("secret.h")), Contains(at("more.h")), Contains(fs::path("/etc/passwd")))));
}

}  // namespace
}  // namespace assay::tests::watched_files_test
