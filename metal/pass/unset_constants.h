// Rejects function constants that a kernel uses and that have no value.
#pragma once

#include <llvm/IR/Module.h>

namespace assay::metal::pass {

// Ends the compilation with an error for each constant without a value that the code still reads. Call it after the optimiser has
// removed the code that the other constants rule out.
void refuse_unset_constants(llvm::Module& module);

}  // namespace assay::metal::pass
