// `assay watch`: a verdict whenever a kernel is saved, on a terminal of the test's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/command.h"

namespace assay::tests::watch_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};  // of a test on a busy machine
const std::string kLeft = "\x1b[?7h\x1b[?25h\x1b[?1049l";

// The command on a terminal. Without a keyboard it prints lines.
class CliWatch : public TestInFolder {
 protected:
  void start(const std::string& arguments, bool has_keyboard = true) {
    winsize size = {24, 80, 0, 0};
    const std::string command = std::string("exec '") + ASSAY_BINARY_DIR + "/bin/assay' watch '" + kernel() + "' --family fwht " +
                                "--ledger '" + (folder_ / "ledger.sqlite").string() + "' " + arguments +
                                (has_keyboard ? "" : " < /dev/null");
    process_ = forkpty(&terminal_, nullptr, nullptr, &size);
    ASSERT_GE(process_, 0);
    if (process_ == 0) {
      setenv("TERM", "xterm", 1);
      setenv("NO_COLOR", "1", 1);
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    // This process keeps the terminal open, so that its modes can be read when the command has ended.
    std::array<char, 64> name{};
    ASSERT_EQ(ptsname_r(terminal_, name.data(), name.size()), 0);
    own_end_ = open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_EQ(tcgetattr(own_end_, &before_), 0);
  }
  void TearDown() override {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(own_end_);
    close(terminal_);
  }

  std::string kernel() const { return (folder_ / "kernel.metal").string(); }
  // Saves as most editors do.
  void save(const std::string& text, const std::string& name = "kernel.metal") {
    output_.clear();
    fs::rename(write(text, name + ".new"), folder_ / name);
  }
  void press(const std::string& keys) {
    output_.clear();
    ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  // Reads what the command writes until this text comes, then what comes with it.
  bool shows(const std::string& text) {
    const auto end = Clock::now() + kPatience;
    while (output_.find(text) == std::string::npos) {
      if (Clock::now() > end || !read_some(std::chrono::seconds(1))) return false;
    }
    return true;
  }
  // The exit status; -1 if it ended in another way, -2 if it did not.
  int status() {
    const auto end = Clock::now() + kPatience;
    int status = 0;
    while (waitpid(process_, &status, WNOHANG) == 0) {
      if (Clock::now() > end) return -2;
      read_some(std::chrono::milliseconds(20));
    }
    process_ = -1;
    read_some(std::chrono::milliseconds(20));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  // Whether every process of the command is gone within seconds.
  static bool is_gone(pid_t session) {
    for (int i = 0; i < 100; ++i) {
      if (kill(-session, 0) != 0 && errno == ESRCH) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  bool is_terminal_restored() {
    termios now = {};
    return tcgetattr(own_end_, &now) == 0 && now.c_lflag == before_.c_lflag && std::ranges::equal(now.c_cc, before_.c_cc) &&
           output_.ends_with(kLeft);
  }

  static std::string right() { return source_of("fwht_v1"); }
  // Wrong for more than one head.
  static std::string wrong() { return replaced_once(right(), "rsqrt(float(D))", "rsqrt(float(D)) * (params.num_heads > 1 ? 2.0f : 1.0f)"); }
  static std::string without_end() {
    return replaced_once(right(), "const float scale =",
                         "while (params.num_heads > 0) threadgroup_barrier(mem_flags::mem_none);\n"
                         "    const float scale =");
  }

  pid_t process_ = -1;
  int terminal_ = -1, own_end_ = -1;
  std::string output_;

 private:
  bool read_some(std::chrono::milliseconds longest) {
    pollfd readable{terminal_, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(longest.count())) <= 0) return true;
    std::array<char, 4096> bytes{};
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());
    if (count > 0) output_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  termios before_ = {};
};

const std::string kTwo = "fwht_v1/d256/h1/undo/gauss/s1 fwht_v1/d256/h2/undo/gauss/s1 ";

TEST_F(CliWatch, PrintsABlockOfLinesForEachSave) {
  write(right());
  start(kTwo, false);
  ASSERT_TRUE(shows("PASSED: 2 passed of 2 cases; ")) << output_;
  save(wrong());
  ASSERT_TRUE(shows("FAILED: 1 passed, 1 failed of 2 cases; ")) << output_;
  EXPECT_THAT(output_, AllOf(HasSubstr("checking " + kernel() +
                                       "\r\nfailed kernel/d256/h2/undo/gauss/s1\r\n  512 elements above their bound\r\n  row "),
                             HasSubstr(", error/bound "), Not(HasSubstr("\x1b"))));
  // The next check begins with what failed.
  save(replaced_once(right(), "rsqrt(float(D))", "rsqrt(flt(D))"));
  ASSERT_TRUE(shows("COMPILE ERROR; ")) << output_;
  EXPECT_THAT(output_, HasSubstr("/kernel.metal:89: error: use of undeclared identifier 'flt'"));
  save(right());
  ASSERT_TRUE(shows("PASSED: 2 passed of 2 cases; ")) << output_;
  output_.clear();
  fs::remove(kernel());
  ASSERT_TRUE(shows("WAITING: the file does not exist now\r\n")) << output_;
  write(wrong());
  ASSERT_TRUE(shows("FAILED: 1 passed, 1 failed of 2 cases; ")) << output_;
  kill(process_, SIGTERM);
  EXPECT_EQ(status(), 130);
  EXPECT_THAT(run_assay("history kernel/d256/h2/undo/gauss/s1 --ledger '" + (folder_ / "ledger.sqlite").string() + "'").output,
              AllOf(HasSubstr("passed"), HasSubstr("failed")));
}

TEST_F(CliWatch, FollowsWhatTheKernelIncludes) {
  fs::create_directory(folder_ / "common");
  write("inline float norm(float d) { return rsqrt(d); }\n", "common/norm.h");
  const std::string including = replaced_once(right(), "using namespace metal;", "using namespace metal;\n#include \"common/norm.h\"");
  write(replaced_once(including, "rsqrt(float(D))", "norm(float(D))"));
  start(kTwo, false);
  ASSERT_TRUE(shows("PASSED: 2 passed")) << output_;
  save("inline float norm(float d) { return 2 * rsqrt(d); }\n", "common/norm.h");
  ASSERT_TRUE(shows("FAILED: 2 failed")) << output_;
  // A file that is included from now on, and does not exist yet.
  save("#include \"more.h\"\ninline float norm(float d) { return kFactor * rsqrt(d); }\n", "common/norm.h");
  ASSERT_TRUE(shows("COMPILE ERROR")) << output_;
  save("constant float kFactor = 1;\n", "common/more.h");
  ASSERT_TRUE(shows("PASSED: 2 passed")) << output_;
  save("constant float kFactor = 3;\n", "common/more.h");
  ASSERT_TRUE(shows("FAILED: 2 failed")) << output_;
  kill(process_, SIGINT);
  EXPECT_EQ(status(), 130);
}

TEST_F(CliWatch, StopsARunWhenTheFileIsSavedAgain) {
  write(without_end());
  start("--timeout 0 " + kTwo, false);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  save(right());
  ASSERT_TRUE(shows("stopped, because a file was saved again\r\n")) << output_;
  ASSERT_TRUE(shows("PASSED: 2 passed")) << output_;
  save(without_end());
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  const pid_t session = process_;
  kill(process_, SIGTERM);
  EXPECT_EQ(status(), 130);
  EXPECT_TRUE(is_gone(session)) << "a worker outlived the command";
}

TEST_F(CliWatch, ShowsOneScreenAndObeysKeys) {
  write(wrong());
  start(kTwo);
  ASSERT_TRUE(shows("  FAILED   1 passed, 1 failed of 2 cases\x1b[K")) << output_;
  EXPECT_THAT(output_, AllOf(HasSubstr("\x1b[?1049h"), HasSubstr("kernel.metal"), HasSubstr("q quit"), Not(HasSubstr(kLeft))));
  press("e");
  ASSERT_TRUE(shows("press any key to return to the screen\r\n")) << output_;
  EXPECT_THAT(output_, AllOf(HasSubstr(kLeft), HasSubstr("$ assay explain kernel/d256/h2/undo/gauss/s1 --kernel"), HasSubstr("rounding")));
  press(" ");
  ASSERT_TRUE(shows("  FAILED   1 passed, 1 failed of 2 cases\x1b[K")) << output_;
  save(right());
  ASSERT_TRUE(shows("  PASSED   2 passed of 2 cases\x1b[K")) << output_;
  press("t");
  EXPECT_TRUE(shows("no case has failed in this check")) << output_;
  output_.clear();
  const winsize small = {12, 40, 0, 0};
  ASSERT_EQ(ioctl(terminal_, TIOCSWINSZ, &small), 0);
  EXPECT_TRUE(shows("e explain t triage g gate r run q quit\x1b[K")) << output_;
  press("r");
  EXPECT_TRUE(shows("  PASSED   2 passed of 2 cases\x1b[K")) << output_;
  press("q");
  EXPECT_EQ(status(), 0);
  EXPECT_TRUE(is_terminal_restored()) << output_;
}

TEST_F(CliWatch, RestoresTheTerminalWhateverEndsIt) {
  write("kernel void f( { /* \x1b[2J\x07 */ }\n#error \x1b[31mred\n");
  for (const int signal : {SIGTERM, SIGHUP, 0}) {
    start("");
    ASSERT_TRUE(shows("COMPILE ERROR")) << output_;
    EXPECT_THAT(output_, AllOf(Not(HasSubstr("\x1b[2J")), Not(HasSubstr("\x1b[31m")), Not(HasSubstr("\x07"))));
    // Ctrl-C arrives as the key that it is.
    if (signal == 0)
      press("\x03");
    else
      kill(process_, signal);
    EXPECT_EQ(status(), 130) << signal;
    EXPECT_TRUE(is_terminal_restored()) << signal << output_;
    close(own_end_);
    close(terminal_);
    output_.clear();
  }
  own_end_ = terminal_ = -1;
}

TEST_F(CliWatch, CtrlCStopsTheCommandOfAKeyAlone) {
  write(wrong());
  start(kTwo);
  ASSERT_TRUE(shows("  FAILED   1 passed, 1 failed of 2 cases\x1b[K")) << output_;
  press("t");
  ASSERT_TRUE(shows("$ assay triage kernel/d256/h2/undo/gauss/s1 --kernel")) << output_;
  press("\x03");
  ASSERT_TRUE(shows("press any key to return to the screen")) << output_;
  press("x");
  ASSERT_TRUE(shows("  FAILED   1 passed, 1 failed of 2 cases\x1b[K")) << output_;
  press("q");
  EXPECT_EQ(status(), 0);
}

TEST_F(CliWatch, EndsWhenNobodyReadsItsLines) {
  write(right());
  const Outcome outcome = run_command("timeout 50 bash -o pipefail -c \"'" ASSAY_BINARY_DIR "/bin/assay' watch '" + kernel() +
                                      "' --family fwht --ledger none " + kTwo + " < /dev/null | head -n 1\"");
  EXPECT_THAT(outcome.output, StartsWith("checking " + kernel() + "\n"));
  EXPECT_NE(outcome.status, 124) << "it went on";
}

TEST_F(CliWatch, RefusesWhatNoEditMends) {
  const std::string nowhere = "watch '" + (folder_ / "nowhere.metal").string() + "' --family fwht";
  EXPECT_EQ(run_assay(nowhere).status, 2);
  write(right());
  EXPECT_THAT(run_assay("watch '" + kernel() + "' --family fwth < /dev/null").output, HasSubstr("fwth"));
  EXPECT_EQ(run_assay("watch").status, 2);
  EXPECT_EQ(run_assay("watch '" + kernel() + "' --family fwht --set rows < /dev/null").status, 2);
}

}  // namespace
}  // namespace assay::tests::watch_test
