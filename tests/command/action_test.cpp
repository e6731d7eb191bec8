// action.yml, as far as a shell can execute it: the scripts of its steps, with the environment that GitHub gives them and a stand-in for
// `gh` (mock/gh), which keeps the comments of a pull request in a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/command/workflow_steps.h"
#include "tests/support/command.h"

namespace assay::tests::action_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

using Values = std::map<std::string, std::string>;

std::string in_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

class GitHubAction : public TestInFolder {
 protected:
  void SetUp() override {
    steps_ = workflow_steps(read_file(kRoot / "action.yml"));
    for (const char* name : {"home/.assay-action/bin", "bin", "temp", "workspace/.git", "workspace/kernels", "action"})
      fs::create_directories(folder_ / name);
    fs::create_symlink(fs::path(ASSAY_BINARY_DIR) / "bin/assay", folder_ / "home/.assay-action/bin/assay");
    write(read_file(kRoot / "tests/kernels/reduce_without_barrier.metal"), "workspace/kernels/rows.metal");
    executable(read_file(kRoot / "tests/command/mock/gh"), "bin/gh");
    write("[]", "comments");
  }
  void executable(const std::string& text, const std::string& name) const {
    write(text, name);
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  [[nodiscard]] const WorkflowStep& step(const std::string& name) const {
    for (const WorkflowStep& one : steps_) {
      if (one.name == "assay: " + name) return one;
    }
    throw std::out_of_range("no step " + name);
  }
  // As a runner does: bash with -eo pipefail, in the workspace.
  [[nodiscard]] Outcome execute(const std::string& name, const Values& values, const std::string& action) const {
    const WorkflowStep& chosen = step(name);
    std::string command = "cd " + in_shell((folder_ / "workspace").string()) + " && env";
    Values environment = evaluated(chosen, values);
    environment.insert({{"HOME", (folder_ / "home").string()},
                        {"XDG_CACHE_HOME", cache()},
                        {"XDG_STATE_HOME", state()},
                        {"PATH", (folder_ / "bin").string() + ":" + std::getenv("PATH")},
                        {"GITHUB_WORKSPACE", (folder_ / "workspace").string()},
                        {"GITHUB_ACTION_PATH", action},
                        {"GITHUB_OUTPUT", (folder_ / "outputs").string()},
                        {"GITHUB_STEP_SUMMARY", (folder_ / "summary.md").string()},
                        {"GITHUB_REPOSITORY", "me/project"},
                        {"GITHUB_SERVER_URL", "https://github.com"},
                        {"GITHUB_RUN_ID", "99"},
                        {"RUNNER_TEMP", (folder_ / "temp").string()},
                        {"COMMENTS", (folder_ / "comments").string()}});
    for (const auto& [variable, value] : environment) command += " " + variable + "=" + in_shell(value);
    return run_command(command + " bash --noprofile --norc -eo pipefail " + in_shell(write(chosen.script, "script.sh")));
  }
  [[nodiscard]] Outcome execute(const std::string& name, const Values& values) const { return execute(name, values, kRoot.string()); }
  // The folders of this process: kernels that are compiled once, and the key that seals them.
  static std::string cache() {
    const char* const folder = std::getenv("XDG_CACHE_HOME");
    return folder != nullptr ? folder : std::string(std::getenv("HOME")) + "/.cache";
  }
  static std::string state() {
    const char* const folder = std::getenv("XDG_STATE_HOME");
    return folder != nullptr ? folder : std::string(std::getenv("HOME")) + "/.local/state";
  }
  [[nodiscard]] Values outputs() const {
    Values result;
    std::istringstream lines(read_file(folder_ / "outputs"));
    for (std::string line; std::getline(lines, line);)
      result["steps.run.outputs." + line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
    return result;
  }
  [[nodiscard]] nlohmann::json comments() const { return nlohmann::json::parse(read_file(folder_ / "comments")); }
  [[nodiscard]] Outcome comment(const std::string& text) const {
    write(text, "temp/assay.md");
    return execute("comment", {{"inputs.token", "secret"},
                               {"github.event.pull_request.number", "12"},
                               {"inputs.name", "assay"},
                               {"steps.run.outputs.folder", (folder_ / "temp").string()}});
  }
  static bool has_jq() { return run_command("jq --version").status == 0; }

  static Values inputs() {
    return {{"inputs.kernel", "kernels/rows.metal"},
            {"inputs.family", "reduce"},
            {"inputs.cases", "rows/d256/rows1/nwg2/gauss/s692"},
            {"inputs.trust", ""},
            {"inputs.triage", "false"},
            {"inputs.arguments", ""},
            {"inputs.name", "assay"},
            {"github.event.pull_request.number", "12"},
            {"inputs.comment", "true"}};
  }

  std::vector<WorkflowStep> steps_;
};

TEST_F(GitHubAction, RunsAssayAndPassesItsVerdictOn) {
  const Outcome run = execute("run", inputs());
  EXPECT_EQ(run.status, 0) << "later steps comment and keep the files: " << run.output;
  EXPECT_THAT(run.output, HasSubstr("\n::error file=kernels/rows.metal,line=28,title=rows%3A race between simdgroups::"));
  EXPECT_THAT(read_file(folder_ / "summary.md"), StartsWith("## assay: 1 of 1 case failed"));
  EXPECT_EQ(outputs().at("steps.run.outputs.status"), "1");
  for (const char* name : {"assay.md", "assay.html", "assay.xml", "assay.sarif", "assay.sqlite", "annotations.txt"})
    EXPECT_TRUE(fs::file_size(fs::path(outputs().at("steps.run.outputs.folder")) / name) > 0) << name;
  EXPECT_EQ(execute("verdict", outputs()).status, 1);
  EXPECT_EQ(execute("verdict", {{"steps.run.outputs.status", ""}}).status, 2) << "the run did not even begin";
}

TEST_F(GitHubAction, SaysWhyNothingWasRun) {
  Values values = inputs();
  values["inputs.family"] = "nonsense";
  EXPECT_EQ(execute("run", values).status, 0);
  EXPECT_THAT(read_file(folder_ / "summary.md"), StartsWith("## assay: nothing was run\n\n`assay run` ended with status 2"));
  EXPECT_EQ(execute("verdict", outputs()).status, 2);
}

// Words of inputs are arguments, whatever they contain, and reports come last so that none of them can move one.
TEST_F(GitHubAction, InputsAreArgumentsAndNoScript) {
  fs::remove(folder_ / "home/.assay-action/bin/assay");
  executable("#!/bin/sh\nprintf '<%s>\\n' \"$@\"\nexit 4\n", "home/.assay-action/bin/assay");
  Values values = inputs();
  values["inputs.kernel"] = "-k $(touch made) `touch made` '\"; touch made; #";
  values["inputs.cases"] = "smoke\n  a/*/`made`;$(made)";
  values["inputs.trust"] = "base kernels";
  values["inputs.triage"] = "true";
  values["inputs.arguments"] = "--policy checked";
  const std::string folder = (folder_ / "temp/assay-assay/").string();
  EXPECT_THAT(
      execute("run", values).output,
      StartsWith(
          "<run>\n<smoke>\n<a/*/`made`;$(made)>\n<--policy>\n<checked>\n<--kernel=-k $(touch made) `touch made` '\"; touch made; #>\n"
          "<--strict>\n<--family=reduce>\n<--trust=base kernels>\n<--triage>\n<--ledger>\n<" +
          folder + "assay.sqlite>\n<--markdown>\n<" + folder + "assay.md>\n"));
  EXPECT_EQ(outputs().at("steps.run.outputs.status"), "4");
  EXPECT_FALSE(fs::exists(folder_ / "workspace/made"));
  values["inputs.name"] = "../../x";
  EXPECT_EQ(execute("run", values).status, 2);
  for (const WorkflowStep& one : steps_) EXPECT_THAT(one.script, Not(HasSubstr("${{"))) << one.name;
}

TEST_F(GitHubAction, CommentsOnceAndChangesItsOwnCommentOnly) {
  if (!has_jq()) GTEST_SKIP() << "jq is not installed (Debian: jq)";
  write(R"([{"id": "other", "viewerDidAuthor": false, "body": "<!-- assay: assay -->\nof somebody else"},
            {"id": "second", "viewerDidAuthor": true, "body": "<!-- assay: other-kernel -->\n"},
            {"id": "plain", "viewerDidAuthor": true, "body": "text"}])",
        "comments");
  const auto before = comments();
  EXPECT_EQ(comment("first\n").status, 0);
  ASSERT_EQ(comments().size(), 4u);
  EXPECT_EQ(comments()[3]["body"],
            "<!-- assay: assay -->\nfirst\n\n[Log, annotations and files of this job](https://github.com/me/project/actions/runs/99)");
  const Outcome second = comment("second $(touch made) \"quoted\" @file\n");
  EXPECT_EQ(second.status, 0) << second.output;
  ASSERT_EQ(comments().size(), 4u);
  EXPECT_THAT(comments()[3]["body"].get<std::string>(), StartsWith("<!-- assay: assay -->\nsecond $(touch made) \"quoted\" @file\n"));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(comments()[i], before[i]);
  EXPECT_FALSE(fs::exists(folder_ / "workspace/made"));
}

TEST_F(GitHubAction, ARefusedCommentIsAWarning) {
  write("", "comments.refuse");
  const Outcome outcome = comment("text\n");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("::warning title=assay::GitHub refused the comment on pull request 12"));
  EXPECT_EQ(comments().size(), 0u);
}

TEST_F(GitHubAction, BuildsOnceForEachSourceOfAssay) {
  const std::string action = (folder_ / "action").string();
  const auto key = [&] {
    fs::remove(folder_ / "outputs");
    EXPECT_EQ(execute("key of the cache", {}, action).status, 0);
    return outputs().at("steps.run.outputs.key");
  };
  executable("#!/bin/sh\necho \"assay $*\"\n", "action/assay");
  executable("#!/bin/sh\necho \"$PWD: cmake $*\"\n", "bin/cmake");
  const std::string before = key();
  EXPECT_THAT(before, MatchesRegex("assay-[a-z]+-[0-9.]*-[a-z0-9_]+-[0-9a-f]+"));
  fs::create_directories(folder_ / "action/build");
  write("x", "action/build/result");
  EXPECT_EQ(key(), before) << "what is built is no source";
  write("x", "action/further");
  EXPECT_NE(key(), before);

  EXPECT_EQ(execute("packages", inputs(), action).output, "assay install-deps\n");
  fs::remove(folder_ / "bin/gh");
  if (run_command("command -v gh").status != 0) {
    for (const char* name : {"apt-get", "sudo"})
      executable(std::string("#!/bin/sh\necho \"") + name + " $*\"\n", std::string("bin/") + name);
    EXPECT_THAT(execute("packages", inputs(), action).output, EndsWith("apt-get install -q -y --no-install-recommends gh\n"));
    Values push = inputs();
    push["github.event.pull_request.number"] = "";
    EXPECT_EQ(execute("packages", push, action).output, "assay install-deps\n") << "without a pull request nothing is commented";
  }
  const Outcome build = execute("build", {}, action);
  EXPECT_EQ(build.output, action + ": cmake --preset release -DASSAY_TESTS=OFF -DASSAY_X86_64_V3=OFF\n" + action +
                              ": cmake --build build/release\n" + action + ": cmake --install build/release --prefix " +
                              (folder_ / "home/.assay-action").string() + "\n");
  executable("#!/bin/sh\nexit 3\n", "bin/cmake");
  EXPECT_EQ(execute("build", {}, action).status, 3);
}

// What stands between "{{ <context>." and the next blank or bracket, all over a file.
std::set<std::string> names_in(const std::string& text, const std::string& context) {
  std::set<std::string> names;
  const std::regex name(context + R"(\.([a-z-]+))");
  for (auto it = std::sregex_iterator(text.begin(), text.end(), name); it != std::sregex_iterator(); ++it) names.insert((*it)[1]);
  return names;
}

TEST_F(GitHubAction, ItsInputsAreThoseThatAreUsedAndDocumented) {
  const std::string action = read_file(kRoot / "action.yml");
  const auto keys = [&](const std::string& from, const std::string& to) {
    std::set<std::string> names;
    std::istringstream lines(action.substr(action.find(from), action.find(to) - action.find(from)));
    static const std::regex key("  ([a-z]+):");
    std::smatch found;
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_match(line, found, key)) names.insert(found[1]);
    }
    return names;
  };
  const std::set<std::string> declared = keys("\ninputs:", "\noutputs:");
  EXPECT_EQ(names_in(action, "inputs"), declared);
  const std::string document = read_file(kRoot / "docs/PULL_REQUESTS.md");
  for (const std::string& name : declared) EXPECT_THAT(document, HasSubstr("`" + name + "`"));

  const std::string example = read_file(kRoot / "docs/examples/pull-request-github-actions.yml");
  std::size_t uses = 0;
  for (const WorkflowStep& one : workflow_steps(example)) {
    if (!one.uses.starts_with("OWNER/assay@")) continue;
    ++uses;
    for (const auto& [name, value] : one.inputs) EXPECT_TRUE(declared.contains(name)) << name;
    EXPECT_TRUE(one.inputs.contains("kernel"));
  }
  EXPECT_EQ(uses, 1u);
  EXPECT_THAT(keys("\noutputs:", "\nruns:"), IsSupersetOf(names_in(example, "steps.assay.outputs")));
}

// Only the step that comments sees the token, and steps after a failed one are those that tell of it.
TEST_F(GitHubAction, TheTokenIsOfOneStep) {
  for (const WorkflowStep& one : steps_) {
    const bool has_token =
        std::ranges::any_of(one.environment, [](const auto& entry) { return entry.second.find("token") != std::string::npos; });
    EXPECT_EQ(has_token, one.name == "assay: comment") << one.name;
  }
  for (const char* name : {"comment", "verdict"}) EXPECT_THAT(step(name).condition, HasSubstr("!cancelled()"));
}

}  // namespace
}  // namespace assay::tests::action_test
