// Findings of triage in a ledger: read as recorded, sealed, merged, and refused if they do not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "harness/ledger/sqlite.h"
#include "tests/support/files.h"
#include "tests/unit/some_finding.h"

namespace assay::tests::ledger_findings_test {
namespace {

using namespace harness;
using namespace ::testing;

class LedgerFindings : public Test {
 protected:
  LedgerFindings() { setenv("ASSAY_KEY", (folder_.path() / "key").c_str(), 1); }
  ~LedgerFindings() override { unsetenv("ASSAY_KEY"); }

  static std::string name_of(int seed) { return "k/d256/rows2/nwg4/gauss/s" + std::to_string(seed); }
  std::filesystem::path file(const std::string& name = "l.sqlite") const { return folder_.path() / name; }
  RunId make(const std::string& name = "l.sqlite", int seed = 1, const std::string& shard = "1/2") const {
    std::filesystem::remove(file(name));
    Ledger ledger = Ledger::open(file(name));
    RunDescription description;
    description.selected = 1;
    description.selection = "abc";
    description.shard = shard;
    const RunId run = ledger.begin(description);
    Verdict verdict;
    verdict.test_case = parse_case(name_of(seed), find_family("reduce"));
    verdict.status = Status::failed;
    verdict.faults = {fault::Nan{1}};
    verdict.judgement.nans = 1;
    verdict.remarks = {{metal::HazardKind::simdgroup_race, "f", "a race", {"k.metal", 7}, {}, 3}};
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    ledger.finish(run, {});
    ledger.record_findings(run, std::vector{some_finding(name_of(seed)), some_finding(name_of(seed), "2")});
    return run;
  }
  // What reading, or else believing, says after a change of the file.
  std::string refusal_after(const std::string& sql) const {
    const RunId run = make();
    Database(file(), Database::Mode::create).execute(sql);
    try {
      const Ledger ledger = Ledger::open_existing(file());
      static_cast<void>(ledger.run(run));
      return ledger.doubt_about(run);
    } catch (const LedgerError& error) {
      return error.what();
    }
  }

  TemporaryFolder folder_;
};

TEST_F(LedgerFindings, AreReadAsTheyWereRecorded) {
  const RunId run = make();
  const Ledger ledger = Ledger::open_existing(file());
  EXPECT_EQ(ledger.doubt_about(run), "");
  const std::vector<FindingRecord> found = ledger.run(run).findings;
  ASSERT_THAT(found, SizeIs(2));
  const FindingRecord wanted = some_finding(name_of(1));
  for (const auto text :
       {&FindingRecord::variant, &FindingRecord::kind, &FindingRecord::says, &FindingRecord::smallest, &FindingRecord::status,
        &FindingRecord::reason, &FindingRecord::replay, &FindingRecord::given, &FindingRecord::diff})
    EXPECT_EQ(found[0].*text, wanted.*text);
  for (const auto lines : {&FindingRecord::evidence, &FindingRecord::cases, &FindingRecord::where, &FindingRecord::where_given,
                           &FindingRecord::hazards, &FindingRecord::near})
    EXPECT_EQ(found[0].*lines, wanted.*lines);
  EXPECT_EQ(found[0].tried, 7U);
  EXPECT_EQ(found[0].failing, 9U);
  EXPECT_EQ(found[0].suspects, wanted.suspects);
  ASSERT_THAT(found[0].fits, SizeIs(2));
  EXPECT_EQ(found[0].fits[0].explained, 0.75);
  EXPECT_TRUE(std::isnan(found[0].fits[0].unaffected));
  EXPECT_EQ(found[1].says, "a factor is wrong2");
  const CaseRecord record = ledger.cases(run).at(0);
  EXPECT_THAT(record.hazards, IsEmpty());
  ASSERT_THAT(record.remarks, SizeIs(1));
  EXPECT_EQ(record.remarks[0].count, 3U);
}

TEST_F(LedgerFindings, ReplaceEarlierOnesAndBelongToTheRun) {
  const RunId run = make();
  Ledger ledger = Ledger::open(file());
  ledger.record_findings(run, std::vector{some_finding(name_of(1), "new")});
  EXPECT_THAT(ledger.run(run).findings, SizeIs(1));
  EXPECT_EQ(ledger.doubt_about(run), "");
  EXPECT_THROW(ledger.record_findings(run, std::vector{some_finding("k/other")}), std::invalid_argument);
  EXPECT_THAT(ledger.run(run).findings, SizeIs(1)) << "nothing was changed";
}

TEST_F(LedgerFindings, ThatWereChangedAreNotBelieved) {
  EXPECT_EQ(refusal_after(""), "");
  for (const char* sql :
       {"UPDATE finding SET diff = 'x' WHERE rank = 1", "UPDATE finding SET seal = NULL",
        "UPDATE finding_line SET text = 'x' WHERE part = 'evidence'", "DELETE FROM finding_line WHERE part = 'near'",
        "UPDATE finding_suspect SET line = 13", "UPDATE finding_fit SET explained = 1", "UPDATE finding SET says = 'harmless'"})
    EXPECT_THAT(refusal_after(sql), AllOf(HasSubstr("finding"), HasSubstr("not sealed"))) << sql;
}

TEST_F(LedgerFindings, ThatDoNotFitTogetherAreRefused) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"UPDATE finding_line SET text = 'k/elsewhere' WHERE part = 'case'", "does not have"},
      {"UPDATE finding_line SET part = 'verdict' WHERE part = 'near'", "unknown part"},
      {"PRAGMA foreign_keys = OFF; INSERT INTO finding_line VALUES(1, 99, 'near', 0, 'x')", "has no finding 99"},
      {"UPDATE finding SET tried = -1", "-1"},
      {"UPDATE finding_suspect SET line = -1", "-1"},
      {"WITH RECURSIVE c(x) AS (SELECT 2 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) INSERT INTO finding SELECT 1, x, '', '', '', '', "
       "'', '', "
       "'', '', 0, 0, '', NULL FROM c",
       "more than 1000 findings"},
      {"DROP TABLE finding_fit; CREATE VIEW finding_fit AS SELECT 1 AS run", "is not a table"}};
  for (const auto& [sql, words] : rows) EXPECT_THAT(refusal_after(sql), HasSubstr(words)) << sql;
}

TEST_F(LedgerFindings, AreMerged) {
  static_cast<void>(make("one.sqlite", 1, "1/2"));
  static_cast<void>(make("two.sqlite", 2, "2/2"));
  const Ledger one = Ledger::open_existing(file("one.sqlite"));
  const Ledger two = Ledger::open_existing(file("two.sqlite"));
  Ledger whole = Ledger::open(file("whole.sqlite"));
  const std::vector<ShardRun> shards = {{&one, 1}, {&two, 1}};
  const Merge merge = merge_runs(shards, "assay merge", whole);
  const std::vector<FindingRecord> found = whole.run(merge.run).findings;
  ASSERT_THAT(found, SizeIs(4));
  EXPECT_THAT(found[2].cases, ElementsAre(name_of(2)));
  EXPECT_EQ(whole.doubt_about(merge.run), "");
}

// A file of version 5 is one without these tables.
TEST_F(LedgerFindings, AreNoneInAnOlderLedger) {
  const RunId run = make();
  Database(file(), Database::Mode::create)
      .execute(
          "DROP TABLE finding_line; DROP TABLE finding_fit; DROP TABLE finding_suspect; DROP TABLE finding; DROP TABLE source_line; PRAGMA "
          "user_version = 5");
  {
    const Ledger old = Ledger::open_existing(file());
    EXPECT_THAT(old.run(run).findings, IsEmpty());
    EXPECT_EQ(old.doubt_about(run), "") << "its seals still hold";
  }
  Ledger upgraded = Ledger::open(file());
  EXPECT_EQ(upgraded.doubt_about(run), "");
  upgraded.record_findings(run, std::vector{some_finding(name_of(1))});
  EXPECT_THAT(upgraded.run(run).findings, SizeIs(1));
}

}  // namespace
}  // namespace assay::tests::ledger_findings_test
