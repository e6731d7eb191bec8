// Two small classes around SQLite: a database and a prepared statement. Internal to harness/ledger/, except for the version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace assay::harness {

// A ledger that cannot be opened, read or written. what() names the file and SQLite's reason.
class LedgerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The version of the linked library: "3.40.1".
[[nodiscard]] std::string sqlite_version();

class Database;

// A prepared statement. Parameters and columns count from 0. Real numbers keep their infinities; NaN is stored as NULL and read
// back as NaN.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);

  template <typename... Values>
  Statement& bind(const Values&... values) {
    clear();
    int parameter = 0;
    (set(parameter++, values), ...);
    return *this;
  }

  // Moves to the next row. Returns false after the last one; the statement can then be bound again.
  bool step();
  // Executes a statement without rows.
  void run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t word(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_text(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string column(int column) const;  // name of a column

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  void clear();
  void set(int parameter, std::string_view value);
  void set(int parameter, const char* value) { set(parameter, std::string_view(value)); }
  void set(int parameter, const std::string& value) { set(parameter, std::string_view(value)); }
  void set(int parameter, double value);
  void set(int parameter, std::int64_t value);
  void set(int parameter, std::uint64_t value) { set(parameter, static_cast<std::int64_t>(value)); }
  void set(int parameter, std::uint32_t value) { set(parameter, static_cast<std::int64_t>(value)); }
  void set(int parameter, int value) { set(parameter, std::int64_t{value}); }
  void set(int parameter, bool value) { set(parameter, std::int64_t{value ? 1 : 0}); }

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// A database whose file may come from anybody. Views, triggers and unsafe functions of its schema are disabled. A statement is aborted
// if it takes more steps than any honest one on a file of that size.
class Database {
 public:
  enum class Mode { create, read_only };

  // Opens or creates the file. A file to be read is opened for writing if possible, but rejects changes: the last process that closes a
  // file in WAL mode removes SQLite's additional files, which requires write access. Waits up to 10 s for other processes that write to
  // the file. ":memory:" is a separate database in memory.
  Database(const std::filesystem::path& file, Mode mode);

  // Allows statements to read this attached file too: raises their limit of steps.
  void expect(const std::filesystem::path& file);

  void execute(const std::string& sql);
  [[nodiscard]] std::int64_t last_row_id() const;
  [[nodiscard]] int changes() const;  // rows changed by the last statement
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  // Whether the name of the file no longer leads to what was opened.
  [[nodiscard]] bool was_moved() const;
  [[noreturn]] void fail(std::string_view doing) const;

 private:
  friend class Statement;
  friend class Transaction;
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Patience {
    std::uint64_t most = 0;  // limit of steps of SQLite's virtual machine per statement
    std::uint64_t left = 0;
  };
  static int grow_impatient(void* patience);
  void begin_statement() { patience_->left = patience_->most; }

  std::filesystem::path file_;
  std::unique_ptr<Patience> patience_;  // must outlive the connection, which points to it
  std::unique_ptr<sqlite3, Close> database_;
};

// All changes until commit() happen together or not at all.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(&database) { database.execute("BEGIN IMMEDIATE"); }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* database_;
};

}  // namespace assay::harness
