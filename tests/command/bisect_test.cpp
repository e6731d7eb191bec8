// `assay bisect` on a small repository: what it finds, what it refuses, and that the user's checkout stays as it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/command.h"

namespace assay::tests::bisect_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

// A repository in a folder with a name that a shell would split. Its kernel includes another file of it:
//
//   none      there is no kernel
//   good      it is right
//   about     not about the kernel
//   broken    it does not compile
//   comment   it is right
//   bad       the included file is wrong
//   later
class CliBisect : public TestInFolder {
 protected:
  void SetUp() override {
    if (run_command("git --version").status != 0) GTEST_SKIP() << "there is no git";
    fs::create_directories(repository_ / "kernels/common");
    fs::create_directories(folder_ / "tmp");
    git("init --quiet --initial-branch=main");
    put("README", "nothing yet\n");
    commit("none");
    const std::string kernel = replaced_once(source_of("fwht_v1"), "rsqrt(float(D))", "norm(float(D))");
    put("kernels/mine.metal", replaced_once(kernel, "using namespace metal;", "using namespace metal;\n#include \"common/norm.h\""));
    put("kernels/common/norm.h", "inline float norm(float d) { return rsqrt(d); }\n");
    commit("good");
    put("README", "about\n");
    commit("about");
    put("kernels/common/norm.h", "#error broken\n");
    commit("broken");
    put("kernels/common/norm.h", "// A comment.\ninline float norm(float d) { return rsqrt(d); }\n");
    commit("comment");
    put("kernels/common/norm.h", "// A comment.\ninline float norm(float d) { return 1.001f * rsqrt(d); }\n");
    commit("$(touch hacked) \x1b[31mbad\n\n::error::");
    git("tag bad");
    put("README", "later\n");
    commit("later");
  }
  void put(const std::string& name, const std::string& text) const { std::ofstream(repository_ / name) << text; }
  Outcome git(const std::string& arguments) const {
    Outcome outcome = run_command("HOME='" + folder_.string() + "' git -C '" + repository_.string() +
                                  "' -c user.name=Somebody -c user.email=somebody@example.org " + arguments);
    EXPECT_EQ(outcome.status, 0) << arguments << "\n" << outcome.output;
    return outcome;
  }
  void commit(const std::string& message) const {
    std::ofstream(folder_ / "message") << message;
    git("add .");
    git("commit --quiet --file '" + (folder_ / "message").string() + "'");
    if (message.find(' ') == std::string::npos) git("tag -f " + message);
  }
  std::string command(const std::string& good, const std::string& bad, const std::string& further) const {
    return "cd '" + (repository_ / "kernels").string() + "' && exec env TMPDIR='" + (folder_ / "tmp").string() + "' '" + ASSAY_BINARY_DIR +
           "/bin/assay' bisect --family fwht --kernel mine.metal --good='" + good + "' --bad='" + bad + "' fwht_v1/d256/h1/undo/gauss/s1 " +
           further;
  }
  Outcome bisect(const std::string& good, const std::string& bad, const std::string& further = "--no-compare") const {
    return run_command(command(good, bad, further));
  }
  // Of the user's repository, whatever assay could have changed in it.
  std::string state() const {
    return git("status --porcelain=v2 --branch").output + git("worktree list").output + git("for-each-ref").output +
           git("stash list").output;
  }

  fs::path repository_ = folder_ / "a repository";
};

TEST_F(CliBisect, FindsTheCommitAndComparesBeforeAndAfter) {
  put("README", "not committed\n");
  const std::string before = state();
  const Outcome found = bisect("good", "bad", "");  // four commits, of which the second is tried first
  EXPECT_EQ(found.status, 0) << found.output;
  EXPECT_THAT(found.output,
              AllOf(ContainsRegex("good [0-9a-f]+ good \\(0 of 1 case failed\\)"),
                    ContainsRegex("4 commits left; skip [0-9a-f]+ broken \\(it does not compile, or cannot be run\\)"),
                    ContainsRegex("bad [0-9a-f]+ \\$\\(touch hacked\\).*\\(1 of 1 case failed\\)"), HasSubstr("common/norm.h | 2 +-"),
                    HasSubstr("\nbroke: 1\n"), HasSubstr("new after/kernels/common/norm.h:2:")));
  // The message of a commit is a foreign text.
  EXPECT_THAT(found.output, AllOf(HasSubstr("$(touch hacked) \\x1b[31mbad"), Not(HasSubstr("\x1b"))));
  EXPECT_FALSE(fs::exists(repository_ / "kernels/hacked"));
  EXPECT_EQ(state(), before);
  EXPECT_EQ(read_file(repository_ / "README"), "not committed\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
}

TEST_F(CliBisect, SaysWhichCommitsRemainWhereOneCannotBeJudged) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{{"inline float norm(float d) { return rsqrt(d); }\n", "right"},
                                                        {"#error broken\n", "not"},
                                                        {"inline float norm(float d) { return 2 * rsqrt(d); }\n", "wrong"}}) {
    put("kernels/common/norm.h", text);
    commit(message);
  }
  const Outcome unsure = bisect("right", "wrong");
  EXPECT_EQ(unsure.status, 1) << unsure.output;
  EXPECT_THAT(unsure.output, AllOf(HasSubstr("the first bad commit is one of these"), ContainsRegex("\n  [0-9a-f]+ not\n"),
                                   ContainsRegex("\n  [0-9a-f]+ wrong\n")));
}

TEST_F(CliBisect, RefusesWhatIsNotAsTheUserSays) {
  const std::string before = state();
  for (const auto& [good, bad, why] : std::vector<std::array<std::string, 3>>{
           {"bad", "later", "--good bad is not good: 1 of 1 case failed"},
           {"good", "comment", "--bad comment is not bad: 0 of 1 case failed"},
           {"none", "later", "--good none cannot be judged: there is no mine.metal"},
           {"good", "broken", "--bad broken cannot be judged: it does not compile"},
           {"later", "good", "--bad good is older than --good later"},
           {"good", "good", "are the same commit"},
           {"nonsense", "later", "'nonsense' is not a revision of the repository"},
           {"good", "--output=x", "'--output=x' is not a revision of the repository"},
       }) {
    const Outcome refused = bisect(good, bad);
    EXPECT_EQ(refused.status, 2) << good << " " << bad;
    EXPECT_THAT(refused.output, HasSubstr(why));
  }
  EXPECT_THAT(bisect("good", "broken").output, HasSubstr("#error broken")) << "the compiler's message is shown";
  const Outcome nowhere =
      run_command("cd '" + folder_.string() + "' && '" ASSAY_BINARY_DIR "/bin/assay' bisect --kernel x.metal --good a --bad b");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.output, HasSubstr("is not in a working tree of git"));
  EXPECT_EQ(state(), before);
}

TEST_F(CliBisect, LeavesABisectionOfTheUserAlone) {
  git("bisect start later good");
  const std::string before = state();
  EXPECT_EQ(bisect("good", "later").status, 0);
  EXPECT_EQ(state(), before);
  git("bisect reset");
}

TEST_F(CliBisect, CleansUpWhenItIsInterrupted) {
  const std::string before = state();
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t process = fork();
    if (process == 0) {
      setpgid(0, 0);
      execl("/bin/sh", "sh", "-c", (command("good", "later", "> /dev/null 2>&1")).c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    // While a commit is judged. To all of the group, as a terminal does; SIGTERM to the command alone, as `timeout` does.
    for (int i = 0; i < 600 && run_command("ls '" + (folder_ / "tmp").string() + "'/assay-*/after/kernels/mine.metal").status != 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    kill(signal == SIGINT ? -process : process, signal);
    int status = 0;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 130);
    EXPECT_TRUE(fs::is_empty(folder_ / "tmp"));
    EXPECT_EQ(state(), before);
  }
}

}  // namespace
}  // namespace assay::tests::bisect_test
