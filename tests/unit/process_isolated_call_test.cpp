// A call in a process of its own: its answer, its exception, and every way in which it may come to nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <stdexcept>

#include "base/server.h"

namespace assay::tests::process_isolated_call_test {
namespace {

using base::IsolationLimits;
using IsolatedAnswer = base::IsolatedAnswer<std::string>;
using Kind = IsolatedAnswer::Kind;
using testing::HasSubstr;

const IsolationLimits kLimits{.process = {.added_memory_bytes = std::uint64_t{256} << 20, .processor_seconds = 20},
                              .time = std::chrono::seconds(20),
                              .answer_bytes = std::uint64_t{1} << 20};

IsolatedAnswer call_isolated(const IsolationLimits& limits, const std::function<std::string()>& work) {
  return base::call_isolated(limits, work);
}

class IsolatedCall : public testing::Test {
 protected:
  // Neither a zombie nor an orphan is left behind.
  void TearDown() override {
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }
};

TEST_F(IsolatedCall, HandsOverAnswersOfAnySize) {
  for (const std::size_t size : {0U, 1U, 70000U, 1000000U}) {
    const IsolatedAnswer answer = call_isolated(kLimits, [&] { return std::string(size, 'a'); });
    EXPECT_EQ(answer.kind, Kind::returned);
    EXPECT_EQ(answer.value, std::string(size, 'a'));
  }
}

TEST_F(IsolatedCall, HandsOverExceptionsAndChangesNothingHere) {
  int mine = 1;
  const IsolatedAnswer answer = call_isolated(kLimits, [&]() -> std::string {
    mine = 2;
    throw std::runtime_error("no such thing");
  });
  EXPECT_EQ(answer.kind, Kind::threw);
  EXPECT_EQ(answer.text, "no such thing");
  EXPECT_EQ(mine, 1);
}

TEST_F(IsolatedCall, DeathIsAnAnswer) {
  const IsolatedAnswer fault = call_isolated(kLimits, []() -> std::string {
    raise(SIGSEGV);
    return "survived";
  });
  EXPECT_EQ(fault.kind, Kind::died);
  EXPECT_THAT(fault.text, HasSubstr("signal 11"));
  const IsolatedAnswer exit = call_isolated(kLimits, []() -> std::string { _exit(7); });
  EXPECT_EQ(exit.kind, Kind::died);
  EXPECT_EQ(exit.text, "exit status 7");
}

TEST_F(IsolatedCall, AHandlerOfThisProcessDoesNotCatchTheChildsFault) {
  struct sigaction before{};
  struct sigaction own{};
  own.sa_handler = [](int) { _exit(0); };
  sigaction(SIGSEGV, &own, &before);
  const IsolatedAnswer answer = call_isolated(kLimits, []() -> std::string {
    raise(SIGSEGV);
    return "survived";
  });
  sigaction(SIGSEGV, &before, nullptr);
  EXPECT_THAT(answer.text, HasSubstr("signal 11"));
}

TEST_F(IsolatedCall, TimeAndLengthAreLimited) {
  IsolationLimits limits = kLimits;
  limits.time = std::chrono::milliseconds(200);
  const auto start = std::chrono::steady_clock::now();
  const IsolatedAnswer late = call_isolated(limits, []() -> std::string {
    while (true) pause();
  });
  EXPECT_EQ(late.kind, Kind::late);
  EXPECT_THAT(late.text, HasSubstr("0.2 s"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));

  limits = kLimits;
  limits.answer_bytes = 100;
  EXPECT_EQ(call_isolated(limits, [] { return std::string(80, 'a'); }).kind, Kind::returned);
  EXPECT_EQ(call_isolated(limits, [] { return std::string(1 << 20, 'a'); }).kind, Kind::died);
}

// What the child was made to send in place of an answer.
TEST_F(IsolatedCall, AnAnswerThatIsNoneIsADeath) {
  for (const std::string& sent : {std::string("\x08\0\0\0\0\0\0\0surprise", 16), std::string(8, '\0'), std::string(8, '\xff')}) {
    const IsolatedAnswer answer = call_isolated(kLimits, [&]() -> std::string {
      for (int file = 3; file < 64; ++file) [[maybe_unused]]
        const auto written = write(file, sent.data(), sent.size());
      while (true) pause();
    });
    EXPECT_EQ(answer.kind, Kind::died) << answer.text;
    EXPECT_NE(answer.text, "");
  }
}

TEST_F(IsolatedCall, ProcessorTimeIsLimited) {
  IsolationLimits limits = kLimits;
  limits.process.processor_seconds = 1;
  const IsolatedAnswer answer = call_isolated(limits, []() -> std::string {
    volatile unsigned spin = 0;
    while (true) spin = spin + 1;
  });
  EXPECT_EQ(answer.kind, Kind::died);
  EXPECT_THAT(answer.text, HasSubstr("CPU time limit"));
}

TEST_F(IsolatedCall, MemoryIsLimited) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "its allocator ends the process instead";
#endif
#endif
  const auto map = [](std::size_t size) {
    return call_isolated(kLimits, [size]() -> std::string {
      void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return memory == MAP_FAILED ? "refused" : "given";
    });
  };
  EXPECT_EQ(map(std::size_t{64} << 20).value, "given");
  EXPECT_EQ(map(std::size_t{512} << 20).value, "refused");
}

}  // namespace
}  // namespace assay::tests::process_isolated_call_test
