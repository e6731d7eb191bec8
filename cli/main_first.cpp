// The main job of the `assay` command, alone: for the first verdict of a fresh checkout, before the rest is built (see the script `assay`).
#include "cli/commands.h"
#include "cli/entry.h"
#include "cli/own_program.h"

namespace assay::cli {

AddCommand add_gate, add_run, add_show, add_list;

}  // namespace assay::cli

int main(int argc, char** argv) {
  using namespace assay::cli;
  static constexpr AddCommand* commands[] = {add_gate, add_run, add_show, add_list};
  return run_commands(argc, argv, own_program(),
                      {commands, "This is the main job alone; ./assay builds the other commands when one of them is given."});
}
