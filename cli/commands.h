// The commands, one file each (command_<name>.cpp). A new one joins the list in all_commands().
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace assay::cli {

// Executes the parsed command; returns the exit status and throws on errors.
using Action = std::function<int()>;

// Adds a subcommand with its options and help to `app`. Parsing it sets `action`.
using AddCommand = void(CLI::App& app, Action& action);

[[nodiscard]] std::span<AddCommand* const> all_commands();

// A subcommand and what its options are parsed into. Parsing it sets `action` to run(options).
template <typename Parsed>
[[nodiscard]] std::pair<CLI::App*, std::shared_ptr<Parsed>> subcommand(CLI::App& app, Action& action, const std::string& name,
                                                                       const std::string& description, int (*run)(const Parsed&)) {
  const auto options = std::make_shared<Parsed>();
  CLI::App* command = app.add_subcommand(name, description);
  command->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
  return {command, options};
}

// Examples and exit statuses for the help of `assay` itself; every command has its own.
[[nodiscard]] const char* help_footer();

}  // namespace assay::cli
