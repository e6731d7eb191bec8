// One look of `assay watch` at a kernel: the cases run in a child process, which tells what comes out and can be stopped at any moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/archive.h"
#include "base/process.h"
#include "base/server.h"
#include "cli/options.h"
#include "harness/findings/verdict.h"

namespace assay::cli {

// The cases are known.
struct CheckBegun {
  std::string family;
  std::uint64_t cases = 0;
};

struct CheckedCase {
  std::string name;
  harness::Status status = {};
  std::string text;  // what is wrong with it, in lines; empty for a success, and for failures after the first few
};

// Every function is compiled.
struct CheckNotes {
  std::vector<std::string> notes;
};

// The last message.
struct CheckEnded {
  enum class Kind { finished, compile_error, other_error } kind = Kind::finished;
  std::string text;  // of the error
};

using CheckMessage = std::variant<CheckBegun, CheckedCase, CheckNotes, CheckEnded>;

constexpr std::uint64_t largest(CheckEnded::Kind) { return static_cast<std::uint64_t>(CheckEnded::Kind::other_error); }
void fields(auto& archive, base::OneOf<CheckBegun> auto& value) {
  auto& [family, cases] = value;
  each(archive, family, cases);
}
void fields(auto& archive, base::OneOf<CheckedCase> auto& value) {
  auto& [name, status, text] = value;
  each(archive, name, status, text);
}
void fields(auto& archive, base::OneOf<CheckNotes> auto& value) { archive(value.notes); }
void fields(auto& archive, base::OneOf<CheckEnded> auto& value) {
  auto& [kind, text] = value;
  each(archive, kind, text);
}

// What to run: what `Options::words` selects, without words suite smoke.
struct CheckRequest {
  // Names of cases that run before all others, even if they are not selected: those that failed last, else one whose verdict comes soon.
  std::vector<std::string> first;
};

// The process lives as long as the object at most. If it is stopped once all functions are compiled, the ledger keeps the verdicts so far.
class Check {
 public:
  // Starts it. Throws base::ProcessRefused.
  Check(const Options& options, const CheckRequest& request);
  ~Check();
  Check(const Check&) = delete;
  Check& operator=(const Check&) = delete;

  // Readable when receive() has something to do.
  [[nodiscard]] int descriptor() const { return client_->descriptor(); }
  // The next message, if it has arrived. After CheckEnded there are no others.
  [[nodiscard]] std::optional<CheckMessage> receive();

 private:
  std::optional<base::Client> client_;
  base::Process process_;
};

}  // namespace assay::cli
