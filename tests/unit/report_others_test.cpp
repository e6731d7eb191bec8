// Other runs on the HTML page: the past of cases, packed and unpacked, and the comparison with another run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/html.h"
#include "reports/page_data.h"
#include "reports/page_others.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::report_others_test {
namespace {

using namespace reports;
using namespace ::testing;
using harness::CaseOutcome;
using harness::CaseRecord;
using harness::Status;
using nlohmann::json;

PastRun past_run(harness::RunId id, std::vector<CaseOutcome> outcomes) {
  PastRun past{some_run(), std::move(outcomes)};
  past.run.id = id;
  return past;
}
json parsed(const PageJson& value) { return json::parse(page_text(value)); }

TEST(ReportPast, HasAnEntryWhereSomethingChanged) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CaseRecord> cases = {record("a", "tq4", "gauss", Status::passed, 0.5), record("b", "tq4", "gauss", Status::passed, 0.5),
                                         record("c", "tq4", "gauss", Status::passed, 0.5)};
  OtherRuns others;
  others.past = {
      past_run(1, {{"a", Status::passed, 0.25, 7}, {"b", Status::passed, 0.25, 7}}), past_run(2, {{"a", Status::passed, 0.25, 7}}),
      past_run(4, {{"a", Status::failed, INFINITY, 8}, {"b", std::nullopt, kNone, 0}}), past_run(5, {{"a", Status::failed, INFINITY, 8}})};
  const harness::RunRecord run = some_run();
  const Histories histories(run, cases, others);
  const json runs = parsed(histories.runs_json());
  EXPECT_EQ(runs["runs"].size(), 4U);
  EXPECT_EQ(runs["runs"][2][0], 4);
  EXPECT_EQ(runs["runs"][2][2], "assay gate --kernel 'a&b.metal'");
  EXPECT_EQ(runs["sets"], json::parse("[[0, 1, 2, 3], [0, 2]]"));
  EXPECT_EQ(parsed(histories.case_json(cases[0])), json::parse(R"([0, [[0, "passed", 0.25, 0], [2, "failed", "inf", 1]], 0])"));
  EXPECT_EQ(parsed(histories.case_json(cases[1])), json::parse(R"([1, [[0, "passed", 0.25, 0], [1, "no verdict", null, 0]], 0])"));
  EXPECT_TRUE(histories.case_json(cases[2]).is_null());
}

TEST(ReportPast, SaysHowTheEnvironmentDiffers) {
  OtherRuns others;
  others.past = {past_run(1, {{"a", Status::passed, 0.25, 7}})};
  others.past[0].run.description.environment.compiler = "old";
  harness::RunRecord run = some_run();
  run.description.environment.compiler = "new";
  const std::vector<CaseRecord> cases = {record("a", "tq4", "gauss", Status::passed, 0.5)};
  EXPECT_THAT(parsed(Histories(run, cases, others).runs_json())["runs"][0][3].dump(), HasSubstr("compiler"));
}

// Fifty runs of many equal cases take little more room than one.
TEST(ReportPast, IsSmall) {
  std::vector<CaseRecord> cases;
  std::vector<CaseOutcome> outcomes;
  for (int i = 0; i < 500; ++i) {
    cases.push_back(record("tq4_v1/some_case_with_a_long_name/s" + std::to_string(i), "tq4", "gauss", Status::passed, 0.5));
    outcomes.push_back({cases.back().name, Status::passed, 0.5, 7});
  }
  OtherRuns others;
  for (harness::RunId id = 1; id <= 50; ++id) others.past.push_back(past_run(id, outcomes));
  const std::size_t alone = html(some_run(), cases).size();
  EXPECT_LT(html(some_run(), cases, others).size(), alone + 500 * 50 + 50 * 200);
}

class ReportPastOfLedger : public Test {
 protected:
  harness::RunId add(const std::string& seed, Status status = Status::passed) {
    const harness::RunId run = ledger_.begin({});
    harness::Verdict verdict;
    verdict.test_case = harness::parse_case("k/d256/rows2/nwg4/gauss/s" + seed, families::find_family("reduce"));
    verdict.status = status;
    ledger_.started(run, verdict.test_case);
    ledger_.record(run, verdict);
    return run;
  }
  OtherRuns past(harness::RunId run) const { return past_of(ledger_, ledger_.run(run), ledger_.cases(run)); }
  harness::Ledger ledger_ = harness::Ledger::in_memory();
};

TEST_F(ReportPastOfLedger, AreTheEarlierRunsThatHaveTheCases) {
  add("1");
  add("2");
  add("1", Status::failed);
  const harness::RunId run = add("1");
  add("1");
  const OtherRuns others = past(run);
  ASSERT_THAT(others.past, SizeIs(2));
  EXPECT_EQ(others.past[0].run.id, 1);
  EXPECT_EQ(others.past[1].run.id, 3);
  EXPECT_EQ(others.past[1].outcomes.at(0).status, Status::failed);
  EXPECT_EQ(others.trouble, "");
  EXPECT_THAT(past(1).past, IsEmpty());
}

TEST_F(ReportPastOfLedger, AreAtMostFifty) {
  for (std::size_t i = 0; i < kMostPastRuns + 3; ++i) add("1");
  const OtherRuns others = past(add("1"));
  ASSERT_THAT(others.past, SizeIs(kMostPastRuns));
  EXPECT_EQ(others.past.back().run.id, static_cast<harness::RunId>(kMostPastRuns + 3));
}

AgainstRun against(std::vector<CaseRecord> before, const std::string& file = "l.sqlite") {
  harness::RunRecord earlier = some_run();
  earlier.id = 3;
  return {{earlier, some_run(), file, "l.sqlite", 0.05}, std::move(before)};
}

TEST(ReportAgainst, HasEveryCaseThatChanged) {
  const auto with_bits = [](CaseRecord it, std::uint64_t digest) {
    it.digest = digest;
    return it;
  };
  const std::vector<CaseRecord> before = {with_bits(record("broke", "tq4", "gauss", Status::passed, 0.5), 1),
                                          record("healed", "tq4", "gauss", Status::failed, 40),
                                          record("changed", "tq4", "gauss", Status::failed, 40),
                                          record("drifted", "tq4", "gauss", Status::passed, 0.25),
                                          with_bits(record("bits", "tq4", "gauss", Status::passed, 0.5), 1),
                                          with_bits(record("same", "tq4", "gauss", Status::passed, 0.5), 1),
                                          record("gone", "tq4", "gauss", Status::passed, 0.5)};
  const std::vector<CaseRecord> now = {with_bits(record("same", "tq4", "gauss", Status::passed, 0.5), 1),
                                       with_bits(record("bits", "tq4", "gauss", Status::passed, 0.51), 2),
                                       record("drifted", "tq4", "gauss", Status::passed, 0.75),
                                       record("changed", "tq4", "gauss", Status::hazard, 40),
                                       record("healed", "tq4", "gauss", Status::passed, 0.5),
                                       with_bits(record("broke", "tq4", "gauss", Status::failed, 40), 2),
                                       record("new", "tq4", "gauss", Status::passed, 0.5)};
  const json said = parsed(against_json(against(before), now));
  EXPECT_EQ(said["changes"],
            json::parse(R"([[5, "broke", "passed", 0.5, 1], [4, "healed", "failed", 40.0, 0], [3, "changed", "failed", 40.0, 0],
                            [2, "drifted", "passed", 0.25, 0], [1, "other_bits", "passed", 0.5, 1]])"));
  EXPECT_EQ(said["only_before"], json::parse(R"(["gone"])"));
  EXPECT_EQ(said["only_after"], json::parse("[6]"));
  EXPECT_THAT(said["summary"].get<std::string>(), StartsWith("6 cases in both: 1 broke, 1 healed, 1 changed otherwise, 1 drifted"));
  EXPECT_EQ(said["before"]["id"], 3);
  EXPECT_EQ(said["before"]["is_same_file"], true);
  EXPECT_EQ(parsed(against_json(against(before, "other.sqlite"), now))["before"]["is_same_file"], false);
}

TEST(ReportAgainst, NoTextOfTheOtherRunIsMarkup) {
  std::vector<CaseRecord> cases = some_cases();
  cases[0].lines = {{kHostile, 1, kHostile}};
  OtherRuns others;
  others.against = against(cases, "l.sqlite");
  others.past = {past_run(1, {{cases[0].name, Status::passed, 0.25, 7}})};
  others.trouble = "damaged";
  const std::string harmless = html(some_run(), some_cases(), others);
  for (CaseRecord& record : others.against->cases) record.name += kHostile;
  others.against->runs.earlier.description.command = others.against->runs.earlier_file = others.past[0].run.description.command = kHostile;
  others.trouble = kHostile;
  const std::string page = html(some_run(), cases, others);
  const auto count = [](std::string_view what, std::string_view text) {
    std::size_t found = 0;
    for (std::size_t place = text.find(what); place != std::string_view::npos; place = text.find(what, place + 1)) ++found;
    return found;
  };
  for (const char* markup : {"<script", "</script", "<!--", "<img", "alert(1)</"})
    EXPECT_EQ(count(markup, page), count(markup, harmless)) << markup;
  EXPECT_THAT(page, HasSubstr("\\u003cimg src=x"));
}

}  // namespace
}  // namespace assay::tests::report_others_test
