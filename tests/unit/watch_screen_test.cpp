// The screen of `assay watch`: what it says of a check, and how it fits into terminals of all sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/watch_screen.h"

namespace assay::tests::watch_screen_test {
namespace {

using namespace ::testing;
using namespace cli;
using harness::Status;

WatchState state_of(const std::vector<CheckMessage>& messages) {
  WatchState state;
  double seconds = 0;
  for (const CheckMessage& message : messages) state.take(message, seconds += 0.25);
  return state;
}

CheckMessage passed(const std::string& name) { return CheckedCase{name, Status::passed, {}}; }
CheckMessage failed(const std::string& name, const std::string& text) { return CheckedCase{name, Status::failed, text}; }

std::vector<std::string> shown(const WatchState& state, std::size_t columns, std::size_t lines) {
  std::vector<std::string> texts;
  for (const ScreenLine& line : screen_lines(state, "mine.metal (fwht): smoke", "", {columns, lines}))
    texts.push_back(line.word + line.rest);
  return texts;
}

TEST(WatchScreen, SaysInOneWordHowTheCheckStands) {
  EXPECT_EQ(verdict_line({}).word, "CHECKING");
  const std::vector<CheckMessage> begun = {CheckBegun{"fwht", 2}, passed("a")};
  EXPECT_EQ(verdict_line(state_of(begun)).word, "PASSED SO FAR");
  EXPECT_EQ(verdict_line(state_of(begun)).rest, "1 passed of 2 cases");
  EXPECT_EQ(times_text(state_of(begun)), "0.50 s to the first verdict");

  const WatchState good = state_of({CheckBegun{"fwht", 2}, passed("a"), passed("b"), CheckEnded{}});
  EXPECT_EQ(verdict_line(good).word, "PASSED");
  EXPECT_EQ(verdict_line(good).paint, Paint::success);
  EXPECT_EQ(times_text(good), "0.50 s to the first verdict, 1.00 s in all");

  const WatchState bad = state_of({CheckBegun{"fwht", 2}, passed("a"), failed("b", "failed b\n")});
  EXPECT_EQ(verdict_line(bad).word, "FAILED");
  EXPECT_EQ(verdict_line(bad).paint, Paint::failure);
  EXPECT_EQ(verdict_line(bad).rest, "1 passed, 1 failed of 2 cases");
}

// What was skipped shows nothing, and what did not compile either.
TEST(WatchScreen, NeverSaysPassedWhenNothingPassed) {
  const WatchState skipped = state_of({CheckBegun{"fwht", 1}, CheckedCase{"a", Status::skipped, {}}, CheckEnded{}});
  EXPECT_EQ(verdict_line(skipped).word, "NOTHING PASSED");
  EXPECT_EQ(verdict_line(skipped).paint, Paint::failure);
  // Further functions may be broken after the first cases passed.
  const WatchState broken = state_of({passed("a"), CheckEnded{CheckEnded::Kind::compile_error, "mine.metal:3: error: no"}});
  EXPECT_EQ(verdict_line(broken).word, "COMPILE ERROR");
  EXPECT_EQ(verdict_line(state_of({passed("a"), CheckEnded{CheckEnded::Kind::other_error, "no"}})).word, "ERROR");
}

TEST(WatchScreen, FitsIntoEveryTerminal) {
  std::vector<CheckMessage> messages = {CheckBegun{"fwht", 90}};
  for (int i = 0; i < 20; ++i)
    messages.push_back(
        failed("x", "failed mine/" + std::string(100, 'n') + "\n  ä" + std::string(60, 'w') + "\n    | quoted\t" + std::string(200, 's')));
  const WatchState state = state_of(messages);
  for (const std::size_t columns : {1, 12, 40, 80, 300}) {
    for (const std::size_t lines : {1, 2, 5, 7, 12, 24, 100}) {
      const std::vector<std::string> texts = shown(state, columns, lines);
      EXPECT_EQ(texts.size(), lines) << columns;
      EXPECT_THAT(texts.back(), StartsWith("e explain"));
      if (columns < 40) continue;
      for (const std::string& text : texts) EXPECT_LE(text.size(), columns + 1) << text;  // ä has two bytes
    }
  }
  EXPECT_THAT(shown(state, 80, 24), AllOf(Contains("mine.metal (fwht): smoke"), Contains("  FAILED   20 failed of 90 cases"),
                                          Contains(StartsWith("failed mine/nnn")), Contains(HasSubstr("more lines)"))));
}

TEST(WatchScreen, EscapesWhatKernelsSay) {
  const std::string hostile =
      "\x1b[2J\a\x9b"
      "31m \xff evil";
  const WatchState state = state_of({CheckEnded{CheckEnded::Kind::compile_error, "k.metal:1: error: " + hostile + "\n::error::x"}});
  std::string all;
  for (const ScreenLine& line : screen_lines(state, hostile, hostile, {80, 24})) all += line.word + line.rest + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("\\x1b[2J\\x07"), HasSubstr("\\xff evil"), Not(HasSubstr("\x1b")), Not(HasSubstr("\a"))));
}

}  // namespace
}  // namespace assay::tests::watch_screen_test
