// Differences from a file with which clang takes a kernel of it: it is stricter than Metal in places, and other parts may be wrong.
#pragma once

#include <cstdint>
#include <map>

#include "metal/compile/compiler.h"
#include "metal/function_constant.h"
#include "metal/translate/translation.h"

namespace assay::metal::compile {

// Adds to `rendering` what clang's messages call for, until it takes the kernel or nothing more can be done:
//   - a conversion between half and bfloat, which clang lacks, goes through float;
//   - an object with a conversion to an integer that is added to a pointer by `+=` is converted first;
//   - the value of an assignment between objects, which for clang lies in any space, is put where the object is;
//   - components of vectors are read before a template's operator takes them;
//   - values in braces become a vector where a class with a constructor for one would also take them for itself;
//   - parts of the file apart from the kernel that clang refuses are left out. Functions that call what is left out are refused in turn,
//     and left out as well.
//
// Whether clang takes it then, as far as can be said without compiling it.
[[nodiscard]] bool repair(const Compiler& compiler, const translate::Translation& translation, const translate::Kernel& kernel,
                          const std::map<std::uint32_t, FunctionConstant>& constants, translate::Translation::Rendering& rendering);

// Answers the open questions of a translation: those whose expressions are constants.
void answer(const Compiler& compiler, const translate::Translation& translation, translate::ConstantQuestions& questions);

}  // namespace assay::metal::compile
