// The `assay` command: parses arguments, runs a command, turns what it threw into a message and an exit status.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/options.h"
#include "fixtures/shelf.h"
#include "harness/ledger/sqlite.h"
#include "kernels/variant.h"
#include "metal/errors.h"
#include "metal/run_time_file.h"

namespace {

// Where standard error cannot be written either, only the status is left to tell; fmt would throw.
void complain(const std::string& message) { std::fputs(message.c_str(), stderr); }

// A full disk must not end as a pass. Output waits in a buffer, so its loss may show as late as here.
int finish_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  complain(fmt::format("assay: standard output could not be written{}{}: what it says is not complete\n", errno == 0 ? "" : ": ",
                       errno == 0 ? "" : std::strerror(errno)));
  return assay::cli::kExitUsage;
}

int fail(int status, const char* kind, const std::exception& error) {
  std::fflush(stdout);
  complain(fmt::format("assay: {}{}\n", kind, error.what()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  // fixtures/ cannot ask metal/ where this program is installed.
  const std::filesystem::path corpus =
      assay::metal::run_time_file("share/assay/corpus", assay::fixtures::default_corpus_directory().string());
  setenv("ASSAY_CORPUS", corpus.c_str(), 0);

  CLI::App app(
      "Finds out how right a Metal attention kernel is, without a GPU: executes it on a simulator and compares every output element "
      "with a double-precision oracle under a derived bound.",
      "assay");
  app.require_subcommand(0, 1);
  app.footer(assay::cli::help_footer());
  app.set_version_flag("--version", assay::cli::version_text());

  assay::cli::Action action;
  for (const assay::cli::AddCommand add : assay::cli::all_commands()) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? finish_output(assay::cli::kExitPassed) : assay::cli::kExitUsage;
  }
  if (!action) {
    std::string names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names += (names.empty() ? "" : ", ") + command->get_name();
    }
    complain(fmt::format("assay: a command is needed: {}; `assay --help` tells more\n", names));
    return assay::cli::kExitUsage;
  }

  try {
    return finish_output(action());
  } catch (const assay::metal::Error& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const assay::kernels::VariantError& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const assay::harness::LedgerError& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::invalid_argument& error) {
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::filesystem::filesystem_error& error) {
    // A path that was given: a loop of links, a folder that may not be read.
    return fail(assay::cli::kExitUsage, "", error);
  } catch (const std::system_error& error) {
    // fmt throws one as soon as a write fails.
    if (std::ferror(stdout) != 0) return finish_output(assay::cli::kExitUsage);
    return fail(assay::cli::kExitInternal, "internal error: ", error);
  } catch (const std::exception& error) {
    return fail(assay::cli::kExitInternal, "internal error: ", error);
  }
}
