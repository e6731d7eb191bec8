// What becomes of cases whose process misbehaves, with the misbehaviour put in place of their execution.
// Long because each way in which a process can end is a test.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "harness/findings/fault_text.h"
#include "metal/errors.h"
#include "metal/shared_memory.h"
#include "tests/unit/worker_kernels.h"

namespace assay::tests::worker_processes_test {
namespace {

using harness::Case;
using harness::CaseFunction;
using harness::Status;
using harness::Verdict;
using std::chrono::milliseconds;
using namespace ::testing;
using Clock = std::chrono::steady_clock;

std::vector<Case> some_cases(std::size_t count) {
  std::vector<Case> cases;
  for (std::size_t seed = 0; seed < count; ++seed)
    cases.push_back(harness::parse_case("any/d256/rows2/nwg4/gauss/s" + std::to_string(seed), families::find_family("reduce")));
  return cases;
}

Verdict passed(const Case& test_case) {
  Verdict verdict;
  verdict.test_case = test_case;
  verdict.status = Status::passed;
  verdict.judgement.compared = 1;
  verdict.digest = test_case.seed;
  return verdict;
}

Verdict with_status(const Case& test_case, Status status, const std::string& reason) {
  Verdict verdict = passed(test_case);
  verdict.status = status;
  verdict.faults = {harness::fault::Told{reason}};
  return verdict;
}

// What processes tell each other past all pipes.
struct Shared {
  std::array<std::atomic<int>, 8> executions{};  // by seed
  std::array<std::atomic<pid_t>, 8> process{};   // that executed it last
};

class WorkerProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared;
    executed_ = 0;
  }
  void TearDown() override {
    munmap(shared_, sizeof(Shared));
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process was left behind";
  }

  harness::Summary run(std::size_t count, const CaseFunction& execute) {
    const std::vector<Case> cases = some_cases(count);
    collector_.verdicts.clear();
    return harness::run_cases(
        cases,
        [&](const Case& test_case) {
          ++shared_->executions[test_case.seed];
          shared_->process[test_case.seed] = getpid();
          Verdict verdict = execute(test_case);
          ++executed_;
          return verdict;
        },
        options_, stop_, collector_);
  }
  const Verdict& verdict(std::size_t seed) const { return collector_.verdicts.at("any/d256/rows2/nwg4/gauss/s" + std::to_string(seed)); }

  harness::RunOptions options_{.execution = {}, .jobs = 1, .fail_fast = false, .timeout = std::chrono::seconds(20)};
  std::atomic<bool> stop_ = false;
  Collector collector_;
  Shared* shared_ = nullptr;
  int executed_ = 0;  // by this process
};

struct End {
  const char* name;
  void (*happen)();
  const char* reason;
};

class WorkerEnd : public WorkerProcesses, public ::testing::WithParamInterface<End> {};

// The second of three, in a worker that has served one.
TEST_P(WorkerEnd, CostsOneVerdictAndSaysHow) {
  const harness::Summary summary = run(3, [](const Case& test_case) {
    if (test_case.seed == 1) GetParam().happen();
    return passed(test_case);
  });
  EXPECT_EQ(verdict(1).status, Status::crashed);
  EXPECT_THAT(reason_of(verdict(1)), HasSubstr(GetParam().reason));
  EXPECT_THAT(harness::text_of(verdict(1).notes), IsEmpty()) << "it ended twice in the same way";
  EXPECT_EQ(shared_->executions[1], 2) << "in a worker that others had used, then in a new one";
  for (const std::size_t other : {0U, 2U}) {
    EXPECT_EQ(verdict(other).status, Status::passed);
    EXPECT_EQ(shared_->executions[other], 1);
  }
  EXPECT_EQ(summary.count(Status::crashed), 1U);
  EXPECT_EQ(summary.failures(), 1U);
}

void write_to_all(const std::string& bytes) {
  for (int file = 3; file < 64; ++file) [[maybe_unused]]
    const auto written = write(file, bytes.data(), bytes.size());
}

void speak_and_abort() {
  std::fputs("====\nheap damaged at \x1b[31m 0x12\nmore\n", stderr);
  std::fflush(stderr);
  std::abort();
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerEnd,
    ::testing::Values(End{"abort", [] { std::abort(); }, "worker killed by signal 6 (Aborted)"},
                      End{"last_words", speak_and_abort, "worker killed by signal 6 (Aborted): heap damaged at ?[31m 0x12"},
                      End{"signal", [] { raise(SIGXCPU); }, "worker killed by signal 24 (CPU time limit exceeded)"},
                      End{"exit_handlers", [] { std::exit(0); }, "worker exited with status 0 without sending a verdict"},
                      End{"exit_at_once", [] { _exit(3); }, "worker exited with status 3 without sending a verdict"},
                      End{"out_of_memory", [] { throw std::bad_alloc(); }, "worker ran out of memory"},
                      End{"foreign_exception", [] { throw 7; }, "worker killed by signal 6 (Aborted)"},
                      End{"garbage_sent", [] { write_to_all(std::string(64, 'x')); }, "worker sent a malformed verdict"},
                      End{"empty_verdict_sent", [] { write_to_all(std::string(8, '\0')); }, "worker sent a malformed verdict"},
                      End{"half_a_verdict",
                          [] {
                            write_to_all(std::string("\x40\0\0\0\0\0\0\0half", 12));
                            _exit(0);
                          },
                          "worker exited with status 0 without sending a verdict"},
                      End{"channel_closed",
                          [] {
                            for (int file = 3; file < 64; ++file) close(file);
                            while (true) pause();
                          },
                          "worker closed the channel for its verdicts but kept running"}),
    [](const auto& info) { return std::string(info.param.name); });

// What an exception says is the harness's own failure, and no crash.
TEST_F(WorkerProcesses, AnExceptionIsAFailureOfTheHarness) {
  const harness::Summary summary = run(1, [](const Case&) -> Verdict { throw std::runtime_error("who knows"); });
  EXPECT_EQ(verdict(0).status, Status::mistrusted);
  EXPECT_TRUE(summary.any_internal);
  EXPECT_EQ(reason_of(verdict(0)), "the harness failed: who knows");
}

TEST_F(WorkerProcesses, AWorkerServesManyCases) {
  run(5, passed);
  for (std::size_t seed = 1; seed < 5; ++seed) EXPECT_EQ(shared_->process[seed], shared_->process[0]);
  EXPECT_NE(shared_->process[0], getpid());
}

// Whose damage it was is not known; that it was not its own is.
TEST_F(WorkerProcesses, ACrashThatAnotherCaseCausedIsRepeatedAndNoted) {
  run(3, [this](const Case& test_case) {
    if (test_case.seed == 2 && executed_ > 0) std::abort();
    return passed(test_case);
  });
  EXPECT_EQ(verdict(2).status, Status::passed);
  EXPECT_EQ(
      harness::text_of(verdict(2).notes),
      "repeated: in a process that had executed 2 other cases, it was crashed (worker killed by signal 6 (Aborted)); an earlier case may "
      "have corrupted memory");
  EXPECT_EQ(shared_->executions[2], 2);
  EXPECT_THAT(harness::text_of(verdict(1).notes), IsEmpty());
}

TEST_F(WorkerProcesses, AFailureThatAnotherCaseCausedIsRepeatedAndNoted) {
  run(2, [this](const Case& test_case) { return executed_ > 0 ? with_status(test_case, Status::failed, "1 element") : passed(test_case); });
  EXPECT_EQ(verdict(1).status, Status::passed);
  EXPECT_THAT(harness::text_of(verdict(1).notes), HasSubstr("in a process that had executed 1 other case, it was failed (1 element)"));
}

TEST_F(WorkerProcesses, AFailureOfItsOwnIsRepeatedOnceWithoutANote) {
  run(4, [](const Case& test_case) {
    return test_case.seed == 1 ? with_status(test_case, Status::hazard, "invalid access") : passed(test_case);
  });
  EXPECT_EQ(verdict(1).status, Status::hazard);
  EXPECT_THAT(harness::text_of(verdict(1).notes), IsEmpty());
  EXPECT_EQ(shared_->executions[1], 2);
  EXPECT_NE(shared_->process[1], shared_->process[0]) << "the verdict is to come from a process of its own";
  EXPECT_NE(shared_->process[2], shared_->process[1]) << "a process with a hazard is not to be used again";
  EXPECT_EQ(shared_->process[3], shared_->process[2]);
}

TEST_F(WorkerProcesses, WhatSomebodyElseKilledIsRepeated) {
  run(1, [&](const Case& test_case) {
    if (shared_->executions[test_case.seed] < 4) raise(SIGKILL);
    return passed(test_case);
  });
  EXPECT_EQ(verdict(0).status, Status::passed);
  EXPECT_THAT(harness::text_of(verdict(0).notes), HasSubstr("repeated, because the first time it was crashed (worker killed by signal 9"));
  EXPECT_EQ(shared_->executions[0], 4);
}

TEST_F(WorkerProcesses, WhatIsKilledEveryTimeIsCrashed) {
  run(1, [](const Case& test_case) {
    raise(SIGKILL);
    return passed(test_case);
  });
  EXPECT_EQ(verdict(0).status, Status::crashed);
  EXPECT_THAT(reason_of(verdict(0)), HasSubstr("signal 9 (Killed) that assay did not send"));
  EXPECT_EQ(shared_->executions[0], 4);
}

TEST_F(WorkerProcesses, AProcessThatGrowsBeyondItsMemoryIsEndedAndTheRestIsJudged) {
  options_.memory = std::uint64_t{256} << 20;
  run(3, [](const Case& test_case) {
    std::vector<std::unique_ptr<char[]>> memory;
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    while (test_case.seed == 1) {
      memory.push_back(std::make_unique<char[]>(kPiece));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return passed(test_case);
  });
  EXPECT_EQ(verdict(1).status, Status::crashed);
  EXPECT_THAT(reason_of(verdict(1)), HasSubstr("the limit of a case is 0.25 GiB"));
  for (const std::size_t other : {0U, 2U}) EXPECT_EQ(verdict(other).status, Status::passed);
}

// A kernel's process shares memory with its worker, and may have unmapped what it filled.
TEST_F(WorkerProcesses, MemoryThatAChildFilledCounts) {
  options_.memory = std::uint64_t{256} << 20;
  run(1, [](const Case& test_case) {
    constexpr std::size_t kPiece = std::size_t{64} << 20;
    metal::SharedMemory memory;
    std::byte* begin = memory.take(8 * kPiece, 0, false);
    if (const pid_t child = fork(); child != 0) {
      waitpid(child, nullptr, 0);
      return passed(test_case);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (std::byte* piece = begin; piece != begin + 8 * kPiece; piece += kPiece) {
      std::memset(piece, 1, kPiece);
      munmap(piece, kPiece);
    }
    std::this_thread::sleep_for(std::chrono::seconds(2));
    _exit(0);
  });
  EXPECT_EQ(verdict(0).status, Status::crashed);
  EXPECT_THAT(reason_of(verdict(0)), HasSubstr("the limit of a case is 0.25 GiB"));
}

TEST_F(WorkerProcesses, AKernelThatAlwaysFailsIsExecutedOncePerCase) {
  run(4, [](const Case& test_case) { return with_status(test_case, Status::failed, "as ever"); });
  for (std::size_t seed = 0; seed < 4; ++seed) EXPECT_EQ(shared_->executions[seed], 1);
}

TEST_F(WorkerProcesses, TooLateIsTimeoutAndBelievedAtOnce) {
  options_.timeout = milliseconds(300);
  const Clock::time_point start = Clock::now();
  run(3, [](const Case& test_case) {
    while (test_case.seed == 1) pause();
    return passed(test_case);
  });
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(verdict(1).status, Status::timeout);
  EXPECT_EQ(reason_of(verdict(1)), "no verdict within 0.3 s, the time limit of a case");
  EXPECT_EQ(shared_->executions[1], 1);
  EXPECT_EQ(verdict(2).status, Status::passed);
}

// Of four processes on one processor, each has a quarter of it.
TEST_F(WorkerProcesses, WaitingForAProcessorIsNotTooLate) {
  std::int64_t ran = 0, waited = 0;
  if (!(std::ifstream("/proc/self/schedstat") >> ran >> waited)) GTEST_SKIP() << "this system does not tell who waits for a processor";
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  std::vector<pid_t> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(fork());
    if (others.back() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned turns = 0;; turns = turns + 1) {
    }
  }
  options_.timeout = milliseconds(600);
  const Clock::time_point start = Clock::now();
  run(1, [](const Case& test_case) {
    const auto used = [] { return std::chrono::duration<double>(static_cast<double>(std::clock()) / CLOCKS_PER_SEC); };
    for (const auto from = used(); used() - from < milliseconds(300);) {
    }
    return passed(test_case);
  });
  const auto took = Clock::now() - start;
  for (const pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_EQ(verdict(0).status, Status::passed) << reason_of(verdict(0));
  EXPECT_GT(took, options_.timeout) << "nothing was waited for: the test shows nothing";
}

TEST_F(WorkerProcesses, WaitingForItsOwnThreadsIsTooLate) {
  options_.timeout = milliseconds(500);
  run(1, [](const Case& test_case) {
    const auto spin = [until = Clock::now() + std::chrono::seconds(10)] {
      while (Clock::now() < until) continue;
    };
    for (int i = 0; i < 50; ++i) std::thread(spin).detach();
    spin();
    return passed(test_case);
  });
  EXPECT_EQ(verdict(0).status, Status::timeout);
}

TEST_F(WorkerProcesses, WithoutALimitNothingIsTooLate) {
  options_.timeout = milliseconds(0);
  run(1, [](const Case& test_case) {
    std::this_thread::sleep_for(milliseconds(400));
    return passed(test_case);
  });
  EXPECT_EQ(verdict(0).status, Status::passed);
}

TEST_F(WorkerProcesses, LimitsThatAreNoneAreRefused) {
  for (const double seconds : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 2e6}) {
    options_.timeout = std::chrono::duration<double>(seconds);
    EXPECT_THROW(run(1, passed), std::invalid_argument) << seconds;
  }
}

TEST_F(WorkerProcesses, SeveralRunAtATime) {
  options_.jobs = 3;
  run(3, [this](const Case& test_case) {
    ++shared_->executions[7];
    for (int i = 0; i < 1000 && shared_->executions[7] < 3; ++i) std::this_thread::sleep_for(milliseconds(10));
    return shared_->executions[7] == 3 ? passed(test_case) : with_status(test_case, Status::failed, "alone");
  });
  for (std::size_t seed = 0; seed < 3; ++seed) EXPECT_EQ(verdict(seed).status, Status::passed);
}

TEST_F(WorkerProcesses, FailFastStopsAfterAFailure) {
  options_.fail_fast = true;
  const harness::Summary summary = run(5, [](const Case& test_case) {
    if (test_case.seed == 1) std::abort();
    return passed(test_case);
  });
  EXPECT_EQ(summary.finished(), 2U);
  EXPECT_TRUE(summary.stopped);
}

// Asks to end once something has started.
class Impatient final : public harness::RunListener {
 public:
  Impatient(std::atomic<bool>& stop, bool at_once) : stop_(stop), at_once_(at_once) {}
  void started(const Case&) override { ++cases; }
  void finished(const Verdict&, const harness::Summary&) override { ++verdicts; }
  bool tick() override {
    stop_ = true;
    return !at_once_;
  }
  int cases = 0, verdicts = 0;

 private:
  std::atomic<bool>& stop_;
  bool at_once_;
};

TEST_F(WorkerProcesses, AStopWaitsForWhatRuns) {
  Impatient listener(stop_, false);
  const std::vector<Case> cases = some_cases(5);
  const CaseFunction slow = [](const Case& test_case) {
    std::this_thread::sleep_for(milliseconds(300));
    return passed(test_case);
  };
  options_.jobs = 2;
  const harness::Summary summary = harness::run_cases(cases, slow, options_, stop_, listener);
  EXPECT_EQ(listener.cases, 2);
  EXPECT_EQ(listener.verdicts, 2);
  EXPECT_TRUE(summary.stopped);
}

TEST_F(WorkerProcesses, AnEndAtOnceWaitsForNothing) {
  Impatient listener(stop_, true);
  const std::vector<Case> cases = some_cases(5);
  const CaseFunction endless = [](const Case& test_case) {
    while (true) pause();
    return passed(test_case);
  };
  options_.jobs = 2;
  const harness::Summary summary = harness::run_cases(cases, endless, options_, stop_, listener);
  EXPECT_EQ(listener.cases, 2);
  EXPECT_EQ(summary.finished(), 0U);
  EXPECT_TRUE(summary.stopped);
}

// Ctrl-C reaches every process of the terminal.
TEST_F(WorkerProcesses, InterruptsAreForTheSupervisor) {
  run(1, [](const Case& test_case) {
    raise(SIGINT);
    raise(SIGTERM);
    return passed(test_case);
  });
  EXPECT_EQ(verdict(0).status, Status::passed);
}

TEST_F(WorkerProcesses, NothingThatAWorkerPrintsReachesTheReport) {
  ::testing::internal::CaptureStdout();
  std::fputs("pending,", stdout);  // in the buffer of every worker
  run(2, [](const Case& test_case) {
    std::fputs("torn", stdout);
    std::fflush(stdout);
    if (test_case.seed == 1) std::exit(0);
    return passed(test_case);
  });
  std::fputs("whole", stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "pending,whole");
}

// Its standard streams are others, and the one beside them leads to the supervisor.
TEST_F(WorkerProcesses, AWorkerHasNoFileOfTheSupervisor) {
  const std::array files = {dup(STDOUT_FILENO), open("/dev/null", O_RDONLY | O_CLOEXEC)};
  run(1, [](const Case& test_case) {
    std::string found;
    for (int file = 0; file < 1024; ++file) {
      if (fcntl(file, F_GETFD) >= 0) found += std::to_string(file) + " ";
    }
    return with_status(test_case, Status::failed, found + std::filesystem::read_symlink("/proc/self/fd/0").string());
  });
  for (const int file : files) close(file);
  EXPECT_EQ(reason_of(verdict(0)), "0 1 2 3 /dev/null");
}

TEST_F(WorkerProcesses, ASystemThatGrantsNoWorkerIsAClearError) {
  const int next = dup(STDOUT_FILENO);
  close(next);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {static_cast<rlim_t>(next), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  std::string message;
  try {
    run(2, passed);
  } catch (const metal::EnvironmentError& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(message, HasSubstr("cannot create a socket for a worker process: "));
  EXPECT_THAT(message, HasSubstr("run fewer cases at a time"));
}

// With room for the first worker, the second is done without.
TEST_F(WorkerProcesses, ASystemThatGrantsFewWorkersTakesLonger) {
  options_.jobs = 4;
  const int next = dup(STDOUT_FILENO);
  close(next);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {static_cast<rlim_t>(next) + 5, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const harness::Summary summary = run(6, passed);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(summary.count(Status::passed), 6U);
}

TEST_F(WorkerProcesses, AProcessWithOtherThreadsIsRefused) {
  std::atomic<bool> end = false;
  std::thread other([&] {
    while (!end) std::this_thread::sleep_for(milliseconds(10));
  });
  std::string message;
  try {
    run(1, passed);
  } catch (const std::logic_error& error) {
    message = error.what();
  }
  end = true;
  other.join();
  EXPECT_THAT(message, HasSubstr("this process has 2 threads"));
  run(1, passed);
  EXPECT_EQ(verdict(0).status, Status::passed);
}

}  // namespace
}  // namespace assay::tests::worker_processes_test
