// A confined process computes, allocates and answers, and can do nothing else.
#include "base/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/command.h"
#include "base/process.h"
#include "tests/support/files.h"

namespace assay::tests::sandbox_test {
namespace {

// Exit status 0: what `attempt` tried had no effect. Otherwise how the process ended.
base::Ending confined(const std::function<bool()>& attempt) {
  base::prepare_sandbox();
  base::Process child({.name = "confined"}, [&](int) {
    base::confine_kernel();
    _exit(attempt() ? 1 : 0);
  });
  return child.wait();
}

bool is_refused(const base::Ending& ending) {
  using Kind = base::Ending::Kind;
  return (ending.kind == Kind::exited && ending.number == 0) || (ending.kind == Kind::killed && ending.number == SIGSYS);
}

bool holds(std::string_view layer) {
  for (const base::SandboxLayer& one : base::sandbox_layers()) {
    if (one.name.find(layer) != std::string_view::npos) return one.holds;
  }
  return false;
}

struct Attempt {
  const char* name;
  std::function<bool()> succeeds;  // in the confined process
};

std::vector<Attempt> attempts() {
  return {
      {"read a file", [] { return open("/etc/passwd", O_RDONLY) >= 0; }},
      {"write a file", [] { return open("/tmp/assay_sandbox_escaped", O_CREAT | O_WRONLY, 0600) >= 0; }},
      {"list a folder", [] { return open("/", O_RDONLY | O_DIRECTORY) >= 0; }},
      {"see its own environment", [] { return open("/proc/self/environ", O_RDONLY) >= 0; }},
      {"remove a file", [] { return unlink("/tmp/assay_sandbox_victim") == 0; }},
      {"connect", [] { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }},
      {"make a local socket", [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
      {"start a process", [] { return fork() >= 0; }},
      {"run a program",
       [] {
         execl("/bin/true", "true", nullptr);
         return false;
       }},
      {"end its parent", [] { return kill(getppid(), 0) == 0; }},
      {"end everybody", [] { return kill(-1, 0) == 0; }},
      {"look into its parent", [] { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0; }},
      {"make code",
       [] { return mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
      {"make memory code",
       [] {
         void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0;
       }},
      {"share memory", [] { return mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }},
      {"become root", [] { return setuid(0) == 0; }},
      {"change its folder", [] { return chdir("/") == 0; }},
      {"make a pipe",
       [] {
         int ends[2];
         return pipe(ends) == 0;
       }},
  };
}

TEST(Sandbox, AConfinedProcessCannotReachAnything) {
  if (!holds("seccomp")) GTEST_SKIP() << "this machine or build has no filters of system calls";
  for (const Attempt& attempt : attempts()) {
    const base::Ending ending = confined(attempt.succeeds);
    EXPECT_TRUE(is_refused(ending)) << attempt.name << ": " << ending.to_string();
  }
}

// Each of them works in a process that is not confined, so that the test above tests something.
TEST(Sandbox, TheSameAttemptsSucceedOutside) {
  for (const char* name : {"read a file", "list a folder", "make a local socket", "start a process", "make code", "change its folder"}) {
    base::Process child({.name = "free"}, [&](int) {
      for (const Attempt& attempt : attempts()) {
        if (std::string_view(attempt.name) == name) _exit(attempt.succeeds() ? 1 : 0);
      }
    });
    EXPECT_EQ(child.wait().number, 1) << name;
  }
}

TEST(Sandbox, AConfinedProcessComputes) {
  const base::Ending ending = confined([] {
    std::vector<double> numbers(std::size_t{1} << 22, 1.0);
    double sum = 0;
    std::thread([&] {
      for (const double number : numbers) sum += number;
    }).join();
    return sum != static_cast<double>(numbers.size());
  });
  EXPECT_EQ(ending.to_string(), "exit status 0");
}

// Of the attempts above, none succeeds with a right to read one file.
TEST(Sandbox, AReaderReadsItsFileAlone) {
  if (!holds("seccomp") || !holds("Landlock")) GTEST_SKIP() << "this machine or build lacks a layer";
  const TemporaryFolder folder;
  for (const char* name : {"own", "other"}) std::ofstream(folder.path() / name) << name;
  const auto read = [&](const std::function<bool()>& attempt) {
    base::prepare_sandbox();
    base::Process child({.name = "reader"}, [&](int) {
      base::confine_reader(folder.path() / "own");
      _exit(attempt() ? 1 : 0);
    });
    return child.wait();
  };
  char letter = 0;
  const std::string own = folder.path() / "own", other = folder.path() / "other";
  EXPECT_EQ(read([&] { return pread(open(own.c_str(), O_RDONLY), &letter, 1, 0) == 1 && letter == 'o'; }).to_string(), "exit status 1");
  EXPECT_TRUE(is_refused(read([&] { return open(own.c_str(), O_RDWR) >= 0; })));
  EXPECT_TRUE(is_refused(read([&] { return open(other.c_str(), O_RDONLY) >= 0; })));
  for (const Attempt& attempt : attempts()) EXPECT_TRUE(is_refused(read(attempt.succeeds))) << attempt.name;
}

// What a layer takes may run out after it was tried: here the rights to make another filter.
TEST(Sandbox, WhereALayerIsRequiredNothingRunsWithoutIt) {
  if (!base::missing_layers().empty()) GTEST_SKIP() << base::missing_layers();
  for (const auto& [mode, status] : {std::pair(base::SandboxMode::automatic, 7), std::pair(base::SandboxMode::required, 119)}) {
    base::prepare_sandbox();
    base::Process child({.name = "confined"}, [&](int) {
      base::set_sandbox_mode(mode);
      std::array filter = {
          sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_restrict_self, 0, 1),
          sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
          sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      };
      const sock_fprog program{filter.size(), filter.data()};
      if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) _exit(1);
      base::confine_kernel();
      _exit(7);
    });
    EXPECT_EQ(child.wait().number, status);
  }
}

TEST(Sandbox, ACompilerStartsNoProcessAndEndsNone) {
  if (!holds("seccomp")) GTEST_SKIP() << "this machine or build has no filters of system calls";
  const base::Reach nothing;
  const auto shell = [&](const std::string& script) { return base::run_command({"/bin/sh", "-c", script}, {}, {}, &nothing).output; };
  EXPECT_EQ(shell("echo here"), "here\n");
  EXPECT_EQ(shell("(echo there) ; echo again"), "");
  EXPECT_EQ(shell("kill -0 " + std::to_string(getpid()) + " && echo reached"), "");
}

TEST(Sandbox, ItSaysWhichLayersHold) {
  const auto layers = base::sandbox_layers();
  ASSERT_EQ(layers.size(), 5U);
  for (const base::SandboxLayer& layer : layers) EXPECT_EQ(layer.holds, layer.reason.empty()) << layer.name << ": " << layer.reason;
  base::set_sandbox_mode(base::SandboxMode::off);
  for (const base::SandboxLayer& layer : base::sandbox_layers()) EXPECT_EQ(layer.reason, "switched off");
  base::set_sandbox_mode(base::SandboxMode::automatic);
}

}  // namespace
}  // namespace assay::tests::sandbox_test
