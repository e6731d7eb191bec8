// The `assay` command over the families of assay.
#include "cli/program.h"
#include "families/registry.h"
#include "fixtures/shelf.h"
#include "kernels/variant.h"

int main(int argc, char** argv) {
  return assay::cli::run_program(argc, argv,
                                 {.families = assay::families::own_families(),
                                  .variants = assay::kernels::default_variants_directory(),
                                  .corpus = assay::fixtures::default_corpus_directory()});
}
