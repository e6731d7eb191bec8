// Names, notes and messages of foreign files, printed by every command: no control sequence and no command to a CI runner gets through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::hostile_names_test {
namespace {

using namespace ::testing;
namespace fs = std::filesystem;

// Escape sequences, a carriage return, DEL, a C1 control, an override of the writing direction, a line separator, commands to runners.
const std::string kHostile = "x\x1b[31m\r\x7f\u009b\u202e\u2066\u2028##[error]##vso[task]\n  ::error::y\n\u00a0::add-mask::z";

// The same as a part of a path. Arguments with line breaks are refused.
const std::string kHostileName = std::regex_replace(kHostile, std::regex("\n"), "-");

std::string problem_of(const std::string& text) {
  static const std::regex control("[\\x00-\\x08\\x0b-\\x1f\\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]");
  static const std::regex runner("(^|\n)(\\s|\xc2\xa0|\xe2\x80[\x80-\x8d\xaf]|\xe3\x80\x80)*::|##[a-z]*\\[");
  std::smatch found;
  if (std::regex_search(text, found, control)) return "a control character after " + std::string(found.prefix()).substr(0, 200);
  if (std::regex_search(text, found, runner)) return "a command to a runner after " + std::string(found.prefix()).substr(0, 200);
  return {};
}

class HostileNames : public TestInFolder {
 protected:
  // A kernel of fwht under a hostile path.
  std::string kernel(const std::string& text, const std::string& description = "") const {
    const fs::path folder = folder_ / kHostileName / "mine";
    fs::create_directories(folder);
    std::ofstream(folder / "kernel.metal") << text;
    std::ofstream(folder / "variant.toml") << "family = \"fwht\"\nsource = \"kernel.metal\"\n" << description;
    return quoted(folder.string());
  }
  static std::string quoted(const std::string& text) { return "'" + text + "'"; }
  // Expects that the command answers with this status, mentions `word`, and prints nothing hostile.
  static std::string check(const std::string& arguments, int status, const std::string& word) {
    const Outcome outcome = run_assay(arguments);
    EXPECT_EQ(outcome.status, status) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(word)) << arguments;
    EXPECT_EQ(problem_of(outcome.output), "") << arguments;
    return outcome.output;
  }
  static std::string in_toml(const std::string& text) { return nlohmann::json(text).dump(-1, ' ', true); }
};

TEST_F(HostileNames, ArgumentsWithLineBreaksAreRefused) {
  check("run " + quoted("a\n1 case: 1 passed, 0 failed"), 2, "an argument contains a line break");
}

TEST_F(HostileNames, TheCheckOfTheseTestsSeesThem) {
  for (const char* text :
       {"\x1b[0m", "a\rb", "\u0085", "\u202e", "\u2028", "::error::", "a\n \t::error::", "a##[error]b", "\u00a0::x", "\x7f"})
    EXPECT_NE(problem_of(text), "") << text;
  EXPECT_EQ(problem_of("a::b\n\t#[x] ## [y] ünïcode 核\n: :"), "");
}

TEST_F(HostileNames, InArgumentsOfEveryCommand) {
  const std::string word = quoted(kHostileName);
  for (const std::string command : {"run",
                                    "gate",
                                    "show",
                                    "explain",
                                    "cost",
                                    "list",
                                    "compile",
                                    "dispatch",
                                    "triage",
                                    "mutate",
                                    "report --format",
                                    "history --case",
                                    "diff",
                                    "merge",
                                    "quality --fixture",
                                    "fixture check",
                                    "fixture describe",
                                    "fixture generate",
                                    "check-dispatch",
                                    "compare",
                                    "pack",
                                    "support --family",
                                    "doctor --variants"}) {
    const Outcome outcome = run_assay(command + " " + word);
    EXPECT_NE(outcome.status, 0) << command << outcome.output;
    EXPECT_EQ(problem_of(outcome.output), "") << command;
  }
}

TEST_F(HostileNames, OfFoldersAndInDescriptions) {
  const std::string text = in_toml(kHostile);
  const std::string described =
      kernel(source_of("fwht_v1"), "about = " + text + "\n[accuracy]\nstores = [\"half\"]\nreason = " + text +
                                       "\n[[known_finding]]\nwhen = \"d == 512\"\nshows = \"failed\"\nsee = " + text + "\n");
  const std::string plain = kernel(source_of("fwht_v1"));
  const std::string one = "mine/d256/h1/undo/gauss/s1 --kernel ";
  check("run --ledger none " + one + plain, 0, "1 passed");
  check("show " + one + plain, 0, "\\x1b[31m\\x0d\\u007f\\u009b\\u202e");
  check("explain " + one + plain, 0, "\\x1b[31m");
  check("triage " + one + plain, 0, "nothing to triage");
  check("list --kernel " + plain, 0, "mine");
  check("support --kernel " + plain, 0, "mine");
  check("compile " + plain + "/kernel.metal", 0, "fwht");
  for (const std::string& key : {std::string("about"), std::string("superseded_by"), kHostile}) {
    const std::string kernel_with = kernel(source_of("fwht_v1"), in_toml(key) + " = " + text + "\n");
    run_assay("list --kernel " + kernel_with);
    EXPECT_EQ(problem_of(run_assay("list --kernel " + kernel_with).output), "") << key;
    EXPECT_EQ(problem_of(run_assay("run --ledger none " + one + kernel_with).output), "") << key;
  }
  kernel(source_of("fwht_v1"), "[[known_finding]]\nwhen = \"d == 256\"\nshows = \"failed\"\nsee = " + text + "\n");
  check("run --ledger none " + one + described, 1, "no longer occurs");
}

TEST_F(HostileNames, InMessagesOfClang) {
  for (const std::string line : {"#error \x1b[31m ##[error]x \u202e", "static_assert(false, \"a\\n::error::b\\x1b[31m\");",
                                 "#line 1 \"a\\n::error::\\x1b[31m\"\nwrong", "kernel void a() { int ##[b]; }",
                                 "#include \"\x1b[31m##[x]\"", "#pragma message \"\x1b::error\"\n::error wrong;"}) {
    const std::string broken = kernel(source_of("fwht_v1") + "\n" + line + "\n");
    EXPECT_EQ(problem_of(run_assay("compile --entry nothing " + broken + "/kernel.metal").output), "") << line;
  }
  const std::string broken = kernel("#error \x1b[31m ##[error]x \u202e\n");
  check("run --ledger none mine/d256/h1/undo/gauss/s1 --kernel " + broken, 2, "##\\u005berror]x \\u202e");
  EXPECT_EQ(problem_of(run_assay("compile --json " + broken + "/kernel.metal").output), "");
}

TEST_F(HostileNames, OfFunctions) {
  const std::string named = kernel(
      replaced(source_of("fwht_v1"), "using namespace metal;",
               "using namespace metal;\n[[host_name(\"a\\n::error::b\\x1b[31m##[x]\")]] kernel void other(device float* a) { a[0] = 1; }"));
  EXPECT_EQ(problem_of(run_assay("compile " + named + "/kernel.metal").output), "");
  EXPECT_EQ(problem_of(run_assay("support --kernel " + named).output), "");
  EXPECT_EQ(problem_of(run_assay("run --ledger none mine/d256/h1/undo/gauss/s1 --kernel " + named).output), "");
}

TEST_F(HostileNames, InEveryReport) {
  const std::string wrong = kernel(replaced(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= 1.5f * scale;"));
  const std::string ledger = quoted((folder_ / kHostileName / "l.sqlite").string());
  const fs::path junit = folder_ / "junit.xml", html = folder_ / "page.html";
  check("run mine/d256/h1/undo/gauss/s1 mine/d512/h1/undo/gauss/s1 --kernel " + wrong + " --ledger " + ledger + " --junit " +
            junit.string() + " --html " + html.string(),
        1, "2 failed");
  EXPECT_EQ(problem_of(read_file(junit)), "");
  EXPECT_EQ(problem_of(read_file(html)), "");
  for (const std::string format : {"text", "markdown", "junit", "html", "json"}) {
    const std::string text = check("report --format " + format + " --ledger " + ledger, 0, "mine");
    if (format == "json") EXPECT_TRUE(nlohmann::json::accept(text));
  }
  EXPECT_TRUE(nlohmann::json::accept(check("report --format sarif --ledger " + ledger, 0, "2.1.0")));
  check("history --ledger " + ledger, 0, "2/2");
  check("report --list --ledger " + ledger, 0, "2");
  check("triage --minimise-seconds 1 --repair-seconds 0 --ledger " + ledger, 1, "Triage of");
  check("diff 1 1 --json --ledger " + ledger, 0, "assay-difference");
}

}  // namespace
}  // namespace assay::tests::hostile_names_test
