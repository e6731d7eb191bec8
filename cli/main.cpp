// The `assay` command over the families of assay.
#include "cli/own_program.h"
#include "cli/program.h"

int main(int argc, char** argv) { return assay::cli::run_program(argc, argv, assay::cli::own_program()); }
