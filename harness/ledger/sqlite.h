// SQLite behind two small classes: a database and a prepared statement. Internal to harness/ledger/, but for the version.
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

// A ledger that cannot be opened, read or written; what() names the file and SQLite's reason.
class LedgerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of the library that is linked: "3.40.1".
[[nodiscard]] std::string sqlite_version();

class Database;

// One statement; parameters and columns count from 0. Real numbers keep their infinities; NaN is stored as NULL and read back as NaN.
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

  // Moves to the next row; false behind the last, after which the statement can be bound anew.
  bool step();
  // For a statement without rows.
  void run();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t word(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] double real(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] bool is_text(int column) const;
  [[nodiscard]] bool is_integer(int column) const;
  [[nodiscard]] int columns() const;
  [[nodiscard]] std::string column(int column) const;  // its name

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

// The file may be anybody's. What stands in its schema besides tables has no say: views, triggers and functions that a schema may not call
// are off. A statement that takes more steps than any honest one of a file of that size is given up.
class Database {
 public:
  enum class Mode { create, read_only };

  // Opens, or makes, the file. To read only, it is opened for writing where that is possible, and then refuses to be changed: the last one
  // who closes a file in WAL mode takes away what SQLite laid beside it, if it may write. Waits up to 10 s for other processes that write
  // to it. ":memory:" is a database of its own.
  Database(const std::filesystem::path& file, Mode mode);

  // That statements may read this file as well, which was attached.
  void expect(const std::filesystem::path& file);

  void execute(const std::string& sql);
  [[nodiscard]] std::int64_t last_row_id() const;
  [[nodiscard]] int changes() const;  // rows that the last statement changed
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
    std::uint64_t most = 0;  // steps of SQLite's machine that a statement may take
    std::uint64_t left = 0;
  };
  static int grow_impatient(void* patience);
  void begin_statement() { patience_->left = patience_->most; }

  std::filesystem::path file_;
  std::unique_ptr<Patience> patience_;  // outlives the connection, which points to it
  std::unique_ptr<sqlite3, Close> database_;
};

// Everything until commit() happens as a whole or not at all.
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
