// What CI systems and people read of a run: the JUnit file against a golden one, figures counted by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <pugixml.hpp>

#include "reports/figures.h"
#include "reports/junit.h"
#include "reports/replay.h"
#include "tests/unit/report_runs.h"

namespace assay::reports {
namespace {

using harness::CaseRecord;
using harness::Status;
using ::testing::HasSubstr;
using ::testing::Not;
using tests::record;
using tests::some_cases;
using tests::some_run;

TEST(JUnit, IsTheGoldenFile) { tests::expect_golden("junit.xml", junit(some_run(), some_cases())); }

TEST(JUnit, CountsAndReplaysAsAReaderSeesThem) {
  const std::string text = junit(some_run(), some_cases());
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
  const std::string text = junit(run, some_cases());
  EXPECT_THAT(text, Not(HasSubstr("[limits]")));
  EXPECT_THAT(text, Not(HasSubstr("name=\"note\"")));
}

TEST(JUnit, SurvivesTextThatXmlCannotHold) {
  std::vector<CaseRecord> cases = some_cases();
  constexpr char text_before[] = "nul \0 bell \a latin \xE9 overlong \xC0\xAF surrogate \xED\xA0\x80 cut \xE2\x82";
  cases[1].reason = std::string(text_before, sizeof(text_before) - 1) + " good \xE2\x82\xAC";
  const std::string text = junit(some_run(), cases);
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
  EXPECT_EQ(element_text(count_elements(cases)), "12 elements compared, 1 above bound");
  CaseRecord known = record("tq4_v1/g", "tq4", "gauss", Status::known, 3);
  known.judgement.compared = 2048;
  known.judgement.above_bound = 1000;
  known.judgement.nans = 24;
  cases.push_back(known);
  EXPECT_EQ(element_text(count_elements(cases)),
            "12 elements compared, 1 above bound; in cases known to fail 2,072 compared, 1,024 above bound");
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
  run.description.schedule = "random:3";
  EXPECT_THAT(replay_line(run, failed), HasSubstr("--schedule random:3"));
}

}  // namespace
}  // namespace assay::reports
