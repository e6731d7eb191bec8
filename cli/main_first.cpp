// The main job of the `assay` command, alone: for the first verdict of a fresh checkout, before the rest is built (see the script `assay`).
#include "cli/main_job.h"
#include "cli/own_program.h"

int main(int argc, char** argv) { return assay::cli::run_main_job(argc, argv, assay::cli::own_program()); }
