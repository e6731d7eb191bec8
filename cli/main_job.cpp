// The list of the commands of a first build.
#include "cli/main_job.h"

#include <utility>

#include "cli/commands.h"
#include "cli/entry.h"

namespace assay::cli {

AddCommand add_gate, add_run, add_show, add_list;

int run_main_job(int argc, char** argv, Program program) {
  static constexpr AddCommand* commands[] = {add_gate, add_run, add_show, add_list};
  return run_commands(argc, argv, std::move(program),
                      {commands, "This is the main job alone; ./assay builds the other commands when one of them is given."});
}

}  // namespace assay::cli
