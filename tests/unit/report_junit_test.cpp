// What CI systems and people read of a run: the JUnit file against a golden one, figures counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <pugixml.hpp>

#include "reports/figures.h"
#include "reports/junit.h"
#include "reports/replay.h"
#include "reports/run_findings.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::report_junit_test {
namespace {

using namespace reports;

using harness::CaseRecord;
using harness::Status;
using namespace ::testing;
using tests::record;
using tests::some_cases;
using tests::some_run;

TEST(JUnit, IsTheGoldenFile) {
  tests::expect_golden("junit.xml", junit(some_run(), some_cases(), SourceRoot(std::filesystem::current_path())));
}

TEST(JUnit, CountsAndReplaysAsAReaderSeesThem) {
  const std::string text = junit(some_run(), some_cases(), SourceRoot("/"));
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(text.c_str()));
  const pugi::xml_node root = document.child("testsuites");
  EXPECT_EQ(root.attribute("tests").as_int(), 6);
  EXPECT_EQ(root.attribute("failures").as_int(), 1);
  EXPECT_EQ(root.attribute("errors").as_int(), 2);
  EXPECT_EQ(root.attribute("skipped").as_int(), 1);
  const pugi::xml_node failed = root.find_node([](pugi::xml_node node) { return std::string_view(node.name()) == "failure"; });
  EXPECT_STREQ(failed.attribute("message").value(), "1 elements above their bound <&>");
  EXPECT_THAT(failed.child_value(), HasSubstr("replay: assay run fwht_v1/b --kernel 'a&b.metal' --family tq4 --schedule forward,reverse"));
  EXPECT_THAT(failed.child_value(), HasSubstr("row 1, coordinate 1: expected 0.5, actual 0.75, error 0.25, bound 0.00625"));
  EXPECT_STREQ(failed.parent().attribute("name").value(), "fwht_v1/b");
}

TEST(JUnit, SaysNothingOfLimitsAndNotesThatThereAreNot) {
  harness::RunRecord run = some_run();
  run.description.outside_limits = 0;
  run.description.notes.clear();
  const std::string text = junit(run, some_cases(), SourceRoot("/"));
  EXPECT_THAT(text, Not(HasSubstr("the limits")));
  EXPECT_THAT(text, Not(HasSubstr("name=\"note\"")));
}

TEST(JUnit, SurvivesTextThatXmlCannotHold) {
  std::vector<CaseRecord> cases = some_cases();
  constexpr char text_before[] = "nul \0 bell \a latin \xE9 overlong \xC0\xAF surrogate \xED\xA0\x80 cut \xE2\x82";
  cases[1].faults = {harness::fault::Told{std::string(text_before, sizeof(text_before) - 1) + " good \xE2\x82\xAC"}};
  const std::string text = junit(some_run(), cases, SourceRoot("/"));
  pugi::xml_document document;
  ASSERT_TRUE(document.load_buffer(text.data(), text.size()));
  const std::string message = document.child("testsuites")
                                  .find_node([](pugi::xml_node node) { return std::string_view(node.name()) == "failure"; })
                                  .attribute("message")
                                  .value();
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(message, "nul " + r + " bell " + r + " latin " + r + " overlong " + r + r + " surrogate " + r + r + r + " cut " + r + r +
                         " good \xE2\x82\xAC");
}

TEST(JUnit, HoldsNoTextThatXmlForbidsWhereverItStands) {
  harness::RunRecord run = some_run();
  run.started = std::string("20\x01 26\"<", 7);
  std::vector<CaseRecord> cases = some_cases();
  cases[1].faults = {harness::fault::Told{"not a character: \xEF\xBF\xBE \xEF\xBF\xBF"}};
  const std::string text = junit(run, cases, SourceRoot("/"));
  for (const char* forbidden : {"\x01", "&#01;", "&#x01;", "&#1;", "\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    EXPECT_THAT(text, Not(HasSubstr(forbidden)));
}

TEST(JUnit, CasesThatNeverStartedAreAnError) {
  harness::RunRecord run = some_run();
  run.description.selected = 976;
  run.verdicts = 1;
  run.failures = 0;
  const std::vector<CaseRecord> cases = {some_cases()[0]};
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit(run, cases, SourceRoot("/")).c_str()));
  pugi::xml_node root = document.child("testsuites");
  EXPECT_EQ(root.attribute("tests").as_int(), 2);
  EXPECT_EQ(root.attribute("errors").as_int(), 1);
  const pugi::xml_node error = root.find_node([](pugi::xml_node node) { return std::string_view(node.name()) == "error"; });
  EXPECT_STREQ(error.attribute("message").value(), "975 of 976 selected cases were never started");
  EXPECT_EQ(error.parent().parent().attribute("errors").as_int(), 1);
  // Killed while a case ran, which has no time then.
  std::vector<CaseRecord> killed = {some_cases()[5]};
  killed[0].oracle_seconds = killed[0].simulator_seconds = NAN;
  ASSERT_TRUE(document.load_string(junit(run, killed, SourceRoot("/")).c_str()));
  EXPECT_EQ(document.child("testsuites").attribute("errors").as_int(), 2);
  EXPECT_STREQ(document.child("testsuites").attribute("time").value(), "0.000000");
  // Nothing at all was run.
  ASSERT_TRUE(document.load_string(junit(run, {}, SourceRoot("/")).c_str()));
  EXPECT_EQ(document.child("testsuites").attribute("errors").as_int(), 1);
  // Merged of some of its shards.
  run.description.selected = 1;
  EXPECT_THAT(junit(run, cases, SourceRoot("/")), HasSubstr("errors=\"0\""));
  run.stopped = true;
  EXPECT_THAT(junit(run, cases, SourceRoot("/")), HasSubstr("the run was stopped before every case had run"));
}

TEST(JUnit, WhatWasNeverWrittenHasNoValue) {
  std::vector<CaseRecord> cases = some_cases();
  cases[1].judgement.worst = {{3, 0.5, NAN, 0.00625, INFINITY, harness::ElementFault::not_written},
                              {2, 0.5, NAN, 0.00625, INFINITY, harness::ElementFault::nan}};
  const std::string text = junit(some_run(), cases, SourceRoot("/"));
  EXPECT_THAT(text, HasSubstr("coordinate 1: expected 0.5, never written, bound 0.00625, error/bound inf"));
  EXPECT_THAT(text, HasSubstr("coordinate 0: expected 0.5, actual nan, bound 0.00625, error/bound inf"));
}

TEST(Outcome, ReportsCasesWithoutVerdict) {
  harness::RunRecord run;
  run.verdicts = 1383;
  run.description.selected = 1976;
  EXPECT_EQ(outcome_text(run), "none of 1,383 cases failed, 593 of the 1,976 selected have no verdict");
  run.verdicts = 0;
  EXPECT_EQ(outcome_text(run), "no verdict on any of the 1,976 selected cases");
  run.failures = 2;
  run.verdicts = run.description.selected;
  EXPECT_EQ(outcome_text(run), "2 of 1,976 cases failed");
  run.stopped = true;
  EXPECT_EQ(outcome_text(run), "2 of 1,976 cases failed, and the run was stopped before every case had run");
}

TEST(Figures, WhatWroteNothingHasItsPlaceAmongThem) {
  std::vector<CaseRecord> cases = {some_cases()[0], some_cases()[4]};
  cases[1].judgement.compared = 0;
  cases[1].judgement.not_written = 4;
  cases[1].judgement.max_ratio = std::numeric_limits<double>::infinity();
  EXPECT_THAT(fixture_lines(figure_tables(cases)), HasSubstr("gauss inf"));
  EXPECT_EQ(element_text(count_elements(cases)), "8 elements compared, 4 faulty");
}

TEST(Figures, AreCountedPerFixtureAndAxisValue) {
  const std::vector<FigureTable> tables = figure_tables(some_cases());
  ASSERT_EQ(tables.size(), 4U);
  EXPECT_EQ(tables[0].family, "tq4");
  EXPECT_EQ(tables[0].property, "fixture");
  ASSERT_EQ(tables[0].figures.size(), 1U) << "drift timed out: nothing was compared there";
  EXPECT_EQ(tables[0].figures[0].value, "gauss");
  EXPECT_EQ(tables[0].figures[0].cases, 2U);
  EXPECT_EQ(tables[0].figures[0].largest_ratio, 0.75);
  EXPECT_EQ(tables[0].figures[0].largest_ratio_case, "tq4_v1/e");
  EXPECT_EQ(tables[1].property, "nwg");
  EXPECT_EQ(tables[1].figures[0].value, "1");
  EXPECT_EQ(tables[3].figures[0].value, "16");
  EXPECT_EQ(tables[3].figures[0].median_bound_ratio, 5.0);
  EXPECT_EQ(fixture_lines(tables), "largest error/bound by family and fixture\n  tq4       gauss 0.75\n  fwht      gauss 40\n");
  EXPECT_THAT(table_text(tables), HasSubstr("tq4 by nwg\n"));
}

// Compared and above are of the same cases, whichever failed as declared.
TEST(Figures, ElementsOfCasesKnownToFailAreCountedApart) {
  std::vector<CaseRecord> cases = some_cases();
  EXPECT_EQ(element_text(count_elements(cases)), "12 elements compared, 1 faulty");
  CaseRecord known = record("tq4_v1/g", "tq4", "gauss", Status::known, 3);
  known.judgement.compared = 2048;
  known.judgement.above_bound = 1000;
  known.judgement.nans = 24;
  cases.push_back(known);
  EXPECT_EQ(element_text(count_elements(cases)), "12 elements compared, 1 faulty; in known failures 2,072 compared, 1,024 faulty");
}

TEST(Figures, OfNothingAreNothing) {
  EXPECT_TRUE(figure_tables({}).empty());
  EXPECT_EQ(fixture_lines({}), "");
}

TEST(Replay, LeavesOutTheScheduleThatComesByItself) {
  harness::RunRecord run = some_run();
  CaseRecord failed = some_cases()[1];
  failed.schedules = "forward";
  EXPECT_THAT(replay_line(run, failed), Not(HasSubstr("--schedule")));
  run.description.schedule = "forward";  // asked for; without it, a case with several simdgroups runs in three orders
  EXPECT_THAT(replay_line(run, failed), HasSubstr("--schedule forward"));
  run.description.schedule = "random:3";
  EXPECT_THAT(replay_line(run, failed), HasSubstr("--schedule random:3"));
}

}  // namespace
}  // namespace assay::tests::report_junit_test
