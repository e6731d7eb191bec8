// `assay list`: lists variants, suites, families, fixtures and cases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/workspace.h"
#include "harness/cases/case.h"
#include "harness/cases/coverage.h"
#include "harness/cases/suite.h"
#include "reports/beyond.h"

namespace assay::cli {
namespace {

struct ListOptions : Options {
  std::string cases;  // the value of --cases, the first selection
  bool coverage = false;
};

bool is_wanted(const kernels::Variant& variant, const Options& options) {
  return options.family.empty() || variant.family == options.family;
}

void print_notes(const Workspace& workspace) {
  for (const std::string& note : workspace.notes) say("note: {}\n", note);
}

// The prefix for superseded variants; else empty.
std::string successor_words(const kernels::Variant& variant) {
  return variant.superseded_by ? fmt::format("superseded by {}: ", variant.superseded_by->name) : std::string();
}

void print_variants(const Workspace& workspace, const Options& options) {
  say("variants\n");
  for (const kernels::Variant& variant : workspace.catalogue) {
    if (!is_wanted(variant, options)) continue;
    say("  {:<15} {:<12} {}{}\n", variant.name, variant.family, successor_words(variant), variant.about);
  }
}

void print_suites(const Workspace& workspace, const Options& options) {
  say("suites\n");
  for (const harness::SuitePlan& plan : harness::suite_plans()) {
    std::string sizes;
    for (const kernels::Variant& variant : workspace.catalogue) {
      if (!is_wanted(variant, options)) continue;
      sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", variant.name,
                           harness::suite_cases(suite_for(plan.suite, variant), variant, options.seed).size());
    }
    say("  {:<6} {}\n  {:<6} cases: {}\n", plan.name, plan.description, "", sizes);
  }
}

std::string describe_levels(const families::Factor& factor) {
  const auto everyday = factor.levels.begin() + static_cast<std::ptrdiff_t>(factor.everyday);
  std::string text = fmt::format("{}", fmt::join(factor.levels.begin(), everyday, " "));
  if (everyday != factor.levels.end()) text += fmt::format(", longer suites also {}", fmt::join(everyday, factor.levels.end(), " "));
  return text;
}

void print_families(const Options& options) {
  say("families\n");
  for (const families::Family& family : families::all_families()) {
    if (!options.family.empty() && family.name() != options.family) continue;
    say("  {}: {}\n    case name: {}\n", family.name(), family.description, harness::name_grammar(family));
    for (const families::Factor& factor : family.factors) say("    {:<11} {}\n", factor.name, describe_levels(factor));
    say("    {:<11} {}\n", "fixture", fmt::join(harness::fixtures_of(family), " "));
    for (const families::Omission& omission : family.omissions) say("    {:<11} {}\n", "no case", reports::omission_text(omission));
  }
}

void print_fixtures(const Options& options) {
  say("fixtures\n");
  for (const fixtures::Fixture& fixture : fixtures::all_fixtures()) {
    const bool is_used = std::ranges::any_of(families::all_families(), [&](const families::Family& family) {
      return (options.family.empty() || family.name() == options.family) && family.has_fixture(fixture);
    });
    if (is_used) say("  {:<17} {}\n", fixture.name, fixture.catches);
  }
}

// The coverage of the selected cases per variant, measured against their suite, else the gate.
int print_coverage(const Workspace& workspace, const std::vector<std::string>& words) {
  const harness::Suite suite =
      words.size() == 1 && harness::is_suite(words.front()) ? harness::parse_suite(words.front()) : harness::Suite::gate;
  for (const kernels::Variant& variant : workspace.catalogue) {
    const harness::Coverage coverage = harness::measure_coverage(suite, variant, workspace.selection.cases);
    if (coverage.cases == 0) continue;
    say("{:<15} {}{}\n", variant.name, successor_words(variant), harness::describe_coverage(coverage));
  }
  return kExitPassed;
}

int list(const ListOptions& options) {
  Workspace workspace = open_workspace(options);
  std::vector<std::string> words = options.words;
  if (!options.cases.empty()) words.insert(words.begin(), options.cases);
  if (!words.empty() || options.coverage) {
    if (words.empty()) words.emplace_back("gate");
    select(workspace, options, words);
    if (options.coverage) {
      print_notes(workspace);
      return print_coverage(workspace, words);
    }
    for (const harness::Case& value : workspace.selection.cases) say("{}\n", harness::format_case(value));
    return kExitPassed;
  }
  if (!options.family.empty()) static_cast<void>(families::find_family(options.family));
  find_limits(workspace, options);
  print_notes(workspace);
  print_variants(workspace, options);
  print_suites(workspace, options);
  print_families(options);
  print_fixtures(options);
  return kExitPassed;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  const auto [command, options] = subcommand(
      app, action, "list", "List variants, suites, families and fixtures; with a selection, print its cases without running them", list);
  command->add_option("CASE", options->words, "Case name, glob or suite");
  command->add_option("--cases", options->cases, "The same as CASE, as an option")->type_name("SELECTION");
  command->add_flag(
      "--coverage", options->coverage,
      "Print the coverage of the cases instead of their names: how many of the value combinations of their suite (default: gate) occur");
  add_selection(*command, *options);
  command->footer(R"(examples
  assay list                                  variants, suites, the axes of each family, fixtures
  assay list 'tq4_v1/*/nwg16/*'               the cases of the gate that match
  assay list --cases smoke --family FAMILY
  assay list gate --coverage                  how many combinations of values the gate covers)");
}

}  // namespace assay::cli
