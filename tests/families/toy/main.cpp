// The command with one family more than assay has.
#include <utility>
#include <vector>

#include "cli/program.h"
#include "families/registry.h"
#include "kernels/variant.h"

namespace assay::families {
Family toy_family();
}

int main(int argc, char** argv) {
  std::vector<assay::families::Family> families = assay::families::own_families();
  families.push_back(assay::families::toy_family());
  return assay::cli::run_program(argc, argv, {.families = std::move(families), .variants = assay::kernels::default_variants_directory()});
}
