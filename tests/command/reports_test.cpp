// The command writes the reports that it is asked for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "harness/ledger/ledger.h"
#include "tests/support/command.h"

namespace assay::tests::reports_test {
namespace {

using namespace ::testing;

class CliReports : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
};

TEST_F(CliReports, EveryFormatOfOneRun) {
  const Outcome run = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --ledger " + file("l") + " --html " + file("run.html"));
  ASSERT_EQ(run.status, 0) << run.output;
  const std::string report = "report --ledger " + file("l") + " --format ";
  EXPECT_EQ(run_assay(report + "html -o " + file("report.html")).status, 0);
  EXPECT_THAT(read_file(file("run.html")), StartsWith("<!DOCTYPE html>"));
  EXPECT_EQ(read_file(file("run.html")), read_file(file("report.html")));
  EXPECT_EQ(nlohmann::json::parse(run_assay(report + "json").output)["summary"]["statuses"]["passed"], 1);
  EXPECT_THAT(run_assay(report + "markdown").output, StartsWith("## assay: none of 1 case failed"));
  EXPECT_EQ(run_assay(report + "pdf").status, 2);
}

TEST_F(CliReports, APageComparesTwoRuns) {
  const std::string ledger = " --ledger " + file("l");
  const auto run = [&](const std::string& store) {
    std::string text = source_of("reduce_v1");
    text.replace(text.find("dst4[i] = sum * inv;"), 20, store);
    return run_assay("run kernel/d256/rows2/nwg4/gauss/s1 --family reduce --kernel " + write(text) + ledger).status;
  };
  ASSERT_EQ(run("dst4[i] = sum * inv;"), 0);
  ASSERT_EQ(run("dst4[i] = sum + inv;"), 1);
  const Outcome page = run_assay("report --format html --against latest~1" + ledger);
  EXPECT_EQ(page.status, 0);
  EXPECT_THAT(page.output,
              AllOf(HasSubstr("\"summary\":\"1 case in both: 1 broke, 0 healed"), HasSubstr("\"changes\":[[0,\"broke\",\"passed\","),
                    HasSubstr("[\"kernel of kernel\"]"), HasSubstr("\"past\":[0,[[0,\"passed\",")));
  EXPECT_THAT(run_assay("report --format html" + ledger).output, Not(HasSubstr("\"against\":")));
  const Outcome text = run_assay("report --against latest~1" + ledger);
  EXPECT_EQ(text.status, 2);
  EXPECT_THAT(text.output, HasSubstr("--against needs --format html; `assay diff EARLIER LATER`"));
  EXPECT_EQ(run_assay("report --format html --against 99" + ledger).status, 2);
  EXPECT_EQ(run_assay("report --drift 1" + ledger).status, 2) << "it would change nothing";
}

TEST_F(CliReports, SimilarFailuresAreReportedOnce) {
  {
    harness::Ledger ledger = harness::Ledger::open(file("l"));
    harness::RunDescription description;
    description.selected = 5;
    const harness::RunId run = ledger.begin(description);
    for (const int rows : {9, 2, 5}) {
      harness::Verdict verdict;
      verdict.test_case = harness::parse_case(fmt::format("k/d256/rows{}/nwg4/gauss/s7", rows), families::find_family("reduce"));
      verdict.status = harness::Status::failed;
      verdict.faults = {harness::fault::NotWritten{static_cast<std::uint64_t>(256 * rows)}};
      verdict.judgement.not_written = 256 * static_cast<std::size_t>(rows);
      verdict.judgement.max_ratio = std::numeric_limits<double>::infinity();
      ledger.started(run, verdict.test_case);
      ledger.record(run, verdict);
    }
  }
  const std::string text = run_assay("report --ledger " + file("l")).output;
  EXPECT_THAT(text, HasSubstr("4,096 elements compared, 4,096 faulty\n"));
  EXPECT_THAT(text, HasSubstr("failed k/d256/rows2/nwg4/gauss/s7\n  512 never written, or written from unwritten memory\n  replay: assay "
                              "run k/d256/rows2/nwg4/gauss/s7\n"
                              "  and 2 more similar cases of k; this one is the smallest; largest error/bound inf\n"));
  EXPECT_EQ(text.find("replay:"), text.rfind("replay:"));
}

// Unwritten elements are compared and faulty, none of them above its bound, and their error is none rather than 0.
TEST_F(CliReports, UnwrittenElementsAreCountedAlikeEverywhere) {
  std::string text = source_of("reduce_v1");
  const std::string store = "dst4[i] = sum * inv;";
  ASSERT_NE(text.find(store), std::string::npos);
  text.replace(text.find(store), store.size(), "(void)sum;");
  const std::string selection = " kernel/d256/rows2/nwg4/gauss/s1 --family reduce --kernel " + write(text);
  const Outcome shown = run_assay("show" + selection);
  EXPECT_THAT(shown.output, HasSubstr("elements         512 compared, 0 above bound, 512 never written, 0 NaN"));
  EXPECT_THAT(shown.output, HasSubstr("none: no element is a number"));
  EXPECT_THAT(run_assay("run" + selection).output, HasSubstr("512 elements compared, 512 faulty"));
}

TEST_F(CliReports, AFileThatCannotBeWrittenIsSaidBeforeAnythingRuns) {
  const Outcome outcome = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --ledger " + file("l") + " --html " + file("no/folder.html"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(file("l")) && run_assay("report --ledger " + file("l")).status == 0) << "a run was recorded";
}

}  // namespace
}  // namespace assay::tests::reports_test
