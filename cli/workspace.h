// The variants a command works with, and the cases it selected among them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "harness/cases/selection.h"
#include "harness/run/runner.h"
#include "harness/run/workbench.h"
#include "kernels/variant.h"

namespace assay::cli {

struct Workspace {
  std::vector<kernels::Variant> catalogue;  // ours, and the user's in place of one of the same name
  std::string user_variant;                 // name of the --kernel; empty without one
  std::string replaced_note;                // that it takes the place of one of ours; empty if it does not, else among `notes`
  std::vector<harness::Case> captured;      // what the files of --fixture hold; without a variant
  harness::Selection selection;
  std::vector<std::string> notes;  // what the user should know before anything runs
};

// The variants found in --variants (or the default place), joined by --kernel.
[[nodiscard]] Workspace open_workspace(const Options& options);

// What the options say of how a kernel's host compiles it.
[[nodiscard]] kernels::CompileSettings compile_settings(const Options& options);

// Adds to the limits of a lone --kernel file those that trying it finds, each with a note. Compiles it.
void find_limits(Workspace& workspace, const Options& options);

// Fills workspace.selection with what `words` select; without words, with the cases of --fixture. With --kernel, only its cases; a case or
// glob written for another variant of the family is read as one of the user's kernel.
void select(Workspace& workspace, const Options& options, const std::vector<std::string>& words);

// The same for a command that runs one case; throws std::invalid_argument if options.words select another number.
void select_one(Workspace& workspace, const Options& options, std::string_view command);

[[nodiscard]] harness::WorkbenchOptions workbench_options(const Options& options, const Workspace& workspace);
[[nodiscard]] harness::RunOptions run_options(const Options& options);

// The words that it takes besides its name to repeat a case of this run, without a schedule: an option and its value in turn.
[[nodiscard]] std::vector<std::string> replay_options(const Options& options);

// The command that repeats one case as this run executed it, for a shell; `schedules` is its --schedule, if any.
[[nodiscard]] std::string replay_line(const Options& options, const std::string& case_name, const std::string& schedules);

}  // namespace assay::cli
