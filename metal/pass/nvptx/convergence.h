// Where the lanes of a warp are together, and where only some of them are.
#pragma once

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include <vector>

#include "metal/pass/nvptx/uniformity.h"

namespace assay::metal::pass::nvptx {

// A block is *live* if a place where lanes meet can still be reached from it. Who leaves the live blocks will end without meeting anybody,
// and nobody waits for him. Blocks are compared within one iteration of the loops around them: instead of starting a new iteration, a lane
// counts as leaving the loop by any of its exits. The loops must be simple (llvm::LoopSimplifyPass), with no other cycles.
class Convergence {
 public:
  using Meets = llvm::function_ref<bool(const llvm::Instruction&)>;
  Convergence(llvm::Function& kernel, Meets meets);

  [[nodiscard]] bool is_live(const llvm::BasicBlock& block) const { return numbers_.contains(&block); }
  // Whether lanes that have not ended may be elsewhere when others run the block. Otherwise all run it together.
  [[nodiscard]] bool is_parted(const llvm::BasicBlock& block) const { return parted_.contains(&block); }
  // Whether the lanes that end the block together may go on to different live blocks.
  [[nodiscard]] bool parts(const llvm::BasicBlock& block) const {
    return is_live(block) && next(block).size() > 1 && uniformity_.parts(block);
  }
  // Whether lanes leave the block, or go on to several blocks, each on his own.
  [[nodiscard]] bool decides_alone(const llvm::BasicBlock& block) const { return uniformity_.parts(block); }
  // The live blocks behind a live block.
  [[nodiscard]] llvm::SmallVector<llvm::BasicBlock*, 4> next(const llvm::BasicBlock& block) const;
  // The nearest block before it that the same lanes run, in the same iteration; null if there is none.
  [[nodiscard]] llvm::BasicBlock* same_lanes_before(llvm::BasicBlock& block) const;
  // The blocks behind `branch` through which all its lanes come to `block`, and others none, so that the branch alone decides who comes.
  // Empty if another branch has a say as well.
  [[nodiscard]] llvm::SmallVector<llvm::BasicBlock*, 4> ways_from(llvm::BasicBlock& branch, llvm::BasicBlock& block) const;
  // Where all lanes that a block parts are together again, within the iteration or behind the loop; null if nowhere.
  [[nodiscard]] llvm::BasicBlock* meeting_block(const llvm::BasicBlock& block) const;
  // The blocks whose lanes were parted at `branch`, and are not together again.
  [[nodiscard]] llvm::SmallVector<llvm::BasicBlock*> parted_at(llvm::BasicBlock& branch) const;

  [[nodiscard]] const llvm::DominatorTree& dominators() const { return dominators_; }
  [[nodiscard]] const llvm::LoopInfo& loops() const { return loops_; }

 private:
  void find_live(llvm::Function& kernel, Meets meets);
  void find_postdominators();
  [[nodiscard]] const llvm::BasicBlock* last_block() const;
  [[nodiscard]] llvm::SmallVector<const llvm::BasicBlock*, 4> next_within_iteration(const llvm::BasicBlock& block) const;
  [[nodiscard]] bool postdominates(const llvm::BasicBlock& later, const llvm::BasicBlock& earlier) const {
    return postdominators_[numbers_.lookup(&earlier)].test(numbers_.lookup(&later));
  }

  Uniformity uniformity_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  std::vector<llvm::BasicBlock*> blocks_;  // live ones
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> numbers_;
  std::vector<llvm::BitVector> postdominators_;  // by number
  llvm::SmallPtrSet<const llvm::BasicBlock*, 32> parted_;
};

}  // namespace assay::metal::pass::nvptx
