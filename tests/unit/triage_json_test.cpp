// The JSON of triage against docs/triage.schema.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "families/registry.h"
#include "reports/triage_json.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::triage_json_test {
namespace {

using nlohmann::json;
using namespace ::testing;

Validator validator() {
  std::ifstream stream(ASSAY_SOURCE_DIR "/docs/triage.schema.json");
  return Validator(json::parse(stream));
}

reports::TriagedVariant triaged(const std::string& text) {
  harness::Finding finding;
  finding.given.test_case = finding.minimal.test_case = harness::parse_case("k/d256/rows2/nwg4/gauss/s7", families::find_family("reduce"));
  finding.minimal.status = harness::Status::failed;
  finding.minimal.faults = {harness::fault::Told{text}};
  finding.minimal.row_length = 256;
  finding.minimal.judgement.worst = {{300, 1, NAN, 0.5, INFINITY, harness::ElementFault::nan}};
  finding.members = {"k/d256/rows2/nwg4/gauss/s7"};
  finding.classification.says = text;
  finding.classification.decided = harness::decided::BestFit{0.5};
  finding.classification.fits = {{.kind = "lost-chunk", .says = text, .goodness = 0.5, .exact = 1}};
  finding.where = finding.near = {text};
  finding.hazards = {{metal::HazardKind::device_race, text, text, {text, 3}, {}, 1}};
  finding.suspects = {{.file = text, .line = 2, .why = text, .context = {"> " + text}, .repaired = {}}};
  finding.repaired_source = "b\n" + text;
  reports::TriagePage page;
  page.source_file = "k" + text + ".metal";
  page.source_text = "a\n" + text;
  page.failing = page.selected = 1;
  page.replay = [](const std::string& name) { return "assay run " + name; };
  return {"k", page, {finding}};
}

TEST(TriageJson, IsWhatTheSchemaSays) {
  for (const std::string text : {"harmless", tests::kHostile}) {
    const json document = json::parse(reports::triage_json({{triaged(text)}}, {{text}}, {{text}}));
    EXPECT_THAT(validator().errors_of(document), IsEmpty());
    const json& finding = document["variants"][0]["findings"][0];
    EXPECT_EQ(finding["smallest"]["replay"], "assay run k/d256/rows2/nwg4/gauss/s7");
    EXPECT_THAT(finding["evidence"][0].get<std::string>(), HasSubstr("explains 50.0 %"));
    EXPECT_THAT(finding["diff"].get<std::string>(), HasSubstr("\n-a\n+b\n"));
    EXPECT_EQ(finding["worst"][0]["row"], 1);
    EXPECT_TRUE(finding["worst"][0]["actual"].is_null());
  }
}

TEST(TriageJson, SaysWhetherALineIsOnlyAPlaceToLook) {
  reports::TriagedVariant found = triaged("x");
  found.findings[0].suspects.push_back(found.findings[0].suspects[0]);
  found.findings[0].suspects[0].why.insert(0, harness::kPlaceToLook);
  const json document = json::parse(reports::triage_json({{found}}, {}, {}));
  EXPECT_THAT(validator().errors_of(document), IsEmpty());
  EXPECT_EQ(document["variants"][0]["findings"][0]["suspects"][0]["is_guess"], true);
  EXPECT_EQ(document["variants"][0]["findings"][0]["suspects"][1]["is_guess"], false);
}

TEST(TriageJson, OfNothingHasNoVariants) {
  const json document = json::parse(reports::triage_json({}, {}, {}));
  EXPECT_THAT(validator().errors_of(document), IsEmpty());
  EXPECT_THAT(document["variants"], IsEmpty());
}

TEST(TriageJson, WhatTheSchemaDoesNotDescribeIsFound) {
  json document = json::parse(reports::triage_json({{triaged("x")}}, {}, {}));
  document["variants"][0]["findings"][0]["secret"] = 1;
  EXPECT_THAT(validator().errors_of(document), ElementsAre(HasSubstr("is not documented")));
  document["variants"][0]["findings"][0].erase("secret");
  document["variants"][0]["findings"][0].erase("diff");
  EXPECT_THAT(validator().errors_of(document), ElementsAre(HasSubstr("lacks diff")));
}

}  // namespace
}  // namespace assay::tests::triage_json_test
