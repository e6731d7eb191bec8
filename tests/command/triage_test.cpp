// `assay triage` as people use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/command.h"
#include "tests/support/json_schema.h"

namespace assay::tests::triage_test {
namespace {

using namespace ::testing;

class TriageCommand : public Cli {};

TEST_F(TriageCommand, SaysThatNothingFailed) {
  const Outcome outcome = run_assay("triage fwht_v1/d256/h1/standalone/gauss/s1");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.output, HasSubstr("none failed"));
}

TEST_F(TriageCommand, RefusesWhatItCannotUse) {
  const Outcome run = run_assay("triage fwht_v1/d256/h1/standalone/gauss/s1 --run 3");
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.output, HasSubstr("--ledger"));
  const Outcome against = run_assay("triage smoke --family fwht --kernel " + write("kernel void f() {}") + " --against nowhere.metal");
  EXPECT_EQ(against.status, 2);
  const std::string broken = write(replaced_once(source_of("fwht_v1"), "rsqrt(float(D))", "1.01f * rsqrt(float(D))"));
  const Outcome folder = run_assay("triage smoke --family fwht --kernel " + broken + " --against " + folder_.string());
  EXPECT_EQ(folder.status, 2);
  EXPECT_THAT(folder.output, HasSubstr("contains no variant.toml"));
  const Outcome nothing = run_assay("triage");
  EXPECT_EQ(nothing.status, 2);
  const Outcome ledger = run_assay("triage --ledger " + (folder_ / "none.sqlite").string());
  EXPECT_EQ(ledger.status, 2);
}

TEST_F(TriageCommand, WritesAPageWithClassSmallestCaseAndLine) {
  const std::string mine = with("o[i] / state.s", "o[i]");
  const Outcome outcome =
      run_assay("triage smoke --kernel " + mine + " --family tq4 --set tile=32 --set temperature=1 --repair-seconds 0 -o " +
                (folder_ / "page.md").string());
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("# Triage of kernel"), HasSubstr("unnormalised-output"), HasSubstr("### Smallest case"),
                                    HasSubstr("assay run kernel/d256/h1x1/"), HasSubstr("--family tq4")));
  EXPECT_THAT(outcome.output, HasSubstr("no line holds the outputs that a right kernel has"))
      << "no relative, and no repair was looked for";
  EXPECT_THAT(outcome.output, HasSubstr(read_file(folder_ / "page.md")));
}

TEST_F(TriageCommand, RunsTheCasesOfARecordedRunAsTheyWereRunAndSaysIfTheKernelIsAnother) {
  const std::string mine = with("o[i] / state.s", "o[i]");
  const std::string ledger = (folder_ / "run.sqlite").string();
  const std::string name = "kernel/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s1";
  const Outcome run = run_assay("run " + name + " --kernel " + mine +
                                " --family tq4 --set tile=32 --set temperature=1 --policy checked --timeout 7 --ledger " + ledger);
  ASSERT_EQ(run.status, 1) << run.output;
  const std::string command = "triage --repair-seconds 0 --minimise-seconds 0 --ledger " + ledger;
  const Outcome same = run_assay(command);
  EXPECT_EQ(same.status, 1) << same.output;
  EXPECT_THAT(same.output, AllOf(HasSubstr("1 of 1 case failed"), HasSubstr("--policy checked"), HasSubstr("--timeout 7")));
  EXPECT_THAT(same.output, Not(HasSubstr("has changed since")));
  with("o[i] / state.s", "o[i] * 2.0f");
  EXPECT_THAT(run_assay(command).output, HasSubstr("kernel has changed since the recorded run ("));
}

// The words of the recorded run are kept exactly, including characters that a shell would change; the printed line is quoted for a shell.
TEST_F(TriageCommand, FindsAKernelByAnyFileName) {
  std::string broken = source_of("fwht_v1");
  constexpr std::string_view guard = "head >= params.num_heads";
  ASSERT_NE(broken.find(guard), std::string::npos);
  broken.replace(broken.find(guard), guard.size(), "head > params.num_heads");
  const std::string file = write(broken, "it's.metal");
  const std::string ledger = (folder_ / "a run's.sqlite").string();
  const std::string quoted = "\"" + file + "\"";
  const Outcome run = run_assay("run it_s/d256/h2/standalone/gauss/s1 --kernel " + quoted +
                                " --family fwht --define \"TEXT='a  b'\" --ledger \"" + ledger + "\"");
  ASSERT_EQ(run.status, 1) << run.output;
  const Outcome triage = run_assay("triage --repair-seconds 0 --ledger \"" + ledger + "\"");
  ASSERT_EQ(triage.status, 1) << triage.output;
  EXPECT_THAT(triage.output, HasSubstr("1 of 1 case failed"));
  EXPECT_THAT(triage.output, HasSubstr("must return, but it wrote past the end of the data"));
  for (const std::string& output : {run.output, triage.output}) {
    const std::size_t start = output.find("assay run it_s/");
    ASSERT_NE(start, std::string::npos) << output;
    const std::string line = output.substr(start, output.find('\n', start) - start);
    EXPECT_THAT(line, HasSubstr("it'\\''s.metal' --family fwht --define 'TEXT='\\''a  b'\\''"
                                "'"));
    const Outcome replay = run_assay(line.substr(std::string_view("assay ").size()) + " --ledger none");
    EXPECT_EQ(replay.status, 1) << replay.output;
    EXPECT_THAT(replay.output, HasSubstr("must return, but it wrote past the end of the data"));
  }
}

// The merge of reduce_v1 reads what this kernel should have written, and both files are called kernel.metal.
TEST_F(TriageCommand, ShowsLinesOfTheFileThatAHazardIsIn) {
  const std::string mine = with("      dst[((head * (D / 4)", "      if (head > 99) dst[((head * (D / 4)");
  const Outcome outcome = run_assay("triage kernel/d256/h1x1/kv65c65/ring0/nomask/nwg2/gauss/s1 --kernel " + mine +
                                    " --family tq4 --set tile=32 --set temperature=1 --policy checked --repair-seconds 0");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, ::testing::ContainsRegex("`reduce_v1/kernel.metal:[0-9]+`: uninitialised read: lane"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("uninitialised read: uninitialised read")));
}

// Edited copies lie in another folder and still find what the kernel includes.
TEST_F(TriageCommand, AKernelThatIncludesAFileOfItsFolderIsRepaired) {
  std::filesystem::create_directory(folder_ / "parts");
  std::ofstream(folder_ / "parts" / "norm.h") << "inline float norm(float d) { return metal::rsqrt(d); }\n";
  std::string text = replaced_once(source_of("fwht_v1"), "rsqrt(float(D))", "norm(float(D))");
  text = replaced_once(text, "x[e] *= scale;", "x[e] *= 1.01f * scale;");
  const std::size_t place = text.find("using namespace metal;");
  ASSERT_NE(place, std::string::npos);
  text.insert(place, "#include \"parts/norm.h\"\n");
  const std::string mine = write(text, "mine.metal");
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(text.find("1.01f")), '\n');
  const Outcome outcome = run_assay("triage mine/d256/h1/undo/gauss/s1 --family fwht --kernel " + mine);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("`mine.metal:" + std::to_string(line) + "`: undoing this difference"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("places")));
}

// The kernel has no relative among ours; the way back from the mistake is one of the edits that mutation makes.
TEST_F(TriageCommand, NamesTheLineThatASmallEditRepairs) {
  const std::string mine = with("order + a.sliding_window >= a.kv_seq_len", "order + a.sliding_window > a.kv_seq_len");
  const Outcome outcome = run_assay("triage kernel/d256/h1x1/kv65c65/ring0/win33/nwg1/gauss/s1 --kernel " + mine +
                                    " --family tq4 --set tile=32 --set temperature=1 --repair-seconds 300");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("window-off-by-one"), HasSubstr("kernel.metal:33`: with this small edit, the failing case and all"),
                    HasSubstr("```diff\n--- a/kernel.metal\n"), HasSubstr("+  return order + a.sliding_window >= a.kv_seq_len;")));
}

class RunTriage : public TestInFolder {
 protected:
  std::string kernel(const char* condition) const {
    return write(replaced_once(source_of("tq4_v1"), "logical < window_start", std::string("logical ") + condition + " window_start"),
                 "mine.metal");
  }
  static constexpr const char* kCases = "'mine/d256/h1x1/kv6*' --family tq4 --kernel ";
  std::string ledger() const { return (folder_ / "l.sqlite").string(); }
};

TEST_F(RunTriage, OneDocumentHasEverything) {
  const Outcome outcome = run_assay(std::string("triage --json ") + kCases + kernel("<="));
  EXPECT_EQ(outcome.status, 1);
  const auto document = nlohmann::json::parse(outcome.output);
  std::ifstream schema(ASSAY_SOURCE_DIR "/docs/triage.schema.json");
  EXPECT_THAT(Validator(nlohmann::json::parse(schema)).errors_of(document), IsEmpty());
  const auto& finding = document["variants"][0]["findings"][0];
  EXPECT_EQ(finding["class"], "oldest-key-lost");
  EXPECT_EQ(finding["suspects"][0]["file"], "mine.metal");
  EXPECT_THAT(finding["diff"].get<std::string>(), AllOf(HasSubstr("--- a/mine.metal\n"), HasSubstr("-        const bool masked")));
  const Outcome right = run_assay(std::string("triage --json ") + kCases + kernel("<"));
  EXPECT_EQ(right.status, 0);
  EXPECT_THAT(nlohmann::json::parse(right.output)["variants"], IsEmpty());
}

TEST_F(RunTriage, AFolderIsComparedWithAsItsSourceIs) {
  const std::string right = (folder_ / "right").string();
  std::filesystem::copy(ASSAY_SOURCE_DIR "/kernels/variants/tq4_v1", right, std::filesystem::copy_options::recursive);
  const Outcome outcome = run_assay("triage --repair-seconds 0 " + (kCases + kernel("<=")) + " --against " + right);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("undoing this difference from " + right + "/kernel.metal"));
}

TEST_F(RunTriage, EveryReportShowsTheCause) {
  const std::string page = (folder_ / "run.html").string();
  const Outcome run = run_assay(std::string("run --triage --html ") + page + " --ledger " + ledger() + " " + kCases + kernel("<="));
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.output, ContainsRegex("\ncause: oldest-key-lost: .*\\(mine.metal:[0-9]+\\): 12 of 12 failing cases of mine, repaired"));
  const std::string report = "report --ledger " + ledger() + " --format ";
  const auto document = nlohmann::json::parse(run_assay(report + "json").output);
  std::ifstream schema(ASSAY_SOURCE_DIR "/docs/report.schema.json");
  EXPECT_THAT(Validator(nlohmann::json::parse(schema)).errors_of(document), IsEmpty());
  ASSERT_THAT(document["causes"], SizeIs(1));
  EXPECT_EQ(document["causes"][0]["class"], "oldest-key-lost");
  for (const auto& record : document["cases"]) EXPECT_EQ(record.contains("cause"), record["status"] == "failed");
  EXPECT_THAT(run_assay(report + "text").output, AllOf(HasSubstr("  cause: oldest-key-lost"), HasSubstr("    --- a/mine.metal\n")));
  EXPECT_THAT(run_assay(report + "markdown").output,
              AllOf(HasSubstr("Cause 1: oldest-key-lost"), HasSubstr("```diff\n--- a/mine.metal\n")));
  EXPECT_EQ(run_assay(report + "html").output, read_file(page));
  EXPECT_THAT(read_file(page), HasSubstr("oldest-key-lost: the oldest visible position is skipped"));
}

// Cases that failed before the run was stopped have a cause too.
TEST_F(RunTriage, OfAResumedRunHasAllItsFailures) {
  const std::string command = std::string(" --ledger ") + ledger() + " " + kCases + kernel("<=");
  ASSERT_EQ(run_assay("run" + command).status, 1);
  const Outcome resumed = run_assay("run --resume --triage" + command);
  EXPECT_THAT(resumed.output, AllOf(HasSubstr("resumed: 14 of 14 cases"), HasSubstr("12 of 12 failing cases of mine")));
  EXPECT_THAT(run_assay("run --resume" + command).output, HasSubstr("resumed: 14 of 14 cases")) << "its findings are sealed";
}

TEST_F(RunTriage, OfARunWithoutFailuresFindsNothing) {
  const Outcome run = run_assay(std::string("run --triage --ledger ") + ledger() + " " + kCases + kernel("<"));
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.output, Not(HasSubstr("cause:")));
  EXPECT_FALSE(nlohmann::json::parse(run_assay("report --format json --ledger " + ledger()).output).contains("causes"));
}

TEST_F(TriageCommand, SeesARaceThatChangesNoNumber) {
  const std::string kernel = std::string(ASSAY_SOURCE_DIR) + "/tests/kernels/reduce_without_barrier.metal";
  const Outcome outcome = run_assay("triage reduce_v1/d256/rows2/nwg2/gauss/s1 --schedule forward --family reduce --kernel " + kernel);
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("missing-barrier"), HasSubstr("--policy checked")));
}

// Widening the table would hide it from the comparison, and so seem to repair it.
TEST_F(TriageCommand, AWrongTableGetsTheValueOfTheContract) {
  const std::string file = write(replaced_once(source_of("tq4_v1"), "0.9423405f,  1.2562312f", "0.9423405f,  1.2565312f"));
  const Outcome outcome = run_assay("triage kernel/d256/h1x1/kv1c1/ring0/nomask/nwg1/gauss/s1 --family tq4 --kernel '" + file + "'");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("other-codebook"), HasSubstr("with the contract's values, the failing case and all"),
                                    ContainsRegex("\\+.*1\\.2562312f")));
}

// Accesses that race afterwards are a consequence.
TEST_F(TriageCommand, ABarrierThatSomeThreadsMissIsNotCalledMissing) {
  const std::string file = write(replaced_once(source_of("tq4_v1"), "if (simd_max(mask) <= kMasked)", "if (masked)"));
  const Outcome outcome =
      run_assay("triage --fast kernel/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s1 --family tq4 --kernel '" + file + "'");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("divergent-barrier"), Not(HasSubstr("missing-barrier"))));
}

TEST_F(TriageCommand, AReturnBeforeABarrierIsNamed) {
  const std::string source = source_of("tq4_v1");
  constexpr std::string_view barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  const std::string file = write(replaced_once(source, barrier, "if (lane == 31) return;\n" + std::string(barrier)));
  const Outcome outcome =
      run_assay("triage --fast kernel/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s1 --family tq4 --kernel '" + file + "'");
  EXPECT_EQ(outcome.status, 1) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("divergent-barrier"), HasSubstr("a place to look: threads that leave the kernel here")));
}

// Cases ran with the text that was compiled; lines and edits are those of the text on disk.
TEST_F(TriageCommand, WhatIsSavedMeanwhileIsNotMixedWithWhatFailed) {
  const std::string mine = replaced_once(independent_kernel(), "o[i] / state.s", "o[i]");
  const std::string file = write("#include \"part.h\"\n" + mine);
  const std::string output = (folder_ / "output").string();
  for (const std::string& saved : {file, write("\n", "part.h")}) {
    std::filesystem::remove(output);
    const std::string run = "'" + std::string(ASSAY_BINARY_DIR) +
                            "/bin/assay' run kernel/d256/h1x1/kv33c33/ring0/nomask/nwg1/gauss/s1 --triage --ledger none --family tq4 "
                            "--set tile=32 --set temperature=1 --kernel '" +
                            file + "' > '" + output + "' 2>&1 &";
    // The line comes when the run has ended.
    const Outcome outcome = run_command(run + " while kill -0 $! && ! grep -qs 'triage of' '" + output + "'; do sleep 0.02; done; " +
                                        "echo '// saved' >> '" + saved + "'; wait $!; status=$?; cat '" + output + "'; exit $status");
    EXPECT_EQ(outcome.status, 1) << outcome.output;
    EXPECT_THAT(outcome.output,
                AllOf(HasSubstr(saved + " was saved while kernel was triaged: what was found is about two versions of it and is discarded"),
                      Not(HasSubstr("cause: ")), HasSubstr("first failure again")));
  }
}

}  // namespace
}  // namespace assay::tests::triage_test
