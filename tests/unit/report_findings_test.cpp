// How failing cases are sorted into groups, and what Markdown makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"
#include "reports/html.h"
#include "reports/markdown_text.h"
#include "reports/run_findings.h"
#include "reports/run_markdown.h"
#include "reports/triage.h"
#include "tests/unit/report_runs.h"
#include "tests/unit/some_finding.h"

namespace assay::tests::report_findings_test {
namespace {

using namespace reports;

using harness::CaseRecord;
using harness::Status;
namespace fault = harness::fault;
using namespace ::testing;

CaseRecord reduce_case(int rows, Status status, std::vector<harness::Fault> faults, double ratio = 2) {
  CaseRecord record = tests::record("reduce_v1/d256/rows" + std::to_string(rows) + "/nwg4/gauss/s1", "reduce", "gauss", status, ratio);
  record.faults = std::move(faults);
  return record;
}

TEST(RunFindings, FaultsThatDifferInNumbersAreOne) {
  const std::vector<harness::Fault> no_function = {fault::NoFunction{"d512", "", "", {}}};
  const std::vector<CaseRecord> cases = {reduce_case(9, Status::failed, {fault::AboveBound{12}}, 3),
                                         reduce_case(8, Status::passed, {}),
                                         reduce_case(2, Status::failed, {fault::AboveBound{3}}, 2),
                                         reduce_case(7, Status::failed, {fault::AboveBound{3}, fault::Nan{1}}, INFINITY),
                                         reduce_case(3, Status::skipped, no_function),
                                         reduce_case(4, Status::skipped, no_function),
                                         reduce_case(5, Status::skipped, no_function),
                                         reduce_case(6, Status::known, {fault::Nan{1}})};
  const std::vector<RunFinding> findings = run_findings(cases);
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_THAT(findings[0].members, ElementsAre(0, 2));
  EXPECT_EQ(findings[0].smallest, 2U);
  EXPECT_EQ(findings[0].largest_ratio, 3);
  EXPECT_TRUE(findings[0].is_failure);
  EXPECT_THAT(findings[1].members, ElementsAre(3));
  EXPECT_EQ(findings[1].largest_ratio, INFINITY);
  EXPECT_EQ(findings[2].status, "known");
  EXPECT_EQ(findings[3].status, "skipped");
  EXPECT_FALSE(findings[3].is_failure);
}

TEST(RunFindings, FaultsThatNameDifferentFilesAreOne) {
  const std::vector<CaseRecord> cases = {reduce_case(2, Status::failed, {fault::StoredExpectation{"/a/b.h5", 7, 0, 0, 0, 0, {}}}),
                                         reduce_case(3, Status::failed, {fault::StoredExpectation{"/a/c.h5", 12, 0, 0, 0, 0, {}}}),
                                         reduce_case(4, Status::failed, {fault::AboveBound{12}})};
  const std::vector<RunFinding> findings = run_findings(cases);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].members, ElementsAre(0, 1));
}

TEST(RunFindings, FaultsThatAreAboutDifferentThingsAreTwo) {
  const std::vector<CaseRecord> cases = {
      reduce_case(2, Status::failed, {fault::InputWritten{"K_packed"}}), reduce_case(3, Status::failed, {fault::InputWritten{"V_packed"}}),
      reduce_case(4, Status::failed, {fault::InputWritten{"K_packed"}}), reduce_case(5, Status::crashed, {fault::Killed{11, ""}}),
      reduce_case(6, Status::crashed, {fault::Killed{6, "double free"}})};
  const std::vector<RunFinding> findings = run_findings(cases);
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_THAT(findings[0].members, ElementsAre(0, 2));
}

// An older assay kept words, which differ in numbers from case to case; what is wrong with the output it kept as numbers.
TEST(RunFindings, OfAnOlderLedgerFiguresDecide) {
  std::vector<CaseRecord> cases = {reduce_case(2, Status::failed, {fault::Told{"3 elements above their bound"}}),
                                   reduce_case(3, Status::failed, {fault::Told{"12 elements above their bound"}}),
                                   reduce_case(4, Status::failed, {fault::Told{"12 never written"}})};
  cases[0].judgement.above_bound = 3;
  cases[1].judgement.above_bound = 12;
  cases[2].judgement.not_written = 12;
  const std::vector<RunFinding> findings = run_findings(cases);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].members, ElementsAre(0, 1));
}

TEST(RunFindings, HazardsInDifferentLinesAreTwo) {
  std::vector<CaseRecord> cases(3, reduce_case(2, Status::hazard, {fault::Hazard{}}));
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i].hazards = {{metal::HazardKind::invalid_access, "f", "wild", {"k.metal", i < 2 ? 12U : 13U}, {}, 1}};
  const std::vector<RunFinding> findings = run_findings(cases);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_THAT(findings[0].members, ElementsAre(0, 1));
}

TEST(RunFindings, CasesWithoutVerdictOrWithAnUnknownNameAreReportedToo) {
  const std::vector<RunFinding> findings = run_findings(tests::some_cases());
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_EQ(findings[2].status, "no verdict");
  EXPECT_TRUE(findings[2].is_failure);
}

TEST(Markdown, PrintsTheSmallestCaseItsElementsAndTheReplayLine) {
  const std::string text = run_markdown(tests::some_run(), tests::some_cases());
  EXPECT_THAT(text, HasSubstr("## assay: 2 of 5 cases failed, 1 of the 6 selected has no verdict\n"));
  EXPECT_THAT(text, HasSubstr("```\nassay run fwht_v1/b --kernel 'a&b.metal' --family tq4 --schedule forward,reverse\n```"));
  EXPECT_THAT(text, HasSubstr("| 1 | 1 | 0.5 | 0.75 | 0.00625 | 40 |"));
  EXPECT_THAT(text, HasSubstr("| tq4_v1 | 5 | 2 | 2 | 0 | 1 | 0.75 |"));
  EXPECT_THAT(text, HasSubstr("executed on the simulator"));
}

TEST(Markdown, IsTheGoldenFile) { tests::expect_golden("report.md", run_markdown(tests::some_run(), tests::some_cases())); }

TEST(Markdown, NoTextOfARunIsMarkup) {
  std::vector<CaseRecord> cases = tests::some_cases();
  harness::RunRecord run = tests::some_run();
  run.description.notes = {tests::kHostile, "two\nlines"};
  cases[1].variant = tests::kHostile;
  cases[1].faults = {fault::Told{tests::kHostile}};
  cases[1].name = "a```b";
  const std::string text = run_markdown(run, cases);
  for (const char* markup : {"<script", "<img", "@here", "#1 ", "\nlines"}) EXPECT_THAT(text, Not(HasSubstr(markup)));
  EXPECT_THAT(text, HasSubstr("````\nassay run 'a```b'"));
}

TEST(Markdown, UnderscoresStayWhereTheyAreNoMarkup) {
  EXPECT_EQ(prose("tq4_v1 a__b _c_ d_ _e __"), "tq4_v1 a__b &#95;c&#95; d&#95; &#95;e &#95;&#95;");
}

TEST(Markdown, AReasonWithANumberIsSaidOfTheCaseThatHasIt) {
  const std::vector<CaseRecord> cases = {reduce_case(9, Status::failed, {fault::NotWritten{2048}}),
                                         reduce_case(2, Status::failed, {fault::NotWritten{512}})};
  EXPECT_THAT(run_markdown(tests::some_run(), cases),
              HasSubstr("### reduce_v1, failed: in the smallest case, 512 never written, or written from unwritten memory\n"));
  EXPECT_THAT(run_markdown(tests::some_run(), std::span(cases).first(1)),
              HasSubstr("### reduce_v1, failed: 2048 never written, or written from unwritten memory\n"));
}

// A kernel that holds a row of backticks, and a reason that would be markup.
TEST(TriageMarkdown, NoTextOfAKernelIsMarkup) {
  harness::Finding finding;
  finding.minimal.test_case = finding.given.test_case = harness::parse_case("k/d256/rows2/nwg4/gauss/s7", families::find_family("reduce"));
  finding.minimal.status = Status::crashed;
  finding.minimal.faults = {fault::Told{"a <b> *c* some_name"}};
  finding.hazards = {{metal::HazardKind::invalid_access, "f", "<img>", {"k.metal", 12}, {}, 1}};
  harness::Suspect suspect;
  suspect.file = "k.metal";
  suspect.line = 3;
  suspect.context = {"/* ```", "## no heading */"};
  finding.suspects = {suspect};
  TriagePage page;
  page.subject = "k";
  page.replay = [](const std::string& name) { return "assay run ``` " + name; };
  page.notes = {"<i>"};
  page.source_file = "some/k`.metal";
  page.source_text = "a\n/* ``` */\n";
  finding.repaired_source = "a\n/* ```` <b> */\n";
  finding.classification.kind = "lost-<i>";
  const std::string text = triage_markdown(page, {{finding}});
  EXPECT_THAT(text, HasSubstr("\n````metal\n/* ```\n## no heading */\n````\n"));
  EXPECT_THAT(text, HasSubstr("\n`````diff\n--- a/k`.metal\n+++ b/k`.metal\n@@ -1,2 +1,2 @@\n a\n-/* ``` */\n+/* ```` <b> */\n`````\n"));
  EXPECT_THAT(text, HasSubstr("## 1. lost-&#60;i&#62; (k.metal:3)\n"));
  EXPECT_THAT(text, HasSubstr("\n````\nassay run ``` k/d256"));
  EXPECT_THAT(text, HasSubstr("crashed: a &#60;b&#62; &#42;c&#42; some_name\n"));
  for (const char* markup : {"<img>", "<i>"}) EXPECT_THAT(text, Not(HasSubstr(markup)));
}

TEST(Markdown, ShowsTheCauseOfAGroupWithExcerptAndDiff) {
  harness::RunRecord run = tests::some_run();
  run.findings = {tests::some_finding("fwht_v1/b")};
  const std::string text = run_markdown(run, tests::some_cases());
  EXPECT_THAT(text, HasSubstr("\n#### Cause 1: wrong-factor: a factor is wrong (k.metal:12)\n"));
  EXPECT_EQ(text.find("a factor is wrong"), text.rfind("a factor is wrong")) << "said once\n" << text;
  EXPECT_LT(text.find("### fwht_v1, failed"), text.find("#### Cause 1")) << "with the finding that it explains";
  EXPECT_THAT(text, HasSubstr("```metal\n   11 | a\n>  12 | b\n```"));
  EXPECT_THAT(text, HasSubstr("```diff\n--- a/k.metal\n+++ b/k.metal\n@@ -12 +12 @@\n-b\n+c\n```"));
  run.findings = {tests::some_finding("fwht_v1/b", tests::kHostile)};
  const std::string hostile = run_markdown(run, tests::some_cases());
  // Between fences nothing is markup, and no line of the text is a fence.
  std::string outside;
  bool is_code = false;
  for (const std::string_view line : base::lines_of(hostile)) {
    if (line.starts_with("```")) is_code = !is_code;
    if (!is_code) outside += std::string(line) + "\n";
  }
  for (const char* markup : {"<script", "<img", "@here", "#1 "}) EXPECT_THAT(outside, Not(HasSubstr(markup)));
}

TEST(Markdown, ACauseOfTwoFindingsIsShownOnce) {
  harness::RunRecord run = tests::some_run();
  run.findings = {tests::some_finding("fwht_v1/b")};
  run.findings.front().cases.push_back("tq4_v1/c");
  const std::string text = run_markdown(run, tests::some_cases());
  EXPECT_EQ(text.find("#### Cause 1"), text.rfind("#### Cause 1"));
  EXPECT_THAT(text, HasSubstr("\nCause 1, see above.\n"));
}

TEST(Markdown, NamesFilesAsTheRepositoryDoes) {
  harness::RunRecord run = tests::some_run();
  std::vector<CaseRecord> cases = tests::some_cases();
  run.description.environment.sources = {{"fwht_v1", "/repository/kernels/a.metal", "1"}};
  cases[1].hazards.front().first = {"/repository/kernels/a.metal", 12};
  cases[1].faults = {harness::fault::Hazard{metal::HazardKind::invalid_access, "f", "wild", {"/repository/kernels/a.metal", 12}, false},
                     harness::fault::Told{"/elsewhere/b.h:3"}};
  cases[1].hazards.front().second = metal::SourceLocation{"/elsewhere/b.h", 3};
  const SourceRoot root("/repository");
  EXPECT_THAT(run_markdown(run, cases, &root), AllOf(HasSubstr("failed: kernels/a.metal:12: invalid access"), HasSubstr("; b.h:3")));
  EXPECT_THAT(run_markdown(run, cases), HasSubstr("failed: a.metal:12: invalid access"));
  EXPECT_THAT(html(run, cases, {}, &root),
              AllOf(HasSubstr("\"kernels/a.metal:12: invalid access"), Not(HasSubstr("\"/repository/kernels/a.metal:12: inv"))));
}

TEST(Markdown, CountsSimilarRemarksInOneLine) {
  std::vector<CaseRecord> cases = tests::some_cases();
  for (const std::size_t i : {std::size_t{0}, std::size_t{4}})
    cases[i].remarks = {{metal::HazardKind::simdgroup_race, "f", "lane reads", {"k.metal", 12}, {}, 3}};
  EXPECT_THAT(run_markdown(tests::some_run(), cases),
              HasSubstr("### Remarks\n\n- k.metal:12: race within a simdgroup in f: lane reads (6 times in 2 cases)\n\n"));
  EXPECT_THAT(run_markdown(tests::some_run(), tests::some_cases()), Not(HasSubstr("### Remarks")));
}

TEST(Markdown, FitsIntoACommentForAnyFailures) {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 3000; ++i) {
    cases.push_back(tests::record("v" + std::to_string(i) + "/x", "tq4", "gauss", Status::failed, 2));
    cases.back().variant = "variant" + std::string(300, 'a' + i % 26) + std::to_string(i);
    cases.back().faults = {fault::Told{std::string(5000, '&') + std::to_string(i)}};
  }
  harness::RunRecord run = tests::some_run();
  run.description.notes.assign(500, std::string(100000, '<'));
  run.description.command.assign(100000, 'x');
  const std::string text = run_markdown(run, cases);
  EXPECT_LE(text.size(), kLongestMarkdown);
  EXPECT_THAT(text, HasSubstr("prints everything"));
  EXPECT_THAT(run_markdown(tests::some_run(), tests::some_cases()), Not(HasSubstr("prints everything")));
}

}  // namespace
}  // namespace assay::tests::report_findings_test
