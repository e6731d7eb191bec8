// A pass of its own behind the lockstep pass: lookups in small constant tables, a vector at a time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace assay::metal::pass {

// A codebook of at most 16 floats fits into two registers, and the processor permutes registers by a vector of indices: one instruction
// instead of an address, a load and an insertion per element. Vectors of four elements whose indices
// are fields of one or two integers, as packed codes are, become such permutations. The results have the bits of the table.
//
// Decoding a 4-bit cache is half of the time of its kernels, so this is a fifth of it (docs/PERFORMANCE.md).
class TableLookupPass : public llvm::PassInfoMixin<TableLookupPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace assay::metal::pass
