// Opens the ledger of a run, resumes earlier runs, and writes reports.
#include "cli/recording.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "base/program_build.h"
#include "cli/report_files.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/ledger/comparable.h"
#include "harness/ledger/shell_line.h"
#include "kernels/variant.h"
#include "metal/compile/compiler.h"
#include "reports/figures.h"
#include "reports/replay.h"
#include "reports/robustness.h"

namespace assay::cli {
namespace {

// The default ledger keeps this many runs, about a month of a few gates a day.
constexpr std::size_t kRunsKept = 100;

harness::Ledger open_ledger(const std::string& asked) {
  if (asked == "none") return harness::Ledger::in_memory();
  if (!asked.empty()) return harness::Ledger::open(asked);
  try {
    harness::Ledger ledger = harness::Ledger::open(harness::Ledger::default_file());
    ledger.keep(kRunsKept);
    return ledger;
  } catch (const harness::LedgerError& error) {
    say(stderr, "assay: this run is not recorded: {}; choose another file with --ledger FILE\n", error.what());
    return harness::Ledger::in_memory();
  }
}

std::string machine() {
  utsname name = {};
  if (uname(&name) != 0) return "unknown";
  return fmt::format("{} {} {}", name.sysname, name.release, name.machine);
}

}  // namespace

harness::Environment environment_of(const Options& options, const harness::Workbench& workbench) {
  harness::Environment environment;
  environment.policy = options.policy;
  environment.build = base::build_of_program();
  for (const auto& [name, prepared] : workbench.variants()) {
    base::Hash digest;
    digest.add(prepared.variant.description.empty() ? std::string() : kernels::read_text(prepared.variant.description));
    for (const auto& library : prepared.libraries) {
      digest.add(library->source_digest());
      environment.flags = library->compile_flags();
      environment.toolchain = library->toolchain();
      if (environment.compiler.empty()) environment.compiler = library->compiler_version();
    }
    environment.sources.push_back({name, prepared.variant.source.lexically_normal().string(), digest.hex()});
  }
  return environment;
}

// The command line of this process, quoted for a shell.
std::string command_line() {
  std::ifstream stream("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(stream, word, '\0');) words.push_back(word);
  if (!words.empty()) words.front() = "assay";
  return harness::shell_line(words);
}

std::string excused_line(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases) {
  const std::string text = reports::excused_text(reports::count_excused(run, cases));
  return text.empty() ? text : fmt::format("excused: {}\n", text);
}

std::string robustness_line(const harness::RunRecord& run, std::span<const harness::CaseRecord> cases) {
  const std::string text = reports::robustness_text(run, cases);
  return text.empty() ? text : text + "\n";
}

std::string first_replay(const harness::RunRecord& run, const std::vector<harness::CaseRecord>& cases) {
  for (const harness::CaseRecord& record : cases) {
    if (record.status && !harness::is_success(*record.status)) return reports::replay_line(run, record);
  }
  return {};
}

Recording::Recording(const Options& options, const harness::Selection& selection, const harness::Workbench& workbench,
                     std::vector<std::string> notes)
    : options_(options), ledger_(open_ledger(options.ledger)) {
  if (options.resume && options.ledger == "none") throw std::invalid_argument("--resume needs a ledger, but --ledger none keeps none");
  empty_reports(options);
  harness::RunDescription description = {
      .command = command_line(),
      .replay_options = replay_options(options),
      .version = ASSAY_VERSION,
      .machine = options.executed_on.empty() ? machine() : options.executed_on,
      .schedule = options.schedule,
      .seed = options.seed,
      .selected = selection.cases.size(),
      .outside_limits = selection.left_out,
      .notes = std::move(notes),
      .shard = selection.shard.count == 1 ? std::string() : fmt::format("{}/{}", selection.shard.index + 1, selection.shard.count),
      .selection = selection.digest,
      .environment = environment_of(options, workbench),
      .weaker_accuracy = static_cast<std::size_t>(std::ranges::count_if(
          selection.cases, [&](const harness::Case& test_case) { return !workbench.find(test_case.variant).weaker_storage.empty(); }))};
  const std::optional<harness::RunRecord> earlier =
      options.resume ? harness::find_run_like(ledger_, description) : std::optional<harness::RunRecord>();
  if (!earlier) {
    if (options.resume) {
      say("note: ledger {} has no run of these cases with the same policy, schedule, seed and options (including --timeout): a new "
          "run starts\n",
          ledger_.file().string());
    }
    run_ = ledger_.begin(description);
    return;
  }
  if (const auto changed = harness::differences_of(earlier->description, description); !changed.empty())
    throw std::invalid_argument(
        fmt::format("run {} of ledger {} cannot be resumed, because this has changed since: {}; omit --resume to "
                    "start a new run",
                    earlier->id, ledger_.file().string(), fmt::join(changed, "; ")));
  if (const std::string doubt = ledger_.doubt_about(earlier->id); !doubt.empty())
    throw std::invalid_argument(fmt::format("run {} of ledger {} cannot be resumed: {}; omit --resume to start a new run", earlier->id,
                                            ledger_.file().string(), doubt));
  ledger_.take_up(earlier->id);
  run_ = earlier->id;
  for (const harness::CaseRecord& record : ledger_.cases(run_)) {
    if (record.status) recorded_.insert(record.name);
  }
}

std::vector<harness::Case> Recording::missing(std::span<const harness::Case> cases) const {
  std::vector<harness::Case> missing;
  std::ranges::copy_if(cases, std::back_inserter(missing),
                       [&](const harness::Case& test_case) { return !recorded_.contains(harness::format_case(test_case)); });
  return missing;
}

harness::Summary Recording::finish(const harness::Summary& summary) {
  harness::Summary whole = summary;
  damage_ = ledger_.damage_since_opening(run_, recorded_.size() + summary.finished());
  if (!recorded_.empty()) {
    whole = harness::summary_of(ledger_.run(run_).description.selected, ledger_.cases(run_));
    whole.seconds = summary.seconds;
  }
  ledger_.finish(run_, whole);
  write_reports(options_, ledger_, run_);
  return whole;
}

void Recording::record_findings(const std::vector<harness::FindingRecord>& findings) {
  if (findings.empty()) return;
  ledger_.record_findings(run_, findings);
  write_reports(options_, ledger_, run_);
}

std::string Recording::damage() const {
  if (damage_.empty()) return {};
  return fmt::format("ledger {} was changed while the run went on, and not by assay: {}", ledger_.file().string(), damage_);
}

std::string Recording::first_replay() const { return cli::first_replay(ledger_.run(run_), ledger_.cases(run_)); }

}  // namespace assay::cli
