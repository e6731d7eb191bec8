// Holds a module to what a kernel needs.
#pragma once

#include <llvm/IR/Module.h>

namespace assay::metal::pass {

// Refuses, with its place, what reaches code or data outside of the kernel: assembly, functions and variables that are declared and not
// ours, sections, addresses of the runtime's functions, jumps to computed addresses, operations on registers. To be called when everything
// is inlined.
void require_permitted(const llvm::Module& module);

}  // namespace assay::metal::pass
