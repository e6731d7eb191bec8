// A run that somebody stops: what it says at once, and what it still tells when it is not given the time to finish.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "tests/unit/cli_command.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class CliInterrupt : public Cli {
 protected:
  // Starts the command with its output in a file, as behind a pipe.
  void start(const std::string& arguments) {
    const std::string command =
        std::string("exec '") + ASSAY_BINARY_DIR + "/bin/assay' " + arguments + " > '" + (folder_ / "output").string() + "' 2>&1";
    process_ = fork();
    if (process_ == 0) {
      execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
  }
  void TearDown() override {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      wait_for_end();
    }
    Cli::TearDown();
  }
  std::string output() const { return read_file(folder_ / "output"); }
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
};

// Ends with one workgroup, never with four.
TEST_F(CliInterrupt, AnEndlessCaseIsNamedAndNothingIsLost) {
  const std::string kernel = with("State state = {-FLT_MAX / 2, 0};",
                                  "while (params.nwg == 4) threadgroup_barrier(mem_flags::mem_none); State state = {-FLT_MAX / 2, 0};");
  const std::string endless = "kernel/d256/h2x2/kv33c33/ring0/nomask/nwg4/gauss/s1";
  start("run kernel/d256/h2x2/kv33c33/ring0/nomask/nwg1/gauss/s1 " + endless +
        " --jobs 1 --family tq4 --set tile=32 --set temperature=1 --kernel '" + kernel + "'");

  EXPECT_TRUE(wait_for("assay: " + endless + " has been running for 1")) << output();
  EXPECT_THAT(output(), HasSubstr("additional field tile, temperature")) << "notes are not to wait for a verdict";

  kill(process_, SIGINT);
  EXPECT_TRUE(wait_for("assay: stopping after the cases that run now; Ctrl-C again stops at once\n")) << output();
  EXPECT_EQ(waitpid(process_, nullptr, WNOHANG), 0) << "the first is to wait for the case";

  kill(process_, SIGINT);
  EXPECT_EQ(wait_for_end(), 130);
  for (const std::string& text :
       {"no verdict " + endless + ": it had been running for ", std::string("stopped: 1 of 2 selected cases were run"),
        std::string("1 case: 1 passed, 0 failed; 512 elements compared")}) {
    EXPECT_THAT(output(), HasSubstr(text));
  }
}

TEST_F(CliInterrupt, TheFirstFinishesRunningCasesAndSumsUp) {
  start("run gate --family reduce --jobs 1");
  ASSERT_TRUE(wait_for("100 of ")) << output();
  kill(process_, SIGINT);
  EXPECT_EQ(wait_for_end(), 130);
  for (const char* text : {"stopping after the cases that run now", " selected cases were run", " 0 failed", "output digest"})
    EXPECT_THAT(output(), HasSubstr(text));
}

}  // namespace
}  // namespace assay
