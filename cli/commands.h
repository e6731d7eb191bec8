// The commands, one file each (command_<name>.cpp). A new one joins the list in all_commands().
#pragma once

#include <functional>
#include <span>

namespace CLI {
class App;
}

namespace assay::cli {

// Executes the parsed command; returns the exit status and throws on errors.
using Action = std::function<int()>;

// Adds a subcommand with its options and help to `app`. Parsing it sets `action`.
using AddCommand = void (*)(CLI::App& app, Action& action);

[[nodiscard]] std::span<const AddCommand> all_commands();

// Examples and exit statuses for the help of `assay` itself; every command has its own.
[[nodiscard]] const char* help_footer();

}  // namespace assay::cli
