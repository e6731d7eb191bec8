// Runs every command of the documentation and compares its output with the documented output. The convention is in
// console_document.h; the first tests show that a document which is wrong is noticed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/user_key.h"
#include "tests/command/console_document.h"
#include "tests/command/workflow_steps.h"
#include "tests/support/files.h"

namespace assay::tests::documentation_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

const fs::path kAssay = fs::path(ASSAY_BINARY_DIR) / "bin/assay";

std::string block(const std::string& text, const std::string& info = "console") { return "```" + info + "\n" + text + "```\n"; }

std::vector<std::string> complaints_about(const std::string& markdown) {
  const TemporaryFolder folder;
  const fs::path scratch = folder.path() / "scratch";
  fs::create_directory(scratch);
  return execute_document(parse_document(markdown), scratch, "");
}

TEST(ConsoleDocument, TakesWhatIsTrue) {
  EXPECT_THAT(complaints_about("Text.\n" + block("$ echo right\nright\n$ true\n\n$ echo 'a b' \\\n  c\na b c\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("$ echo below nothing, anything may be printed\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("$ exit 3   # exits with 3\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("$ echo told; echo told >&2; exit 1   # exits with 1\ntold\ntold\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("int x;\n", "c file=folder/a.c") + block("$ cat folder/a.c\nint x;\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("$ echo made > file\n") + block("$ cat file\nmade\n")), IsEmpty());
  EXPECT_THAT(complaints_about(block("$ exit 7\n", "sh")), IsEmpty());
  // A page of Markdown with blocks of its own is shown in a block with a longer fence.
  EXPECT_THAT(complaints_about("````console\n$ printf '```\\na\\n```\\n'\n```\na\n```\n````\n" + block("$ true\n")), IsEmpty());
}

TEST(ConsoleDocument, NoticesAWrongOutput) {
  EXPECT_THAT(complaints_about("Text.\n\n" + block("$ echo wrong\nright\n")),
              ElementsAre(AllOf(HasSubstr("line 4: `echo wrong` printed:\nwrong\n"), HasSubstr("the document says:\nright\n"))));
  EXPECT_EQ(complaints_about(block("$ echo one; echo two\none\n")).size(), 1u);
  EXPECT_EQ(complaints_about(block("$ echo one\none\ntwo\n")).size(), 1u);
  EXPECT_EQ(complaints_about(block("$ true\nsomething\n")).size(), 1u);
  EXPECT_EQ(complaints_about(block("$ echo one\ntwo\n$ echo three\nfour\n")).size(), 2u);
  EXPECT_EQ(complaints_about(block("one\n", "text file=a") + block("$ cat a\ntwo\n")).size(), 1u);
}

TEST(ConsoleDocument, NoticesAWrongStatus) {
  EXPECT_THAT(complaints_about(block("$ false\n")), ElementsAre(HasSubstr("`false` ended with 1, not with 0")));
  EXPECT_THAT(complaints_about(block("$ true   # exits with 1\n")), ElementsAre(HasSubstr("`true` ended with 0, not with 1")));
  EXPECT_THAT(complaints_about(block("$ exit 2   # exits with 1\n")), ElementsAre(HasSubstr("ended with 2, not with 1")));
  EXPECT_THAT(complaints_about(block("$ no-such-command\n")), ElementsAre(HasSubstr("ended with 127")));
}

TEST(ConsoleDocument, DotsStandForTextAndForLines) {
  EXPECT_TRUE(matches_line("a ... c", "a b c"));
  EXPECT_TRUE(matches_line("... c", "a b c"));
  EXPECT_TRUE(matches_line("a...", "a"));
  EXPECT_TRUE(matches_line("a ... b ... b", "a x b y b"));
  EXPECT_FALSE(matches_line("a ... c", "a b"));
  EXPECT_FALSE(matches_line("ab...b", "ab"));
  EXPECT_FALSE(matches_line("a ... b ... b", "a b"));
  EXPECT_FALSE(matches_line("a", "ab"));

  EXPECT_TRUE(matches_output({"...", "b", "..."}, {"a", "b", "c"}));
  EXPECT_TRUE(matches_output({"...", "b", "..."}, {"b"}));
  EXPECT_TRUE(matches_output({"...", "b"}, {"b", "a", "b"}));
  EXPECT_FALSE(matches_output({"...", "b"}, {"b", "a"}));
  EXPECT_FALSE(matches_output({"a", "b"}, {"a", "x", "b"}));
  EXPECT_FALSE(matches_output({"a"}, {}));
}

TEST(ConsoleDocument, FindsPromptsThatAreNotExecuted) {
  EXPECT_THAT(unexecuted_prompts(block("$ assay gate\n") + block("$ assay gate\n", "")), ElementsAre(5u));
}

// Documents of the project, from its root on. What is written about single folders beside their sources is among them.
std::vector<std::string> documents() {
  std::vector<std::string> names;
  for (const char* folder : {".", "docs", "docs/examples", "metal", "oracles", "tests/mutation", "tests/faults/planted"}) {
    if (!fs::exists(kRoot / folder)) continue;
    for (const auto& entry : fs::directory_iterator(kRoot / folder))
      if (entry.path().extension() == ".md") names.push_back((fs::path(folder) / entry.path().filename()).lexically_normal().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> documents_with_commands() {
  std::vector<std::string> names;
  for (const std::string& name : documents())
    if (!parse_document(read_file(kRoot / name)).empty()) names.push_back(name);
  return names;
}

// What find_package(assay) finds where assay is installed: the built command, and assay_add_gate() of this tree. It asks for what the
// package asks for, threads, so that a document whose project lacks a language is noticed.
void write_package(const fs::path& prefix) {
  const fs::path folder = prefix / "lib/cmake/assay";
  fs::create_directories(folder);
  std::ofstream(folder / "assay-config.cmake") << "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\n"
                                                  "add_executable(assay::assay IMPORTED)\n"
                                                  "set_target_properties(assay::assay PROPERTIES IMPORTED_LOCATION \""
                                               << kAssay.string() << "\")\n"
                                               << "include(\"" << ASSAY_SOURCE_DIR << "/cmake/assay_add_gate.cmake\")\n";
  std::ofstream(folder / "assay-config-version.cmake") << "set(PACKAGE_VERSION 0.1)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n";
}

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// A folder that has what a checkout has at its root as far as commands name it: `assay` is the built command, in the folder and in
// PATH. Ledger and home are the document's own; compiled kernels are shared with everybody, as they depend on nothing but themselves.
class Scratch {
 public:
  Scratch() {
    fs::create_directories(folder());
    fs::create_directories(inside("home"));
    fs::create_directories(inside("bin"));
    fs::create_symlink(kAssay, inside("bin/assay"));
    fs::create_symlink(kAssay, folder() / "assay");
    for (const char* name : {"kernels", "tests", "docs"}) fs::create_directory_symlink(kRoot / name, folder() / name);
    write_package(inside("prefix"));
  }
  [[nodiscard]] fs::path folder() const { return inside("scratch"); }
  [[nodiscard]] fs::path inside(const char* name) const { return temporary_.path() / name; }
  [[nodiscard]] std::string environment() const {
    const std::string home = inside("home").string();
    const std::string cache = environment_or("XDG_CACHE_HOME", environment_or("HOME", home) + "/.cache");
    const std::string key = base::user_key_file().string();  // the cache is shared, so its key is as well
    return fmt::format(
        "HOME='{0}' XDG_STATE_HOME='{0}' ASSAY_KEY='{6}' XDG_CACHE_HOME='{1}' PATH='{2}:{3}' CMAKE_PREFIX_PATH='{4}' "
        "GITHUB_STEP_SUMMARY='{5}'",
        home, cache, inside("bin").string(), environment_or("PATH", "/usr/bin:/bin"), inside("prefix").string(),
        inside("summary.md").string(), key);
  }

 private:
  TemporaryFolder temporary_;
};

// One document as a test. Each is a suite of its own, because ctest runs suites in parallel.
class Documentation : public ::testing::Test {
 public:
  explicit Documentation(std::string name) : name_(std::move(name)) {}
  void TestBody() override {
    const Scratch scratch;
    const auto complaints = execute_document(parse_document(read_file(kRoot / name_)), scratch.folder(), scratch.environment());
    EXPECT_THAT(complaints, IsEmpty()) << name_ << ":\n" << fmt::format("{}", fmt::join(complaints, "\n"));
  }

 private:
  std::string name_;
};

const bool kDocumentsAreRegistered = [] {
  for (const std::string& document : documents_with_commands()) {
    std::string name = document.substr(0, document.size() - std::string_view(".md").size());
    for (char& character : name)
      if (std::isalnum(static_cast<unsigned char>(character)) == 0) character = '_';
    ::testing::RegisterTest(("Documentation/" + name).c_str(), "IsWhatHappens", nullptr, nullptr, __FILE__, __LINE__,
                            [document]() -> ::testing::Test* { return new Documentation(document); });
  }
  return true;
}();

TEST(DocumentationCommands, AreInTheDocumentsThatPeopleFollow) {
  EXPECT_TRUE(kDocumentsAreRegistered);
  EXPECT_THAT(documents_with_commands(),
              ::testing::IsSupersetOf({"README.md", "docs/CI.md", "docs/COMMANDS.md", "docs/RUN.md", "docs/TUTORIAL.md"}));
}

// The scripts of the steps of a workflow whose names begin with "assay:", in order.
std::vector<DocumentStep> assay_steps(const std::string& workflow) {
  std::vector<DocumentStep> steps;
  for (const WorkflowStep& step : workflow_steps(workflow)) {
    if (step.name.starts_with("assay:")) steps.push_back({.line = step.line, .command = step.script});
  }
  return steps;
}

// In a project as docs/CI.md describes one. GitHub's own actions are not executed.
TEST(DocumentationCommands, OfTheWorkflowForRustDoWhatTheySay) {
  const std::string workflow = read_file(kRoot / "docs/examples/rust-github-actions.yml");
  const std::vector<DocumentStep> steps = assay_steps(workflow);
  ASSERT_EQ(steps.size(), 3u);
  const std::string environment = " KERNEL=kernels/fwht.metal FAMILY=fwht";
  EXPECT_THAT(workflow, AllOf(HasSubstr("KERNEL: kernels/fwht.metal\n"), HasSubstr("FAMILY: fwht\n")));

  const Scratch scratch;
  const fs::path project = scratch.inside("project");
  fs::create_directories(project / "kernels");
  fs::create_directories(project / "target/traces");
  fs::copy_file(kRoot / "kernels/variants/fwht_v1/kernel.metal", project / "kernels/fwht.metal");
  fs::copy_file(kRoot / "tests/golden/dispatch/fwht.json", project / "target/traces/fwht.json");
  EXPECT_THAT(execute_document(steps, project, scratch.environment() + environment), IsEmpty());
  for (const char* name : {"gate.html", "gate.xml", "gate.sqlite"}) EXPECT_TRUE(fs::exists(project / name)) << name;
  EXPECT_THAT(read_file(scratch.inside("summary.md")), HasSubstr("none of 167 cases failed"));

  // One trace that is wrong fails the step, though the last one is right.
  std::string trace = read_file(project / "target/traces/fwht.json");
  trace.replace(trace.find("\"threadgroups\": [8"), 18, "\"threadgroups\": [7");
  std::ofstream(project / "target/traces/a_wrong_one.json") << trace;
  EXPECT_THAT(execute_document({steps[1]}, project, scratch.environment() + environment),
              ElementsAre(AllOf(HasSubstr("ended with 1, not with 0"), HasSubstr("1 difference from the contract"))));
}

TEST(DocumentationCommands, NoPromptIsLeftOut) {
  for (const std::string& name : documents())
    EXPECT_THAT(unexecuted_prompts(read_file(kRoot / name)), IsEmpty()) << name << ": commands in blocks that are not `console`";
}

}  // namespace
}  // namespace assay::tests::documentation_test
