// Ledgers that another user edited, replaced or placed: --resume rejects them, and the run says so.
#include <sqlite3.h>

#include <future>

#include "tests/attack/attack.h"

namespace assay::tests::ledger_test {
namespace {

class Ledgers : public Attack {
 protected:
  static constexpr const char* kSmall = "evil/d256/h1/standalone/gauss/s1";
  static constexpr const char* kLarge = "evil/d512/h8/undo/gauss/s1";

  [[nodiscard]] std::string file(const std::string& name = "l.sqlite") const { return (folder_ / "work" / name).string(); }
  void execute(const std::string& sql, const std::string& name = "l.sqlite") const {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(file(name).c_str(), &connection), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << sql << ": " << (message ? message : "");
    sqlite3_free(message);
    sqlite3_close(connection);
  }
  // Wrong for d = 512 alone; both cases run and are recorded.
  [[nodiscard]] Ended run(const std::string& options = "", const std::string& name = "l.sqlite") const {
    return start("run --kernel evil.metal --family fwht " + std::string(kSmall) + " " + kLarge + " --ledger " + name + options);
  }
  void record() const {
    once("ledger", [&] {
      write(replaced_once(source_of("fwht_v1"), "x[e] *= scale;", "x[e] *= D == 512 ? scale * 1.5f : scale;"), "work/evil.metal");
      const Ended ended = run();
      ASSERT_EQ(ended.status, 1) << ended.output;
    });
  }
  // One of the two cases passes.
  void expect_disbelief(const Ended& ended) const {
    expect_no_effect(ended, false);
    EXPECT_TRUE(ended.status == 1 || ended.status == 2) << ended.status << "\n" << ended.output;
    EXPECT_EQ(ended.output.find("2 passed"), std::string::npos) << ended.output;
    EXPECT_EQ(ended.output.find(std::string("passed ") + kLarge), std::string::npos) << ended.output;
  }
};

struct Edit {
  std::string name, sql;
  std::vector<std::string> words;
};
void PrintTo(const Edit& edit, std::ostream* stream) { *stream << edit.name; }
const std::vector<std::string> kSeal = {"seal"};
class Edited : public Ledgers, public ::testing::WithParamInterface<Edit> {};

TEST_P(Edited, IsNotBelievedAndReportedWithoutHarm) {
  record();
  execute(GetParam().sql);
  for (const std::string command : {"report --format json", "report --format html", "history", "diff 1 1"}) {
    const Ended ended = start(command + " --ledger l.sqlite");
    EXPECT_FALSE(ended.stopped);
    EXPECT_LT(ended.status, 128) << command;
    EXPECT_NE(ended.status, 3) << command << "\n" << ended.output.substr(0, 1000);
    EXPECT_EQ(ended.output.find('\x1b'), std::string::npos) << command;
    EXPECT_FALSE(std::regex_search(ended.output, std::regex("(^|\n)[ \t]*::"))) << command;
    if (command != "history" && GetParam().words == kSeal) expect_named(ended, {"not verified: run 1 of l.sqlite"});
  }
  const Ended resumed = run(" --resume");
  expect_disbelief(resumed);
  expect_named(resumed, GetParam().words);
}

const std::string kFlip = "UPDATE verdict SET status = 'passed', reason = NULL, above_bound = 0, max_ratio = 0.03";
// What belongs to verdicts.
const std::string kForget =
    "DELETE FROM worst; DELETE FROM stage; DELETE FROM hazard; DELETE FROM cost; DELETE FROM fault_value; DELETE FROM fault; ";
INSTANTIATE_TEST_SUITE_P(
    Attack, Edited,
    ::testing::Values(
        Edit{"VerdictFlipped", kFlip, kSeal}, Edit{"StatusAlone", "UPDATE verdict SET status = 'passed'", {"seal", "contradict"}},
        Edit{"VerdictFlippedWithoutTraces", kFlip + "; DELETE FROM worst; DELETE FROM hazard; DELETE FROM stage", kSeal},
        Edit{"CountsChanged", "UPDATE verdict SET above_bound = 0 WHERE status = 'failed'", kSeal},
        Edit{"CountRaised", "UPDATE verdict SET compared = compared + 1", kSeal},
        Edit{"RatioLowered", "UPDATE verdict SET max_ratio = 0.01", kSeal},
        Edit{"ReasonRemoved", "UPDATE verdict SET reason = 'all is well' WHERE status = 'failed'", kSeal},
        Edit{"WorstRemoved", "DELETE FROM worst", {"seal", "1 failed"}},
        Edit{"DigestChanged", "UPDATE verdict SET digest = '0000000000000000'", kSeal},
        Edit{"NoteAdded", "UPDATE verdict SET note = 'all is well'", kSeal},
        Edit{"Known", "UPDATE verdict SET status = 'known', known = 'issue 1'", kSeal},
        Edit{"Skipped", "UPDATE verdict SET status = 'skipped', reason = 'not for us'", kSeal},
        Edit{"SealRemoved", kFlip + ", seal = NULL", kSeal}, Edit{"SealEmpty", kFlip + ", seal = ''", kSeal},
        Edit{"SealOfZeros", kFlip + ", seal = printf('%064d', 0)", kSeal},
        Edit{"SealOfTheRun", kFlip + ", seal = (SELECT seal FROM run)", kSeal}, Edit{"SealAsABlob", kFlip + ", seal = zeroblob(64)", kSeal},
        Edit{"SealAsANumber", kFlip + ", seal = 0", kSeal}, Edit{"SealVeryLong", kFlip + ", seal = hex(zeroblob(1000000))", kSeal},
        Edit{"SealOfTheOtherCase", kFlip + ", seal = (SELECT max(seal) FROM verdict)", kSeal},
        Edit{"SealsOfAllRemoved", kFlip + ", seal = NULL; UPDATE run SET seal = NULL", kSeal},
        Edit{"RowOfTheOtherCase",
             "CREATE TEMP TABLE t AS SELECT * FROM verdict WHERE status = 'passed'; UPDATE t SET name = "
             "'evil/d512/h8/undo/gauss/s1';DELETE FROM verdict WHERE status = 'failed'; INSERT INTO verdict SELECT * FROM t",
             kSeal},
        Edit{"RowOfTheOtherCaseWithItsOrdinal",
             "CREATE TEMP TABLE t AS SELECT * FROM verdict WHERE status = 'passed'; UPDATE t SET name = 'evil/d512/h8/undo/gauss/s1', "
             "ordinal = 1 - ordinal, axes = (SELECT axes FROM verdict WHERE status = 'failed');DELETE FROM verdict WHERE status = "
             "'failed'; INSERT INTO verdict SELECT * FROM t",
             kSeal},
        Edit{"RowRemoved", kForget + "DELETE FROM verdict WHERE status = 'failed'", {"failed evil/d512"}},
        Edit{"RunShrunk",
             kForget + "DELETE FROM verdict WHERE status = 'failed'; UPDATE run SET selected = 1",
             {"failed evil/d512", "seal"}},
        Edit{"RowsAdded",
             "INSERT INTO verdict(run, name, ordinal, variant, family, fixture, seed, axes, status, compared) VALUES (1, "
             "'evil/d256/h8/undo/gauss/s1', 2, 'evil', 'fwht', 'gauss', 1, '{}', 'passed', 1)",
             {"seal", "1 failed"}},
        Edit{"AnotherRunForged",
             "CREATE TEMP TABLE r AS SELECT * FROM run; UPDATE r SET id = 2; INSERT INTO run SELECT * FROM r; CREATE TEMP TABLE t AS "
             "SELECT * FROM verdict; UPDATE t SET run = 2, status = 'passed', reason = NULL, above_bound = 0; INSERT INTO verdict SELECT * "
             "FROM t; CREATE TEMP TABLE s AS SELECT * FROM source; UPDATE s SET run = 2; INSERT INTO source SELECT * FROM s",
             {"seal", "1 failed"}},
        Edit{"PolicyChanged", "UPDATE run SET policy = 'checked'", {"seal", "1 failed"}},
        Edit{"SelectionChanged", "UPDATE run SET selection = '0000000000000000'", {"seal", "1 failed"}},
        Edit{"KernelChanged", "UPDATE source SET digest = hex(zeroblob(32))", {"changed", "seal"}},
        Edit{"SchemaOfBefore",
             kFlip + "; ALTER TABLE verdict DROP COLUMN seal; ALTER TABLE run DROP COLUMN seal; ALTER TABLE run DROP COLUMN "
                     "weaker_accuracy; PRAGMA user_version = 4",
             {"seal", "older", "version", "schema", "cannot be used"}},
        Edit{"SchemaOfTheFirst", kFlip + "; PRAGMA user_version = 1", {"seal", "older", "version", "schema", "cannot be used"}},
        Edit{"SchemaOfNone", kFlip + "; PRAGMA user_version = 0", {"seal", "older", "version", "schema", "ledger"}},
        Edit{"SchemaOfTomorrow", kFlip + "; PRAGMA user_version = 99", {"seal", "newer", "version", "schema", "cannot be used"}},
        Edit{"Trigger",
             "CREATE TRIGGER t AFTER INSERT ON verdict BEGIN UPDATE verdict SET status = 'passed', above_bound = 0; END; " + kForget +
                 "DELETE FROM verdict",
             {"trigger", "1 failed"}},
        Edit{"TriggerOfRuns",
             "CREATE TRIGGER t AFTER UPDATE ON run BEGIN UPDATE verdict SET status = 'passed'; END",
             {"trigger", "1 failed"}},
        Edit{"View",
             "ALTER TABLE verdict RENAME TO other; CREATE VIEW verdict AS SELECT * FROM other WHERE status = 'passed'",
             {"view", "schema", "verdict"}},
        Edit{"TableRemoved", "DROP TABLE worst", {"worst", "schema", "table"}},
        Edit{"GeneratedColumn", "ALTER TABLE verdict ADD COLUMN evil TEXT AS ('passed')", {"schema", "column", "evil", "1 failed"}},
        Edit{"StatusOfAStranger", "UPDATE verdict SET status = char(27) || '[31m' || char(10) || '::error::x'", {"seal", "status"}},
        Edit{"NameOfAStranger",
             kForget + "UPDATE verdict SET name = char(10) || '::error::' || char(27) || name, status = 'passed'",
             {"seal", "::error::"}},
        Edit{"RatioInfinite", "UPDATE verdict SET max_ratio = 9e999, above_bound = -1", {"seal", "damaged"}},
        Edit{"NumbersAsText",
             "UPDATE verdict SET compared = 'many', above_bound = '0', ordinal = 9223372036854775807",
             {"seal", "compared", "ordinal"}},
        Edit{"AxesVeryLong", "UPDATE verdict SET axes = hex(zeroblob(20000000))", {"seal", "axes", "long"}},
        Edit{"CommandVeryHostile",
             "UPDATE run SET command = char(27) || ']0;x' || char(7) || char(13) || char(10) || '::add-mask::x', machine = '<script>', "
             "started = char(10) || '::error::'",
             {"seal", "1 failed"}}),
    [](const auto& info) { return info.param.name; });

TEST_F(Ledgers, ARecordOfTheRightKernelDoesNotServeTheWrongOne) {
  write(source_of("fwht_v1"), "work/evil.metal");
  ASSERT_EQ(run().status, 0);
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  const Ended changed = run(" --resume");
  expect_no_effect(changed);
  expect_named(changed, {"changed"});
  ASSERT_EQ(run("", "other.sqlite").status, 1);
  execute("ATTACH '" + file("other.sqlite") + "' AS other; UPDATE source SET digest = (SELECT digest FROM other.source)");
  const Ended forged = run(" --resume");
  expect_no_effect(forged);
  expect_named(forged, {"seal"});
  // All of the run is that of the wrong kernel, only the rows are those of the right one.
  execute("ATTACH '" + file("other.sqlite") +
          "' AS other; DELETE FROM other.verdict; INSERT INTO other.verdict SELECT * FROM verdict; DELETE FROM other.worst");
  const Ended moved =
      start("run --kernel evil.metal --family fwht " + std::string(kSmall) + " " + kLarge + " --ledger other.sqlite --resume");
  expect_no_effect(moved);
  expect_named(moved, {"seal"});
}

TEST_F(Ledgers, AMergedForgeryIsNotResumed) {
  record();
  static_cast<void>(run(" --shard 1/2", "one.sqlite"));
  static_cast<void>(run(" --shard 2/2", "two.sqlite"));
  for (const char* name : {"one.sqlite", "two.sqlite"}) execute(kFlip + "; DELETE FROM worst", name);
  const Ended merged = start("merge one.sqlite two.sqlite --ledger whole.sqlite");
  expect_no_effect(merged, false);
  expect_named(merged, {"seal", "verif"});
  expect_disbelief(run(" --resume", "whole.sqlite"));
}

TEST_F(Ledgers, TheKeyOfAnotherUserDoesNotCount) {
  record();
  write(std::string(32, 'k'), "state/assay/key");
  const Ended resumed = run(" --resume");
  expect_disbelief(resumed);
  expect_named(resumed, kSeal);
}

// What a stranger put in the place of the ledger before the run.
struct Placed {
  std::string name, target;
};
void PrintTo(const Placed& place, std::ostream* stream) { *stream << place.name; }
class Places : public Ledgers, public ::testing::WithParamInterface<Placed> {};
TEST_P(Places, AreRefusedOrHarmless) {
  const std::string target = placed(GetParam().target);
  const std::string where = GetParam().name.starts_with("Log")       ? "l.sqlite-wal"
                            : GetParam().name.starts_with("Journal") ? "l.sqlite-journal"
                                                                     : "l.sqlite";
  if (target == "fifo") {
    ASSERT_EQ(mkfifo(file(where).c_str(), 0600), 0);
  } else if (target == "folder") {
    std::filesystem::create_directory(file(where));
  } else if (target == "text") {
    write("\x1b[31m\n::error::no database, but long enough to be read as a header of one" + std::string(8192, 'x'), "work/l.sqlite");
  } else {
    std::filesystem::create_symlink(target, file(where));
  }
  write(wrong(source_of("fwht_v1")), "work/evil.metal");
  for (const std::string options : {"", " --resume"}) expect_no_effect(run(options));
  for (const std::string command : {"report", "history", "triage"})
    expect_no_effect(start(command + " --ledger l.sqlite"), command == "triage");
}
INSTANTIATE_TEST_SUITE_P(Attack, Places,
                         ::testing::Values(Placed{"Link", "@OUTSIDE@/secret.txt"}, Placed{"LinkToNothing", "@CANARY@/made"},
                                           Placed{"Fifo", "fifo"}, Placed{"Folder", "folder"}, Placed{"Text", "text"},
                                           Placed{"Null", "/dev/null"}, Placed{"Zero", "/dev/zero"}, Placed{"Full", "/dev/full"},
                                           Placed{"Terminal", "/dev/stdout"}, Placed{"Memory", "/proc/self/mem"},
                                           Placed{"LogLink", "@OUTSIDE@/secret.txt"}, Placed{"LogLinkToNothing", "@CANARY@/made"},
                                           Placed{"LogFifo", "fifo"}, Placed{"JournalLink", "@OUTSIDE@/secret.txt"},
                                           Placed{"JournalFifo", "fifo"}, Placed{"LinkLoop", "l.sqlite"}),
                         [](const auto& info) { return info.param.name; });

// What happens to the ledger of a right kernel while the run goes on.
class WhileItRuns : public Ledgers, public ::testing::WithParamInterface<std::string> {};
TEST_P(WhileItRuns, IsNoticed) {
  write(source_of("fwht_v1"), "work/evil.metal");
  auto running = std::async(
      std::launch::async, [&] { return start("run gate --jobs 1 --kernel evil.metal --family fwht --ledger l.sqlite --policy checked"); });
  for (int i = 0; i < 1000 && !std::filesystem::exists(file()); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string& deed = GetParam();
  std::error_code none;
  if (deed == "Deleted") {
    for (const char* name : {"l.sqlite", "l.sqlite-wal", "l.sqlite-shm"}) std::filesystem::remove(file(name), none);
  } else if (deed == "DeletedAlone") {
    std::filesystem::remove(file());
  } else if (deed == "Moved") {
    std::filesystem::rename(file(), file("moved"));
  } else if (deed == "Replaced") {
    std::filesystem::copy_file(file(), file("copy"));
    std::filesystem::rename(file("copy"), file());
  } else if (deed == "ReplacedByALink") {
    std::filesystem::remove(file());
    std::filesystem::create_symlink(folder_ / "outside/secret.txt", file());
  } else if (deed == "ReplacedByAFolder") {
    std::filesystem::remove(file());
    std::filesystem::create_directory(file());
  } else if (deed == "Truncated") {
    std::filesystem::resize_file(file(), 0);
  } else if (deed == "Overwritten") {
    std::fstream(file(), std::ios::binary | std::ios::in | std::ios::out) << std::string(16384, 'x');
  } else if (deed == "LogDeleted") {
    std::filesystem::remove(file("l.sqlite-wal"), none);
  } else if (deed == "FolderMoved") {
    std::filesystem::rename(folder_ / "work", folder_ / "elsewhere");
    std::filesystem::create_directory(folder_ / "work");
  } else {
    sqlite3* connection = nullptr;
    ASSERT_EQ(sqlite3_open(file().c_str(), &connection), SQLITE_OK);
    sqlite3_busy_timeout(connection, 5000);
    const char* sql = deed == "RowsDeleted" ? "DELETE FROM verdict"
                      : deed == "RowEdited" ? "UPDATE verdict SET compared = 1"
                                            : "DROP TABLE worst";
    sqlite3_exec(connection, sql, nullptr, nullptr, nullptr);
    sqlite3_close(connection);
  }
  const Ended ended = running.get();
  expect_no_effect(ended, false);
  if (ended.status == 0) {
    // Then nothing was lost.
    const Ended report = start("report --ledger l.sqlite");
    EXPECT_EQ(report.status, 0) << "the run ended with 0, and its ledger cannot be read\n" << report.output << ended.output;
    expect_named(report, {"167 of 167 cases with a verdict, 0 not passed"});
    const Ended resumed = start("run gate --jobs 1 --kernel evil.metal --family fwht --ledger l.sqlite --policy checked --resume");
    expect_named(resumed, {"resumed: 167 of 167"});
    return;
  }
  expect_named(ended, {"ledger", "l.sqlite", "recorded"});
}
INSTANTIATE_TEST_SUITE_P(Attack, WhileItRuns,
                         ::testing::Values("Deleted", "DeletedAlone", "Moved", "Replaced", "ReplacedByALink", "ReplacedByAFolder",
                                           "Truncated", "Overwritten", "LogDeleted", "FolderMoved", "RowsDeleted", "RowEdited",
                                           "TableDropped"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay::tests::ledger_test
