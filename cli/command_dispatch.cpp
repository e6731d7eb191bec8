// `assay dispatch` and `assay check-dispatch`: print what the launch code encodes for a case, and compare a host's trace with it.
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/keeper.h"
#include "cli/options.h"
#include "cli/run_watch.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/dispatch/check.h"
#include "harness/dispatch/recorder.h"
#include "harness/dispatch/replay.h"
#include "harness/process/runner.h"
#include "reports/dispatch.h"

namespace assay::cli {
namespace {

constexpr std::size_t kLargestTrace = std::size_t{16} << 20;  // bytes

struct DispatchOptions {
  Options common;
  bool json = false;
  std::string trace;  // a file, or "-" for standard input
  std::string case_name;
  bool execute = false;
};

// One case, prepared for recording and execution.
struct Subject {
  Workspace workspace;
  std::unique_ptr<const harness::Workbench> workbench;

  Subject(const Options& options, const std::vector<std::string>& words) : workspace(open_workspace(options)) {
    select_one(workspace, options, words, "dispatch");
    workbench = std::make_unique<harness::Workbench>(workspace.catalogue, workspace.selection.cases, workbench_options(options, workspace));
  }

  [[nodiscard]] const harness::Case& test_case() const { return workspace.selection.cases.front(); }
  [[nodiscard]] const harness::PreparedVariant& prepared() const { return workbench->find(test_case().variant); }
  [[nodiscard]] std::string name() const { return harness::format_case(test_case()); }

  // Notes on how the user's kernel was bound.
  [[nodiscard]] std::string notes() const {
    std::string text;
    for (const std::string& note : workspace.notes) {
      // Of all other variants, --strict has as much to say.
      const bool is_of_another =
          note.starts_with("strict: ") && note.find(fmt::format("/{}/variant.toml", test_case().variant)) == note.npos;
      if (!is_of_another) text += fmt::format("note: {}\n", note);
    }
    if (workspace.user_variant.empty()) return text;
    for (const std::string& note : prepared().notes) text += fmt::format("note: {}\n", note);
    return text;
  }
};

int dispatch(const DispatchOptions& options) {
  const Subject subject(options.common, options.common.words);
  const auto dispatches = harness::record_case(subject.prepared(), subject.test_case(), run_options(options.common).execution.shelf);
  say("{}", options.json ? reports::dispatch_json(subject.name(), dispatches)
                         : subject.notes() + reports::dispatch_text(subject.name(), dispatches));
  return kExitPassed;
}

// Reads at most the size limit of a trace.
std::string read_trace(const std::string& name) {
  const auto read = [&](std::istream& stream) {
    std::string text(kLargestTrace + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kLargestTrace)
      throw harness::TraceError(fmt::format("{}: is larger than {} bytes, the limit of a trace", name, kLargestTrace));
    if (stream.bad()) throw harness::TraceError(fmt::format("{}: cannot be read", name));
    return text;
  };
  if (name == "-") return read(std::cin);
  std::error_code error;
  // Opening a pipe by its name waits for a writer. That of a shell, <(command), is a link.
  if (std::filesystem::symlink_status(name, error).type() == std::filesystem::file_type::fifo)
    throw harness::TraceError(fmt::format("{}: cannot be read (it is a pipe; `-` reads standard input)", name));
  std::ifstream file(name, std::ios::binary);
  if (!file) throw harness::TraceError(fmt::format("{}: cannot be read ({})", name, std::strerror(errno)));
  if (std::filesystem::is_directory(name, error)) throw harness::TraceError(fmt::format("{}: cannot be read (it is a folder)", name));
  return read(file);
}

// Executes and judges the trace's launch. A declared failure that the contract's own launch has too is not the host's fault.
int execute(const DispatchOptions& options, const Subject& subject, const harness::Trace& trace, const harness::TraceCheck& check) {
  const std::atomic<bool> never = false;
  const harness::RunOptions own = run_options(options.common);
  harness::ExecutionOptions theirs = own.execution;
  harness::HostBuffers host_buffers;
  theirs.launch = [&](metal::ComputeEncoder& simulator, const harness::Encode& encode) {
    harness::replay(subject.prepared(), trace, simulator, encode, host_buffers);
  };
  // Dispatches can only conflict if a barrier is missing; detecting conflicts costs time and memory.
  theirs.concurrent = check.lacks_barrier;
  const harness::CaseFunction run = [&](const harness::Case& test_case) { return execute_case(subject.prepared(), test_case, theirs); };
  Keeper keeper;
  const harness::Summary summary = harness::run_cases(subject.workspace.selection.cases, run, own, never, keeper);
  const bool is_too_short = check.lacks_room && own.execution.policy != metal::Policy::checked;
  say("the trace's launch, executed on the simulator{}: {}",
      is_too_short ? ", with buffers of the right size (--policy checked keeps to those of the trace)" : "",
      describe_trace(keeper.verdict.value()));
  const bool is_right = summary.stage_failures == 0 && harness::is_success(keeper.verdict.value().status);
  if (is_right) return kExitPassed;

  Keeper contract;
  static_cast<void>(harness::run_cases(subject.workspace.selection.cases, *subject.workbench, own, never, contract));
  say("the contract's own launch: {}", describe_outcome(contract.verdict.value()));
  const bool is_of_kernel = check.differences.empty() && contract.verdict.value().status == harness::Status::known;
  if (is_of_kernel) return kExitPassed;
  return summary.any_internal ? kExitInternal : kExitFailed;
}

int check_dispatch(const DispatchOptions& options) {
  const harness::Trace trace = reports::parse_trace(read_trace(options.trace), options.trace);
  const std::string& name = options.case_name.empty() ? trace.case_name : options.case_name;
  if (name.empty())
    throw harness::TraceError(
        fmt::format("{}: 'case' is missing; pass the recorded case with --case (`assay list` explains names)", options.trace));
  const Subject subject(options.common, {name});
  const auto contract = harness::record_case(subject.prepared(), subject.test_case(), run_options(options.common).execution.shelf);
  const harness::TraceCheck check = harness::check_trace(subject.prepared(), contract, trace);
  const bool strict = is_strict(options.common);
  say("{}{}", subject.notes(), reports::check_text(subject.name(), check, strict));
  std::fflush(stdout);
  const int executed = options.execute ? execute(options, subject, trace, check) : kExitPassed;
  return executed != kExitPassed ? executed : check.agrees(strict) ? kExitPassed : kExitFailed;
}

}  // namespace

void add_dispatch(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "dispatch", "Print what the launch code encodes for a case: functions, arguments, grids, barriers", dispatch);
  command->add_option("CASE", options->common.words, "Case name; may be omitted with --fixture");
  command->add_flag("--json", options->json, "Print a trace (docs/DISPATCH.md) that a host can compare with its own");
  add_selection(*command, options->common);
  add_execution(*command, options->common);
  command->footer(R"(examples
  assay dispatch tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay dispatch tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7 --json
  assay dispatch CASE --kernel mine.metal --family FAMILY)");
}

void add_check_dispatch(CLI::App& app, Action& action) {
  const auto [command, options] =
      subcommand(app, action, "check-dispatch",
                 "Compare a trace recorded by your own host (docs/DISPATCH.md) with what the launch code encodes; "
                 "status 0: they agree, 1: they differ, 2: the file cannot be used",
                 check_dispatch);
  command->add_option("TRACE", options->trace, "The trace, in JSON; - for standard input")->required();
  command->add_option("--case", options->case_name, "The recorded case; overrides the case that the trace names")->type_name("CASE");
  command->add_flag("--execute", options->execute, "Also execute the trace's dispatches on the case's inputs, and judge the output");
  add_selection(*command, options->common);
  add_execution(*command, options->common);
  add_profile(*command, options->common);
  command->footer(R"(examples
  assay check-dispatch trace.json
  assay check-dispatch trace.json --execute --kernel mine.metal --family FAMILY
  my_host --record | assay check-dispatch - --case tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7)");
}

}  // namespace assay::cli
