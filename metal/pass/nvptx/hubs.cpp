// Inserts blocks in which lanes wait until all of several branches are decided.
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Local.h>

#include "metal/pass/nvptx/participants.h"

namespace assay::metal::pass::nvptx {
namespace {

using Blocks = llvm::SmallSetVector<llvm::BasicBlock*, 16>;

// The branches that decide who comes to the block: those on the ways to it from the last block that all these lanes run.
Blocks deciding(const llvm::BasicBlock& start, llvm::BasicBlock& block) {
  Blocks result;
  for (auto* before : llvm::predecessors(&block)) result.insert(before);
  for (std::size_t index = 0; index < result.size(); ++index) {
    if (result[index] == &start) continue;
    for (auto* before : llvm::predecessors(result[index])) result.insert(before);
  }
  return result;
}

// Values that `start` makes are known in the hub; those of other blocks may not be.
void move_values_to_memory(const Blocks& blocks, const Blocks& targets, const llvm::BasicBlock& start) {
  llvm::SmallVector<llvm::PHINode*> merges;
  for (auto* target : targets) {
    for (auto& merge : target->phis()) merges.push_back(&merge);
  }
  for (auto* merge : merges) llvm::DemotePHIToStack(merge);
  llvm::SmallVector<llvm::Instruction*> leaving;
  for (auto* block : blocks) {
    if (block == &start) continue;
    for (auto& instruction : *block) {
      const bool leaves = llvm::any_of(instruction.users(), [&](const llvm::User* user) {
        return !blocks.contains(const_cast<llvm::BasicBlock*>(llvm::cast<llvm::Instruction>(user)->getParent()));
      });
      if (leaves) leaving.push_back(&instruction);
    }
  }
  for (auto* instruction : leaving) llvm::DemoteRegToStack(*instruction);
}

}  // namespace

void insert_hub(llvm::Function& kernel, const Convergence& convergence, llvm::BasicBlock& block) {
  auto* start = convergence.dominators().getNode(&block)->getIDom()->getBlock();
  const Blocks blocks = deciding(*start, block);
  Blocks targets;
  for (auto* from : blocks) {
    for (auto* target : convergence.next(*from)) {
      if (!blocks.contains(target)) targets.insert(target);
    }
  }
  move_values_to_memory(blocks, targets, *start);
  auto* hub = llvm::BasicBlock::Create(kernel.getContext(), "hub", &kernel, &block);
  auto* number = llvm::Type::getInt32Ty(kernel.getContext());
  auto* chosen = llvm::PHINode::Create(number, static_cast<unsigned>(targets.size()), "way", hub);
  for (auto* from : blocks) {
    auto* terminator = from->getTerminator();
    for (unsigned index = 0; index < terminator->getNumSuccessors(); ++index) {
      auto* target = terminator->getSuccessor(index);
      if (!targets.contains(target)) continue;
      auto* way = llvm::BasicBlock::Create(kernel.getContext(), "way", &kernel, hub);
      llvm::BranchInst::Create(hub, way);
      terminator->setSuccessor(index, way);
      chosen->addIncoming(llvm::ConstantInt::get(number, static_cast<std::uint64_t>(llvm::find(targets, target) - targets.begin())), way);
    }
  }
  llvm::IRBuilder<> builder(hub);
  auto* choice = builder.CreateSwitch(chosen, targets.back(), static_cast<unsigned>(targets.size()));
  for (unsigned index = 0; index + 1 < targets.size(); ++index) choice->addCase(builder.getInt32(index), targets[index]);
}

}  // namespace assay::metal::pass::nvptx
