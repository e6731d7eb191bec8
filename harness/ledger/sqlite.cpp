// Wraps SQLite, with protection against files that others wrote.
#include "harness/ledger/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <system_error>

namespace assay::harness {
namespace {

constexpr int kBusyMilliseconds = 10'000;
constexpr int kLongestValue = 64 << 20;  // in bytes, of a text or a row
// Reading or copying a case takes some hundred steps and some hundred bytes of the file.
constexpr std::uint64_t kMostSteps = 1'000'000'000;
constexpr std::uint64_t kStepsPerByte = 20;
constexpr int kStepsBetweenLooks = 10'000;

}  // namespace

std::string sqlite_version() { return sqlite3_libversion(); }

Database::Database(const std::filesystem::path& file, Mode mode) : file_(file) {
  // A rollback journal beside the file may name another file, which SQLite deletes after using the journal. So the file is
  // then opened read-only.
  std::error_code unknown;
  const bool has_journal = mode == Mode::read_only && std::filesystem::exists(file.string() + "-journal", unknown);
  const int flags = mode == Mode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : has_journal        ? SQLITE_OPEN_READONLY
                                         : SQLITE_OPEN_READWRITE;
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(file.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (status != SQLITE_OK) fail("cannot be opened");
  sqlite3_busy_timeout(opened, kBusyMilliseconds);

  // The advice of sqlite.org/security.html for files that others wrote. Temporary views, which are our own, stay enabled.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  // An unknown column name is an error, not a text.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestValue);
  patience_ = std::make_unique<Patience>(Patience{kMostSteps, kMostSteps});
  sqlite3_progress_handler(opened, kStepsBetweenLooks, grow_impatient, patience_.get());
  expect(file);
  execute("PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0");
}

int Database::grow_impatient(void* patience) {
  std::uint64_t& left = static_cast<Patience*>(patience)->left;
  left -= std::min<std::uint64_t>(left, kStepsBetweenLooks);
  return left == 0 ? 1 : 0;
}

void Database::expect(const std::filesystem::path& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  if (!error) patience_->most += kStepsPerByte * bytes;
}

void Database::fail(std::string_view doing) const {
  const bool gave_up = database_ && sqlite3_errcode(database_.get()) == SQLITE_INTERRUPT;
  const char* const reason = gave_up                    ? "reading took more steps than a valid file of its size needs; the file is damaged"
                             : database_ && was_moved() ? "the file was deleted, moved or replaced"
                             : database_                ? sqlite3_errmsg(database_.get())
                                                        : "out of memory";
  throw LedgerError(fmt::format("ledger {} {}: {}", file_.string(), doing, reason));
}

void Database::execute(const std::string& sql) {
  begin_statement();
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail("cannot be used");
}

std::int64_t Database::last_row_id() const { return sqlite3_last_insert_rowid(database_.get()); }

int Database::changes() const { return sqlite3_changes(database_.get()); }

bool Database::was_moved() const {
  int was_moved = 0;
  return sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &was_moved) == SQLITE_OK && was_moved != 0;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  sqlite3_stmt* statement = nullptr;
  database.begin_statement();
  if (sqlite3_prepare_v2(database.database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK) {
    database.fail("cannot be used");
  }
  statement_.reset(statement);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::clear() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  database_->begin_statement();
}

void Statement::set(int parameter, std::string_view value) {
  // A null pointer would be stored as NULL.
  const char* data = value.data() == nullptr ? "" : value.data();
  sqlite3_bind_text64(statement_.get(), parameter + 1, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::set(int parameter, double value) { sqlite3_bind_double(statement_.get(), parameter + 1, value); }

void Statement::set(int parameter, std::int64_t value) { sqlite3_bind_int64(statement_.get(), parameter + 1, value); }

bool Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      sqlite3_reset(statement_.get());
      return false;
    default:
      // Reset before throwing: this keeps the error message, and the statement stays usable.
      sqlite3_reset(statement_.get());
      database_->fail("cannot be used");
  }
}

void Statement::run() {
  while (step()) {
  }
}

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN() : sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }

std::string Statement::column(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name == nullptr ? std::string() : name;
}

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
bool Statement::is_text(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT; }
bool Statement::is_integer(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }

Transaction::~Transaction() {
  if (database_ != nullptr) sqlite3_exec(database_->database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_->execute("COMMIT");
  database_ = nullptr;
}

}  // namespace assay::harness
