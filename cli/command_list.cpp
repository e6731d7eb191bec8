// `assay list`: what there is to run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/workspace.h"
#include "harness/cases/suite.h"

namespace assay::cli {
namespace {

struct ListOptions : Options {
  std::string cases;  // the first of the selections, as the value of --cases
};

std::string source_line(const kernels::Variant& variant) {
  return fmt::format("{:<12} {:<8} {}", variant.name, variant.family, variant.about);
}

int list(const ListOptions& options) {
  Workspace workspace = open_workspace(options);
  if (!options.cases.empty()) {
    std::vector<std::string> words = options.words;
    words.insert(words.begin(), options.cases);
    select(workspace, options, words);
    for (const harness::Case& value : workspace.selection.cases) fmt::print("{}\n", harness::format_case(value));
    return kExitPassed;
  }
  fmt::print("variants\n");
  for (const kernels::Variant& variant : workspace.catalogue) {
    if (options.family.empty() || variant.family == options.family) fmt::print("  {}\n", source_line(variant));
  }
  fmt::print("suites (cases per variant)\n");
  for (const std::string_view suite : harness::suite_names()) {
    fmt::print("  {}:", suite);
    for (const kernels::Variant& variant : workspace.catalogue) {
      if (!options.family.empty() && variant.family != options.family) continue;
      fmt::print(" {} {}", variant.name, harness::suite_cases(harness::parse_suite(suite), variant, options.seed).size());
    }
    fmt::print("\n");
  }
  fmt::print("fixtures\n");
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) fmt::print("  {:<14} {}\n", fixture.name, fixture.catches);
  return kExitPassed;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ListOptions>();
  CLI::App* command =
      app.add_subcommand("list", "Variants, suites and fixtures; with --cases, the cases of a selection, without running them");
  command->add_option("--cases", options->cases, "Case name, glob or suite")->type_name("SELECTION");
  command->add_option("CASE", options->words, "Further selections, with --cases");
  add_selection(*command, *options);
  command->callback([options, &action] { action = [options] { return list(*options); }; });
}

}  // namespace assay::cli
