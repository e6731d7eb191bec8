// The ledger returns what was recorded, refuses other files, and keeps its rows when the process is killed.
// Long because each older schema and each member of a verdict is read back.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>

#include "harness/findings/fault_text.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/shell_line.h"
#include "tests/support/files.h"
#include "tests/unit/every_fault.h"

namespace assay::tests::ledger_test {
namespace {

using namespace harness;

using ::testing::HasSubstr;

Case case_named(std::string_view name) { return parse_case(name, find_family("reduce")); }

Verdict failed_verdict(std::string_view name) {
  Verdict verdict;
  verdict.test_case = case_named(name);
  verdict.status = Status::failed;
  verdict.faults = {fault::AboveBound{2}};
  verdict.schedules = "forward,reverse";
  verdict.row_length = 256;
  verdict.judgement.compared = 510;
  verdict.judgement.above_bound = 2;
  verdict.judgement.nans = 1;
  verdict.judgement.max_ratio = std::numeric_limits<double>::infinity();
  verdict.judgement.max_ratio_index = 257;
  verdict.judgement.cosine = 0.1 + 0.2;
  verdict.judgement.median_bound_ratio = 0x1p-40;
  verdict.judgement.worst = {
      {257, 0.1, std::numeric_limits<double>::quiet_NaN(), 1e-7, std::numeric_limits<double>::infinity(), ElementFault::nan},
      {3, -1.5, 2.5, 1e-7, 4e7, ElementFault::above_bound}};
  verdict.stages.push_back({"reduce of x", true, false, {fault::BrokenPromise{"wrong merge", {}}}, {}});
  verdict.hazards.push_back({metal::HazardKind::invalid_access, "f", "it's \"wild\"", {"k.metal", 12}, metal::SourceLocation{"h.h", 3}, 7});
  verdict.digest = 0xfedcba9876543210U;
  verdict.counters.collectives = 99;
  verdict.is_internal = true;
  verdict.known = {"docs/FINDINGS.md#2", "other"};
  verdict.cost = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  verdict.split.emplace();
  verdict.split->max_rounding_ratio = 0.25;
  verdict.split->max_logic_ratio = 0.5;
  return verdict;
}

RunDescription command(std::string words) {
  RunDescription description;
  description.command = std::move(words);
  return description;
}

TEST(Ledger, ReturnsWhatWasRecorded) {
  Ledger ledger = Ledger::in_memory();
  const RunId run = ledger.begin(
      {"assay run x", {"--kernel", "a b.metal"}, "1.2.3", "Linux", "reverse", 18446744073709551615U, 3, 40, {"one", "it's two"}});
  Verdict failed = failed_verdict("k/d256/rows2/nwg4/gauss/s18446744073709551615");
  failed.notes = {note::Recorded{"otherwise in another process"}};
  Verdict passed;
  passed.test_case = case_named("k/d512/rows1/nwg1/drift/s7");
  passed.status = Status::passed;
  passed.judgement.compared = 512;
  passed.judgement.max_ratio = 0.25;
  passed.judgement.worst = {{1, 1, 1, 1, 0.25, ElementFault::none}};
  const Case open = case_named("k/d512/rows1/nwg2/drift/s8");
  for (const Case& test_case : {failed.test_case, passed.test_case, open}) ledger.started(run, test_case);
  ledger.record(run, passed);
  ledger.record(run, failed);

  const std::vector<CaseRecord> cases = ledger.cases(run);
  ASSERT_EQ(cases.size(), 3U);
  const CaseRecord& first = cases[0];
  EXPECT_EQ(first.name, "k/d256/rows2/nwg4/gauss/s18446744073709551615");
  EXPECT_EQ(first.variant, "k");
  EXPECT_EQ(first.family, "reduce");
  EXPECT_EQ(first.fixture, "gauss");
  EXPECT_EQ(first.seed, 18446744073709551615U);
  EXPECT_THAT(first.axes, ::testing::ElementsAre(std::pair("head_dim", 256), std::pair("nrows", 2), std::pair("nwg", 4)));
  EXPECT_EQ(first.status, Status::failed);
  EXPECT_EQ(first.faults, failed.faults);
  EXPECT_EQ(text_of(first.notes), text_of(failed.notes));
  EXPECT_EQ(first.schedules, failed.schedules);
  EXPECT_EQ(first.row_length, 256U);
  EXPECT_EQ(first.judgement.compared, 510U);
  EXPECT_EQ(first.judgement.above_bound, 2U);
  EXPECT_EQ(first.judgement.nans, 1U);
  EXPECT_EQ(first.judgement.max_ratio, std::numeric_limits<double>::infinity());
  EXPECT_EQ(first.judgement.max_ratio_index, 257U);
  EXPECT_EQ(first.judgement.cosine, 0.1 + 0.2);
  EXPECT_EQ(first.judgement.median_bound_ratio, 0x1p-40);
  EXPECT_EQ(first.digest, failed.digest);
  ASSERT_EQ(first.judgement.worst.size(), 2U);
  EXPECT_TRUE(std::isnan(first.judgement.worst[0].actual));
  EXPECT_EQ(first.judgement.worst[0].fault, ElementFault::nan);
  EXPECT_EQ(first.judgement.worst[1].index, 3U);
  EXPECT_EQ(first.judgement.worst[1].actual, 2.5);
  ASSERT_EQ(first.stages.size(), 1U);
  EXPECT_EQ(first.stages[0].name, "reduce of x");
  EXPECT_FALSE(first.stages[0].passed);
  ASSERT_EQ(first.hazards.size(), 1U);
  EXPECT_EQ(first.hazards[0].kind, metal::HazardKind::invalid_access);
  EXPECT_EQ(first.hazards[0].message, "it's \"wild\"");
  EXPECT_EQ(first.hazards[0].first, (metal::SourceLocation{"k.metal", 12}));
  EXPECT_EQ(first.hazards[0].second, (metal::SourceLocation{"h.h", 3}));
  EXPECT_EQ(first.hazards[0].count, 7U);

  EXPECT_TRUE(first.is_internal);
  EXPECT_THAT(first.known, ::testing::ElementsAre("docs/FINDINGS.md#2", "other"));
  EXPECT_EQ(first.cost, failed.cost);
  EXPECT_EQ(first.counters.collectives, 99U);
  EXPECT_EQ(first.rounding_ratio, 0.25);
  EXPECT_EQ(first.logic_ratio, 0.5);

  EXPECT_FALSE(cases[1].cost);
  EXPECT_TRUE(std::isnan(cases[1].rounding_ratio));
  EXPECT_EQ(cases[1].status, Status::passed);
  EXPECT_EQ(cases[1].judgement.max_ratio, 0.25) << "the figures of passing cases are what drift is seen in";
  EXPECT_EQ(cases[1].judgement.worst.size(), 1U);
  EXPECT_EQ(cases[2].name, "k/d512/rows1/nwg2/drift/s8");
  EXPECT_EQ(cases[2].status, std::nullopt) << "started and never finished";

  Summary summary;
  summary.stopped = true;
  ledger.finish(run, summary);
  const RunRecord record = ledger.run(run);
  EXPECT_THAT(record.description.replay_options, ::testing::ElementsAre("--kernel", "a b.metal"));
  EXPECT_EQ(record.description.version, "1.2.3");
  EXPECT_EQ(record.description.schedule, "reverse");
  EXPECT_EQ(record.description.seed, 18446744073709551615U);
  EXPECT_EQ(record.description.selected, 3U);
  EXPECT_EQ(record.description.outside_limits, 40U);
  EXPECT_THAT(record.description.notes, ::testing::ElementsAre("one", "it's two"));
  EXPECT_THAT(ledger.runs()[0].description.notes, ::testing::ElementsAre("one", "it's two"));
  EXPECT_EQ(record.verdicts, 2U);
  EXPECT_EQ(record.failures, 1U);
  EXPECT_TRUE(record.stopped);
  EXPECT_THAT(record.finished, ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
}

TEST(Ledger, KnowsEveryStatusAndHazardByName) {
  Ledger ledger = Ledger::in_memory();
  const RunId run = ledger.begin({});
  for (int i = 0; i <= static_cast<int>(Status::skipped); ++i) {
    Verdict verdict;
    verdict.test_case = case_named(fmt::format("k/d256/rows1/nwg1/gauss/s{}", i));
    verdict.status = static_cast<Status>(i);
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    EXPECT_EQ(ledger.cases(run).back().status, verdict.status);
  }
}

TEST(Ledger, RefusesAVerdictOfACaseThatNeverStarted) {
  Ledger ledger = Ledger::in_memory();
  EXPECT_THROW(ledger.record(ledger.begin({}), failed_verdict("k/d256/rows2/nwg4/gauss/s1")), std::invalid_argument);
}

TEST(Ledger, KeepsTheNewestRuns) {
  Ledger ledger = Ledger::in_memory();
  for (int i = 0; i < 5; ++i) {
    const RunId run = ledger.begin(command(fmt::format("run {}", i)));
    const Verdict verdict = failed_verdict("k/d256/rows2/nwg4/gauss/s1");
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
  }
  ledger.keep(2);
  const std::vector<RunRecord> runs = ledger.runs();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].description.command, "run 3");
  EXPECT_EQ(ledger.cases(runs[1].id).size(), 1U);
  EXPECT_TRUE(ledger.cases(runs[0].id - 1).empty()) << "cases go with their run";
  EXPECT_THROW(static_cast<void>(ledger.run(runs[0].id - 1)), LedgerError);
}

TEST(Ledger, IsStillThereInTheNextProcess) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "new" / "deep" / "ledger.sqlite";
  RunId run = 0;
  {
    Ledger ledger = Ledger::open(file);
    run = ledger.begin(command("first"));
  }
  Ledger again = Ledger::open(file);
  EXPECT_EQ(again.run(run).description.command, "first");
  EXPECT_EQ(Ledger::open_existing(file).runs().size(), 1U);
}

TEST(Ledger, ReadingLeavesNothingBesideTheFile) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  {
    Ledger ledger = Ledger::open(file);
    static_cast<void>(ledger.begin(command("first")));
  }
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder.path()), {}); };
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(Ledger::open_existing(file).runs().size(), 1U);
  EXPECT_EQ(files(), 1) << "SQLite leaves -shm and -wal where it may not write";
  Ledger reader = Ledger::open_existing(file);
  EXPECT_THROW(static_cast<void>(reader.begin(command("second"))), std::exception);
  EXPECT_EQ(Ledger::open_existing(file).runs().size(), 1U);
}

TEST(Ledger, HoldsWhatWasRecordedBeforeAKill) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  const pid_t child = fork();
  if (child == 0) {
    Ledger ledger = Ledger::open(file);
    const RunId run = ledger.begin({});
    const Verdict verdict = failed_verdict("k/d256/rows2/nwg4/gauss/s1");
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    ledger.started(run, case_named("k/d256/rows2/nwg4/gauss/s2"));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Ledger ledger = Ledger::open(file);
  ASSERT_EQ(ledger.runs().size(), 1U);
  EXPECT_EQ(ledger.runs()[0].finished, "");
  const std::vector<CaseRecord> cases = ledger.cases(ledger.runs()[0].id);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].status, Status::failed);
  EXPECT_EQ(cases[1].status, std::nullopt);
}

std::string refusal_of(const std::filesystem::path& file) {
  try {
    static_cast<void>(Ledger::open(file));
  } catch (const LedgerError& error) {
    return error.what();
  }
  return "nothing was refused";
}

// The golden dump came from an assay of that version.
class LedgerOfVersion1 : public ::testing::Test {
 protected:
  void SetUp() override { Database(file_, Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v1.sql")); }
  // What every version can read of it.
  static void expect_its_run(const Ledger& ledger) {
    const RunRecord run = ledger.run(1);
    EXPECT_EQ(run.verdicts, 2U);
    EXPECT_EQ(run.description.selected, 2U);
    EXPECT_EQ(run.description.outside_limits, 0U);
    EXPECT_TRUE(run.description.notes.empty());
    const std::vector<CaseRecord> cases = ledger.cases(1);
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].name, "fwht_v1/d256/h1/undo/gauss/s1");
    EXPECT_EQ(cases[0].status, Status::passed);
    EXPECT_DOUBLE_EQ(cases[1].judgement.max_ratio, 0.361592710304347031);
    EXPECT_EQ(text_of(cases[1].notes), "");
  }
  std::int64_t version() const {
    Database database(file_, Database::Mode::read_only);
    Statement statement(database, "PRAGMA user_version");
    statement.step();
    return statement.integer(0);
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "ledger.sqlite";
};

TEST_F(LedgerOfVersion1, IsReadWithoutAChange) {
  std::filesystem::permissions(file_, std::filesystem::perms::owner_read);
  expect_its_run(Ledger::open_existing(file_));
  EXPECT_EQ(version(), 1);
}

TEST_F(LedgerOfVersion1, KeepsItsRunsWhenItIsWrittenTo) {
  {
    Ledger ledger = Ledger::open(file_);
    expect_its_run(ledger);
    const RunId run = ledger.begin({"new", {}, "", "", "", 0, 1, 7, {"a note"}});
    Verdict verdict = failed_verdict("k/d256/rows2/nwg4/gauss/s1");
    verdict.notes = {note::Recorded{"another"}};
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
  }
  EXPECT_EQ(version(), 7);
  const Ledger again = Ledger::open(file_);
  expect_its_run(again);
  ASSERT_EQ(again.runs().size(), 2U);
  const RunRecord added = again.runs()[1];
  EXPECT_EQ(added.description.outside_limits, 7U);
  EXPECT_THAT(added.description.notes, ::testing::ElementsAre("a note"));
  EXPECT_EQ(text_of(again.cases(added.id)[0].notes), "another");
}

TEST(LedgerOfVersion2, IsReadWithoutAChangeAndKeepsItsRunsWhenItIsWrittenTo) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  Database(file, Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v2.sql"));
  const auto expect_its_run = [](const Ledger& ledger) {
    const RunRecord run = ledger.run(1);
    EXPECT_EQ(run.verdicts, 2U);
    EXPECT_EQ(run.description.selection, "") << "version 2 did not note it";
    EXPECT_TRUE(run.description.environment.sources.empty());
    const std::vector<CaseRecord> cases = ledger.cases(1);
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].name, "fwht_v1/d256/h1/undo/gauss/s1");
    EXPECT_EQ(cases[0].status, Status::passed);
    EXPECT_FALSE(cases[0].cost);
    EXPECT_TRUE(std::isnan(cases[0].logic_ratio));
  };
  expect_its_run(Ledger::open_existing(file));
  expect_its_run(Ledger::open(file));
  expect_its_run(Ledger::open(file));
}

TEST(LedgerOfVersion3, KeepsItsWordsAndOptions) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  Database(file, Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v3.sql"));
  const auto expect_its_run = [](const Ledger& ledger) {
    EXPECT_THAT(ledger.run(1).description.replay_options, ::testing::ElementsAre("--kernel", "it's here/mine.metal", "--family", "fwht"));
    const std::vector<CaseRecord> cases = ledger.cases(1);
    ASSERT_EQ(cases.size(), 2U);
    ASSERT_EQ(cases[0].faults.size(), 1U);
    EXPECT_EQ(cases[0].faults[0].kind(), FaultKind::told);
    EXPECT_EQ(reason_of(cases[0]), "threadgroup 2 of a grid that is one larger than num_heads = 2 must return, but wrote behind the data");
  };
  expect_its_run(Ledger::open_existing(file));
  expect_its_run(Ledger::open(file));
  // Its cases join those of a newer one, whose tables it has not.
  const TemporaryFolder other;
  const std::filesystem::path old = other.path() / "old.sqlite";
  Database(old, Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v3.sql"));
  Ledger into = Ledger::in_memory();
  const RunId run = into.begin(command("merged"));
  into.copy_cases(Ledger::open_existing(old), 1, run);
  EXPECT_EQ(into.cases(run).at(1).faults.at(0).kind(), FaultKind::told);
}

// It has no seals.
TEST(LedgerOfVersion4, IsReadButNotBelieved) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.sqlite";
  Database(file, Database::Mode::create).execute(read_file(kRoot / "tests/golden/ledger_v4.sql"));
  const auto expect_its_run = [](const Ledger& ledger) {
    const std::vector<CaseRecord> cases = ledger.cases(1);
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].status, Status::failed);
    ASSERT_EQ(cases[0].faults.size(), 1U);
    EXPECT_NE(cases[0].faults[0].kind(), FaultKind::told);
    EXPECT_THAT(ledger.run(1).description.replay_options, ::testing::ElementsAre("--kernel", "it's here/mine.metal", "--family", "fwht"));
    EXPECT_THAT(ledger.doubt_about(1), ::testing::AllOf(HasSubstr("run 1 is not sealed"), HasSubstr("older assay")));
  };
  expect_its_run(Ledger::open_existing(file));
  expect_its_run(Ledger::open(file));
}

// With all values and with none, of a verdict and of a stage of it.
TEST(Ledger, KeepsFaultsOfEveryKind) {
  const std::vector<Fault> every = faults_of_every_kind();
  Verdict verdict = failed_verdict("k/d256/rows2/nwg4/gauss/s1");
  verdict.faults = every;
  verdict.stages = {{"first", true, false, {fault::BrokenPromise{"wrong merge", {}}}, {}}, {"second", true, false, every, {}}};
  Ledger ledger = Ledger::in_memory();
  const RunId run = ledger.begin(command("assay run x"));
  ledger.started(run, verdict.test_case);
  ledger.record(run, verdict);
  ledger.record(run, verdict);  // again, in the place of what was there
  const CaseRecord record = ledger.cases(run).at(0);
  ASSERT_EQ(record.faults.size(), every.size());
  for (std::size_t i = 0; i < every.size(); ++i) EXPECT_EQ(record.faults[i], every[i]) << name_of(every[i]);
  EXPECT_EQ(record.stages.at(0).faults, verdict.stages[0].faults);
  EXPECT_EQ(record.stages.at(1).faults, every);
}

// SQLite has no such numbers.
TEST(Ledger, KeepsFaultsWithWhatIsNoNumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Verdict verdict = failed_verdict("k/d256/rows2/nwg4/gauss/s1");
  fault::OrderDependence differs{
      .first = "forward", .other = "reverse", .places = {{3, 0, 3, kNan, -kNan}}, .count = 1, .size = 2, .unit = ""};
  differs.places.push_back({4, 0, 4, std::numeric_limits<float>::infinity(), -0.0F});
  verdict.faults = {differs, fault::Logic{1, 2, 3, -std::numeric_limits<double>::infinity()},
                    fault::OutsideOfLimits{"", 0, "nsg", {-1, std::numeric_limits<std::int64_t>::max()}, -5}};
  Ledger ledger = Ledger::in_memory();
  const RunId run = ledger.begin(command("assay run x"));
  ledger.started(run, verdict.test_case);
  ledger.record(run, verdict);
  const CaseRecord record = ledger.cases(run).at(0);
  EXPECT_EQ(record.faults, verdict.faults);
  EXPECT_EQ(reason_of(record), reason_of(verdict));
}

TEST(ShellLine, GivesBackTheWords) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"--kernel", "it's.metal"}, {"", "a b", "''", "\\", "a\\'b", "$x", "--define", "A=\"b\""}})
    EXPECT_EQ(words_of_shell_line(shell_line(words)), words) << shell_line(words);
  EXPECT_EQ(shell_line(std::vector<std::string>{"--kernel", "it's.metal", "plain", ""}), "--kernel 'it'\\''s.metal' plain ''");
}

TEST(Ledger, RefusesWhatIsNoLedger) {
  const TemporaryFolder folder;
  const std::filesystem::path text = folder.path() / "text";
  std::ofstream(text) << "this is certainly not a database, and long enough to be looked at as one";
  EXPECT_THAT(refusal_of(text), ::testing::AllOf(HasSubstr(text.string()), HasSubstr("not a database")));

  const std::filesystem::path foreign = folder.path() / "foreign.sqlite";
  Database(foreign, Database::Mode::create).execute("CREATE TABLE bookmark(url TEXT)");
  EXPECT_THAT(refusal_of(foreign), ::testing::AllOf(HasSubstr(foreign.string()), HasSubstr("not a ledger of assay")));

  const std::filesystem::path newer = folder.path() / "newer.sqlite";
  static_cast<void>(Ledger::open(newer));
  Database(newer, Database::Mode::create).execute("PRAGMA user_version = 99");
  EXPECT_THAT(refusal_of(newer), ::testing::AllOf(HasSubstr("version 99"), HasSubstr("versions 1 to 7")));

  EXPECT_THAT(refusal_of("/proc/no/ledger.sqlite"), HasSubstr("/proc/no/ledger.sqlite"));
  EXPECT_THROW(static_cast<void>(Ledger::open_existing(folder.path() / "absent")), LedgerError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "absent"));
}

}  // namespace
}  // namespace assay::tests::ledger_test
