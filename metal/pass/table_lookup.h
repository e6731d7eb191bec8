// A separate pass after the lockstep pass: lookups in small constant tables, a vector at a time.
#pragma once

#include <llvm/IR/PassManager.h>

namespace assay::metal::pass {

// A codebook of at most 16 floats fits into two registers, and the processor can permute registers by a vector of indices. One such
// instruction replaces an address, a load and an insertion per element. The pass rewrites vectors of four elements whose indices are
// fields of one or two integers, as packed codes are. The results are bit for bit those of the table.
//
// Decoding takes half of the run time of kernels on a 4-bit cache (docs/PERFORMANCE.md).
class TableLookupPass : public llvm::PassInfoMixin<TableLookupPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
  static bool isRequired() { return true; }
};

}  // namespace assay::metal::pass
