// Completion of command lines in three shells, and manual pages: both are made from the tree of commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::completion_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) found.push_back(line);
  return found;
}

bool has(const char* program) { return run_command(std::string("command -v ") + program).status == 0; }

// In a shell, `assay` is the built command.
class CliCompletion : public TestInFolder {
 protected:
  Outcome in_shell(const std::string& shell, const std::string& text) const {
    fs::create_directories(folder_ / "bin");
    if (!fs::exists(folder_ / "bin/assay")) fs::create_symlink(ASSAY_BINARY_DIR "/bin/assay", folder_ / "bin/assay");
    const std::string script = write(text, "script");
    return run_command("cd '" + folder_.string() + "' && HOME='" + folder_.string() + "' PATH='" + (folder_ / "bin").string() + "':$PATH " +
                       shell + " '" + script + "'");
  }
  // What bash offers for `words`, the last of which is being typed.
  std::vector<std::string> in_bash(const std::string& words) const {
    return lines(in_shell("bash", "set -u\nsource <(assay completion bash)\nCOMP_WORDS=(assay " + words +
                                      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_assay\nfor word in ${COMPREPLY[@]+\"${COMPREPLY[@]}\"}; "
                                      "do printf '%s\\n' \"$word\"; done\n")
                     .output);
  }
};

TEST_F(CliCompletion, BashCompletesCommandsOptionsAndNames) {
  EXPECT_THAT(in_bash("g"), ElementsAre("gate"));
  EXPECT_THAT(in_bash("''"), AllOf(IsSupersetOf({"run", "bisect", "completion"}), Not(Contains("complete")), Not(Contains("man"))));
  EXPECT_THAT(in_bash("run --fa"), UnorderedElementsAre("--fail-fast", "--failed-first", "--family"));
  EXPECT_THAT(in_bash("run --family fw"), ElementsAre("fwht"));
  EXPECT_THAT(in_bash("run --policy ''"), ElementsAre("checked", "native", "shadow"));
  EXPECT_THAT(in_bash("run --policy = ch"), ElementsAre("checked")) << "bash separates --policy=ch";
  EXPECT_THAT(in_bash("run --family fwht --limit h"), ElementsAre("head_dim="));
  EXPECT_THAT(in_bash("run sm"), ElementsAre("smoke"));
  EXPECT_THAT(in_bash("compare fwht_v1 --suite sm"), ElementsAre("smoke"));
  EXPECT_THAT(in_bash("compare fw"), ElementsAre("fwht_v1"));
  EXPECT_THAT(in_bash("quality --fixture gau"), ElementsAre("gauss"));
  EXPECT_THAT(in_bash("fixture v"), ElementsAre("verify"));
  EXPECT_THAT(in_bash("report --format js"), ElementsAre("json"));
  // A file: bash completes its name itself.
  EXPECT_THAT(in_bash("run --kernel k"), IsEmpty());
}

TEST_F(CliCompletion, NamesOfCasesGrowWordByWord) {
  EXPECT_THAT(in_bash("run fw"), ElementsAre("fwht_v1/"));
  EXPECT_THAT(in_bash("run fwht_v1/d25"), ElementsAre("fwht_v1/d256/"));
  EXPECT_THAT(in_bash("show fwht_v1/d256/h8/standalone/cancel/"), ElementsAre("fwht_v1/d256/h8/standalone/cancel/s839"));
  EXPECT_THAT(in_bash("run --family tq4 fw"), IsEmpty()) << "fwht_v1 is of another family";
}

// What is typed is a foreign text as well.
TEST_F(CliCompletion, NothingThatIsTypedIsExecuted) {
  EXPECT_THAT(in_bash("run '$(touch hacked)' '`touch hacked`' --family ''"), Contains("fwht"));
  EXPECT_THAT(in_bash("run --family \"$(printf 'a\\nb')\" ''"), IsEmpty());
  write("#!/bin/sh\ntouch \"$(dirname \"$0\")/hacked\"\n", "assay");
  fs::permissions(folder_ / "assay", fs::perms::owner_all);
  EXPECT_THAT(
      lines(in_shell("bash", "source <(assay completion bash)\nCOMP_WORDS=(./assay ga)\nCOMP_CWORD=1\n_assay\necho ${COMPREPLY[@]}\n")
                .output),
      ElementsAre("gate"))
      << "the command on PATH is asked, not the word that was typed";
  EXPECT_FALSE(fs::exists(folder_ / "hacked"));
}

TEST_F(CliCompletion, ZshGetsTheSame) {
  if (!has("zsh")) GTEST_SKIP() << "there is no zsh";
  const std::string start =
      "compdef() { print \"for $2\"; }\nsource <(assay completion zsh)\ncompadd() { print -r -- \"$*\"; }\n_files() { print files; }\n";
  EXPECT_THAT(
      lines(in_shell("zsh -f", start + "words=(assay run f '')\nCURRENT=3\n_assay\nwords=(assay gate --policy '')\nCURRENT=4\n_assay\n"
                                       "words=(assay run --kernel '')\nCURRENT=4\n_assay\n")
                .output),
      ElementsAre("for assay", "-S  -- fwht_v1/", "-- full", "-S  --", "-- checked native shadow", "files"));
}

TEST_F(CliCompletion, FishGetsTheSame) {
  if (!has("fish")) GTEST_SKIP() << "there is no fish";
  EXPECT_THAT(lines(in_shell("fish --no-config",
                             "assay completion fish | source\ncomplete -C 'assay gat'\ncomplete -C 'assay run --family fw'\n"
                             "complete -C 'assay gate --policy '\n")
                        .output),
              ElementsAre("gate", "fwht", "checked", "native", "shadow"));
}

TEST_F(CliCompletion, AnUnknownShellIsRefused) {
  const Outcome refused = run_assay("completion bsh");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.output, HasSubstr("'bsh' is none of bash, zsh, fish (did you mean 'bash'?)"));
}

TEST_F(CliCompletion, EveryCommandHasAManualPage) {
  ASSERT_EQ(run_assay("man '" + (folder_ / "man").string() + "'").status, 0);
  std::string all;
  for (const auto& entry : fs::directory_iterator(folder_ / "man")) all += entry.path().filename().string() + " ";
  EXPECT_THAT(all, AllOf(HasSubstr("assay.1 "), HasSubstr("assay-run.1 "), HasSubstr("assay-bisect.1 "), Not(HasSubstr("assay-man.1"))));
  const std::string page = read_file(folder_ / "man/assay-run.1");
  EXPECT_THAT(page, AllOf(StartsWith(".TH ASSAY\\-RUN 1 "), HasSubstr("\n.SH EXIT STATUS\n"), HasSubstr("\\fB\\-\\-last\\-failed\\fR"),
                          HasSubstr("\\fB\\-I\\fR, \\fB\\-\\-include\\fR \\fIDIR\\fR"), HasSubstr("native|checked|shadow")));
  EXPECT_THAT(read_file(folder_ / "man/assay-fixture.1"), HasSubstr("\n.SH VERIFY\n"));
  // Tools that read such pages have no complaint.
  const std::string pages = " '" + (folder_ / "man").string() + "'/*.1";
  if (has("groff")) EXPECT_EQ(run_command("groff -man -ww -z -Tutf8" + pages).output, "");
  if (has("mandoc")) EXPECT_EQ(run_command("mandoc -Tlint -Werror" + pages).output, "");
}

}  // namespace
}  // namespace assay::tests::completion_test
