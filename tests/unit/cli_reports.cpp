// The command writes the reports that it is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/cli_command.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

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

TEST_F(CliReports, AFileThatCannotBeWrittenIsSaidBeforeAnythingRuns) {
  const Outcome outcome = run_assay("run reduce_v1/d256/rows2/nwg4/gauss/s1 --ledger " + file("l") + " --html " + file("no/folder.html"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.output, HasSubstr("cannot be written"));
  EXPECT_FALSE(std::filesystem::exists(file("l")) && run_assay("report --ledger " + file("l")).status == 0) << "a run was recorded";
}

}  // namespace
}  // namespace assay
