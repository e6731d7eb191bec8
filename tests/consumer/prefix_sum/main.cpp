// The `assay` of this project: every command, over the family `prefix_sum` alone.
#include "cli/program.h"
#include "prefix_sum/family.h"

int main(int argc, char** argv) { return assay::cli::run_program(argc, argv, {.families = {prefix_sum::family()}, .variants = VARIANTS}); }
