// The `assay` command with all of its commands.
#include "cli/program.h"

#include <utility>

#include "cli/causes.h"
#include "cli/commands.h"
#include "cli/entry.h"
#include "cli/run_triage.h"

namespace assay::cli {

int run_program(int argc, char** argv, Program program) {
  offer_triage(causes_of_run);
  return run_commands(argc, argv, std::move(program), {all_commands(), help_footer()});
}

}  // namespace assay::cli
