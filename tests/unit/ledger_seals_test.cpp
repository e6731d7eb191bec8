// Seals of runs and verdicts: after any change of a ledger, its run is not trusted any more; and changes of a file in use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "harness/ledger/sqlite.h"
#include "tests/support/files.h"

namespace assay::tests::ledger_seals_test {
namespace {

using namespace harness;
using namespace ::testing;
namespace fs = std::filesystem;

Verdict verdict_on(const std::string& seed, Status status) {
  Verdict verdict;
  verdict.test_case = parse_case("k/d256/rows2/nwg4/gauss/s" + seed, find_family("reduce"));
  verdict.status = status;
  verdict.judgement.compared = 10;
  verdict.judgement.max_ratio = 0.5;
  verdict.cost = metal::Cost{};
  if (status == Status::passed) return verdict;
  verdict.judgement.above_bound = 1;
  verdict.judgement.max_ratio = 7;
  verdict.judgement.worst = {{3, 1, 2, 1e-7, 7, ElementFault::above_bound}};
  verdict.faults = {fault::Told{"wrong"}};
  verdict.stages = {{"merge", true, false, {fault::Told{"also wrong"}}, {}}};
  verdict.hazards.resize(1);
  verdict.hazards[0].message = "a race";
  if (status == Status::known) verdict.known = {"issue 12"};
  return verdict;
}

class LedgerSeals : public Test {
 protected:
  LedgerSeals() { setenv("ASSAY_KEY", (folder_.path() / "key").c_str(), 1); }
  ~LedgerSeals() override { unsetenv("ASSAY_KEY"); }

  void use_another_key() const { setenv("ASSAY_KEY", (folder_.path() / "another").c_str(), 1); }

  static RunId record(Ledger& ledger, const std::vector<Verdict>& verdicts, const std::string& shard = "1/2") {
    RunDescription description;
    description.command = "assay gate";
    description.selected = verdicts.size();
    description.selection = "abc";
    description.shard = shard;
    description.notes = {"a note"};
    description.replay_options = {"--policy", "checked"};
    description.environment.sources = {{"k", "k.metal", "digest"}};
    const RunId run = ledger.begin(description);
    for (const Verdict& verdict : verdicts) {
      ledger.started(run, verdict.test_case);
      ledger.record(run, verdict);
    }
    return run;
  }
  // A finished run with a case that passed and one that failed.
  RunId make() {
    fs::remove(file_);
    Ledger ledger = Ledger::open(file_);
    const RunId run = record(ledger, {verdict_on("1", Status::passed), verdict_on("2", Status::failed)});
    ledger.finish(run, {});
    return run;
  }
  std::string doubt_after(const std::string& sql) {
    const RunId run = make();
    Database(file_, Database::Mode::create).execute(sql);
    try {
      return Ledger::open(file_).doubt_about(run);
    } catch (const LedgerError& error) {
      return error.what();  // rows that do not fit together
    }
  }

  TemporaryFolder folder_;
  fs::path file_ = folder_.path() / "ledger.sqlite";
};

TEST_F(LedgerSeals, OfAnUntouchedRunHold) {
  const RunId run = make();
  EXPECT_EQ(Ledger::open(file_).doubt_about(run), "");
  EXPECT_EQ(Ledger::open_existing(file_).doubt_about(run), "");
  Ledger ledger = Ledger::open(file_);
  ledger.take_up(run);
  ledger.record(run, verdict_on("2", Status::failed));
  ledger.finish(run, {});
  EXPECT_EQ(ledger.doubt_about(run), "") << "taken up, and a verdict recorded again";
  EXPECT_EQ(doubt_after("VACUUM; UPDATE run SET finished = NULL"), "") << "a run that was killed";
}

TEST_F(LedgerSeals, ThatAreOfAnotherUserDoNotHold) {
  const RunId run = make();
  use_another_key();
  EXPECT_THAT(Ledger::open(file_).doubt_about(run), AllOf(HasSubstr("not sealed with your key"), HasSubstr("another user")));
}

TEST_F(LedgerSeals, NoticeEveryChange) {
  for (const char* sql :
       {"UPDATE verdict SET status = 'passed'",
        "UPDATE verdict SET status = 'failed' WHERE status = 'passed'",
        "UPDATE verdict SET compared = compared + 1",
        "UPDATE verdict SET max_ratio = max_ratio * 0.9",
        "UPDATE verdict SET digest = '00'",
        "UPDATE verdict SET note = 'x'",

        "UPDATE verdict SET seed = 9",
        "UPDATE verdict SET axes = '{}'",
        "UPDATE verdict SET seal = NULL",
        "UPDATE verdict SET seal = (SELECT max(seal) FROM verdict)",
        "DELETE FROM worst",
        "UPDATE worst SET bound = 9",
        "UPDATE stage SET passed = 1",
        "DELETE FROM hazard",
        "DELETE FROM cost",
        "DELETE FROM fault",
        "DELETE FROM fault WHERE stage = 'merge'",
        "UPDATE fault_value SET value = 'y'",
        "UPDATE fault SET schedule = 'x'",
        "INSERT INTO hazard SELECT run, name, 7, kind, function, message, file, line, second_file, second_line, count FROM hazard"})
    EXPECT_THAT(doubt_after(sql), HasSubstr("the verdict on k/d256/rows2/nwg4/gauss/s")) << sql;
  EXPECT_THAT(doubt_after("UPDATE verdict SET name = 'k/d256/rows2/nwg4/gauss/s9' WHERE status = 'passed'"),
              HasSubstr("which run 1 does not have"));
  for (const char* sql :
       {"UPDATE run SET command = 'x'", "UPDATE run SET policy = 'native'", "UPDATE run SET selection = 'x'", "UPDATE run SET selected = 1",
        "UPDATE run SET suite_seed = 1", "UPDATE run SET toolchain = 'x'", "UPDATE run SET build = 'x'", "UPDATE run SET seal = NULL",
        "UPDATE source SET digest = 'x'", "DELETE FROM source", "DELETE FROM note", "UPDATE replay_word SET word = 'native' WHERE rank = 1",
        "INSERT INTO note VALUES(1, 7, 'x')", "UPDATE run SET started = '2026'"})
    EXPECT_THAT(doubt_after(sql), HasSubstr("the description of run 1")) << sql;
}

// A verdict of the same case, but of another kernel.
TEST_F(LedgerSeals, BindAVerdictToItsRun) {
  const RunId run = make();
  {
    Ledger ledger = Ledger::open(file_);
    RunDescription other;
    other.command = "assay gate --kernel right.metal";
    const RunId right = ledger.begin(other);
    ledger.started(right, verdict_on("2", Status::passed).test_case);
    ledger.record(right, verdict_on("2", Status::passed));
    ledger.finish(right, {});
    ASSERT_EQ(ledger.doubt_about(right), "");
    Database(file_, Database::Mode::create)
        .execute(fmt::format(
            "DELETE FROM verdict WHERE run = {0} AND status = 'failed'; DELETE FROM worst; DELETE FROM stage; DELETE FROM hazard;"
            "DELETE FROM fault_value; DELETE FROM fault; DELETE FROM cost WHERE run = {0} AND name LIKE '%s2';"
            "UPDATE verdict SET run = {0} WHERE run = {1}; UPDATE cost SET run = {0} WHERE run = {1}",
            run, right));
  }
  EXPECT_THAT(Ledger::open(file_).doubt_about(run), HasSubstr("the verdict on k/d256/rows2/nwg4/gauss/s2 is not sealed"));
}

TEST_F(LedgerSeals, OfVerdictsThatContradictThemselvesDoNotHelp) {
  const auto doubt_about = [&](Verdict verdict) {
    Ledger ledger = Ledger::in_memory();
    const RunId run = record(ledger, {std::move(verdict)});
    return ledger.doubt_about(run);
  };
  Verdict verdict = verdict_on("1", Status::failed);
  EXPECT_EQ(doubt_about(verdict), "");
  verdict.status = Status::passed;
  EXPECT_THAT(doubt_about(verdict), HasSubstr("passed, but has faults"));
  verdict.faults.clear(), verdict.hazards.clear();
  EXPECT_THAT(doubt_about(verdict), HasSubstr("passed, but has wrong elements"));
  verdict.judgement = {};
  EXPECT_THAT(doubt_about(verdict), HasSubstr("passed, but compared nothing"));
  verdict.status = Status::failed;
  EXPECT_THAT(doubt_about(verdict), HasSubstr("is 'failed', but has no fault"));
  verdict = verdict_on("1", Status::known);
  EXPECT_EQ(doubt_about(verdict), "");
  verdict.known.clear();
  EXPECT_THAT(doubt_about(verdict), HasSubstr("names no known finding"));
  verdict = verdict_on("1", Status::failed);
  verdict.judgement.above_bound = 11;
  EXPECT_THAT(doubt_about(verdict), HasSubstr("more elements above their bounds than it compared"));
}

TEST_F(LedgerSeals, AMergedRunIsBelievedIfItsShardsAre) {
  const auto merged = [&](bool is_foreign, const std::string& sql) {
    const fs::path one = folder_.path() / "one.sqlite", two = folder_.path() / "two.sqlite";
    fs::remove(one), fs::remove(two);
    {
      Ledger first = Ledger::open(one);
      first.finish(record(first, {verdict_on("1", Status::passed)}, "1/2"), {});
      if (is_foreign) use_another_key();
      Ledger second = Ledger::open(two);
      second.finish(record(second, {verdict_on("2", Status::failed)}, "2/2"), {});
      setenv("ASSAY_KEY", (folder_.path() / "key").c_str(), 1);
    }
    Database(two, Database::Mode::create).execute(sql);
    const Ledger first = Ledger::open_existing(one), second = Ledger::open_existing(two);
    Ledger into = Ledger::in_memory();
    const Merge merge = merge_runs(std::vector<ShardRun>{{&first, 1}, {&second, 1}}, "merge", into);
    return std::pair(into.doubt_about(merge.run), into.run(merge.run).description.notes);
  };
  EXPECT_THAT(merged(false, ""), Pair("", ElementsAre("a note")));
  EXPECT_THAT(merged(true, ""),
              Pair(HasSubstr("gauss/s2 is not sealed"), Contains(AllOf(HasSubstr("not verified"), HasSubstr("two.sqlite")))));
  EXPECT_THAT(merged(false, "UPDATE verdict SET status = 'passed'"),
              Pair(HasSubstr("gauss/s2 is not sealed"), Contains(AllOf(HasSubstr("not verified"), HasSubstr("two.sqlite")))));
}

TEST_F(LedgerSeals, AFileThatVanishesOrChangesIsReported) {
  const auto damage_by = [&](const auto& attack) {
    fs::remove(file_);
    Ledger ledger = Ledger::open(file_);
    const RunId run = record(ledger, {verdict_on("1", Status::passed), verdict_on("2", Status::failed)});
    attack();
    return ledger.damage_since_opening(run, 2);
  };
  const auto sql = [&](const char* text) { return [this, text] { Database(file_, Database::Mode::create).execute(text); }; };
  EXPECT_EQ(damage_by([] {}), "");
  EXPECT_EQ(damage_by(sql("SELECT * FROM run")), "");
  EXPECT_EQ(damage_by([&] {
              Ledger other = Ledger::open(file_);
              other.finish(record(other, {verdict_on("1", Status::passed)}), {});
            }),
            "")
      << "another run in the same file";
  EXPECT_THAT(damage_by([&] { fs::remove(file_); }), HasSubstr("deleted, moved or replaced"));
  EXPECT_THAT(damage_by([&] {
                fs::copy_file(file_, file_.string() + "2");
                fs::rename(file_.string() + "2", file_);
              }),
              HasSubstr("deleted, moved or replaced"));
  EXPECT_THAT(damage_by(sql("DELETE FROM verdict WHERE status = 'failed'")), HasSubstr("has 1 verdicts of run 1, which has 2"));
  EXPECT_THAT(damage_by(sql("UPDATE verdict SET status = 'passed'")), HasSubstr("gauss/s2 is not sealed"));
  EXPECT_EQ(Ledger::in_memory().damage_since_opening(1, 0), "");
}

}  // namespace
}  // namespace assay::tests::ledger_seals_test
