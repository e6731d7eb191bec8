// The `assay` command with some of its commands.
#pragma once

#include <span>

#include "cli/commands.h"
#include "cli/program.h"

namespace assay::cli {

struct Commands {
  std::span<AddCommand* const> all;  // in the order of the help text
  const char* footer;                // of the help of `assay` itself: examples and exit statuses
};

// As run_program(), with these commands.
[[nodiscard]] int run_commands(int argc, char** argv, Program program, const Commands& commands);

}  // namespace assay::cli
