// The second form of a kernel: one thread of control for a whole SIMD-group, with vectors for what differs between its lanes.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

#include <string>

namespace assay::metal::pass {

struct VectorKernel {
  llvm::Function* entry = nullptr;  // null if there is none
  bool needs_rows = false;          // see Shapes::needs_rows
  std::string refusal;              // why there is none
};

// Adds a function that runs the kernel `lane` for all 32 lanes of a SIMD-group. The kernel has been routed to the runtime and optimised.
[[nodiscard]] VectorKernel make_vector_kernel(llvm::Function& lane, llvm::GlobalVariable& services);

}  // namespace assay::metal::pass
