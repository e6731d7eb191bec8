// Which branches all lanes of a warp take alike.
#pragma once

#include <llvm/Analysis/UniformityAnalysis.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/PassManager.h>

namespace assay::metal::pass::nvptx {

// LLVM's analysis, told what differs between the lanes of a kernel: positions, what SIMD-group functions return, private memory. Memory
// that lanes share is as uniform as its address.
class Uniformity {
 public:
  explicit Uniformity(llvm::Function& kernel);

  // Whether lanes that end the block together may go on to different blocks.
  [[nodiscard]] bool parts(const llvm::BasicBlock& block) const { return info_->hasDivergentTerminator(block); }

 private:
  llvm::FunctionAnalysisManager analyses_;
  llvm::UniformityInfo* info_ = nullptr;
};

}  // namespace assay::metal::pass::nvptx
