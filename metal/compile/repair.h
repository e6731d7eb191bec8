// Differences from a file that make clang accept one of its kernels. Clang is stricter than Metal in places, and other parts of the
// file may be wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metal/compile/compiler.h"
#include "metal/function_constant.h"
#include "metal/translate/translation.h"

namespace assay::metal::compile {

// Adds repairs for clang's errors to `rendering`, until clang accepts the kernel or nothing more can be done:
//   - a conversion between half and bfloat, which clang lacks, goes through float;
//   - an object that converts to an integer and is added to a pointer by `+=` is converted first;
//   - the value of an assignment between objects, which may lie in any space for clang, is moved to the object's space;
//   - components of vectors are read before an operator of a template takes them;
//   - values in braces become a vector if a class has a constructor for a vector but could also take the values itself;
//   - parts of the file apart from the kernel that clang rejects are left out. Functions that call them are then rejected
//     and left out as well.
//
// Returns whether clang then accepts the kernel, as far as this can be decided without generating code.
[[nodiscard]] bool repair(const Compiler& compiler, const translate::Translation& translation, const translate::Kernel& kernel,
                          const std::map<std::uint32_t, FunctionConstant>& constants, translate::Translation::Rendering& rendering);

// A kernel in whose body clang misses a name, or finds no program, whatever its constants are.
struct BrokenKernel {
  const translate::Kernel* kernel = nullptr;
  std::string error;  // "<file>:<line>: error: ...", the first
};

// Those among the kernels that are no instances of templates. Compiles nothing.
[[nodiscard]] std::vector<BrokenKernel> broken_kernels(const Compiler& compiler, const translate::Translation& translation);

// Answers the open questions of a translation whose expressions are constants.
void answer(const Compiler& compiler, const translate::Translation& translation, translate::ConstantQuestions& questions);

}  // namespace assay::metal::compile
