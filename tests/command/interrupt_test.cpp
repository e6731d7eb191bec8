// Interrupted runs: what they print at once, and what they still report without time to finish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "tests/support/command.h"

namespace assay::tests::interrupt_test {
namespace {

using ::testing::HasSubstr;

// Of the kernel of start_endless(), which ends with one workgroup and never with four.
const std::string kEndless = "kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1";

class CliInterrupt : public Cli {
 protected:
  // Starts the command with its output in a file, as behind a pipe.
  void start(const std::string& arguments) {
    const std::string command =
        std::string("exec '") + ASSAY_BINARY_DIR + "/bin/assay' " + arguments + " > '" + (folder_ / "output").string() + "' 2>&1";
    process_ = fork();
    if (process_ == 0) {
      // A group of its own, as a shell gives to what it starts: the workers belong to it.
      setpgid(0, 0);
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    group_ = process_;
    setpgid(process_, process_);
  }
  void start_endless(const std::string& options = "") {
    const std::string kernel = with("State state = {-FLT_MAX / 2, 0};",
                                    "while (params.nwg == 4) threadgroup_barrier(mem_flags::mem_none); State state = {-FLT_MAX / 2, 0};");
    start("run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 " + kEndless +
          " --jobs 1 --family tq4 --set tile=32 --set temperature=1 " + options + " --kernel '" + kernel + "'");
  }
  void TearDown() override {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      wait_for_end();
    }
    EXPECT_TRUE(is_gone()) << "a worker outlived its supervisor";
    Cli::TearDown();
  }
  std::string output() const { return read_file(folder_ / "output"); }
  // To the whole group, as a terminal does.
  void send(int signal) const { kill(-group_, signal); }
  // Whether every process of the group is gone within seconds; a zombie that is never reaped is not.
  bool is_gone() const {
    for (int i = 0; i < 100; ++i) {
      if (kill(-group_, 0) != 0 && errno == ESRCH) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  // Processes of the group, as ps sees them; what compiles for them is not counted.
  int group_size() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") == std::string::npos && getpgid(std::stoi(name)) == group_ &&
          read_file(entry.path() / "comm") == "assay\n")
        ++count;
    }
    return count;
  }
  bool wait_for(const std::string& text) const {
    for (int i = 0; i < 900; ++i) {
      if (output().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  int wait_for_end() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  pid_t process_ = -1;
  pid_t group_ = -1;
};

// The supervisor, a worker, and the process of its kernels.
constexpr int kProcesses = 3;

TEST_F(CliInterrupt, AnEndlessCaseIsNamedAndNothingIsLost) {
  start_endless();
  EXPECT_TRUE(wait_for("assay: " + kEndless + " has been running for 1")) << output();
  EXPECT_THAT(output(), HasSubstr("its time limit is 60 s"));
  EXPECT_THAT(output(), HasSubstr("additional field tile, temperature")) << "notes are not to wait for a verdict";
  EXPECT_EQ(group_size(), kProcesses) << "a supervisor, a worker and the process of its kernels";

  send(SIGINT);
  EXPECT_TRUE(wait_for("assay: stopping after the running cases; press Ctrl-C again to stop at once\n")) << output();
  EXPECT_EQ(waitpid(process_, nullptr, WNOHANG), 0) << "the first is to wait for the case";
  EXPECT_EQ(group_size(), kProcesses) << "the worker is to go on";

  send(SIGINT);
  EXPECT_EQ(wait_for_end(), 130);
  EXPECT_TRUE(is_gone());
  const std::string text = output();
  for (const std::string& part :
       {"no verdict for " + kEndless + ", which had been running for ", std::string("stopped: 1 of 2 selected cases were run"),
        std::string("1 case: 1 passed, 0 failed; 512 elements compared")}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const std::size_t stopping = text.find("stopping after");
  EXPECT_EQ(text.find("stopping after", stopping + 1), std::string::npos) << "said by a worker too:\n" << text;
}

TEST_F(CliInterrupt, ASigtermEndsAtOnceAndLeavesNoProcess) {
  start_endless("--timeout 0");
  EXPECT_TRUE(wait_for("it has no time limit")) << output();
  send(SIGTERM);
  EXPECT_EQ(wait_for_end(), 130);
  EXPECT_TRUE(is_gone());
  EXPECT_THAT(output(), HasSubstr("no verdict for " + kEndless));
}

TEST_F(CliInterrupt, AKilledSupervisorLeavesNoProcess) {
  start_endless();
  for (int i = 0; i < 900 && group_size() != kProcesses; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  ASSERT_EQ(group_size(), kProcesses);
  kill(process_, SIGKILL);
  wait_for_end();
  EXPECT_TRUE(is_gone());
}

TEST_F(CliInterrupt, ATimeLimitEndsAnEndlessCase) {
  start_endless("--timeout 0.5");
  EXPECT_EQ(wait_for_end(), 1) << output();
  EXPECT_TRUE(is_gone());
  for (const std::string& text : {"timeout " + kEndless, std::string("no verdict within 0.5 s, the time limit of a case"),
                                  std::string("--timeout 0.5"), std::string("2 cases: 1 passed, 1 failed (of these 1 timeout)")}) {
    EXPECT_THAT(output(), HasSubstr(text));
  }
}

// Ctrl-Z, and fg later.
TEST_F(CliInterrupt, TimeInWhichARunStoodStillDoesNotCount) {
  start_endless("--timeout 2");
  for (int i = 0; i < 900 && group_size() != kProcesses; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  send(SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  send(SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(waitpid(process_, nullptr, WNOHANG), 0) << output();
  EXPECT_EQ(wait_for_end(), 1) << output();
}

TEST_F(CliInterrupt, TheFirstFinishesRunningCasesAndSumsUp) {
  start("run gate --family reduce --jobs 1");
  ASSERT_TRUE(wait_for("100 of ")) << output();
  kill(process_, SIGINT);
  EXPECT_EQ(wait_for_end(), 130);
  for (const char* text : {"stopping after the running cases", " selected cases were run", " 0 failed", "output digest"})
    EXPECT_THAT(output(), HasSubstr(text));
}

}  // namespace
}  // namespace assay::tests::interrupt_test
