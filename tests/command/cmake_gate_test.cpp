// assay_add_gate() in a project of somebody else's: what ctest then finds, when, and what it says of a kernel that is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::cmake_gate_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

class CmakeGate : public TestInFolder {
 protected:
  void SetUp() override { fs::create_directories(folder_ / "kernels"); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  // A copy of fwht_v1; the wrong one scales twice.
  void add_variant(const std::string& name, bool right) const {
    const std::string source = source_of("fwht_v1");
    write("kernels/" + name + "/kernel.metal", right ? source : replaced(source, "rsqrt(", "2 * rsqrt("));
    write("kernels/" + name + "/variant.toml", "family = \"fwht\"\nsource = \"kernel.metal\"\n");
  }
  Outcome configure(const std::string& arguments) const {
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(theirs NONE)\nenable_testing()\ninclude(\"" ASSAY_SOURCE_DIR
                            "/cmake/assay_add_gate.cmake\")\nassay_add_gate(" +
                                arguments + ")\n");
    return run_command("cmake -S '" + folder_.string() + "' -B '" + (folder_ / "build").string() + "'");
  }
  Outcome ctest(const std::string& arguments) const {
    return run_command("ctest --test-dir '" + (folder_ / "build").string() + "' --output-on-failure " + arguments);
  }

  const std::string executable_ = " EXECUTABLE \"" ASSAY_BINARY_DIR "/bin/assay\" ARGUMENTS --ledger none";
};

TEST_F(CmakeGate, FindsVariantsWhenCtestRunsAndShowsHowToRepeatAFailure) {
  add_variant("right", true);
  const Outcome configured = configure("NAME theirs VARIANTS kernels SUITE smoke SHARDS 2" + executable_);
  ASSERT_EQ(configured.status, 0) << configured.output;
  const Outcome listed = ctest("-N -L assay");
  EXPECT_THAT(listed.output, AllOf(HasSubstr("theirs.right.1of2"), HasSubstr("theirs.right.2of2"), HasSubstr("Total Tests: 2")));
  const Outcome passed = ctest("");
  EXPECT_EQ(passed.status, 0) << passed.output;

  add_variant("wrong", false);
  const Outcome failed = ctest("-R wrong.1of2");
  EXPECT_NE(failed.status, 0) << failed.output;
  const std::size_t replay = failed.output.find("first failure again: assay run wrong/d");
  ASSERT_NE(replay, std::string::npos) << failed.output;
  const std::size_t end = failed.output.find('\n', replay);
  EXPECT_THAT(failed.output.substr(replay, end - replay), HasSubstr("--kernel " + (folder_ / "kernels/wrong").string()));
  EXPECT_EQ(failed.output.find_first_not_of(" \n", end), failed.output.find("0% tests passed")) << "the line is not the last of the test";
}

TEST_F(CmakeGate, ADirectoryWithoutVariantsFails) {
  ASSERT_EQ(configure("NAME theirs VARIANTS kernels" + executable_).status, 0);
  const Outcome outcome = ctest("");
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("theirs.no_variants"), HasSubstr("there are no variants")));
}

TEST_F(CmakeGate, AVariantWithoutAnyFunctionForItsCasesIsSkipped) {
  add_variant("right", true);
  // A stand-in for the command that ends as assay does when it skips everything.
  write("skips", "#!/bin/sh\nexit 4\n");
  fs::permissions(folder_ / "skips", fs::perms::owner_all);
  ASSERT_EQ(configure("NAME theirs VARIANTS kernels SUITE smoke EXECUTABLE " + (folder_ / "skips").string()).status, 0);
  EXPECT_THAT(ctest("").output, HasSubstr("***Skipped"));
}

TEST_F(CmakeGate, WrongArgumentsAreRefused) {
  for (const auto& [arguments, word] : {std::pair{"VARIANTS kernels", "NAME is missing"}, std::pair{"NAME x", "VARIANTS is missing"},
                                        std::pair{"NAME x VARIANTS kernels SHARDS none EXECUTABLE y", "SHARDS is 'none'"},
                                        std::pair{"NAME x VARIANTS kernels", "EXECUTABLE"}}) {
    const Outcome outcome = configure(arguments);
    EXPECT_NE(outcome.status, 0) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(word));
  }
}

}  // namespace
}  // namespace assay::tests::cmake_gate_test
