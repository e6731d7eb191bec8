// The JSON report against docs/report.schema.json: every field is there, of its type, and every field is documented.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/run_json.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_runs.h"
#include "tests/unit/some_finding.h"

namespace assay::tests::report_json_test {
namespace {

using namespace reports;

using harness::CaseRecord;
using nlohmann::json;
using tests::Validator;
using namespace ::testing;

json schema() {
  std::ifstream stream(ASSAY_SOURCE_DIR "/docs/report.schema.json");
  return json::parse(stream);
}

// Every optional field is in it.
std::vector<CaseRecord> full_cases() {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[0].judgement.nmse = std::numeric_limits<double>::quiet_NaN();
  cases[1].judgement.max_ratio = std::numeric_limits<double>::infinity();
  cases[1].judgement.worst.push_back({0, 1, INFINITY, 0.5, INFINITY, harness::ElementFault::infinite});
  cases[1].stages = {{"reduce of reduce_v1", true, false, {harness::fault::Told{"wrong"}}, {}}};
  cases[1].cost = metal::Cost{1, 2, 3, 4, 5, 6, 7, 8, 9};
  cases[2].status = harness::Status::known;
  cases[2].known = {"FINDINGS.md#3"};
  return cases;
}

json report() {
  harness::RunRecord run = tests::some_run();
  run.description.environment = {"checked", "b", "clang", "-O2", "t", {{"tq4_v1", "kernel.metal", "abc"}}};
  return json::parse(run_json(run, full_cases()));
}

TEST(ReportJson, IsWhatTheSchemaSays) {
  EXPECT_THAT(Validator(schema()).errors_of(report()), IsEmpty());
  EXPECT_THAT(Validator(schema()).errors_of(json::parse(run_json(tests::some_run(), {}))), IsEmpty());
}

// With texts that are no UTF-8.
TEST(ReportJson, HasCausesAndRemarksAsTheSchemaSays) {
  harness::RunRecord run = tests::some_run();
  run.findings = {tests::some_finding("fwht_v1/b", tests::kHostile), tests::some_finding("tq4_v1/c")};
  std::vector<CaseRecord> cases = full_cases();
  for (const std::size_t i : {std::size_t{0}, std::size_t{4}})
    cases[i].remarks = {{metal::HazardKind::identical_writes, "f", "lane writes", {"k.metal", 12}, {}, 3}};
  const json document = json::parse(run_json(run, cases));
  EXPECT_THAT(Validator(schema()).errors_of(document), IsEmpty());
  EXPECT_EQ(document["causes"][1]["class"], "wrong-factor");
  EXPECT_EQ(document["causes"][1]["suspects"][0]["line"], 12);
  EXPECT_THAT(document["causes"][1]["diff"].get<std::string>(), HasSubstr("-b\n+c\n"));
  EXPECT_EQ(document["cases"][1]["cause"], 0);
  EXPECT_EQ(document["cases"][2]["cause"], 1);
  EXPECT_FALSE(document["cases"][0].contains("cause"));
  ASSERT_THAT(document["remarks"], SizeIs(1)) << "similar ones are one";
  EXPECT_EQ(document["remarks"][0]["count"], 6);
  EXPECT_FALSE(json::parse(run_json(tests::some_run(), full_cases())).contains("causes"));
}

TEST(ReportJson, IsTheGoldenFile) { tests::expect_golden("report.json", run_json(tests::some_run(), full_cases())); }

TEST(ReportJson, WhatIsNotAsTheSchemaSaysIsFound) {
  const auto first_error = [](const json& document) {
    const std::vector<std::string> errors = Validator(schema()).errors_of(document);
    return errors.empty() ? std::string() : errors.front();
  };
  json lacking = report();
  lacking["cases"][1]["worst"][0].erase("bound");
  EXPECT_EQ(first_error(lacking), "/cases/1/worst/0: lacks bound");
  json wrong = report();
  wrong["summary"]["verdicts"] = "many";
  EXPECT_THAT(first_error(wrong), HasSubstr("/summary/verdicts: is no \"integer\""));
  json unknown = report();
  unknown["cases"][0]["judgement"]["secret"] = 1;
  EXPECT_EQ(first_error(unknown), "/cases/0/judgement/secret: is not documented");
  json status = report();
  status["cases"][0]["status"] = "fine";
  EXPECT_THAT(first_error(status), HasSubstr("is none of"));
}

TEST(ReportJson, HoldsTheRun) {
  const json document = report();
  EXPECT_EQ(document["summary"]["statuses"], json::parse(R"({"failed": 1, "known": 1, "no verdict": 1, "passed": 2, "skipped": 1})"));
  const json& failed = document["cases"][1];
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["axes"]["nwg"], 16);
  EXPECT_TRUE(failed["judgement"]["error_over_bound"].is_null()) << "what is not finite";
  EXPECT_EQ(failed["worst"][0]["row"], 1);
  EXPECT_EQ(failed["worst"][0]["fault"], "above_bound");
  EXPECT_EQ(failed["counters"]["bfloat_operations"], 9);
  EXPECT_EQ(failed["hazards"][0]["line"], 12);
  EXPECT_EQ(document["findings"][0]["cases"][0], "fwht_v1/b");
}

TEST(ReportJson, WhatHasNoVerdictIsAFailure) {
  harness::RunRecord run = tests::some_run();
  run.description.selected = 976;
  const json summary = json::parse(run_json(run, full_cases()))["summary"];
  EXPECT_EQ(summary["without_verdict"], 971);
  EXPECT_EQ(summary["failures"], 973);
  EXPECT_EQ(summary["statuses"]["no verdict"], 971);
}

TEST(ReportJson, OfNothingThatIsANumberThereIsNoError) {
  std::vector<CaseRecord> cases = {tests::some_cases()[0]};
  cases[0].judgement = {};
  cases[0].judgement.not_written = 1024;
  cases[0].judgement.cosine = 1;
  const json document = json::parse(run_json(tests::some_run(), cases));
  const json& judgement = document["cases"][0]["judgement"];
  EXPECT_EQ(judgement["compared"], 1024);
  EXPECT_EQ(judgement["faulty"], 1024);
  EXPECT_EQ(judgement["above_bound"], 0);
  EXPECT_EQ(document["summary"]["elements"], json::parse(R"({"compared": 1024, "faulty": 1024})"));
  for (const char* figure : {"nmse", "cosine", "max_abs_error", "max_rel_error"}) EXPECT_TRUE(judgement[figure].is_null()) << figure;
  EXPECT_THAT(Validator(schema()).errors_of(document), IsEmpty());
}

TEST(ReportJson, SurvivesTextThatIsNoUtf8) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[1].name = tests::kHostile;
  cases[1].faults = {harness::fault::Told{tests::kHostile}};
  EXPECT_THAT(json::parse(run_json(tests::some_run(), cases))["cases"][1]["reason"].get<std::string>(), HasSubstr("\xEF\xBF\xBD("));
}

}  // namespace
}  // namespace assay::tests::report_json_test
