// What is said about lines of sources, and the two formats of it: SARIF and GitHub's commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "reports/annotation.h"
#include "reports/diagnostics.h"
#include "reports/formats.h"
#include "reports/github.h"
#include "reports/junit.h"
#include "reports/sarif.h"
#include "reports/triage_record.h"
#include "tests/support/json_schema.h"
#include "tests/unit/report_runs.h"

namespace assay::tests::annotation_test {
namespace {

using namespace ::testing;
using namespace reports;

const SourceRoot kRepository("/repository");

harness::FindingRecord some_cause(const std::string& case_name) {
  harness::FindingRecord cause;
  cause.variant = "fwht_v1";
  cause.kind = "wrong-sign";
  cause.says = "the sign of odd elements is lost";
  cause.replay = "assay run " + case_name;
  cause.failing = 1;
  cause.cases = {case_name};
  cause.suspects = {{"kernel.metal", 31, "an edit here repairs it", ""}, {"kernel.metal", 40, "and here", ""}};
  cause.diff = "--- a\n+++ b\n";
  return cause;
}

TEST(Headline, ALineThatOnlyMayBeTheCauseIsNotInTheTitle) {
  harness::FindingRecord cause = some_cause("fwht_v1/b");
  EXPECT_EQ(headline_of(cause), "wrong-sign: the sign of odd elements is lost (kernel.metal:31)");
  cause.suspects[0].why = std::string(harness::kPlaceToLook) + "it computes with signs";
  EXPECT_EQ(headline_of(cause), "wrong-sign: the sign of odd elements is lost");
}

// some_run() with sources: of fwht_v1 in the repository, of tq4_v1 elsewhere.
harness::RunRecord run_with_sources() {
  harness::RunRecord run = some_run();
  run.finished = "2026-11-21T12:01:00Z";
  run.description.selected = run.verdicts = 6;
  run.description.environment.sources = {{"fwht_v1", "/repository/kernels/fwht/kernel.metal", "1"},
                                         {"tq4_v1", "/elsewhere/a b.metal", "2"}};
  return run;
}

std::vector<harness::CaseRecord> finished_cases() {
  std::vector<harness::CaseRecord> cases = some_cases();
  cases[5].status = harness::Status::passed;
  cases[1].hazards.front().first = {"/repository/kernels/fwht/kernel.metal", 12};
  cases[1].hazards.front().second = metal::SourceLocation{"/repository/kernels/fwht/kernel.metal", 9};
  return cases;
}

std::vector<Annotation> annotations(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases) {
  return annotations_of(run, cases, kRepository);
}

TEST(Annotations, OfAHazardHaveItsLineAndOfOtherFailuresTheFile) {
  const auto found = annotations(run_with_sources(), finished_cases());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rule, "hazard/invalid-access");
  EXPECT_EQ(found[0].place, (metal::SourceLocation{"kernels/fwht/kernel.metal", 12}));
  ASSERT_EQ(found[0].related.size(), 1u);
  EXPECT_EQ(found[0].related[0].place.line, 9u);
  EXPECT_THAT(found[0].message, HasSubstr("in 1 case; again: assay run fwht_v1/b"));
  EXPECT_EQ(found[1].rule, "timeout");
  EXPECT_EQ(found[1].place, (metal::SourceLocation{"/elsewhere/a b.metal", 0}));
  EXPECT_THAT(found[1].message, HasSubstr("no verdict after 60 s\n1 similar case; again: assay run tq4_v1/c"));
  EXPECT_THAT(found[1].message, HasSubstr("no line is known"));
}

TEST(Annotations, OfACauseStandForTheFailuresThatItExplains) {
  harness::RunRecord run = run_with_sources();
  run.findings = {some_cause("fwht_v1/b")};
  std::vector<harness::CaseRecord> cases = finished_cases();
  cases[1].hazards.clear();
  const auto found = annotations(run, cases);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].rule, "cause/wrong-sign");
  EXPECT_EQ(found[0].place, (metal::SourceLocation{"kernels/fwht/kernel.metal", 31}));
  EXPECT_THAT(found[0].message, StartsWith("1 of 1 failing case has this cause\n"));
  EXPECT_THAT(found[0].message, HasSubstr("repaired by:\n--- a\n+++ b\n"));
  EXPECT_EQ(found[0].related.at(0).place.line, 40u);
  EXPECT_EQ(found[1].rule, "timeout");
  // A hazard in another line is no part of the cause; in the same line it is.
  EXPECT_EQ(annotations(run, finished_cases()).size(), 3u);
  run.findings[0].suspects[0].line = 12;
  EXPECT_EQ(annotations(run, finished_cases()).size(), 2u);
}

TEST(Annotations, OfSimilarHazardsAreOneWithTheNumberOfCases) {
  std::vector<harness::CaseRecord> cases = finished_cases();
  cases.push_back(cases[1]);
  cases.back().name = "fwht_v1/z";
  cases.back().hazards.push_back(cases.back().hazards.front());
  const auto found = annotations(run_with_sources(), cases);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].message, HasSubstr("in 2 cases"));
}

TEST(Annotations, WhatIsExcusedHasNone) {
  std::vector<harness::CaseRecord> cases = finished_cases();
  cases[1].status = harness::Status::known;
  cases[2].status = harness::Status::skipped;
  EXPECT_THAT(annotations(run_with_sources(), cases), IsEmpty());
}

TEST(Annotations, CasesWithoutAVerdictAreSaidOnce) {
  harness::RunRecord run = run_with_sources();
  run.description.selected = 976;
  run.verdicts = 5;
  std::vector<harness::CaseRecord> cases = {finished_cases()[0], some_cases()[5]};
  const auto found = annotations(run, cases);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rule, "no-verdict");
  EXPECT_EQ(found[0].title, "971 of 976 selected cases without a verdict");
}

TEST(Annotations, RemarksAreWarningsUnlessACaseFailsForOne) {
  std::vector<harness::CaseRecord> cases = {finished_cases()[0]};
  const metal::SourceLocation place{"/repository/kernels/k.metal", 7};
  cases[0].remarks = {{metal::HazardKind::simdgroup_race, "f", "k.metal:7: race", place, {}, 3}};
  auto found = annotations(run_with_sources(), cases);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].level, Level::warning);
  EXPECT_EQ(found[0].place, (metal::SourceLocation{"kernels/k.metal", 7}));
  cases[0].status = harness::Status::hazard;
  cases[0].faults = {harness::fault::Remark{metal::HazardKind::simdgroup_race, "f", "race", place, 0}};
  found = annotations(run_with_sources(), cases);
  ASSERT_EQ(found.size(), 1u) << "a case that fails for a remark alone has no further annotation";
  EXPECT_EQ(found[0].level, Level::error);
  cases[0].faults.emplace_back(harness::fault::Told{"1 element above its bound"});
  EXPECT_EQ(annotations(run_with_sources(), cases).size(), 2u);
}

Compilation some_compilation() {
  Compilation compilation;
  compilation.file = "/repository/a.metal";
  CompiledLibrary& library = compilation.libraries.emplace_back();
  const std::string shared =
      "/repository/h.h:3: error: unknown type name 'unit'\n    3 | unit x;\n/repository/a.metal:1: note: included here\n";
  for (const char* name : {"one", "two"}) {
    harness::InspectedFunction& function = library.functions.emplace_back();
    function.declaration.name = name;
    function.declaration.file = "/repository/a.metal";
    function.declaration.line = 8;
    function.refusal = shared + "/repository/a.metal:9: error: only in " + name + "\n";
  }
  harness::InspectedFunction& sound = library.functions.emplace_back();
  sound.declaration.name = "three";
  sound.declaration.file = "/repository/a.metal";
  sound.declaration.line = 20;
  sound.is_compiled = true;
  library.refused = {{"four", "/repository/a.metal", 30, "/repository/a.metal:30: error: no kernel"}};
  library.notes = {{"/repository/a.metal", 2, "this pragma has no effect"}};
  return compilation;
}

TEST(Annotations, OfACompilationSayEachErrorOnce) {
  const auto found = annotations_of(some_compilation(), kRepository);
  ASSERT_EQ(found.size(), 4u) << "those of one line are one";
  EXPECT_EQ(found[0].place, (metal::SourceLocation{"h.h", 3}));
  EXPECT_EQ(found[0].title, "unknown type name 'unit'");
  EXPECT_THAT(found[0].message, HasSubstr("    3 | unit x;\n2 functions do not compile: one, two\n"));
  EXPECT_EQ(found[0].related.at(0).place, (metal::SourceLocation{"a.metal", 1}));
  EXPECT_THAT(found[1].message, HasSubstr("1 function does not compile: one\n"));
  EXPECT_THAT(found[1].message, HasSubstr("on the same line: only in two\n"));
  EXPECT_EQ(found[2].place.line, 30u);
  EXPECT_EQ(found[3].level, Level::note);
  Compilation empty;
  empty.file = "/repository/a.metal";
  empty.libraries.emplace_back();
  ASSERT_EQ(annotations_of(empty, kRepository).size(), 1u);
  EXPECT_EQ(annotations_of(empty, kRepository)[0].title, "the file has no kernel");
}

TEST(Annotations, OfALineWithSeveralErrorsAreOne) {
  Compilation compilation;
  compilation.file = "/repository/a.metal";
  compilation.libraries.emplace_back().failure =
      "/repository/a.metal:9: error: unknown type name 'flat'\n/repository/a.metal:9: error: expected ';'\n"
      "/repository/a.metal:10: error: expected ';'\nno place\n";
  const auto found = annotations_of(compilation, kRepository);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].title, "unknown type name 'flat'");
  EXPECT_THAT(found[0].message, HasSubstr("on the same line: expected ';'\n"));
  EXPECT_EQ(found[1].place.line, 10u);
}

TEST(Diagnostics, AreSplitAtTheirPlaces) {
  const auto found =
      diagnostics_of("refused\na.metal:2: fatal error: b: note: c\n  2 | x: error: y\na:b.metal:4: note: d\nc.metal: error: e\n");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0].text, "refused");
  EXPECT_EQ(found[0].place.line, 0u);
  EXPECT_EQ(found[1].text, "b: note: c");
  EXPECT_EQ(found[1].excerpt, "  2 | x: error: y");
  EXPECT_EQ(found[2].place, (metal::SourceLocation{"a:b.metal", 4}));
  EXPECT_TRUE(found[2].is_note);
  EXPECT_EQ(found[3].place, (metal::SourceLocation{"c.metal", 0}));
}

TEST(GitHub, CommandsCannotBeLeft) {
  Annotation it{.rule = "failed",
                .rule_says = "",
                .subject = "",
                .title = "a,b::c%\r\nd",
                .message = "100%\r\n::error::x\nend\n",
                .place = {"k,e:r%n\nel.metal", 3},
                .related = {}};
  EXPECT_EQ(github_commands(std::vector{it}),
            "::error file=k%2Ce%3Ar%25n%0Ael.metal,line=3,title=a%2Cb%3A%3Ac%25\xEF\xBF\xBD d::100%25\xEF\xBF\xBD%0A::error::x%0Aend\n");
  it.place = {};
  it.level = Level::warning;
  EXPECT_THAT(github_commands(std::vector{it}), StartsWith("::warning title=a"));
  it.place = {"/elsewhere/k.metal", 0};
  it.level = Level::note;
  EXPECT_THAT(github_commands(std::vector{it}), AllOf(StartsWith("::notice title=a"), HasSubstr("::/elsewhere/k.metal%0A100%25")));
}

TEST(GitHub, NoMoreThanItShows) {
  std::vector<Annotation> many(
      13,
      Annotation{.rule = "r", .rule_says = "", .subject = "", .title = "t", .message = std::string(9000, 'x'), .place = {}, .related = {}});
  const std::string text = github_commands(many);
  EXPECT_EQ(std::ranges::count(text, '\n'), 11);
  EXPECT_THAT(text, EndsWith("further ones of this step: 3 errors\n"));
  EXPECT_LT(text.size(), 50'000u);
}

std::vector<std::string> schema_errors(const std::string& text) {
  Validator validator(nlohmann::json::parse(read_file(kRoot / "tests/unit/sarif-2.1.0-subset.schema.json")));
  return validator.errors_of(nlohmann::json::parse(text));
}

const ReportContext kContext{kRepository, "0.1.0"};

TEST(Sarif, IsWhatTheSchemaSays) {
  harness::RunRecord run = run_with_sources();
  run.findings = {some_cause("fwht_v1/b")};
  const Format& format = find_format("sarif");
  for (const std::string& text : {format.of_run(run, finished_cases(), kContext), format.of_run(some_run(), some_cases(), kContext),
                                  format.of_run(run, {}, kContext), format.of_compilation(some_compilation(), kContext)})
    EXPECT_THAT(schema_errors(text), IsEmpty()) << text;
  EXPECT_THAT(schema_errors(R"({"version": "2.1.0", "runs": [{"tool": {}, "other": 1}]})"), SizeIs(Ge(4)));
}

TEST(Sarif, NamesFilesFromTheRootAndEveryRuleOnce) {
  const auto json = nlohmann::json::parse(find_format("sarif").of_run(run_with_sources(), finished_cases(), kContext));
  const auto& run = json["runs"][0];
  EXPECT_EQ(run["originalUriBaseIds"]["%SRCROOT%"]["uri"], "file:///repository/");
  const auto& results = run["results"];
  ASSERT_EQ(results.size(), 2u);
  const auto& place = results[0]["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "kernels/fwht/kernel.metal");
  EXPECT_EQ(place["region"]["startLine"], 12);
  EXPECT_EQ(results[1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file:///elsewhere/a%20b.metal");
  for (const auto& result : results)
    EXPECT_EQ(run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()]["id"], result["ruleId"]);
  EXPECT_TRUE(run["invocations"][0]["executionSuccessful"].get<bool>());
}

TEST(Sarif, AFingerprintOutlivesOtherLines) {
  const auto fingerprint = [](const std::vector<harness::CaseRecord>& cases) {
    const auto json = nlohmann::json::parse(find_format("sarif").of_run(run_with_sources(), cases, kContext));
    return json["runs"][0]["results"][0]["partialFingerprints"]["assay/v1"].get<std::string>();
  };
  std::vector<harness::CaseRecord> cases = finished_cases();
  const std::string before = fingerprint(cases);
  cases[1].hazards.front().first.line = 99;
  EXPECT_EQ(fingerprint(cases), before);
  cases[1].hazards.front().kind = metal::HazardKind::device_race;
  EXPECT_NE(fingerprint(cases), before);
}

// Text of kernels and ledgers, in every format that has places.
TEST(Sarif, SurvivesHostileText) {
  const std::string hostile = std::string(kHostile) + "\n::error::x\r\x01%0A\"\\ \xFF";
  harness::RunRecord run = run_with_sources();
  run.description.command = run.started = hostile;
  run.description.environment.sources[0].file = "/repository/" + hostile;
  run.findings = {some_cause("fwht_v1/b")};
  run.findings[0].says = run.findings[0].diff = run.findings[0].suspects[0].file = hostile;
  std::vector<harness::CaseRecord> cases = finished_cases();
  cases[1].hazards.front().first.file = cases[1].hazards.front().message = cases[2].name = hostile;
  cases[2].faults = {harness::fault::Told{hostile}};
  const auto errors = schema_errors(find_format("sarif").of_run(run, cases, kContext));
  EXPECT_THAT(errors, Each(HasSubstr("startTimeUtc"))) << "only the time of the ledger is no time";
  const std::string commands = find_format("github").of_run(run, cases, kContext);
  EXPECT_THAT(commands, Not(HasSubstr("\n::error::x")));
  EXPECT_EQ(commands.find_first_of("\r\x01"), std::string::npos);
  EXPECT_EQ(std::ranges::count(commands, '\n'), 3);
  pugi::xml_document document;
  EXPECT_TRUE(document.load_string(find_format("junit").of_run(run, cases, kContext).c_str()));
}

TEST(JUnit, NamesFileAndLine) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(junit(run_with_sources(), finished_cases(), kRepository).c_str()));
  const auto testcase = [&](const char* name) {
    return document.child("testsuites").find_node([&](pugi::xml_node node) {
      return std::string_view(node.name()) == "testcase" && std::string_view(node.attribute("name").value()) == name;
    });
  };
  EXPECT_STREQ(testcase("fwht_v1/b").attribute("file").value(), "kernels/fwht/kernel.metal");
  EXPECT_EQ(testcase("fwht_v1/b").attribute("line").as_int(), 12);
  EXPECT_STREQ(testcase("tq4_v1/a").attribute("file").value(), "/elsewhere/a b.metal");
  EXPECT_FALSE(testcase("tq4_v1/a").attribute("line"));

  ASSERT_TRUE(document.load_string(compilation_junit(some_compilation(), kRepository).c_str()));
  EXPECT_EQ(document.child("testsuites").attribute("tests").as_int(), 4);
  EXPECT_EQ(document.child("testsuites").attribute("failures").as_int(), 3);
  EXPECT_STREQ(testcase("one").attribute("file").value(), "h.h");
  EXPECT_EQ(testcase("one").attribute("line").as_int(), 3);
  EXPECT_EQ(testcase("three").attribute("line").as_int(), 20);
  EXPECT_FALSE(testcase("three").child("failure"));
}

TEST(CompilationMarkdown, HasEachErrorAndNoMarkupOfTheSource) {
  Compilation compilation = some_compilation();
  compilation.libraries[0].refused[0].reason = std::string("/repository/a.metal:30: error: ") + kHostile;
  const std::string text = compilation_markdown(compilation, kRepository);
  EXPECT_THAT(
      text, StartsWith("## assay: a.metal does not compile\n\n- h.h:3: unknown type name 'unit' (2 functions do not compile: one, two)\n"));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("@here")));
  compilation.libraries[0].functions.erase(compilation.libraries[0].functions.begin(), compilation.libraries[0].functions.begin() + 2);
  compilation.libraries[0].refused.clear();
  EXPECT_EQ(compilation_markdown(compilation, kRepository), "## assay: a.metal compiles\n\n1 function.\n");
}

class Roots : public TestInFolder {};

TEST_F(Roots, TheWorkspaceThenTheCheckoutThenTheFolder) {
  const std::filesystem::path top = std::filesystem::canonical(folder_);
  std::filesystem::create_directories(top / "checkout/.git");
  std::filesystem::create_directories(top / "checkout/kernels");
  std::filesystem::create_directories(top / "plain");
  std::filesystem::create_directory_symlink(top / "checkout", top / "link");
  const std::string file = (top / "checkout/kernels/k.metal").string();
  EXPECT_EQ(SourceRoot::around(file, top, top).path_of(file), "checkout/kernels/k.metal");
  EXPECT_EQ(SourceRoot::around(file, "", top).path_of(file), "kernels/k.metal");
  EXPECT_EQ(SourceRoot::around(file, top / "plain", top).path_of(file), "kernels/k.metal") << "a workspace that does not contain it";
  EXPECT_EQ(SourceRoot::around(file, top / "link", top).path_of(file), "kernels/k.metal") << "a workspace with another name";
  EXPECT_EQ(SourceRoot::around("kernels/k.metal", "", top / "checkout").folder(), top / "checkout");
  EXPECT_EQ(SourceRoot::around("k.metal", "", top / "plain").folder(), top / "plain");
  EXPECT_EQ(SourceRoot(top / "plain").path_of(file), file) << "outside of the root";
}

}  // namespace
}  // namespace assay::tests::annotation_test
