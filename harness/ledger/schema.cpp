// The SQL of the ledger's tables, and of reading older versions.
#include "harness/ledger/schema.h"

#include <array>

namespace assay::harness {
namespace {

constexpr std::array kVersions = {R"(
CREATE TABLE run(
  id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, command TEXT NOT NULL, replay_options TEXT NOT NULL,
  version TEXT NOT NULL, machine TEXT NOT NULL, suite_seed INTEGER NOT NULL, schedule TEXT NOT NULL, selected INTEGER NOT NULL, stopped INTEGER, digest TEXT);
CREATE TABLE verdict(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, name TEXT NOT NULL, ordinal INTEGER NOT NULL,
  variant TEXT NOT NULL, family TEXT NOT NULL, fixture TEXT NOT NULL, seed INTEGER NOT NULL, axes TEXT NOT NULL,
  status TEXT, reason TEXT, schedules TEXT, is_internal INTEGER, row_length INTEGER,
  compared INTEGER, above_bound INTEGER, not_written INTEGER, nans INTEGER, infs INTEGER, guard_violations INTEGER,
  uninformative INTEGER, distinct_expected INTEGER, max_ratio REAL, max_ratio_index INTEGER, max_abs_error REAL, max_rel_error REAL,
  nmse REAL, cosine REAL, median_bound_ratio REAL, digest TEXT, threadgroups INTEGER, meeting_points INTEGER, collectives INTEGER,
  divergent_collectives INTEGER, matrix_multiplies INTEGER, oracle_seconds REAL, simulator_seconds REAL,
  PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE worst(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, element INTEGER NOT NULL, expected REAL, actual REAL, bound REAL,
  ratio REAL, fault TEXT NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE stage(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, is_judged INTEGER NOT NULL, passed INTEGER NOT NULL,
  reason TEXT NOT NULL, compared INTEGER NOT NULL, max_ratio REAL, PRIMARY KEY(run, name, stage),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE hazard(
  run INTEGER NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, function TEXT NOT NULL, message TEXT NOT NULL,
  file TEXT NOT NULL, line INTEGER NOT NULL, second_file TEXT, second_line INTEGER, count INTEGER NOT NULL, PRIMARY KEY(run, name, rank),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
)",
                                  R"(
ALTER TABLE run ADD COLUMN outside_limits INTEGER;
ALTER TABLE verdict ADD COLUMN note TEXT;
CREATE TABLE note(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
)",
                                  R"(
ALTER TABLE run ADD COLUMN policy TEXT;
ALTER TABLE run ADD COLUMN shard TEXT;
ALTER TABLE run ADD COLUMN selection TEXT;
ALTER TABLE run ADD COLUMN build TEXT;
ALTER TABLE run ADD COLUMN compiler TEXT;
ALTER TABLE run ADD COLUMN flags TEXT;
ALTER TABLE run ADD COLUMN toolchain TEXT;
ALTER TABLE run ADD COLUMN writer TEXT;
ALTER TABLE verdict ADD COLUMN known TEXT;
ALTER TABLE verdict ADD COLUMN rounding_ratio REAL;
ALTER TABLE verdict ADD COLUMN logic_ratio REAL;
CREATE TABLE source(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, variant TEXT NOT NULL, file TEXT NOT NULL, digest TEXT NOT NULL,
  PRIMARY KEY(run, variant)) WITHOUT ROWID;
CREATE TABLE cost(
  run INTEGER NOT NULL, name TEXT NOT NULL, device_bytes_read INTEGER NOT NULL, device_bytes_written INTEGER NOT NULL,
  distinct_device_bytes INTEGER NOT NULL, threadgroup_accesses INTEGER NOT NULL, simdgroup_calls INTEGER NOT NULL, barriers INTEGER NOT NULL,
  float_operations INTEGER NOT NULL, half_operations INTEGER NOT NULL, bfloat_operations INTEGER NOT NULL, PRIMARY KEY(run, name),
  FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
)",
                                  R"(
CREATE TABLE fault(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, rank INTEGER NOT NULL, kind TEXT NOT NULL, schedule TEXT NOT NULL,
  PRIMARY KEY(run, name, stage, rank), FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE fault_value(
  run INTEGER NOT NULL, name TEXT NOT NULL, stage TEXT NOT NULL, rank INTEGER NOT NULL, key TEXT NOT NULL, value,
  PRIMARY KEY(run, name, stage, rank, key),
  FOREIGN KEY(run, name, stage, rank) REFERENCES fault(run, name, stage, rank) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE replay_word(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, word TEXT NOT NULL, PRIMARY KEY(run, rank)) WITHOUT ROWID;
)",
                                  R"(
ALTER TABLE run ADD COLUMN weaker_accuracy INTEGER;
ALTER TABLE run ADD COLUMN seal TEXT;
ALTER TABLE verdict ADD COLUMN seal TEXT;
)",
                                  R"(
CREATE TABLE finding(
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, rank INTEGER NOT NULL, variant TEXT NOT NULL, class TEXT NOT NULL,
  says TEXT NOT NULL, smallest TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, replay TEXT NOT NULL, given TEXT NOT NULL,
  tried INTEGER NOT NULL, failing INTEGER NOT NULL, diff TEXT NOT NULL, seal TEXT, PRIMARY KEY(run, rank)) WITHOUT ROWID;
CREATE TABLE finding_line(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, part TEXT NOT NULL, place INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(run, rank, part, place), FOREIGN KEY(run, rank) REFERENCES finding(run, rank) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE finding_fit(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, place INTEGER NOT NULL, class TEXT NOT NULL, says TEXT NOT NULL, explained REAL, exact REAL,
  unaffected REAL, PRIMARY KEY(run, rank, place), FOREIGN KEY(run, rank) REFERENCES finding(run, rank) ON DELETE CASCADE) WITHOUT ROWID;
CREATE TABLE finding_suspect(
  run INTEGER NOT NULL, rank INTEGER NOT NULL, place INTEGER NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, why TEXT NOT NULL,
  excerpt TEXT NOT NULL, PRIMARY KEY(run, rank, place),
  FOREIGN KEY(run, rank) REFERENCES finding(run, rank) ON DELETE CASCADE) WITHOUT ROWID;
)",
                                  R"(
CREATE TABLE source_line(
  run INTEGER NOT NULL, name TEXT NOT NULL, file TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL,
  PRIMARY KEY(run, name, file, line), FOREIGN KEY(run, name) REFERENCES verdict(run, name) ON DELETE CASCADE) WITHOUT ROWID;
)"};

// The tables that version 4 added.
const std::string kTablesOf4 = R"(
CREATE TEMP TABLE fault(run, name, stage, rank, kind, schedule);
CREATE TEMP TABLE fault_value(run, name, stage, rank, key, value);
CREATE TEMP TABLE replay_word(run, rank, word);
)";
// The tables that version 6 added.
const std::string kTablesOf6 = R"(
CREATE TEMP TABLE finding(run, rank, variant, class, says, smallest, status, reason, replay, given, tried, failing, diff, seal);
CREATE TEMP TABLE finding_line(run, rank, part, place, text);
CREATE TEMP TABLE finding_fit(run, rank, place, class, says, explained, exact, unaffected);
CREATE TEMP TABLE finding_suspect(run, rank, place, file, line, why, excerpt);
)";
// The table that version 7 added.
const std::string kTablesOf7 = "CREATE TEMP TABLE source_line(run, name, file, line, text);";
// The columns that version 5 added to versions 3 and 4.
const std::string kReading3 = R"(
CREATE TEMP VIEW run AS SELECT *, NULL AS weaker_accuracy, NULL AS seal FROM main.run;
CREATE TEMP VIEW verdict AS SELECT *, NULL AS seal FROM main.verdict;
)";
// The tables and columns that version 3 added to version 2, and version 2 to version 1.
constexpr const char* kReading2 = R"(
CREATE TEMP VIEW run AS SELECT *, NULL AS policy, NULL AS shard, NULL AS selection, NULL AS build, NULL AS compiler, NULL AS flags,
  NULL AS toolchain, NULL AS writer, NULL AS weaker_accuracy, NULL AS seal FROM main.run;
CREATE TEMP VIEW verdict AS SELECT *, NULL AS known, NULL AS rounding_ratio, NULL AS logic_ratio, NULL AS seal FROM main.verdict;
CREATE TEMP TABLE source(run, variant, file, digest);
CREATE TEMP TABLE cost(run, name, device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls,
  barriers, float_operations, half_operations, bfloat_operations);
)";
constexpr const char* kReading1 = R"(
CREATE TEMP VIEW run AS SELECT *, NULL AS outside_limits, NULL AS policy, NULL AS shard, NULL AS selection, NULL AS build, NULL AS compiler,
  NULL AS flags, NULL AS toolchain, NULL AS writer, NULL AS weaker_accuracy, NULL AS seal FROM main.run;
CREATE TEMP VIEW verdict AS SELECT *, NULL AS note, NULL AS known, NULL AS rounding_ratio, NULL AS logic_ratio, NULL AS seal FROM main.verdict;
CREATE TEMP TABLE note(run, rank, text);
CREATE TEMP TABLE source(run, variant, file, digest);
CREATE TEMP TABLE cost(run, name, device_bytes_read, device_bytes_written, distinct_device_bytes, threadgroup_accesses, simdgroup_calls,
  barriers, float_operations, half_operations, bfloat_operations);
)";
constexpr std::size_t kOlder = kVersions.size() - 1;

}  // namespace

std::span<const char* const> ledger_versions() { return kVersions; }
std::span<const std::string> ledger_readings() {
  static const std::string after3 = kTablesOf4 + kTablesOf6 + kTablesOf7, after5 = kTablesOf6 + kTablesOf7;
  static const std::array<std::string, kOlder> readings = {
      kReading1 + after3, kReading2 + after3, kReading3 + after3, kReading3 + after5, after5, kTablesOf7};
  return readings;
}

}  // namespace assay::harness
