// `assay history`: lists the runs in a ledger, or one case in all of them.
#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "harness/cases/selection.h"
#include "harness/ledger/ledger.h"
#include "reports/history.h"

namespace assay::cli {
namespace {

struct HistoryOptions {
  std::vector<std::string> words;
  std::string ledger;
  std::size_t last = 20;
};

int history(const HistoryOptions& options) {
  const harness::Ledger ledger =
      harness::Ledger::open_existing(options.ledger.empty() ? harness::Ledger::default_file() : std::filesystem::path(options.ledger));
  std::vector<harness::RunRecord> runs = ledger.runs();
  if (runs.empty()) throw harness::LedgerError(fmt::format("ledger {} has no runs", ledger.file().string()));
  if (runs.size() > options.last) runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(options.last));
  if (options.words.empty()) {
    say("{}", reports::history_text(runs));
    return kExitPassed;
  }

  std::map<std::string, std::vector<reports::CaseInRun>> past;
  for (const harness::RunRecord& run : runs) {
    for (harness::CaseRecord& record : ledger.cases(run.id)) {
      const bool is_wanted =
          std::ranges::any_of(options.words, [&](const std::string& word) { return harness::glob_match(word, record.name); });
      if (is_wanted) past[record.name].push_back({run, std::move(record)});
    }
  }
  if (past.empty())
    throw std::invalid_argument(fmt::format("none of the last {} runs of ledger {} has a case '{}'", runs.size(), ledger.file().string(),
                                            fmt::join(options.words, "', '")));
  for (const auto& [name, in_runs] : past) say("{}", reports::case_history_text(name, in_runs));
  return kExitPassed;
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "history", "List the recorded runs, or the verdicts of some cases in them", history);
  command->add_option("CASE", options->words, "Case name, or glob over the recorded names");
  command->add_option("--ledger", options->ledger, "Ledger to read; default: your own")->type_name("FILE");
  command->add_option("--last", options->last, "Number of newest runs to read")
      ->type_name("N")
      ->check(whole_number(1))
      ->capture_default_str();
  command->footer(R"(examples
  assay history
  assay history 'tq4_v1/*/nwg16/*' --last 5
exit status 0; 2: bad usage, no ledger, or no such case in it)");
}

}  // namespace assay::cli
