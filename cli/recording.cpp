#include "cli/recording.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "cli/workspace.h"
#include "reports/junit.h"
#include "reports/replay.h"

namespace assay::cli {
namespace {

// Runs that the user's own ledger remembers: about a month of somebody who runs the gate a few times a day.
constexpr std::size_t kRunsKept = 100;

harness::Ledger open_ledger(const std::string& asked) {
  if (asked == "none") return harness::Ledger::in_memory();
  if (!asked.empty()) return harness::Ledger::open(asked);
  try {
    harness::Ledger ledger = harness::Ledger::open(harness::Ledger::default_file());
    ledger.keep(kRunsKept);
    return ledger;
  } catch (const harness::LedgerError& error) {
    fmt::print(stderr, "assay: this run is not recorded: {}; --ledger FILE names another place\n", error.what());
    return harness::Ledger::in_memory();
  }
}

std::string machine() {
  utsname name = {};
  if (uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

// The words of this process, as the shell would take them.
std::string command_line() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::string line;
  std::getline(stream, line, '\0');
  line = "assay";
  for (std::string word; std::getline(stream, word, '\0');) line += " " + shell_quoted(word);
  return line;
}

void write_file(const std::string& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) throw std::invalid_argument(fmt::format("{} cannot be written: {}", file, std::strerror(errno)));
}

}  // namespace

Recording::Recording(const Options& options, const harness::Selection& selection, std::vector<std::string> notes)
    : options_(options), ledger_(open_ledger(options.ledger)) {
  // What cannot be written later is found out now; a report of an earlier run must not be taken for this one's.
  if (!options.junit.empty()) write_file(options.junit, "");
  run_ = ledger_.begin({.command = command_line(),
                        .replay_options = replay_options(options),
                        .version = ASSAY_VERSION,
                        .machine = machine(),
                        .schedule = options.schedule,
                        .seed = options.seed,
                        .selected = selection.cases.size(),
                        .outside_limits = selection.left_out,
                        .notes = std::move(notes)});
}

void Recording::finish(const harness::Summary& summary) {
  ledger_.finish(run_, summary);
  if (!options_.junit.empty()) write_file(options_.junit, reports::junit(ledger_.run(run_), ledger_.cases(run_)));
}

std::string Recording::first_replay() const {
  for (const harness::CaseRecord& record : ledger_.cases(run_)) {
    if (record.status && !harness::is_success(*record.status)) return reports::replay_line(ledger_.run(run_), record);
  }
  return {};
}

}  // namespace assay::cli
