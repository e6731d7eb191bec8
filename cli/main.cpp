// The `assay` command: parses arguments, runs a command, turns what it threw into a message and an exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/options.h"
#include "kernels/variant.h"
#include "metal/errors.h"

namespace {

using assay::cli::Options;

constexpr const char* kFooter = R"(examples
  assay gate                                          every variant against its oracle, as CI does
  assay run smoke --family tq4                        a hundred short cases
  assay run --kernel mine.metal --family tq4          the gate on a kernel of your own
  assay run --kernel mine.metal --family tq4 --set chunk=32
  assay run 'tq4_v1/*/nwg16/*'                        all gate cases that match
  assay run tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay show tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay list --cases gate

exit status
  0 all passed   1 some verdict failed   2 bad usage, environment or kernel file   3 internal error
  130 stopped by Ctrl-C or SIGTERM, and nothing had failed (else 1): the first waits for the cases that run, the second prints the
  summary of the finished ones, names those that run, and ends at once)";

void add_selection(CLI::App& command, Options& options) {
  command.add_option("--family", options.family, "Only variants of this family; what a lone --kernel file implements")->type_name("NAME");
  command.add_option("--kernel", options.kernel, "A kernel of your own: a .metal file, or a directory with a variant.toml")
      ->type_name("FILE|DIR");
  command.add_option("--variants", options.variants, "Directory to look for variants in")->type_name("DIR");
  command.add_option("--seed", options.seed, "Added to the seeds of the suites' cases")->type_name("N");
}

void add_execution(CLI::App& command, Options& options) {
  command.add_option("--set", options.fields, "Value of a struct field that the family does not know; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command
      .add_option("--schedule", options.schedule,
                  "Order of the simdgroups of a threadgroup: forward, reverse or random:N, or several with commas, whose bits must agree; "
                  "default: forward, and all three where a threadgroup has several simdgroups")
      ->type_name("S[,S...]");
  command.add_option("--threads", options.threads, "CPU threads of the simulator per case; 0: all cores")->type_name("N");
  command.add_option("--fp-contract", options.fp_contract, "Whether the compiler may fuse a*b+c")->check(CLI::IsMember({"off", "fast"}));
}

void add_running(CLI::App& command, Options& options) {
  command.add_option("--jobs", options.jobs, "Cases at a time; default: one per core")->type_name("N")->check(CLI::Range(1U, 1024U));
  command.add_flag("--fail-fast", options.fail_fast, "Start no further case after a failure");
}

int dispatch(const Options& options) {
  switch (options.command) {
    case Options::Command::gate:
    case Options::Command::run:
      return assay::cli::command_run(options);
    case Options::Command::list:
      return assay::cli::command_list(options);
    case Options::Command::show:
      return assay::cli::command_show(options);
  }
  return assay::cli::kExitInternal;
}

int fail(int status, const char* kind, const std::exception& error) {
  std::fflush(stdout);
  fmt::print(stderr, "assay: {}{}\n", kind, error.what());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Finds out how right a Metal attention kernel is, without a GPU: executes it on a simulator and compares every output element "
      "with a double-precision oracle under a derived bound.",
      "assay");
  app.require_subcommand(0, 1);
  app.footer(kFooter);

  Options options;
  CLI::App* gate = app.add_subcommand("gate", "Run the gate of every variant");
  add_selection(*gate, options);
  add_execution(*gate, options);
  add_running(*gate, options);

  CLI::App* run = app.add_subcommand(
      "run", "Run cases: names, globs over the gate, suites (smoke, gate); the gate if only --family or --kernel is given");
  run->add_option("CASE", options.words, "Case name, glob or suite");
  add_selection(*run, options);
  add_execution(*run, options);
  add_running(*run, options);
  run->footer(kFooter);

  CLI::App* list =
      app.add_subcommand("list", "Variants, suites and fixtures; with --cases, the cases of a selection, without running them");
  list->add_option("--cases", options.cases, "Case name, glob or suite")->type_name("SELECTION");
  list->add_option("CASE", options.words, "Further selections, with --cases");
  add_selection(*list, options);

  CLI::App* show = app.add_subcommand("show", "Run one case and tell everything about it");
  show->add_option("CASE", options.words, "Case name")->required();
  add_selection(*show, options);
  add_execution(*show, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? assay::cli::kExitPassed : assay::cli::kExitUsage;
  }
  if (app.get_subcommands().empty()) {
    fmt::print(stderr, "assay: a command is needed: gate, run, list or show; `assay --help` tells more\n");
    return assay::cli::kExitUsage;
  }
  if (gate->parsed()) options.command = Options::Command::gate;
  if (run->parsed()) options.command = Options::Command::run;
  if (list->parsed()) options.command = Options::Command::list;
  if (show->parsed()) options.command = Options::Command::show;

  try {
    return dispatch(options);
  } catch (const assay::metal::Error& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const assay::kernels::VariantError& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::invalid_argument& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::exception& error) {
    return fail(assay::cli::kExitInternal, "internal error: ", error);
  }
}
