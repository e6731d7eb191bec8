// Hostile ledgers: with any tables, views, triggers and bytes, they are read or refused with a LedgerError, and
// soon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "fixtures/counter.h"
#include "harness/ledger/comparable.h"
#include "harness/ledger/ledger.h"
#include "harness/ledger/merge.h"
#include "reports/figures.h"
#include "reports/junit.h"
#include "reports/page_data.h"
#include "reports/run_json.h"
#include "reports/run_markdown.h"
#include "tests/support/files.h"

namespace assay::tests::ledger_hostile_test {
namespace {

using namespace harness;

using namespace ::testing;

// Endless rows, for a reader or writer of the wrong table.
constexpr std::string_view kEndless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT";

class LedgerHostile : public ::testing::Test {
 protected:
  // A run with one failed case, on which `sql` is let loose.
  void make(const std::string& sql) {
    std::filesystem::remove(file_);
    {
      Ledger ledger = Ledger::open(file_);
      RunDescription description;
      description.command = "assay gate";
      description.selected = 1;
      description.selection = "abc";
      description.shard = "1/2";
      run_ = ledger.begin(description);
      Verdict verdict;
      verdict.test_case = parse_case("k/d256/rows2/nwg4/gauss/s7", find_family("reduce"));
      verdict.status = Status::failed;
      verdict.faults = {fault::Told{"wrong"}};
      verdict.row_length = 256;
      verdict.judgement.compared = 512;
      verdict.judgement.above_bound = 1;
      verdict.judgement.worst = {{300, 1, 2, 1e-7, 1e7, ElementFault::above_bound}};
      ledger.started(run_, verdict.test_case);
      ledger.record(run_, verdict);
      ledger.finish(run_, {});
    }
    Database(file_, Database::Mode::create).execute("PRAGMA journal_mode = DELETE;" + sql);
  }

  // Everything that the commands do with a ledger that they only read.
  void read() const {
    const Ledger ledger = Ledger::open_existing(file_);
    for (const RunRecord& run : ledger.runs()) {
      const std::vector<CaseRecord> cases = ledger.cases(run.id);
      static_cast<void>(ledger.run(run.id));
      static_cast<void>(reports::junit(run, cases, reports::SourceRoot("/")));
      static_cast<void>(reports::run_json(run, cases));
      static_cast<void>(reports::run_markdown(run, cases));
      static_cast<void>(reports::page_data(run, cases));
      static_cast<void>(reports::page_details(cases));
      static_cast<void>(reports::table_text(reports::figure_tables(cases)));
    }
  }
  void write() const {
    Ledger ledger = Ledger::open(file_);
    ledger.finish(ledger.begin({"new", {}, "", "", "", 0, 1, 0, {"a note"}}), {});
    ledger.keep(1);
  }
  std::string refusal(const std::function<void()>& use) const {
    try {
      use();
    } catch (const LedgerError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_.string()));
      return error.what();
    }
    return {};
  }
  std::string reading_of(const std::string& sql) {
    make(sql);
    return refusal([this] { read(); });
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "ledger.sqlite";
  RunId run_ = 0;
};

TEST_F(LedgerHostile, WhatIsNoTableIsNotReadFrom) {
  EXPECT_EQ(reading_of("SELECT 1"), "") << "untouched, it must be read";
  // A view without end in the place of a table.
  EXPECT_THAT(reading_of("DROP TABLE note; CREATE VIEW note AS " + std::string(kEndless) + " 1 AS run, x AS rank, 'a' AS text FROM c"),
              HasSubstr("'note' is not a table"));
  EXPECT_THAT(reading_of("DROP TABLE note; CREATE VIRTUAL TABLE note USING fts5(run, level, text)"), HasSubstr("'note' is not a table"));
  EXPECT_THAT(reading_of("DROP TABLE cost"), HasSubstr("'cost' is missing"));
  EXPECT_THAT(reading_of("DROP TABLE note; CREATE TABLE note(run, rank, text AS (hex(zeroblob(30000000))))"),
              HasSubstr("'note' has a generated column"));
  EXPECT_THAT(refusal([this] { write(); }), HasSubstr("'note' has a generated column"));
}

TEST_F(LedgerHostile, TriggersOfTheFileDoNothing) {
  make(
      "CREATE TRIGGER forge AFTER INSERT ON run BEGIN UPDATE verdict SET status = 'passed'; END;"
      "CREATE TRIGGER hang BEFORE INSERT ON run BEGIN INSERT INTO source SELECT 1, x, '', '' FROM (" +
      std::string(kEndless) + " x FROM c); END");
  {
    Ledger ledger = Ledger::open(file_);
    static_cast<void>(ledger.begin({"new", {}, "", "", "", 0, 1, 0, {}}));
    EXPECT_EQ(ledger.cases(run_).at(0).status, Status::failed);
  }
}

TEST_F(LedgerHostile, RowsThatAssayCannotHaveWrittenAreRefused) {
  for (const auto& [table, values] : std::vector<std::pair<std::string, std::string>>{{"worst", "0, 3, 1, 1, 1, 1, ''"},
                                                                                      {"stage", "'s', 1, 1, '', 1, 1"},
                                                                                      {"hazard", "0, 'a', 'b', 'c', 'd', 1, '', 0, 1"},
                                                                                      {"cost", "1, 2, 3, 4, 5, 6, 7, 8, 9"},
                                                                                      {"fault", "'', 0, 'told', ''"},
                                                                                      {"source_line", "'f', 1, 'text'"}}) {
    EXPECT_THAT(reading_of("PRAGMA foreign_keys = OFF; INSERT INTO " + table + " VALUES(1, 'no such case', " + values + ")"),
                AllOf(HasSubstr("'" + table + "' refers to the case 'no such case'"), HasSubstr("does not have")));
  }
  EXPECT_THAT(reading_of("UPDATE verdict SET axes = '{\"a\": '"),
              AllOf(HasSubstr(file_.string()), HasSubstr("run 1, case 'k/d256/rows2/nwg4/gauss/s7', has axes that are not valid JSON")));
  EXPECT_THAT(reading_of("UPDATE verdict SET axes = (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100)"
                         " SELECT json_group_array(x) FROM c)"),
              HasSubstr("has more than 64 axes"));
  EXPECT_THAT(
      reading_of("INSERT INTO note SELECT 1, x, 'a' FROM (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10001)"
                 " SELECT x FROM c)"),
      HasSubstr("more than 10000 notes"));
}

TEST_F(LedgerHostile, FaultsThatAssayCannotHaveWrittenAreRefused) {
  const std::string place = "run 1, case 'k/d256/rows2/nwg4/gauss/s7', has ";
  const auto fault = [](const std::string& rank, const std::string& kind, const std::string& stage = "") {
    return "INSERT INTO fault SELECT run, name, '" + stage + "', " + rank + ", '" + kind + "', '' FROM verdict;";
  };
  const auto value = [](const std::string& rank, const std::string& key, const std::string& is) {
    return "INSERT INTO fault_value SELECT run, name, '', " + rank + ", '" + key + "', " + is + " FROM verdict;";
  };
  EXPECT_EQ(reading_of(fault("1", "above bound") + value("1", "count", "3")), "");
  EXPECT_THAT(reading_of(fault("1", "splendid")), HasSubstr(place + "a fault 'splendid' with the unknown kind 'splendid'"));
  EXPECT_THAT(reading_of(fault("1", "above bound")), HasSubstr(place + "a fault 'above bound' with no 'count'"));
  EXPECT_THAT(reading_of(fault("1", "above bound") + value("1", "count", "'three'")), HasSubstr("a value of the wrong type for 'count'"));
  EXPECT_THAT(reading_of(fault("1", "above bound") + value("1", "count", "3") + value("1", "other", "3")),
              HasSubstr("values that do not belong to 'above bound'"));
  EXPECT_THAT(reading_of(fault("1", "timeout") + value("1", "seconds", "'soon'")),
              HasSubstr("'soon' for 'seconds', which is not a number"));
  EXPECT_THAT(reading_of(fault("1", "mistrusted") + value("1", "why", "'because'")), HasSubstr("the invalid value 'because' for 'why'"));
  EXPECT_THAT(reading_of(fault("1", "wrong merge", "no such stage")),
              HasSubstr(place + "a fault of the stage 'no such stage', which it does not have"));
  const std::string many = " FROM verdict, (WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 10001) SELECT x FROM c)";
  EXPECT_THAT(reading_of("INSERT INTO fault SELECT run, name, '', x, 'wrong merge', ''" + many), HasSubstr("more than 10000 faults"));
  EXPECT_THAT(
      reading_of(fault("1", "order dependence") + "INSERT INTO fault_value SELECT run, name, '', 1, 'places[' || x || ']', 1" + many),
      HasSubstr("with more than 10000 values"));
  EXPECT_THAT(reading_of("INSERT INTO replay_word SELECT 1, x, 'a'" + many), HasSubstr("more than 10000 options"));
}

// What counts something is never below 0, and read as a number without sign it is 18446744073709551611.
TEST_F(LedgerHostile, ValuesThatMeanNothingAreRefusedWithTheirPlace) {
  const std::string place = "run 1, case 'k/d256/rows2/nwg4/gauss/s7', ";
  for (const char* count : {"row_length", "compared", "above_bound", "not_written", "nans", "max_ratio_index", "threadgroups"})
    EXPECT_THAT(reading_of("UPDATE verdict SET " + std::string(count) + " = -5"),
                AllOf(HasSubstr(file_.string()), HasSubstr(place + "has -5 for '" + count + "', which must not be negative")));
  EXPECT_THAT(reading_of("UPDATE worst SET element = -1"), HasSubstr(place + "has -1 for 'element'"));
  EXPECT_THAT(reading_of("UPDATE verdict SET status = 'splendid'"), HasSubstr(place + "has the unknown status 'splendid'"));
  EXPECT_THAT(reading_of("UPDATE verdict SET status = ''"), HasSubstr("has the unknown status ''"));
  EXPECT_THAT(reading_of("UPDATE verdict SET axes = '{\"a\": \"text\"}'"), HasSubstr(place + "has an axis 'a' that is not an integer"));
  for (const char* count : {"selected", "outside_limits"}) {
    make("UPDATE run SET " + std::string(count) + " = -5");
    for (const bool all : {true, false})
      EXPECT_THAT(refusal([&] {
                    const Ledger ledger = Ledger::open_existing(file_);
                    static_cast<void>(all ? ledger.runs().size() : ledger.run(run_).verdicts);
                  }),
                  AllOf(HasSubstr(file_.string()), HasSubstr("run 1 has -5 for '" + std::string(count) + "'")));
  }
}

// Each of these ended the process, or went on for ever.
TEST_F(LedgerHostile, FiguresThatNoRunHasAreRenderedAllTheSame) {
  for (const char* change : {"row_length = 0", "row_length = NULL", "median_bound_ratio = NULL", "max_ratio = NULL", "name = x'ff00fe'",
                             "variant = 'a' || char(0)", "digest = 'xyz'", "seed = 1e300", "reason = x'c0ffee'"}) {
    EXPECT_EQ(reading_of("PRAGMA foreign_keys = OFF; DELETE FROM worst; DELETE FROM fault; UPDATE verdict SET " + std::string(change)), "")
        << change;
    EXPECT_EQ(refusal([this] { write(); }), "") << change;
  }
  EXPECT_EQ(reading_of("UPDATE verdict SET row_length = 0"), "");
}

TEST_F(LedgerHostile, AShardOfMoreThanAnybodyHasIsNone) {
  for (const char* shard : {"1/18446744073709551615", "1/-1", "1/65537", "0/2", "3/2", " 1/2", "1/2 ", "1/99999999999999999999"}) {
    EXPECT_FALSE(shard_number(shard)) << shard;
    make("UPDATE run SET shard = '" + std::string(shard) + "'");
    const Ledger ledger = Ledger::open_existing(file_);
    Ledger into = Ledger::in_memory();
    const std::vector<ShardRun> shards = {{&ledger, run_}};
    EXPECT_THAT(refusal([&] { static_cast<void>(merge_runs(shards, "assay merge", into)); }), HasSubstr("is a whole run, not a shard"))
        << shard;
  }
  EXPECT_EQ(shard_number("65536/65536")->count, 65536U);
}

TEST_F(LedgerHostile, ColumnsOfTheLedgerThatIsMergedIntoAreNames) {
  make("SELECT 1");
  const std::filesystem::path other = folder_.path() / "other.sqlite";
  static_cast<void>(Ledger::open(other));
  Database(other, Database::Mode::create).execute("ALTER TABLE verdict ADD COLUMN \"x) SELECT 1; --\"\"\" INTEGER");
  const Ledger ledger = Ledger::open_existing(file_);
  Ledger into = Ledger::open(other);
  const std::vector<ShardRun> shards = {{&ledger, run_}};
  try {
    static_cast<void>(merge_runs(shards, "assay merge", into));
    FAIL() << "the column cannot be copied";
  } catch (const LedgerError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no such column"));
  }
}

// Seeds are fixed, so that a failure repeats. Damage that changes a figure cannot be distinguished from a written one; it must do no harm.
TEST_F(LedgerHostile, DamagedFilesAreReadOrRefused) {
  make("PRAGMA page_size = 512; VACUUM");
  std::string whole;
  {
    std::ifstream stream(file_, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(stream), {});
  }
  const fixtures::Counter counter(5, fixtures::Stream::noise);
  std::size_t refused = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::string damaged = whole;
    if (i % 4 == 0) damaged.resize(counter.below(16 * i, whole.size()));
    for (std::uint64_t flip = 1; flip < 8 && !damaged.empty(); ++flip) {
      const std::uint64_t bit = counter.below(16 * i + flip, 8 * damaged.size());
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    }
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << damaged;
    refused += refusal([this] { read(); }).empty() ? 0 : 1;
    if (i % 8 == 0) static_cast<void>(refusal([this] { write(); }));
    for (const char* suffix : {"-wal", "-shm", "-journal"}) std::filesystem::remove(file_.string() + suffix);
  }
  EXPECT_GT(refused, 200U);
}

}  // namespace
}  // namespace assay::tests::ledger_hostile_test
