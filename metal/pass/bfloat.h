// A pass at the end, for 64-bit ARM: conversions to bfloat, which LLVM 19 gets wrong there.
#pragma once

#include <llvm/IR/PassManager.h>

namespace assay::metal::pass {

// Without an instruction for it, LLVM's code for ARM adds half a unit to the bits. Where it thinks that no signalling NaN can be the
// operand, as behind a product, it leaves out the test for NaN: one of all ones becomes 0. The pass writes the conversion out, as
// __truncsfbf2 of shader/entry.h does it, which other processors call.
class BfloatPass : public llvm::PassInfoMixin<BfloatPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace assay::metal::pass
