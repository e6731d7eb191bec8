// Lines of sources in the ledger, the worst element of right cases, and outcomes of cases alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "harness/ledger/sqlite.h"
#include "metal/source_files.h"
#include "tests/support/files.h"

namespace assay::tests::ledger_lines_test {
namespace {

using namespace harness;
using namespace ::testing;

class LedgerLines : public Test {
 protected:
  LedgerLines() {
    std::ofstream(source_, std::ios::binary) << "one\ntwo\nthree\nfour\xff</script>\nfive\nsix\nseven\neight\n" << std::string(5000, 'x');
    metal::note_source_file(source_.string(), source_);
  }
  std::filesystem::path file(const std::string& name = "l.sqlite") const { return folder_.path() / name; }

  Verdict hazard_at(std::uint32_t line, const std::string& seed = "7") const {
    Verdict verdict;
    verdict.test_case = parse_case("k/d256/rows2/nwg4/gauss/s" + seed, find_family("reduce"));
    verdict.status = Status::hazard;
    verdict.hazards = {{metal::HazardKind::device_race, "f", "a race", {source_.string(), line}, {}, 1}};
    verdict.faults = {fault::Hazard{metal::HazardKind::device_race, "f", "a race", {source_.string(), line}, false}};
    return verdict;
  }
  static RunId record(Ledger& ledger, const Verdict& verdict, const std::string& shard = "") {
    RunDescription description;
    description.selected = 1;
    description.selection = "abc";
    description.shard = shard;
    const RunId run = ledger.begin(description);
    ledger.started(run, verdict.test_case);
    ledger.record(run, verdict);
    return run;
  }
  std::vector<SourceLine> lines_of(const Verdict& verdict) const {
    Ledger ledger = Ledger::in_memory();
    return ledger.cases(record(ledger, verdict)).at(0).lines;
  }
  SourceLine line(std::uint32_t number, std::string text) const { return {source_.string(), number, std::move(text)}; }

  TemporaryFolder folder_;
  std::filesystem::path source_ = folder_.path() / "k.metal";
};

TEST_F(LedgerLines, AreThoseAroundThePlacesOfACase) {
  EXPECT_THAT(lines_of(hazard_at(4)), ElementsAre(line(1, "one"), line(2, "two"), line(3, "three"), line(4, "four\xff</script>"),
                                                  line(5, "five"), line(6, "six"), line(7, "seven")));
  EXPECT_THAT(lines_of(hazard_at(1)), SizeIs(4));
  EXPECT_THAT(lines_of(hazard_at(9)), Contains(line(9, std::string(kLongestSourceLine, 'x'))));
}

TEST_F(LedgerLines, AreNoneWithoutALineOfAKernel) {
  for (const std::uint32_t number : {0U, 13U, 4294967292U, 4294967295U}) EXPECT_THAT(lines_of(hazard_at(number)), IsEmpty()) << number;
  Verdict elsewhere = hazard_at(4);
  elsewhere.hazards[0].first.file = "/etc/passwd";
  EXPECT_THAT(lines_of(elsewhere), IsEmpty()) << "a kernel may give its lines any names, and no file of the machine is shown for that";
  Verdict unknown = hazard_at(4);
  unknown.hazards[0].lacks_line = true;
  EXPECT_THAT(lines_of(unknown), IsEmpty());
}

TEST_F(LedgerLines, AreFewInACaseThatIsWrongEverywhere) {
  Verdict verdict = hazard_at(4);
  verdict.hazards.resize(1000, verdict.hazards[0]);
  EXPECT_THAT(lines_of(verdict), SizeIs(7));
}

TEST_F(LedgerLines, StayWhenTheSourceChangesAreMergedAndSealed) {
  for (const auto& [name, seed, shard] : {std::tuple("one", "1", "1/2"), std::tuple("two", "2", "2/2")}) {
    Ledger ledger = Ledger::open(file(name));
    static_cast<void>(record(ledger, hazard_at(4, seed), shard));
  }
  std::ofstream(source_, std::ios::binary) << "other\n";
  const Ledger one = Ledger::open_existing(file("one")), two = Ledger::open_existing(file("two"));
  Ledger whole = Ledger::open(file());
  const std::vector<ShardRun> shards = {{&one, 1}, {&two, 1}};
  const RunId run = merge_runs(shards, "assay merge", whole).run;
  ASSERT_THAT(whole.cases(run), SizeIs(2));
  for (const CaseRecord& record : whole.cases(run)) EXPECT_THAT(record.lines, Contains(line(2, "two")));
  EXPECT_EQ(whole.doubt_about(run), "");
  Database(file(), Database::Mode::create).execute("UPDATE source_line SET text = 'innocent' WHERE line = 4");
  EXPECT_THAT(whole.doubt_about(run), HasSubstr("not sealed with your key"));
}

// A file of version 6 is one without the table.
TEST_F(LedgerLines, AreNoneInAnOlderLedger) {
  {
    Ledger ledger = Ledger::open(file());
    static_cast<void>(record(ledger, hazard_at(13)));
  }
  Database(file(), Database::Mode::create).execute("DROP TABLE source_line; PRAGMA user_version = 6");
  {
    const Ledger old = Ledger::open_existing(file());
    EXPECT_THAT(old.cases(1).at(0).lines, IsEmpty());
    EXPECT_EQ(old.doubt_about(1), "") << "its seals still hold";
  }
  Ledger upgraded = Ledger::open(file());
  EXPECT_THAT(upgraded.cases(record(upgraded, hazard_at(4))).at(0).lines, SizeIs(7));
}

TEST_F(LedgerLines, TheWorstElementOfARightCaseIsKeptAlone) {
  Ledger ledger = Ledger::in_memory();
  Verdict passed = hazard_at(4);
  passed.status = Status::passed;
  passed.faults = {};
  passed.hazards = {};
  passed.judgement.worst = {{3, 0.5, 0.75, 1, 0.25, ElementFault::none}, {4, 1, 1, 1, 0, ElementFault::none}};
  Verdict known = passed;
  known.status = Status::known;
  known.test_case = parse_case("k/d256/rows2/nwg4/gauss/s8", find_family("reduce"));
  const std::vector<CaseRecord> right = ledger.cases(record(ledger, passed));
  ASSERT_THAT(right.at(0).judgement.worst, SizeIs(1));
  EXPECT_EQ(right[0].judgement.worst[0].index, 3U);
  EXPECT_THAT(ledger.cases(record(ledger, known)).at(0).judgement.worst, SizeIs(2));
}

TEST_F(LedgerLines, OutcomesAreThoseOfTheCases) {
  Ledger ledger = Ledger::in_memory();
  Verdict verdict = hazard_at(4);
  verdict.judgement.max_ratio = 0.5;
  verdict.digest = 0xfedcba9876543210U;
  const RunId run = record(ledger, verdict);
  ledger.started(run, parse_case("k/d256/rows2/nwg4/gauss/s8", find_family("reduce")));
  const std::vector<CaseOutcome> outcomes = ledger.outcomes(run);
  ASSERT_THAT(outcomes, SizeIs(2));
  EXPECT_EQ(outcomes[0].name, "k/d256/rows2/nwg4/gauss/s7");
  EXPECT_EQ(outcomes[0].status, Status::hazard);
  EXPECT_EQ(outcomes[0].max_ratio, 0.5);
  EXPECT_EQ(outcomes[0].digest, 0xfedcba9876543210U);
  EXPECT_EQ(outcomes[1].status, std::nullopt);
  EXPECT_THAT(ledger.outcomes(run + 1), IsEmpty());
}

}  // namespace
}  // namespace assay::tests::ledger_lines_test
