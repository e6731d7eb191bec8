// What `assay` gives to a pull request: commands to GitHub's runner, SARIF, JUnit and a summary, with paths of the repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "tests/support/command.h"
#include "tests/support/json_schema.h"

namespace assay::tests::pull_requests_test {
namespace {

using namespace ::testing;

// A checkout with kernels/rows.metal, a reduce that lacks a barrier. Commands run in its folder `kernels`.
class PullRequests : public TestInFolder {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_ / "checkout/.git");
    std::filesystem::create_directories(folder_ / "checkout/kernels");
    write(read_file(kRoot / "tests/kernels/reduce_without_barrier.metal"), "checkout/kernels/rows.metal");
  }
  [[nodiscard]] Outcome run(const std::string& arguments, const std::string& environment = "-u GITHUB_WORKSPACE") const {
    return run_command("cd '" + (folder_ / "checkout/kernels").string() + "' && env " + environment + " '" + ASSAY_BINARY_DIR +
                       "/bin/assay' " + arguments);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
};

std::vector<std::string> schema_errors(const std::string& text) {
  Validator validator(nlohmann::json::parse(read_file(kRoot / "tests/unit/sarif-2.1.0-subset.schema.json")));
  return validator.errors_of(nlohmann::json::parse(text));
}

constexpr const char* kRace = "::error file=kernels/rows.metal,line=28,title=rows%3A race between simdgroups::";
constexpr const char* kCase = "rows/d256/rows1/nwg2/gauss/s692";

TEST_F(PullRequests, ARunHasEveryReportWithPathsOfTheRepository) {
  const Outcome outcome =
      run("run " + std::string(kCase) + " --kernel rows.metal --family reduce --strict --ledger " + file("l") + " --github " +
          file("commands") + " --sarif " + file("sarif") + " --junit " + file("junit") + " --markdown " + file("summary"));
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(read_file(file("commands")), StartsWith(kRace));
  EXPECT_THAT(read_file(file("summary")), StartsWith("## assay: 1 of 1 case failed"));
  EXPECT_THAT(schema_errors(read_file(file("sarif"))), IsEmpty());
  const auto sarif = nlohmann::json::parse(read_file(file("sarif")));
  EXPECT_EQ(sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "kernels/rows.metal");
  pugi::xml_document junit;
  ASSERT_TRUE(junit.load_file(file("junit").c_str()));
  const pugi::xml_node testcase = junit.child("testsuites").child("testsuite").child("testcase");
  EXPECT_STREQ(testcase.attribute("file").value(), "kernels/rows.metal");
  EXPECT_EQ(testcase.attribute("line").as_int(), 28);

  // Of the ledger, on the terminal and in a file: the same bytes, and commands stay commands.
  const std::string report = "report --ledger " + file("l") + " --format ";
  EXPECT_EQ(run(report + "github").output, read_file(file("commands")));
  EXPECT_EQ(run(report + "github -o " + file("again")).status, 0);
  EXPECT_EQ(read_file(file("again")), read_file(file("commands")));
  EXPECT_EQ(run(report + "sarif").output, read_file(file("sarif")));
  // GitHub's workspace comes first, if it contains the kernel.
  EXPECT_THAT(run(report + "github", "GITHUB_WORKSPACE='" + folder_.string() + "'").output,
              StartsWith("::error file=checkout/kernels/rows.metal,line=28"));
  EXPECT_THAT(run(report + "github", "GITHUB_WORKSPACE=/nowhere").output, StartsWith(kRace));
}

TEST_F(PullRequests, FindingsOfTriageHaveTheirLines) {
  const std::string triage = "triage " + std::string(kCase) + " --fast --policy checked --kernel rows.metal --family reduce --format ";
  const Outcome commands = run(triage + "github");
  EXPECT_EQ(commands.status, 1) << commands.output;
  EXPECT_THAT(commands.output, ContainsRegex("^::error file=kernels/rows.metal,line=(23|28),title=rows%3A "));
  const Outcome sarif = run(triage + "sarif -o " + file("sarif"));
  EXPECT_EQ(sarif.status, 1) << sarif.output;
  EXPECT_EQ(sarif.output, read_file(file("sarif")));
  EXPECT_THAT(schema_errors(sarif.output), IsEmpty());
  EXPECT_THAT(sarif.output, HasSubstr("\"ruleId\": \"cause/"));
  EXPECT_EQ(run(triage + "junit").status, 2);
}

TEST_F(PullRequests, CompileErrorsHaveTheirLines) {
  const std::string text = read_file(kRoot / "tests/kernels/reduce_without_barrier.metal");
  write(replaced_once(text, "uint nrows;", "unit nrows;"), "checkout/kernels/rows.metal");
  constexpr const char* error = "::error file=kernels/rows.metal,line=8,title=unknown type name 'unit'::unknown type name 'unit'%0A";
  const Outcome commands = run("compile rows.metal --format github");
  EXPECT_EQ(commands.status, 1);
  EXPECT_THAT(commands.output, AllOf(StartsWith(error), HasSubstr("2 functions do not compile")));
  EXPECT_EQ(nlohmann::json::parse(run("compile rows.metal --listing --format json").output)["format"], "assay-compile");
  const Outcome page = run("compile rows.metal --format html");
  EXPECT_EQ(page.status, 1);
  EXPECT_THAT(page.output, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("&gt;     8 |   unit nrows;"), HasSubstr("      9 | };")));

  // A run that cannot begin says the same in its reports, also in the place of those of an earlier run.
  for (const char* name : {"commands", "sarif", "junit", "summary", "page"}) write("old", name);
  const Outcome outcome = run("run smoke --kernel rows.metal --family reduce --ledger none --github " + file("commands") + " --sarif " +
                              file("sarif") + " --junit " + file("junit") + " --markdown " + file("summary") + " --html " + file("page"));
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(read_file(file("commands")), StartsWith(error));
  EXPECT_THAT(schema_errors(read_file(file("sarif"))), IsEmpty());
  EXPECT_THAT(read_file(file("junit")), HasSubstr("file=\"kernels/rows.metal\" line=\"8\""));
  EXPECT_THAT(read_file(file("summary")),
              StartsWith("## assay: kernels/rows.metal does not compile\n\n- kernels/rows.metal:8: unknown type"));
  EXPECT_THAT(read_file(file("page")),
              AllOf(HasSubstr("<h1>kernels/rows.metal does not compile</h1>"), HasSubstr("unknown type name 'unit'")));
}

// Names and messages of the file under test are part of a command, and never one themselves.
TEST_F(PullRequests, HostileTextStaysInItsCommand) {
  const std::string name = "a,b%0A::warning::c\x1b[31m ##[error]d\u2028\xff.metal";
  write("#error \x1b[2J ##[error]x \u202e::error::y\n#error %0A::error::z\n", "checkout/kernels/" + name);
  const Outcome outcome = run("compile '" + name + "' --format github");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, StartsWith("::error file=kernels/a%2Cb%250A%3A%3Awarning%3A%3Ac"));
  std::istringstream lines(outcome.output);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, StartsWith("::error file=kernels/a%2Cb"));
    EXPECT_EQ(line.find_first_of("\x1b\r\xff"), std::string::npos) << line;
    EXPECT_THAT(line, Not(HasSubstr("##[")));
    EXPECT_THAT(line, Not(ContainsRegex("[^5]%0A::error::z"))) << "a percent sign of the file is no line break";
  }
}

}  // namespace
}  // namespace assay::tests::pull_requests_test
