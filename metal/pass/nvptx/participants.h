// The lanes that run a block together, as a value in the kernel.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include <utility>

#include "metal/pass/nvptx/convergence.h"

namespace assay::metal::pass::nvptx {

// Where all lanes are together, they are those that have not ended: the hardware says who. Elsewhere the lanes follow from those in front
// of the last branch, and from what each of them decided there. So the lanes of a block are known from the program, and do not depend on
// which of them the hardware happens to run at once. The one exception are blocks in which several ways come together that other lanes pass
// by, such as the second part of `if (a && b) ... else ...`: there, the hardware's answer is taken.
class Participants {
 public:
  Participants(llvm::Function& kernel, const Convergence& convergence) : module_(*kernel.getParent()), convergence_(convergence) {}

  // The lanes that run a live block together, one bit each. Instructions are added to it and to blocks before it.
  llvm::Value* of(llvm::BasicBlock& block);

  // A block that needs a hub before the lanes of `wanted` can be computed; null if there is none.
  static llvm::BasicBlock* undecided(const Convergence& convergence, llvm::ArrayRef<llvm::BasicBlock*> wanted);

 private:
  llvm::Value* of_parted(llvm::BasicBlock& block);
  llvm::Value* of_edge(llvm::BasicBlock& from, llvm::BasicBlock& to);
  llvm::Value* merged(llvm::BasicBlock& block);
  llvm::Value* decided_by_one_branch(llvm::BasicBlock& block);
  static bool is_header(const Convergence& convergence, const llvm::BasicBlock& block);
  static bool comes_by_one_way(const Convergence& convergence, llvm::BasicBlock& block);
  static llvm::Value* goes_to(llvm::IRBuilder<>& builder, llvm::Instruction& terminator, const llvm::BasicBlock& to);
  llvm::Value* vote(llvm::IRBuilder<>& builder, llvm::Value* lanes, llvm::Value* predicate);
  static llvm::Value* running(llvm::IRBuilder<>& builder);

  llvm::Module& module_;
  const Convergence& convergence_;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::Value*> known_;
  llvm::DenseMap<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, llvm::Value*> known_edges_;
};

// Leads all ways that leave the branches deciding about `block` through one new block, which all lanes in front of them run together.
// Values that pass it go through memory until variables are promoted again.
void insert_hub(llvm::Function& kernel, const Convergence& convergence, llvm::BasicBlock& block);

// Makes all lanes that run a store together wait for each other before it and behind it, and where lanes that branches parted around it
// are together again.
void keep_lockstep(llvm::Function& kernel, const Convergence& convergence, Participants& participants);
// Whether an instruction reads or writes memory that other lanes see.
bool accesses_shared_memory(const llvm::Instruction& instruction);

}  // namespace assay::metal::pass::nvptx
