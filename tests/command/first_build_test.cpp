// What `./assay` builds for the first verdict of a checkout, and that it judges as the whole command does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"
#include "tests/support/files.h"

namespace assay::tests::first_build_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

// A checkout with the script alone, and a CMake that makes an executable of each target, which says its name and arguments.
class FirstBuild : public TestInFolder {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "bin");
    fs::create_directories(folder_ / "build/release/bin");
    fs::copy_file(kRoot / "assay", folder_ / "assay");
    write("", "build/release/build.ninja");
    write(R"(#!/bin/sh
name=assay; case "$*" in *assay_first*) name=assay-first ;; esac
printf '#!/bin/sh\necho %s "$@"\n' $name > build/release/bin/$name; chmod +x build/release/bin/$name
)",
          "bin/cmake");
    fs::permissions(folder_ / "bin/cmake", fs::perms::owner_all);
  }
  // A checkout after these commands, and then this one.
  [[nodiscard]] std::string runs(const std::string& words) const {
    const Outcome outcome = run_command("cd '" + folder_.string() + "' && PATH=\"$PWD/bin:$PATH\" ./assay " + words);
    EXPECT_EQ(outcome.status, 0) << outcome.output;
    return outcome.output;
  }
};

TEST_F(FirstBuild, IsTheMainJobAlone) {
  for (const char* words : {"gate", "run smoke --family tq4", "show CASE", "list --cases smoke"})
    EXPECT_EQ(runs(words), std::string("assay-first ") + words + "\n");
}

TEST_F(FirstBuild, IsTheWholeCommandForEverythingElse) {
  for (const char* words : {"triage smoke", "run smoke --triage", "gate --help", "run -h", "--help", "--version", ""}) {
    fs::remove(folder_ / "build/release/bin/assay");
    const std::string end = *words == '\0' ? "" : " ";
    EXPECT_EQ(runs(words), "assay" + end + words + "\n");
  }
}

TEST_F(FirstBuild, IsNotUsedWhenThereIsTheWholeCommand) {
  EXPECT_EQ(runs("run smoke"), "assay-first run smoke\n");
  EXPECT_EQ(runs("explain CASE"), "assay explain CASE\n");
  EXPECT_EQ(runs("run smoke"), "assay run smoke\n");
}

TEST_F(FirstBuild, JudgesLikeTheWholeCommand) {
  const std::string words = " run 'fwht_v1/d256/h1/*' --ledger none --jobs 1 | grep -o '.*faulty\\|digest .*' | grep -v ' in [0-9.]* s'";
  const Outcome whole = run_command("'" ASSAY_BINARY_DIR "/bin/assay'" + words);
  const Outcome first = run_command("'" ASSAY_BINARY_DIR "/bin/assay-first'" + words);
  EXPECT_THAT(whole.output, AllOf(HasSubstr("passed"), HasSubstr("digest ")));
  EXPECT_EQ(first.output, whole.output);
  const Outcome refused = run_command("'" ASSAY_BINARY_DIR "/bin/assay-first' triage smoke 2>&1");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.output, HasSubstr("'triage' is not a command"));
}

}  // namespace
}  // namespace assay::tests::first_build_test
