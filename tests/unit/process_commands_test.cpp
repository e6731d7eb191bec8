// Commands: what they print and how they end, what they may take, and what they are left of this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/command.h"
#include "base/process.h"
#include "tests/support/files.h"

namespace assay::tests::process_commands_test {
namespace {

using base::CommandResult;
using base::run_command;
using testing::HasSubstr;

CommandResult shell(const std::string& text, const base::CommandLimits& limits = {}) { return run_command({"sh", "-c", text}, limits); }

class Commands : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process was left behind"; }
};

// Also one that has closed its pipes, and what it has started.
TEST_F(Commands, EndSoonAfterTheyAreStopped) {
  for (const char* text : {"sleep 100", "sleep 100 & wait", "exec >&- 2>&-; sleep 100"}) {
    std::atomic<bool> stop = false;
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop = true;
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(shell(text, {.stop = &stop}).is_stopped) << text;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << text;
  }
  const std::atomic<bool> never = false;
  const CommandResult result = shell("echo out", {.stop = &never});
  EXPECT_FALSE(result.is_stopped);
  EXPECT_EQ(result.output, "out\n");
}

TEST_F(Commands, TellWhatTheyPrintAndHowTheyEnd) {
  const CommandResult result = shell("printf out; printf err >&2; exit 3");
  EXPECT_EQ(result.output, "out");
  EXPECT_EQ(result.errors, "err");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(shell("kill -TERM $$").exit_code, 128 + SIGTERM);
  EXPECT_FALSE(shell("kill -TERM $$").was_killed);
  EXPECT_TRUE(shell("kill -KILL $$").was_killed);
}

TEST_F(Commands, ThatDoNotExistAreRefused) {
  std::string message;
  try {
    static_cast<void>(run_command({"/nowhere/at-all", "x"}));
  } catch (const base::ProcessRefused& refused) {
    message = refused.what();
  }
  EXPECT_EQ(message, "cannot start /nowhere/at-all: No such file or directory");
}

// More than both pipes hold, and then more than is wanted.
TEST_F(Commands, MayPrintSoMuch) {
  const std::string much = "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero";
  EXPECT_EQ(shell(much).output.size(), 300000U);
  EXPECT_EQ(shell(much).errors.size(), 300000U);
  const CommandResult cut = shell("while :; do echo more; done", {.output_bytes = 100000});
  EXPECT_TRUE(cut.is_cut);
  EXPECT_FALSE(cut.was_killed);
}

TEST_F(Commands, MayTakeSoMuch) {
  EXPECT_EQ(shell("while :; do :; done", {.processor_seconds = 1}).exit_code, 128 + SIGXCPU);
  // One that does not end at the signal is killed.
  const base::CommandResult ignores = shell("trap '' XCPU; while :; do :; done", {.processor_seconds = 1});
  EXPECT_EQ(ignores.exit_code, 128 + SIGXCPU);
  EXPECT_FALSE(ignores.was_killed);
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  return;  // its shadow memory is larger than any limit here
#endif
#endif
  EXPECT_EQ(shell("ulimit -v", {.memory_bytes = std::uint64_t{1} << 30}).output, "1048576\n");
  EXPECT_EQ(shell("ulimit -c").output, "0\n");
}

TEST_F(Commands, MayTakeSoLong) {
  const auto start = std::chrono::steady_clock::now();
  for (const char* text :
       {"sleep 1000", "exec >&- 2>&-; sleep 1000", "sleep 1000 & sleep 1000", "trap '' TERM; while :; do sleep 1; done"}) {
    const CommandResult late = shell(text, {.seconds = 1});
    EXPECT_TRUE(late.is_late) << text;
    EXPECT_FALSE(late.was_killed) << text;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  EXPECT_FALSE(shell("true", {.seconds = 100}).is_late);
}

// What a command leaves running ends with it, and does not keep its reader waiting.
TEST_F(Commands, EndWithTheirGroup) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "child").string();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("sleep 1000 & echo $! > '" + file + "'; printf done").output, "done");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
  std::string child;
  std::ifstream(file) >> child;
  const std::string state = shell("sleep 0.2; cut -d ' ' -f 3 /proc/" + child + "/stat").output;
  EXPECT_TRUE(state.empty() || state == "Z\n") << state;
}

TEST_F(Commands, SeeACleanEnvironment) {
  setenv("ASSAY_TEST_TOKEN", "secret", 1);
  const std::string names = shell("env | sed 's/=.*//' | sort | tr '\n' ' '").output;
  unsetenv("ASSAY_TEST_TOKEN");
  EXPECT_THAT(names, testing::AnyOf("LANG PATH PWD _ ", "LANG PATH PWD TMPDIR _ ", "LANG PATH PWD ", "LANG PATH PWD TMPDIR "));
}

TEST_F(Commands, AreLeftNoDescriptorAndNoInput) {
  const int file = dup(STDOUT_FILENO);
  EXPECT_EQ(shell("cat; ls /proc/self/fd | tr '\\n' ' '").output, "0 1 2 3 ") << "3 is that of ls";
  close(file);
}

TEST_F(Commands, WriteTheirFilesToTheGivenFolder) {
  EXPECT_EQ(run_command({"sh", "-c", "printf %s \"$TMPDIR\""}, {}, "/somewhere/else").output, "/somewhere/else");
}

TEST_F(Commands, RunInSeveralThreads) {
  std::vector<std::string> outputs(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      threads.emplace_back([&outputs, i] {
        for (int turn = 0; turn < 20; ++turn) outputs[i] += shell("printf " + std::to_string(i)).output;
      });
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], std::string(20, static_cast<char>('0' + i)));
}

// A parent that dies by SIGKILL cannot end its children: the system does it.
TEST_F(Commands, DieWithTheirParent) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "child";
  const pid_t parent = fork();
  if (parent == 0) {
    static_cast<void>(
        shell("echo $$ > '" + file.string() + ".tmp'; mv '" + file.string() + ".tmp' '" + file.string() + "'; exec sleep 1000"));
    _exit(0);
  }
  const auto becomes_true = [](const auto& condition) {
    for (int i = 0; i < 200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return condition();
  };
  ASSERT_TRUE(becomes_true([&] { return std::filesystem::exists(file); }));
  std::string child;
  std::ifstream(file) >> child;
  EXPECT_EQ(shell("kill -0 " + child).exit_code, 0);
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(becomes_true([&] {
    // An orphan that has ended may wait for somebody to take note of it.
    const std::string state = shell("cut -d ' ' -f 3 /proc/" + child + "/stat").output;
    return state.empty() || state == "Z\n";
  }));
}

TEST(Processes, AreKilledWithTheirOwner) {
  {
    const base::Process child({}, [](int) {
      while (true) pause();
    });
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Processes, TellHowTheyEnded) {
  EXPECT_EQ(base::Process({}, [](int) { _exit(7); }).wait().to_string(), "exit status 7");
  EXPECT_EQ(base::Process({}, [](int) { throw 7; }).wait().to_string(), "signal 6 (Aborted)");
  base::Process child({}, [](int) { pause(); });
  EXPECT_FALSE(child.end_within(std::chrono::milliseconds(20)));
  EXPECT_EQ(child.kill().to_string(), "signal 9 (Killed)");
  EXPECT_EQ(child.kill().to_string(), "signal 9 (Killed)") << "once and for all";
}

}  // namespace
}  // namespace assay::tests::process_commands_test
