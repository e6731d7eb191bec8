// Whether a run with fast mathematics says that its kernels pass, in every report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/html.h"
#include "reports/junit.h"
#include "reports/page_data.h"
#include "reports/robustness.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::robustness_test {
namespace {

using namespace ::testing;
using harness::CaseRecord;
using harness::Status;
using reports::robustness_text;

harness::RunRecord fast_run(std::size_t selected) {
  harness::RunRecord run = some_run();
  run.description.replay_options = {"--device", "cuda", "--math", "fast"};
  run.description.selected = run.verdicts = selected;
  return run;
}

CaseRecord mistrusted(const harness::Fault& fault) {
  CaseRecord one = record("tq4_v1/tiny", "tq4", "tiny", Status::mistrusted, 0.9);
  one.faults = {fault};
  return one;
}

harness::fault::Mistrusted too_wide() { return {harness::Distrust::uninformative, 512, 400, 1e-3}; }

TEST(Robustness, IsOnlySaidOfFastMathematics) {
  EXPECT_EQ(robustness_text(some_run(), some_cases()), "");
  harness::RunRecord run = some_run();
  run.description.replay_options = {"--device", "cuda"};
  EXPECT_EQ(robustness_text(run, some_cases()), "");
  run.description.machine = "elsewhere: Apple M2";
  run.description.replay_options = {"--math", "fast"};
  EXPECT_EQ(robustness_text(run, some_cases()), "") << "the bundle was compiled precisely";
  run.description.machine = "elsewhere: Apple M2, fast math";
  EXPECT_THAT(robustness_text(run, some_cases()), StartsWith("passes under fast math: no"));
}

TEST(Robustness, YesIfAllThatIsDecidedPasses) {
  std::vector<CaseRecord> cases = {record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5),
                                   record("tq4_v1/b", "tq4", "gauss", Status::passed, 0.75)};
  EXPECT_EQ(robustness_text(fast_run(2), cases), "passes under fast math: yes, largest error/bound 0.75 in tq4_v1/b");
  cases.push_back(mistrusted(too_wide()));
  cases.push_back(record("tq4_v1/known", "tq4", "gauss", Status::known, 40));
  cases.push_back(record("tq4_v1/skipped", "tq4", "gauss", Status::skipped, 0));
  EXPECT_EQ(robustness_text(fast_run(5), cases),
            "passes under fast math: yes, largest error/bound 0.75 in tq4_v1/b (1 case undecided: their bounds allow too much)");
}

TEST(Robustness, NoIfOneFails) {
  const std::vector<CaseRecord> cases = {record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5),
                                         record("tq4_v1/b", "tq4", "gauss", Status::failed, 3.25)};
  EXPECT_EQ(robustness_text(fast_run(2), cases), "passes under fast math: no, largest error/bound 3.25 in tq4_v1/b (1 case failed)");
}

// Only bounds that are too wide leave it open: a comparison of nothing, or a harness that failed, is no excuse.
TEST(Robustness, OtherMistrustIsAFailure) {
  const CaseRecord passed = record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5);
  for (const harness::Fault& fault :
       {harness::Fault{harness::fault::Mistrusted{}}, harness::Fault{harness::fault::InternalFailure{"no memory"}}})
    EXPECT_THAT(robustness_text(fast_run(2), std::vector{passed, mistrusted(fault)}), StartsWith("passes under fast math: no"));
}

TEST(Robustness, IsNotKnownWithoutVerdicts) {
  const CaseRecord passed = record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5);
  EXPECT_EQ(robustness_text(fast_run(1), std::vector{mistrusted(too_wide())}),
            "passes under fast math: not known (1 case undecided: their bounds allow too much)");
  harness::RunRecord stopped = fast_run(3);
  stopped.verdicts = 1;
  EXPECT_EQ(robustness_text(stopped, std::vector{passed}),
            "passes under fast math: not known, largest error/bound 0.5 in tq4_v1/a (2 cases without a verdict)");
}

TEST(Robustness, IsInEveryReport) {
  const harness::RunRecord run = fast_run(2);
  const std::vector<CaseRecord> cases = {record("tq4_v1/a", "tq4", "gauss", Status::passed, 0.5), mistrusted(too_wide())};
  const std::string text = robustness_text(run, cases);
  const auto json = nlohmann::json::parse(reports::run_json(run, cases));
  const auto schema = nlohmann::json::parse(read_file(kRoot / "docs/report.schema.json"));
  EXPECT_THAT(Validator(schema).errors_of(json), IsEmpty());
  EXPECT_EQ(json["summary"]["fast_math"]["text"], text);
  EXPECT_EQ(json["summary"]["fast_math"]["passes"], true);
  EXPECT_EQ(json["summary"]["fast_math"]["undecided"], 1);
  EXPECT_THAT(reports::run_markdown(run, cases), HasSubstr("passes under fast math: yes, largest error/bound 0.5 in"));
  EXPECT_THAT(reports::junit(run, cases, reports::SourceRoot("/")), HasSubstr("name=\"fast math, the whole run\" value=\"" + text + "\""));
  EXPECT_THAT(reports::page_data(run, cases), HasSubstr("\"fast_math\":\"" + text + "\""));
}

}  // namespace
}  // namespace assay::tests::robustness_test
