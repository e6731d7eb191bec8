// The HTML page as a file: what is in it, and that no text of a run becomes markup. tests/browser opens it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "reports/embedded_file.h"
#include "reports/html.h"
#include "reports/page_data.h"
#include "tests/unit/report_runs.h"
#include "tests/unit/some_finding.h"

namespace assay::tests::report_html_test {
namespace {

using namespace reports;

using harness::CaseRecord;
using nlohmann::json;
using namespace ::testing;

std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t place = text.find(what); place != std::string_view::npos; place = text.find(what, place + 1)) ++count;
  return count;
}

json script_data(const std::string& page, const std::string& id) {
  const std::string start = "id=\"" + id + "\">";
  const std::size_t first = page.find(start) + start.size();
  return json::parse(page.substr(first, page.find("</script", first) - first));
}

TEST(Html, HoldsTheRun) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[0].judgement.max_ratio = std::numeric_limits<double>::quiet_NaN();
  cases[4].judgement.max_ratio = std::numeric_limits<double>::infinity();
  const std::string page = html(tests::some_run(), cases);
  const json data = script_data(page, "run-data");
  EXPECT_EQ(data["run"]["command"], "assay gate --kernel 'a&b.metal'");
  EXPECT_EQ(data["run"]["notes"].size(), 2U);
  const json& columns = data["cases"];
  for (const auto& [name, column] : columns.items()) EXPECT_EQ(column.size(), cases.size()) << name;
  EXPECT_EQ(columns["name"][1], "fwht_v1/b");
  const auto word = [&](const char* column, std::size_t i) { return data["words"][columns[column][i].get<std::size_t>()]; };
  EXPECT_EQ(word("status", 1), "failed");
  EXPECT_EQ(word("status", 5), "no verdict");
  EXPECT_EQ(word("reason", 1), "1 elements above their bound <&>");
  EXPECT_EQ(word("replay", 1), " --kernel 'a&b.metal' --family tq4 --schedule forward,reverse");
  EXPECT_TRUE(columns["ratio"][0].is_null());
  EXPECT_EQ(columns["ratio"][4], "inf");
  EXPECT_EQ(columns["ratio"][1], 40);
  EXPECT_EQ(data["axes"]["tq4"]["nwg"], json::parse("[1, 1, 16, 1, 16]"));

  const json details = script_data(page, "details-0");
  ASSERT_EQ(details.size(), cases.size());
  EXPECT_EQ(details[1]["worst"], json::parse("[[3, 0.5, 0.75, 0.00625, 40, 1]]"));
  EXPECT_THAT(details[1]["hazards"][0][0].get<std::string>(), HasSubstr("k.metal:12"));
  EXPECT_FALSE(details[0].contains("worst"));
  EXPECT_EQ(details[1]["hazards"][0][2], json::parse(R"([["k.metal", 12]])"));
}

TEST(Html, HasTheMagnitudeAndTheErrorOfTheWorstElement) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[0].judgement.worst = {{1, -123.456, -123.5, 1, 0.044, harness::ElementFault::none}};
  cases[4].judgement.worst = {{1, 0, std::numeric_limits<double>::quiet_NaN(), 1, 0, harness::ElementFault::nan}};
  const std::string page = html(tests::some_run(), cases);
  const json columns = script_data(page, "run-data")["cases"];
  EXPECT_EQ(columns["expected"], json::parse("[123.0, 0.5, null, null, 0.0, null]"));
  EXPECT_EQ(columns["error"], json::parse(R"([0.044, 0.25, null, null, "inf", null])"));
  EXPECT_FALSE(script_data(page, "details-0")[0].contains("worst")) << "of a case that passed, the two figures are enough";
}

TEST(Html, HasTheLinesAroundThePlacesOfCases) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[1].lines = {{"k.metal", 11, "before"}, {"k.metal", 12, "wild"}};
  cases[2].lines = {{"k.metal", 12, "wild"}, {"a.h", 3, tests::kHostile}};
  const std::string page = html(tests::some_run(), cases);
  const json data = script_data(page, "run-data");
  EXPECT_EQ(data["sources"]["k.metal"], json::parse(R"({"11": "before", "12": "wild"})"));
  EXPECT_EQ(data["findings"][0]["place"], json::parse(R"(["k.metal", 12])"));
  EXPECT_EQ(count_of("<img", page), count_of("<img", html(tests::some_run(), tests::some_cases())));
  EXPECT_FALSE(script_data(html(tests::some_run(), tests::some_cases()), "run-data").contains("sources"));
}

Compilation broken_compilation(const std::string& text) {
  Compilation compilation;
  compilation.file = "/repository/k.metal";
  compilation.libraries.emplace_back().failure =
      "/repository/k.metal:8: error: " + text + "\n    8 | " + text + "\n      | ^\n/repository/k.metal:2: note: because\n";
  return compilation;
}

TEST(Html, OfACompilationHasItsErrorsAsText) {
  const SourceRoot root("/repository");
  const std::string page = compilation_html(broken_compilation("unknown type"), root);
  EXPECT_THAT(page, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("<h1>k.metal does not compile</h1>"), HasSubstr("k.metal:8"),
                          HasSubstr("8 | unknown type"), HasSubstr("Note on k.metal:2: because"), HasSubstr("--fail:")));
  EXPECT_EQ(count_of("<script", page), 0U);
  const std::string hostile = compilation_html(broken_compilation(tests::kHostile), root);
  for (const char* markup : {"<script", "<!--", "<img", "</style"}) EXPECT_EQ(count_of(markup, hostile), count_of(markup, page)) << markup;
  EXPECT_THAT(hostile, HasSubstr("&lt;img src=x"));
  Compilation empty;
  empty.file = "/repository/k.metal";
  EXPECT_THAT(compilation_html(empty, root), HasSubstr("The file has no kernel."));
}

TEST(Html, DataIsTheGoldenFile) {
  tests::expect_golden("report_page.json",
                       page_data(tests::some_run(), tests::some_cases()) + "\n" + page_details(tests::some_cases()) + "\n");
}

TEST(Html, AxesOfAFamilyMayBeMissingInSomeCases) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[0].axes = {};
  cases[2].axes = {{"rows", 3}};
  const json data = json::parse(page_data(tests::some_run(), cases));
  EXPECT_EQ(data["axes"]["tq4"]["rows"], json::parse("[null, 3]"));
  EXPECT_EQ(data["axes"]["tq4"]["nwg"], json::parse("[null, null, 16, 1, 16]"));
}

TEST(Html, NumbersThatJavaScriptWouldRoundAreTexts) {
  std::vector<CaseRecord> cases = tests::some_cases();
  cases[0].seed = std::numeric_limits<std::uint64_t>::max();
  cases[0].axes = {{"rows", std::numeric_limits<std::int64_t>::max()}, {"nwg", 3}};
  harness::RunRecord run = tests::some_run();
  run.description.seed = std::numeric_limits<std::uint64_t>::max();
  const json data = json::parse(page_data(run, cases));
  EXPECT_EQ(data["cases"]["seed"][0], "18446744073709551615");
  EXPECT_EQ(data["run"]["seed"], "18446744073709551615");
  EXPECT_EQ(data["axes"]["tq4"]["rows"][0], "9223372036854775807");
  EXPECT_EQ(data["axes"]["tq4"]["nwg"][0], 3);
}

TEST(Html, ReportsCasesWithoutVerdict) {
  const std::string page = html(tests::some_run(), tests::some_cases());
  EXPECT_THAT(page, HasSubstr("<title>assay: run 7, 2 of 5 cases failed, 1 of the 6 selected has no verdict</title>"));
  EXPECT_EQ(script_data(page, "run-data")["run"]["without_verdict"], 1);
}

TEST(Html, NoTextOfARunIsMarkup) {
  const std::string harmless = html(tests::some_run(), tests::some_cases());
  harness::RunRecord run = tests::some_run();
  run.description.command = run.description.machine = tests::kHostile;
  run.description.notes = {tests::kHostile};
  run.description.environment.sources = {{tests::kHostile, tests::kHostile, ""}};
  std::vector<CaseRecord> cases = tests::some_cases();
  for (CaseRecord& record : cases) {
    record.name += tests::kHostile;
    record.variant = record.family = record.fixture = record.schedules = tests::kHostile;
    record.notes = {harness::note::Recorded{tests::kHostile}};
    record.faults = {harness::fault::Told{tests::kHostile}};
    record.axes = {{tests::kHostile, 1}};
    record.known = {tests::kHostile};
    record.hazards = {{metal::HazardKind::invalid_access, tests::kHostile, tests::kHostile, {tests::kHostile, 1}, {}, 1}};
    record.lines = {{tests::kHostile, 1, tests::kHostile}};
    record.stages = {{tests::kHostile, true, false, {harness::fault::Told{tests::kHostile}}, {}}};
  }
  const std::string page = html(run, cases);
  for (const char* markup : {"<script", "</script", "<!--", "<img", "alert(1)</"})
    EXPECT_EQ(count_of(markup, page), count_of(markup, harmless)) << markup;
  const json data = script_data(page, "run-data");
  EXPECT_THAT(data["run"]["command"].get<std::string>(), HasSubstr("</script><script>alert(1)</script>")) << "the text itself is kept";
  EXPECT_THAT(data["run"]["command"].get<std::string>(), HasSubstr("\xEF\xBF\xBD(")) << "what is no UTF-8 is replaced";
}

TEST(Html, HasTheCauseOfEachFindingAndNoMarkupOfIt) {
  const std::string harmless = html(tests::some_run(), tests::some_cases());
  harness::RunRecord run = tests::some_run();
  run.findings = {tests::some_finding("fwht_v1/b", tests::kHostile)};
  const std::string page = html(run, tests::some_cases());
  for (const char* markup : {"<script", "</script", "<!--", "<img", "alert(1)</"})
    EXPECT_EQ(count_of(markup, page), count_of(markup, harmless)) << markup;
  const json data = script_data(page, "run-data");
  ASSERT_THAT(data["causes"], SizeIs(1));
  EXPECT_THAT(data["causes"][0]["text"].get<std::string>(), StartsWith("wrong-factor"));
  EXPECT_THAT(data["causes"][0]["excerpt"].get<std::string>(), HasSubstr(">  12 | b"));
  EXPECT_THAT(data["causes"][0]["diff"].get<std::string>(), HasSubstr("-b\n+c"));
  EXPECT_EQ(data["cause_of"][1], 0);
  EXPECT_TRUE(data["cause_of"][0].is_null());
  EXPECT_EQ(data["findings"][0]["causes"], json::parse("[0]"));
  EXPECT_FALSE(script_data(harmless, "run-data").contains("causes"));
}

TEST(Html, IsTheSameEachTime) { EXPECT_EQ(html(tests::some_run(), tests::some_cases()), html(tests::some_run(), tests::some_cases())); }

TEST(Html, NeedsNothingElse) {
  const std::string page = html(tests::some_run(), tests::some_cases());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  const std::string_view markup = embedded_file("page.html");
  EXPECT_EQ(count_of("src=", markup), 0U);
  EXPECT_EQ(count_of("stylesheet", markup), 0U);
  EXPECT_EQ(count_of("@import", embedded_file("page.css")), 0U);
  EXPECT_EQ(count_of("url(", embedded_file("page.css")), 0U);
  for (const char* mark : {"@run@", "@details@", "@title@", "@file("}) EXPECT_THAT(page, Not(HasSubstr(mark)));
}

// What the scripts of the page make of a run's texts.
TEST(Html, ScriptsMakeTextAndNoMarkup) {
  const std::string markup(embedded_file("page.html"));
  const std::regex mark("@file\\(([a-z_]+\\.js)\\)@");
  std::size_t scripts = 0;
  for (std::sregex_iterator found(markup.begin(), markup.end(), mark), end; found != end; ++found) {
    const std::string name = (*found)[1];
    if (name == "chart.js") continue;
    ++scripts;
    for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function("})
      EXPECT_EQ(count_of(way, embedded_file(name)), 0U) << name << " uses " << way;
  }
  EXPECT_GE(scripts, 5U);
}

TEST(Html, ChartJsIsEmbedded) {
  EXPECT_THAT(std::string(embedded_file("chart.js").substr(0, 400)), HasSubstr("Chart.js v"));
  EXPECT_THROW((void)embedded_file("no.js"), std::out_of_range);
}

TEST(Html, DetailsComeInParts) {
  const std::vector<CaseRecord> cases(2 * kDetailsPerPart + 1, tests::some_cases()[1]);
  const std::string page = html(tests::some_run(), cases);
  EXPECT_EQ(script_data(page, "details-0").size(), kDetailsPerPart);
  EXPECT_EQ(script_data(page, "details-2").size(), 1U);
  EXPECT_THAT(page, Not(HasSubstr("details-3\"")));
  EXPECT_THAT(std::string(embedded_file("data.js")), HasSubstr("kDetailsPerPart = " + std::to_string(kDetailsPerPart) + ";"));
}

TEST(Html, OfNoCasesIsAPageToo) {
  const json data = script_data(html(tests::some_run(), {}), "run-data");
  EXPECT_TRUE(data["cases"]["name"].empty());
  EXPECT_TRUE(data["findings"].empty());
}

}  // namespace
}  // namespace assay::tests::report_html_test
