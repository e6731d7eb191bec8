// The `assay` command: parses arguments, runs a command, and turns exceptions into messages and exit statuses.
#include "cli/entry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "base/process.h"
#include "base/user_key.h"
#include "cli/options.h"
#include "cli/say.h"
#include "families/registry.h"
#include "harness/ledger/sqlite.h"
#include "kernels/variant.h"
#include "metal/errors.h"

namespace assay::cli {
namespace {

// If standard error cannot be written, only the exit status is left.
void complain(const std::string& message) { put(stderr, message); }

// A full disk must not count as success. Output is buffered, so a write error may appear only here.
int finish_output(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  complain(fmt::format("assay: standard output could not be written{}{}; the output is incomplete\n", errno == 0 ? "" : ": ",
                       errno == 0 ? "" : std::strerror(errno)));
  return kExitUsage;
}

int fail(int status, const char* kind, const std::exception& error) {
  std::fflush(stdout);
  complain(fmt::format("assay: {}{}\n", kind, error.what()));
  return status;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

// The word given as a command; empty if the error is another one.
std::string wrong_command(const CLI::App& app) {
  const std::vector<std::string> remaining = app.remaining();
  if (remaining.empty() || remaining.front().starts_with('-') || !app.get_subcommands().empty()) return {};
  return remaining.front();
}

// The options that may be meant by those that the command does not have, one sentence each.
std::string meant_options(const CLI::App& app) {
  if (app.get_subcommands().empty()) return {};
  const CLI::App& command = *app.get_subcommands().front();
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  std::string text;
  for (const std::string& word : command.remaining()) {
    const std::string given = word.substr(0, word.find('='));
    if (!given.starts_with("--")) continue;
    if (const std::string meant = base::did_you_mean(given, names); !meant.empty()) text += fmt::format("{}{}\n", given, meant);
  }
  return text;
}

int refuse_arguments(const CLI::App& app, const CLI::ParseError& error) {
  if (const std::string word = wrong_command(app); !word.empty()) {
    const std::vector<std::string> names = command_names(app);
    complain(fmt::format("assay: '{}' is not a command{}; the commands are {}; see `assay --help`\n", word, base::did_you_mean(word, names),
                         fmt::join(names, ", ")));
    return kExitUsage;
  }
  std::ostringstream output;
  std::ostringstream complaint;
  const int status = app.exit(error, output, complaint);
  put(stdout, output.str());
  // Behind what is wrong, and before the general advice.
  std::string text = complaint.str();
  text.insert(std::min(text.find("Run with --help"), text.size()), meant_options(app));
  if (status != 0) complain("assay: " + text);
  return status == 0 ? finish_output(kExitPassed) : kExitUsage;
}

// A parent may leave SIGCHLD ignored or blocked, as some shells and runners do. How children end would then be unknown.
void learn_of_endings() {
  signal(SIGCHLD, SIG_DFL);
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_UNBLOCK, &children, nullptr);
}

template <typename... Kinds>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Kinds*>(&error) != nullptr) || ...);
}

// Errors of arguments, files and the machine. A filesystem_error is one of given paths, such as link loops and unreadable folders.
bool is_usage_error(const std::exception& error) {
  return is_any_of<metal::Error, base::ProcessRefused, base::UserKeyError, kernels::VariantError, harness::LedgerError,
                   std::invalid_argument, std::filesystem::filesystem_error>(error);
}

}  // namespace

int run_commands(int argc, char** argv, Program program, const Commands& commands) {
  learn_of_endings();
  // Freed memory is overwritten: the processes that run kernels start as copies of ours, and an earlier expectation must not lie there.
  mallopt(M_PERTURB, 0xa5);
  setenv("ASSAY_VARIANTS", program.variants.c_str(), 0);
  setenv("ASSAY_CORPUS", program.corpus.c_str(), 0);
  families::use_families(std::move(program.families));

  CLI::App app(
      "Checks a Metal attention kernel without a GPU: executes it on a simulator and compares every output element "
      "with a double-precision oracle, within a derived error bound.",
      "assay");
  app.require_subcommand(0, 1);
  app.footer(commands.footer);
  app.set_version_flag("--version", version_text());

  Action action;
  for (AddCommand* const add : commands.all) add(app, action);
  // `assay help [COMMAND]`, which newcomers type first, is `assay [COMMAND] --help`.
  static char help[] = "--help";
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    argv[1] = argv[argc - 1];
    argv[argc - 1] = help;
  }
  // Messages repeat arguments, and a line of its own looks like one of ours.
  for (const char* argument : std::span(argv, static_cast<std::size_t>(argc))) {
    if (std::string_view(argument).find('\n') == std::string_view::npos) continue;
    complain("assay: an argument contains a line break; no name of a case or file may have one\n");
    return kExitUsage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return refuse_arguments(app, error);
  }
  if (!action) {
    complain(fmt::format("assay: a command is needed: {}; see `assay --help`\n", fmt::join(command_names(app), ", ")));
    return kExitUsage;
  }

  try {
    return finish_output(action());
  } catch (const std::exception& error) {
    if (is_usage_error(error)) return fail(kExitUsage, "", error);
    return fail(kExitInternal, "internal error: ", error);
  }
}

}  // namespace assay::cli
