// `assay init`: writes a first variant.toml for a kernel file, and says what it inferred and what only the author knows.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/files.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/prepare/drafts.h"
#include "harness/prepare/libraries.h"
#include "kernels/variant.h"

namespace assay::cli {
namespace {

struct InitOptions {
  Options common;  // --include, --define, --metal-version, --jobs
  std::string file;
  std::string family;
  bool print = false;
};

int init(const InitOptions& options) {
  const std::filesystem::path path = options.file;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw std::invalid_argument(fmt::format("'{}' is not a file", options.file));
  kernels::Variant subject;
  subject.name = path.stem().string();
  subject.source = path;
  subject.compile.lay(compile_settings(options.common));
  harness::Libraries libraries(false);
  const auto library = libraries.of(subject, {});
  std::vector<harness::Draft> drafts = harness::drafts_of(*library, path.filename().string(), job_count(options.common));
  if (!options.family.empty()) std::erase_if(drafts, [&](const harness::Draft& draft) { return draft.family != options.family; });
  if (drafts.empty()) {
    say("{}: none of its {} functions can be drafted{}. `assay compile {}` says whether they compile and lists their arguments;\n"
        "docs/VARIANT.md says how to describe a kernel of a family, docs/CUSTOM.md how to judge any kernel by a reference of your own\n",
        options.file, library->functions().size(), options.family.empty() ? "" : fmt::format(" as {}", options.family), options.file);
    return kExitFailed;
  }
  const harness::Draft& draft = drafts.front();
  say("{}: family {}\n", options.file, draft.family);
  for (std::size_t i = 1; i < drafts.size(); ++i)
    say("  or {}: assay init {} --family {}\n", drafts[i].family, options.file, drafts[i].family);
  for (const std::string& text : draft.sketch.inferred) say("  inferred: {}\n", text);
  for (const std::string& text : draft.sketch.questions) say("  question: {}\n", text);
  const std::filesystem::path description = path.parent_path() / "variant.toml";
  if (options.print) {
    say("\n{}", draft.sketch.toml);
    return kExitPassed;
  }
  if (std::filesystem::exists(description, error))
    throw std::invalid_argument(fmt::format("'{}' exists; --print shows the draft without writing it", description.string()));
  write_file(description, draft.sketch.toml);
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  say("written: {}{}\n  next: assay run smoke --kernel {}\n", description.string(),
      draft.sketch.questions.empty() ? "" : fmt::format("; {} questions stand in it as comments", draft.sketch.questions.size()), folder);
  return kExitPassed;
}

}  // namespace

void add_init(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "init",
      "Write a first variant.toml beside a kernel file: names the families that fit, says what it inferred, and asks what only the author "
      "knows. Runs nothing",
      init);
  command->add_option("FILE", options->file, "A .metal file")->required();
  command->add_option("--family", options->family, "Draft a kernel of this family")->type_name("NAME");
  add_compilation(*command, options->common);
  command->add_flag("--print", options->print, "Print the draft instead of writing it");
  add_jobs(*command, options->common, "functions to compile");
  command->footer(R"(examples
  assay init mine/kernel.metal            writes mine/variant.toml
  assay init mine/kernel.metal --print

exit status
  0 a draft was made   1 no function compiles, or that family does not recognise the file   2 bad usage or environment, or the file exists)");
}

}  // namespace assay::cli
