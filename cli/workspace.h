// The variants that a command uses, and the cases that it selected from them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/kernel_texts.h"
#include "cli/options.h"
#include "harness/cases/selection.h"
#include "harness/prepare/workbench.h"
#include "harness/process/runner.h"
#include "kernels/variant.h"

namespace assay::cli {

// Whether the kernel under test may excuse nothing by its own description: --strict, or --trust.
[[nodiscard]] bool is_strict(const Options& options);

// The options with what --strict implies for commands that run cases on the simulator: policy `checked`, without which no remark is seen.
// Throws std::invalid_argument if another policy was asked for. On a GPU nothing changes, and `strict_note` says so.
[[nodiscard]] Options with_strict_policy(Options options);
[[nodiscard]] std::string strict_note(const Options& options);

struct Workspace {
  std::vector<kernels::Variant> catalogue;  // our variants; the user's kernel replaces one of the same name
  std::string user_variant;                 // name of the --kernel; empty without one
  std::string replaced_note;                // notes that it replaces one of ours, also in `notes`; else empty
  std::vector<harness::Case> captured;      // cases of the --fixture files, without a variant
  harness::Selection selection;
  KernelTexts texts;               // of the catalogue before it was compiled; only for commands that triage
  std::vector<std::string> notes;  // notes to print before anything runs
};

// Loads the variants of --variants (or the default folder) and --kernel.
[[nodiscard]] Workspace open_workspace(const Options& options);

// The compile settings given by options.
[[nodiscard]] kernels::CompileSettings compile_settings(const Options& options);

// Compiles the --kernel file, detects limits of its axes, and adds them with a note each.
void find_limits(Workspace& workspace, const Options& options);

// Fills workspace.selection with the cases that `words` select, or without words with the cases of --fixture. With --kernel, selects only
// its cases; a case or glob of another variant of the family is applied to the user's kernel.
void select(Workspace& workspace, const Options& options, const std::vector<std::string>& words);

// The same for commands that run one case; throws std::invalid_argument unless exactly one case is selected.
void select_one(Workspace& workspace, const Options& options, const std::vector<std::string>& words, std::string_view command);

[[nodiscard]] harness::WorkbenchOptions workbench_options(const Options& options, const Workspace& workspace);
[[nodiscard]] harness::RunOptions run_options(const Options& options);
// --jobs, else the number of cores.
[[nodiscard]] unsigned job_count(const Options& options);

// The shell command that repeats one case as this run executed it; `case_schedules` are those that the case chose.
[[nodiscard]] std::string replay_line(const Options& options, const std::string& case_name, const std::string& case_schedules = {});

}  // namespace assay::cli
