// What the command does for somebody who runs it all day: colours, plots and figures on a terminal, and the cases that failed first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/command.h"

namespace assay::tests::daily_test {
namespace {

namespace fs = std::filesystem;
using namespace ::testing;

constexpr const char* kFailure = "\x1b[1;97;41mfailed\x1b[0m";
const std::string kCase = "fwht_v1/d256/h1/undo/gauss/s1";
const std::string kOther = "fwht_v1/d256/h2/undo/gauss/s1";

class CliDaily : public TestInFolder {
 protected:
  // A kernel that is right for one head, and wrong for more.
  std::string wrong_kernel() const {
    return write(replaced_once(source_of("fwht_v1"), "rsqrt(float(D))", "rsqrt(float(D)) * (params.num_heads > 1 ? 2.0f : 1.0f)"));
  }
  std::string right_kernel() const { return write(source_of("fwht_v1")); }
  // Runs the command on a terminal of its own, which `script` makes.
  Outcome on_terminal(const std::string& arguments, const std::string& environment = "") const {
    return run_command("env -u NO_COLOR TERM=xterm LC_ALL=C " + environment + " script --quiet --return --command \"'" +
                       ASSAY_BINARY_DIR "/bin/assay' " + arguments + "\" /dev/null < /dev/null");
  }
  std::string ledger() const { return " --ledger '" + (folder_ / "ledger.sqlite").string() + "'"; }
  std::string kernel() const { return " --family fwht --kernel '" + (folder_ / "kernel.metal").string() + "'"; }
  std::string with_kernel() const { return kernel() + ledger(); }
};

TEST_F(CliDaily, AFailureStandsOutOnATerminalOnly) {
  static_cast<void>(wrong_kernel());
  const std::string arguments = "run " + kOther + with_kernel();
  const Outcome shown = on_terminal(arguments);
  EXPECT_EQ(shown.status, 1) << shown.output;
  EXPECT_THAT(shown.output,
              AllOf(HasSubstr(std::string(kFailure) + " kernel/d256/h2"), HasSubstr("0 passed, \x1b[1;97;41m1 failed\x1b[0m;")));
  // Without colours, the words are the same.
  for (const char* without : {"NO_COLOR=1", "TERM=dumb", "TERM="}) {
    const Outcome plain = on_terminal(arguments, without);
    EXPECT_EQ(plain.status, 1);
    EXPECT_THAT(plain.output, AllOf(HasSubstr("failed kernel/d256/h2"), HasSubstr("0 passed, 1 failed;"), Not(HasSubstr("\x1b[1"))))
        << without;
  }
  EXPECT_THAT(on_terminal(arguments, "NO_COLOR=").output, HasSubstr(kFailure)) << "an empty variable switches nothing off";
  EXPECT_THAT(run_under("TERM=xterm", arguments).output, AllOf(HasSubstr("failed kernel"), Not(HasSubstr("\x1b"))));
}

TEST_F(CliDaily, ADumbTerminalHasNoBar) {
  const std::string arguments = "run " + kCase + " " + kOther + ledger();
  EXPECT_THAT(on_terminal(arguments).output, HasSubstr("\r\x1b[K["));
  EXPECT_THAT(on_terminal(arguments, "TERM=dumb").output, AllOf(HasSubstr("2 cases: 2 passed"), Not(HasSubstr("\x1b"))));
}

TEST_F(CliDaily, FiguresByFamilyAreForTerminalsAndForThoseWhoAsk) {
  const std::string arguments = "run " + kCase + " " + kOther + ledger();
  constexpr const char* kFigures = "largest error/bound by family and fixture";
  EXPECT_THAT(run_assay(arguments).output, AllOf(StartsWith("2 cases: 2 passed, 0 failed; "), Not(HasSubstr(kFigures))));
  EXPECT_THAT(run_assay(arguments + " --figures").output, HasSubstr(kFigures));
  EXPECT_THAT(on_terminal(arguments).output, HasSubstr(kFigures));
}

TEST_F(CliDaily, ShowDrawsWhichCoordinatesAreWrong) {
  // The last coordinate of each row alone.
  static_cast<void>(
      write(replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= lane == 31 && e == E - 1 ? 2.0f * scale : scale;")));
  const std::string arguments = "show " + kOther + kernel();
  const Outcome drawn = run_under("LC_ALL=C", arguments + " --plot");
  EXPECT_EQ(drawn.status, 1);
  EXPECT_THAT(drawn.output, AllOf(HasSubstr("error/bound by coordinate, the largest of all rows, logarithmic\n"),
                                  ContainsRegex("\n +[0-9.e+]+ \\| {63}#\\|\n"), ContainsRegex("\n {15}0 {60}255\n")));
  // Eight worst elements are listed, though all were sent.
  const std::string table = drawn.output.substr(drawn.output.find("worst elements\n"));
  EXPECT_THAT(table.substr(0, table.find("replay:")), Not(ContainsRegex("(\n.*){11}")));
  EXPECT_THAT(run_under("LC_ALL=C.UTF-8", arguments + " --plot").output, HasSubstr("█"));
  EXPECT_THAT(run_under("LC_ALL=C.UTF-8", arguments).output, Not(HasSubstr("error/bound by coordinate")));
  EXPECT_THAT(on_terminal(arguments).output, HasSubstr("error/bound by coordinate"));
}

TEST_F(CliDaily, TheCasesThatFailedLastCanBeRunAlone) {
  const std::string both = "run " + kCase + " " + kOther;
  static_cast<void>(wrong_kernel());
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed").output,
              AllOf(HasSubstr("--last-failed: the ledger has no verdict on these cases with the same options, so all of them run"),
                    HasSubstr("2 cases: 1 passed, 1 failed")));
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed").output,
              AllOf(HasSubstr("--last-failed: 1 of 2 cases failed when they last ran, and only these run"),
                    HasSubstr("1 case: 0 passed, 1 failed")));
  // A run of another case does not make one forget.
  EXPECT_THAT(run_assay("run " + kCase + with_kernel()).output, HasSubstr("1 case: 1 passed"));
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed").output, HasSubstr("1 case: 0 passed, 1 failed"));
  // With other options nothing is known.
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed --policy checked").output, HasSubstr("2 cases: 1 passed, 1 failed"));
  static_cast<void>(right_kernel());
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed").output, HasSubstr("1 case: 1 passed, 0 failed"));
  EXPECT_THAT(run_assay(both + with_kernel() + " --last-failed").output,
              AllOf(HasSubstr("0 of 2 cases failed when they last ran, so all of them run"), HasSubstr("2 cases: 2 passed")));
}

TEST_F(CliDaily, TheCasesThatFailedLastCanRunFirst) {
  const std::string both = "run " + kCase + " " + kOther + " --jobs 1 --fail-fast";
  static_cast<void>(wrong_kernel());
  EXPECT_THAT(run_assay(both + with_kernel()).output, HasSubstr("2 cases: 1 passed, 1 failed"));
  EXPECT_THAT(run_assay(both + with_kernel() + " --failed-first").output,
              AllOf(HasSubstr("--failed-first: 1 of 2 cases failed when they last ran, and they run first"),
                    HasSubstr("1 case: 0 passed, 1 failed")));
}

// What ran is a part of the selection, and must not pass for the whole of it.
TEST_F(CliDaily, ARunOfFailedCasesIsNotResumedAsTheWhole) {
  const std::string both = "run " + kCase + " " + kOther;
  static_cast<void>(wrong_kernel());
  for (const char* option : {"", " --last-failed"}) EXPECT_EQ(run_assay(both + with_kernel() + option).status, 1);
  EXPECT_THAT(run_assay(both + with_kernel() + " --resume").output, HasSubstr("resumed: 2 of 2 cases already have a verdict"));
}

TEST_F(CliDaily, LastFailedNeedsALedgerAndAWholeSelection) {
  EXPECT_THAT(run_assay("run " + kCase + " --last-failed --ledger none").output, HasSubstr("--last-failed needs a ledger"));
  for (const char* other : {"--failed-first", "--resume", "--estimate"}) {
    const Outcome refused = run_assay("run " + kCase + " --last-failed " + other);
    EXPECT_EQ(refused.status, 2) << other;
    EXPECT_THAT(refused.output, HasSubstr(other));
  }
}

}  // namespace
}  // namespace assay::tests::daily_test
