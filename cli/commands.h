// The commands, one file each (command_<name>.cpp). A new one joins the list in all_commands().
#pragma once

#include <functional>
#include <span>

namespace CLI {
class App;
}

namespace assay::cli {

// What the parsed command line asks for: returns the exit status, and throws what it cannot do.
using Action = std::function<int()>;

// Adds a subcommand with its options and help to `app`. Once that subcommand is parsed, `action` is what carries it out.
using AddCommand = void (*)(CLI::App& app, Action& action);

[[nodiscard]] std::span<const AddCommand> all_commands();

// Examples and exit statuses, below the help of `assay` itself; every command has its own.
[[nodiscard]] const char* help_footer();

}  // namespace assay::cli
