// The commands of a first build.
#pragma once

#include "cli/program.h"

namespace assay::cli {

// As run_program(), with the commands run, gate, list and show alone, and without their option --triage.
[[nodiscard]] int run_main_job(int argc, char** argv, Program program);

}  // namespace assay::cli
