// The `assay` command as a function, for programs with families of their own.
#pragma once

#include <filesystem>
#include <vector>

#include "families/family.h"

namespace assay::cli {

// What a program judges.
struct Program {
  // All families of the command. families::own_families() has those of assay; append to it to judge both.
  std::vector<families::Family> families;
  // The folder of variants that commands use without --variants and without $ASSAY_VARIANTS. All its variants must be of `families`.
  std::filesystem::path variants;
  // The folder of the fixture files of the gate, unless $ASSAY_CORPUS is set. All its files must be of `families`. Empty: there are none.
  std::filesystem::path corpus = {};
};

// Runs the command that `argv` describes, and returns the exit status of the program: 0, or as `assay --help` says. Prints errors, and
// throws only std::invalid_argument or std::logic_error if `program` is invalid (families::use_families()). Call it once, at the start of
// main(), before the program starts threads: kernels run in processes that are forked from this one.
[[nodiscard]] int run_program(int argc, char** argv, Program program);

}  // namespace assay::cli
