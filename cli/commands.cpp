// The list of commands, and the help text of `assay` itself.
#include "cli/commands.h"

namespace assay::cli {

AddCommand add_gate, add_run, add_watch, add_show, add_explain, add_triage, add_compile, add_list, add_compare, add_agree, add_mutate,
    add_report, add_history, add_diff, add_merge, add_fixture, add_pack, add_support, add_dispatch, add_check_dispatch, add_quality,
    add_cost, add_doctor, add_init, add_export, add_judge, add_bisect, add_completion, add_complete, add_man;

std::span<AddCommand* const> all_commands() {
  // In the order of the help text.
  static constexpr AddCommand* commands[] = {
      add_gate,    add_run,    add_watch,  add_show,       add_explain,        add_triage,  add_compile, add_list,
      add_compare, add_agree,  add_mutate, add_report,     add_history,        add_diff,    add_bisect,  add_merge,
      add_fixture, add_pack,   add_init,   add_dispatch,   add_check_dispatch, add_support, add_quality, add_cost,
      add_doctor,  add_export, add_judge,  add_completion, add_complete,       add_man,
  };
  return commands;
}

const char* help_footer() {
  return R"(examples
  assay gate                                          every variant against its oracle, as CI does
  assay run smoke --family FAMILY                     a hundred short cases
  assay run --kernel mine.metal --family FAMILY       the gate on a kernel of your own
  assay run --kernel mine.metal --family FAMILY --set chunk=32
  assay run --kernel mine.metal --family FAMILY --limit AXIS=8
  assay run 'tq4_v1/*/nwg16/*'                        all gate cases that match
  assay run tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay show tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7
  assay run --fixture captured.h5 --kernel mine.metal  inputs captured in your own application
  assay explain tq4_v1/d256/h8x2/kv1024c1024/ring300/win512/nwg16/gauss/s7  which lines cause its rounding error
  assay init mine/kernel.metal                        a first variant.toml for a kernel that has none
  assay compile mine.metal                            the kernels of a file, and which of them compile
  assay list --cases gate
  assay gate --junit gate.xml --html gate.html        reports for CI systems and for people
  assay report                                        the newest run again, with figures per fixture and axis value
  assay gate --resume                                 only the cases that an interrupted run left
  assay watch mine.metal --family FAMILY              a verdict whenever the file is saved
  assay history 'tq4_v1/*/nwg16/*'                    verdicts of some cases in the last runs
  assay bisect --good v1 --bad HEAD --kernel mine.metal --family FAMILY  which commit broke it
  assay diff                                          what changed between the last two runs
  assay quality --bits 4 5                            error of storing keys and values in 4 and 5 bits
  assay compare tq4_v1 mine/new                       what a new iteration changes, and where
  assay mutate reduce_v1                              how many planted mistakes the gate detects
  assay cost CASE --json                              bytes and operations by source line, compared with the minimum

exit status
  0 all passed   1 some case failed   2 bad usage, environment or kernel file   3 internal error
  4 nothing passed: every selected case was skipped or failed as known
  5 a time budget (mutate --budget) ended before everything was judged
  130 stopped by Ctrl-C or SIGTERM; if a case had failed before: 1. The first Ctrl-C waits for the running cases. The second, or a
  SIGTERM, prints the summary of the finished cases, lists the running ones, and stops at once)";
}

}  // namespace assay::cli
