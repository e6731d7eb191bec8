// The `assay` command: parses arguments, runs a command, turns what it threw into a message and an exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/options.h"
#include "harness/ledger/sqlite.h"
#include "kernels/variant.h"
#include "metal/errors.h"

namespace {

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
  app.footer(assay::cli::help_footer());

  assay::cli::Action action;
  for (const assay::cli::AddCommand add : assay::cli::all_commands()) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? assay::cli::kExitPassed : assay::cli::kExitUsage;
  }
  if (!action) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    fmt::print(stderr, "assay: a command is needed: {}; `assay --help` tells more\n", names);
    return assay::cli::kExitUsage;
  }

  try {
    return action();
  } catch (const assay::metal::Error& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const assay::kernels::VariantError& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const assay::harness::LedgerError& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::invalid_argument& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::exception& error) {
    return fail(assay::cli::kExitInternal, "internal error: ", error);
  }
}
