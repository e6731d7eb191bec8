// `assay gate` and `assay run`: select cases, run them, and return an exit status.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device.h"
#include "cli/estimate.h"
#include "cli/failure_keeper.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/last_failed.h"
#include "cli/left_out.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "cli/report_files.h"
#include "cli/run.h"
#include "cli/run_triage.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/storage.h"
#include "cli/terminal.h"
#include "cli/workspace.h"
#include "families/described_launch.h"
#include "harness/cases/suite.h"
#include "harness/execute/execute.h"
#include "harness/findings/digests.h"
#include "harness/findings/fault_text.h"
#include "metal/errors.h"
#include "reports/beyond.h"
#include "reports/figures.h"
#include "reports/shared_by_failures.h"

namespace assay::cli {
namespace {

// The number of cases up to which a run keeps expectations for the next one. The gate has two thirds of it.
constexpr std::size_t kMostWithKeptExpectations = 10'000;

// A known finding that matches no case of a whole suite is never checked, so it is reported. A selection of single cases or one shard need
// not match all findings.
void add_idle_findings(std::vector<std::string>& notes, const Workspace& workspace, const harness::Workbench& workbench) {
  const harness::Selection& selection = workspace.selection;
  if (selection.suites.empty() || selection.cases.size() != selection.selected) return;
  if (std::ranges::all_of(selection.suites, [](harness::Suite suite) { return harness::plan_of(suite).most_cases == 0; })) return;
  for (const auto& [name, prepared] : workbench.variants()) {
    // For a superseded variant, smoke need not match every finding.
    const bool is_smoke_alone = std::ranges::all_of(
        selection.suites, [&](harness::Suite suite) { return suite_for(suite, prepared.variant) == harness::Suite::smoke; });
    if (prepared.variant.superseded_by && is_smoke_alone) continue;
    for (const harness::KnownFinding& finding : prepared.known_findings) {
      const bool is_idle = std::ranges::none_of(
          selection.cases, [&](const harness::Case& test_case) { return test_case.variant == name && finding.matches(test_case); });
      if (is_idle)
        notes.push_back(fmt::format("the known finding of {} (when {}) matches none of the selected cases of {}", finding.place(),
                                    finding.declared().when, name));
    }
  }
}

// The same for claims: nobody may believe one that no case is about.
void add_idle_claims(std::vector<std::string>& notes, const Workspace& workspace, const harness::Workbench& workbench) {
  const harness::Selection& selection = workspace.selection;
  if (selection.cases.size() != selection.selected) return;
  const auto has_claimed = [](harness::Suite suite) { return harness::plan_of(suite).beyond != harness::Beyond::none; };
  if (std::ranges::none_of(selection.suites, has_claimed)) return;
  for (const auto& [name, prepared] : workbench.variants()) {
    if (prepared.variant.superseded_by) continue;
    for (const kernels::Claim& claim : prepared.variant.claims) {
      const bool is_idle = std::ranges::none_of(selection.cases, [&](const harness::Case& test_case) {
        return test_case.variant == name && harness::claim_about(prepared.variant, test_case) == &claim;
      });
      if (is_idle && !claim.omission.empty())
        notes.push_back(fmt::format("no case is about the claim '{}' of {}: it is not checked", claim.text, name));
    }
  }
}

// Reports why cases are skipped, besides missing functions: a gate that is mostly skipped must not look complete.
void add_misfits(std::vector<std::string>& notes, std::span<const harness::Case> cases, const harness::Workbench& workbench) {
  struct Misfits {
    std::size_t cases = 0;
    std::string first;
  };
  std::map<std::tuple<std::string, harness::FaultKind, std::string>, Misfits> found;
  for (const harness::Case& test_case : cases) {
    const harness::PreparedVariant& prepared = workbench.find(test_case.variant);
    const std::optional<harness::Fault> why = harness::why_skipped(prepared, test_case);
    // Missing functions have their own notes.
    if (!why || (why->kind() == harness::FaultKind::no_function &&
                 prepared.absent.contains(families::DescribedLaunch(test_case, prepared.variant).main_function().entry)))
      continue;
    Misfits& misfits = found[{test_case.variant, why->kind(), harness::subject_of(*why)}];
    if (misfits.cases++ == 0) misfits.first = fmt::format("{}: {}", test_case.variant, harness::text_of(why->details));
  }
  for (const auto& [kind, misfits] : found) {
    notes.push_back(fmt::format(
        "{} of {} skipped, the first because of {}; use [limits] in variant.toml to exclude cases that a kernel does not support",
        misfits.cases, base::counted(cases.size(), "case") + (misfits.cases == 1 ? " is" : " are"), misfits.first));
  }
}

// Digests are recorded for gates only.
void require_gate(const Options& options, const harness::Selection& selection) {
  if (options.expected_digests.empty() && options.recorded_digests.empty()) return;
  if (selection.suites != std::vector{harness::Suite::gate} || options.words.size() > 1 || options.seed != 0 ||
      options.fp_contract != "off") {
    throw std::invalid_argument("--expect-digests and --record-digests need the suite `gate` alone, without --seed and --fp-contract");
  }
}

// Whether the outputs match the recorded digests; prints those that differ.
bool compare_digests(const Options& options, const harness::Selection& selection, const std::vector<harness::CaseRecord>& records) {
  if (options.expected_digests.empty() && options.recorded_digests.empty()) return true;
  std::map<std::string, std::uint64_t> digest_of;
  for (const harness::CaseRecord& record : records) digest_of.emplace(record.name, record.digest);
  std::vector<harness::CaseDigest> cases;
  for (const harness::Case& test_case : selection.cases) {
    // Claims may come and go.
    if (!test_case.beyond.empty()) continue;
    cases.push_back({harness::format_case(test_case), digest_of.at(harness::format_case(test_case))});
  }
  const harness::DigestTable found = harness::digests_of(cases, selection.shard);
  if (!options.recorded_digests.empty()) write_file(options.recorded_digests, harness::print_digests(found));
  if (options.expected_digests.empty()) return true;
  const harness::DigestTable recorded = harness::parse_digests(base::read_file(options.expected_digests).value_or(""));
  for (const std::string& half : harness::unrecorded_digests(recorded, found)) say("note: no digest is recorded for {}\n", half);
  const std::vector<std::string> differing = harness::differing_digests(recorded, found);
  for (const std::string& sentence : differing) say("digest differs: {}\n", sentence);
  if (!differing.empty()) {
    say("the outputs differ from those recorded in {}. `assay diff` of two ledgers prints the cases; if the change is intended, `assay "
        "gate --record-digests "
        "{}` "
        "records the new digests\n",
        options.expected_digests, options.expected_digests);
  }
  return differing.empty();
}

// Limits count only as far as they are trusted; any other reason to skip a case lies in the kernel. What the contract leaves out may be
// skipped.
std::size_t count_untrusted_skips(const std::vector<harness::CaseRecord>& records) {
  return static_cast<std::size_t>(std::ranges::count_if(records, [](const harness::CaseRecord& record) {
    return record.status == harness::Status::skipped && harness::beyond_of(record.name).empty() &&
           std::ranges::none_of(record.faults,
                                [](const harness::Fault& fault) { return fault.kind() == harness::FaultKind::outside_of_limits; });
  }));
}

// Among other cases, claims that hold are only counted.
void say_statements(const std::vector<harness::CaseRecord>& records) {
  const bool is_all =
      std::ranges::none_of(records, [](const harness::CaseRecord& record) { return harness::beyond_of(record.name).empty(); });
  std::size_t holding = 0;
  for (const reports::Statement& statement : reports::statements(records)) {
    const bool is_counted = statement.holds() && !is_all;
    holding += is_counted;
    if (!is_counted) say("{}\n", reports::statement_text(statement));
  }
  if (holding != 0) say("claims beyond the contract: {} hold\n", holding);
}

int prepare_and_run(const Options& options, const std::vector<std::string>& words) {
  if (options.triage && options.device != Options{}.device)
    throw std::invalid_argument(
        fmt::format("--triage makes no sense with --device {}: causes are searched for on the simulator", options.device));
  if (options.estimate) return print_estimate(options, words);
  const InterruptGuard interrupt;
  Workspace workspace = open_workspace(options);
  if (options.triage) workspace.texts = KernelTexts(workspace.catalogue);
  select(workspace, options, words);
  take_last_failed(workspace, options);
  const std::vector<harness::Case>& cases = workspace.selection.cases;
  require_gate(options, workspace.selection);
  harness::RunOptions running = run_options_for(options, cases.size());
  const ChosenDevice chosen = choose_device(options);
  if (cases.empty()) {
    say("this shard is empty: the selection has {} case{}, which other shards run\n", workspace.selection.selected,
        workspace.selection.selected == 1 ? "" : "s");
    return kExitPassed;
  }

  say_effort(options, workspace.selection, kLongSelection);
  // Before kernels are compiled, which may take a minute.
  std::fflush(stdout);
  harness::WorkbenchOptions preparing = workbench_options(options, workspace);
  use_device(chosen, preparing, running, cases.size(), workspace.notes);
  const harness::Workbench workbench(workspace.catalogue, cases, preparing);
  return run_prepared(options, workspace, workbench, running, interrupt);
}

int run_selection(const Options& asked, const std::vector<std::string>& words) {
  const Options options = with_strict_policy(asked);
  try {
    return prepare_and_run(options, words);
  } catch (const metal::CompileError& error) {
    write_reports(options, error);
    throw;
  }
}

}  // namespace

harness::RunOptions run_options_for(const Options& options, std::size_t cases) {
  harness::RunOptions running = run_options(options);
  // More would throw those of their own first cases away, and those of the gate.
  if (cases > kMostWithKeptExpectations) running.execution.expectations.reset();
  return running;
}

std::vector<std::string> run_notes(const Options& options, const Workspace& workspace, const harness::Workbench& workbench) {
  std::vector<std::string> notes = workspace.notes;
  if (std::string strict = strict_note(options); !strict.empty()) notes.push_back(std::move(strict));
  if (const auto profile = profile_of(options); profile != Options{}.profile)
    notes.push_back(fmt::format("bounds of profile {}: they allow more errors than the simulator makes (oracles/PROFILES.md)", profile));
  if (const std::string missing = base::missing_layers(); !missing.empty())
    notes.push_back(fmt::format("the sandbox of kernels lacks layers: {}", missing));
  for (const auto& [name, prepared] : workbench.variants()) {
    if (!prepared.weaker_storage.empty()) notes.push_back(fmt::format("declared accuracy of {}: {}", name, prepared.weaker_storage));
    // Our own variants use helpers of others by design; for a user's kernel this is worth a note.
    if (!workspace.user_variant.empty()) notes.insert(notes.end(), prepared.notes.begin(), prepared.notes.end());
    if (prepared.variant.reads_hidden)
      notes.push_back(fmt::format("{} declares reads_hidden = \"finite\": rows of hidden keys are finite, not NaN", name));
  }
  for (const auto& [name, prepared] : workbench.variants()) {
    for (const auto& [key, reason] : prepared.absent)
      notes.push_back(fmt::format("cases of {} are skipped: {}", key, harness::text_of(reason)));
  }
  // Ours are compiled as a whole by our tests.
  if (!workspace.user_variant.empty() || is_strict(options))
    std::ranges::move(left_out_of(workbench, workspace.user_variant), std::back_inserter(notes));
  note_missing_code(workbench, notes);
  add_misfits(notes, workspace.selection.cases, workbench);
  if (std::ranges::find(workspace.selection.suites, harness::Suite::gate) != workspace.selection.suites.end()) {
    for (const auto& [name, prepared] : workbench.variants()) {
      if (!prepared.variant.superseded_by) continue;
      notes.push_back(fmt::format("{} is superseded by {}, so its gate contains only smoke; '{}/*' selects all of its gate cases", name,
                                  prepared.variant.superseded_by->name, name));
    }
  }
  if (workspace.selection.left_out != 0) {
    const bool is_one = workspace.selection.left_out == 1;
    notes.push_back(fmt::format("{} {} outside of [limits] and {} not selected", base::counted(workspace.selection.left_out, "case"),
                                is_one ? "is" : "are", is_one ? "was" : "were"));
  }
  add_idle_findings(notes, workspace, workbench);
  add_idle_claims(notes, workspace, workbench);
  return notes;
}

int run_prepared(const Options& options, const Workspace& workspace, const harness::Workbench& workbench,
                 const harness::RunOptions& running, const InterruptGuard& interrupt) {
  const std::vector<harness::Case>& cases = workspace.selection.cases;
  const std::vector<std::string> notes = run_notes(options, workspace, workbench);
  for (const std::string& note : notes) say("note: {}\n", note);
  // Flush, because otherwise a pipe would delay these lines and could lose them.
  std::fflush(stdout);

  Recording recording(options, workspace.selection, workbench, notes);
  const std::vector<harness::Case> missing = recording.missing(cases);
  if (recording.recorded_before() != 0) {
    say("resumed: {} of {} already {} a verdict\n", recording.recorded_before(), base::counted(cases.size(), "case"),
        recording.recorded_before() == 1 ? "has" : "have");
    std::fflush(stdout);
  }
  harness::Summary summary;
  std::string unfinished;
  Outcomes outcomes;
  {
    RunWatch watch(options, missing.size(), interrupt);
    FailureKeeper keeper(&watch);
    harness::Recorder recorder = recording.recorder(keeper);
    summary = harness::run_cases(missing, workbench, running, interrupt.stop(), recorder);
    unfinished = watch.describe_remarks() + watch.describe_unfinished();
    if (options.triage) outcomes = std::move(keeper.outcomes);
  }
  summary = recording.finish(summary);
  if (summary.finished() > 1 && (options.figures || is_terminal(stdout)))
    say("{}", reports::fixture_lines(reports::figure_tables(recording.cases())));
  say("{}", unfinished);
  say_summary(summary, options, workspace.selection.left_out);
  const std::vector<harness::CaseRecord> records = recording.cases();
  say("{}{}", excused_line(recording.run(), records), robustness_line(recording.run(), records));
  say_statements(records);
  for (const std::string& note : reports::shared_by_failures(records)) say("note: {}\n", note);
  if (!interrupt.stop() && !running.fail_fast) {
    for (const std::string& note : storage_hints(cases, workbench, running, interrupt.stop(), records)) say("note: {}\n", note);
  }
  if (options.triage && summary.failures() != 0)
    recording.record_findings(triage_run(options, workspace, workbench, running, records, std::move(outcomes), interrupt));
  const std::size_t skips = is_strict(options) ? count_untrusted_skips(records) : 0;
  if (skips != 0)
    say("strict: {} {} skipped for what the kernel under test lacks, which counts as a failure\n", base::counted(skips, "case"),
        skips == 1 ? "was" : "were");
  const std::size_t left_out = is_strict(options) ? left_out_of(workbench, workspace.user_variant).size() : 0;
  if (left_out != 0)
    say("strict: the kernel under test has {} that no compiler accepts, which counts as a failure\n", base::counted(left_out, "part"));
  // Printed last, so that truncated test logs include it.
  if (const std::string replay = recording.first_replay(); !replay.empty())
    say("{}: {}\n", options.executed_on.empty() ? "first failure again" : "first failure on the simulator", replay);

  const bool is_whole = !interrupt.stop() && summary.finished() == cases.size();
  const bool has_other_bits = is_whole && !compare_digests(options, workspace.selection, recording.cases());
  const std::string damage = recording.damage();
  if (!damage.empty()) say(stderr, "assay: {}\n", damage);
  if (const int status = exit_status(summary); status != kExitPassed) return status;
  if (skips != 0 || left_out != 0) return kExitFailed;
  if (!damage.empty()) return kExitUsage;
  if (interrupt.stop()) return kExitInterrupted;
  if (has_other_bits) return kExitFailed;
  // Another shard may have what passes; `assay merge` looks at the whole.
  if (workspace.selection.shard.count == 1 && nothing_passed(summary)) return kExitNothingPassed;
  return kExitPassed;
}

void add_gate(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "gate", "Run the gate of every variant", +[](const Options& parsed) { return run_selection(parsed, {"gate"}); });
  add_selection(*command, *options);
  add_execution(*command, *options);
  add_device(*command, *options);
  add_profile(*command, *options);
  add_running(*command, *options);
  add_run_triage(*command, *options);
  add_recording(*command, *options);
  add_last_failed(*command, *options);
  command->footer(R"(examples
  assay gate                                       every variant, as CI does
  assay gate --family FAMILY                       one family
  assay gate --junit gate.xml --html gate.html     reports for CI systems and for people
  assay gate --policy checked --fail-fast          races, out-of-bounds accesses, uninitialised reads; stop at the first
  assay gate --family FAMILY --last-failed         only the cases that failed when they last ran
  assay gate --resume                              only the cases that an interrupted run left
  assay gate --strict --trust base/kernels         the base branch alone says what excuses a kernel
  assay gate --shard 1/2 --ledger one.sqlite       one of two jobs; `assay merge` combines them

exit status
  0 all passed   1 some case failed   2 bad usage or environment   4 nothing passed   130 stopped by Ctrl-C or SIGTERM)");
}

void add_run(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "run", "Run cases by name, glob over the gate, or suite (`assay list`); with only --family or --kernel, run the gate",
      +[](const Options& parsed) { return run_selection(parsed, parsed.words); });
  command->add_option("CASE", options->words, "Case name, glob or suite");
  add_selection(*command, *options);
  add_execution(*command, *options);
  add_device(*command, *options);
  add_profile(*command, *options);
  add_running(*command, *options);
  add_run_triage(*command, *options);
  add_recording(*command, *options);
  add_last_failed(*command, *options);
  command->footer(R"(examples
  assay run tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay run smoke --family FAMILY                         a hundred short cases
  assay run 'tq4_v1/*/nwg16/*'                            all cases of the gate that match
  assay run --kernel mine.metal --family FAMILY           the gate on a kernel of your own
  assay run --kernel mine.metal --family FAMILY --set chunk=32
  assay run --kernel mine.metal --family FAMILY --limit AXIS=8
  assay run smoke --kernel my/kernels/tq4_v9 --policy checked --junit junit.xml
  assay run --kernel mine.metal --family FAMILY --failed-first
  assay run --fixture captured.h5 --kernel mine.metal     inputs captured in your own application
  assay run soak --estimate                               CPU hours, and a number of shards; runs nothing

exit status
  0 all passed   1 some case failed   2 bad usage, environment or kernel file
  4 nothing passed: every selected case was skipped or failed as known   130 stopped by Ctrl-C or SIGTERM)");
}

}  // namespace assay::cli
