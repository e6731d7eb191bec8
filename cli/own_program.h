// What the `assay` command judges if nobody adds to it.
#pragma once

#include "cli/program.h"
#include "families/registry.h"
#include "fixtures/shelf.h"
#include "kernels/variant.h"

namespace assay::cli {

inline Program own_program() {
  return {.families = families::own_families(),
          .variants = kernels::default_variants_directory(),
          .corpus = fixtures::default_corpus_directory()};
}

}  // namespace assay::cli
