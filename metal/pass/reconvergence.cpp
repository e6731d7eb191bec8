// Finds the points where lanes that took different branches meet again.
#include "metal/pass/reconvergence.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/Local.h>

namespace assay::metal::pass {
namespace {

using Branches = llvm::DenseMap<llvm::BasicBlock*, llvm::SmallVector<llvm::BasicBlock*, 2>>;

llvm::BasicBlock* immediate(llvm::PostDominatorTree& tree, llvm::BasicBlock* block) {
  auto* node = tree.getNode(block);
  auto* parent = node == nullptr ? nullptr : node->getIDom();
  return parent == nullptr ? nullptr : parent->getBlock();
}

// For each block, the branches that decide whether it runs (Ferrante, Ottenstein and Warren's control dependence).
Branches control_dependences(llvm::Function& function, llvm::PostDominatorTree& tree) {
  Branches result;
  for (auto& block : function) {
    if (block.getTerminator()->getNumSuccessors() < 2) continue;
    auto* stop = immediate(tree, &block);
    for (auto* successor : llvm::successors(&block)) {
      for (auto* runner = successor; runner != nullptr && runner != stop; runner = immediate(tree, runner))
        result[runner].push_back(&block);
    }
  }
  return result;
}

bool meets_before_reading(llvm::BasicBlock& block, const llvm::DenseSet<llvm::Instruction*>& sites) {
  for (auto& instruction : block) {
    if (sites.contains(&instruction)) return true;
    if (instruction.mayReadFromMemory()) return false;
  }
  return false;
}

}  // namespace

void leave_out_impossible_defaults(llvm::Function& function) {
  for (auto& block : function) {
    auto* choice = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator());
    if (choice == nullptr || choice->getNumCases() == 0) continue;
    if (!llvm::isa<llvm::UnreachableInst>(choice->getDefaultDest()->getFirstNonPHIOrDbg())) continue;
    choice->getDefaultDest()->removePredecessor(&block);
    choice->setDefaultDest(choice->case_begin()->getCaseSuccessor());
    choice->removeCase(choice->case_begin());
  }
  llvm::removeUnreachableBlocks(function);
}

std::vector<llvm::BasicBlock*> rejoining_blocks(llvm::Function& function, const std::vector<llvm::Instruction*>& writes,
                                                const std::vector<llvm::Instruction*>& sites) {
  if (writes.empty()) return {};
  llvm::PostDominatorTree tree(function);
  const Branches branches = control_dependences(function, tree);
  const llvm::DenseSet<llvm::Instruction*> meeting(sites.begin(), sites.end());
  llvm::SetVector<llvm::BasicBlock*> conditional;
  for (auto* write : writes) conditional.insert(write->getParent());
  llvm::SetVector<llvm::BasicBlock*> result;
  for (std::size_t index = 0; index < conditional.size(); ++index) {
    const auto found = branches.find(conditional[index]);
    if (found == branches.end()) continue;
    for (auto* branch : found->second) {
      conditional.insert(branch);
      auto* join = immediate(tree, branch);
      // No join: the branch rejoins only at the end of the kernel, after which nothing is read.
      if (join == nullptr) continue;
      const bool last = llvm::isa<llvm::ReturnInst>(join->getTerminator());
      if (last && llvm::none_of(*join, [](const llvm::Instruction& i) { return i.mayReadFromMemory(); })) continue;
      if (!meets_before_reading(*join, meeting)) result.insert(join);
    }
  }
  return {result.begin(), result.end()};
}

}  // namespace assay::metal::pass
