// The points where lanes that took different branches meet again.
#pragma once

#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
}  // namespace llvm

namespace assay::metal::pass {

// The blocks at which lanes must wait for each other so that what `writes` stored under a condition is seen behind it: the
// immediate post-dominator of every branch that decides whether one of them runs. On the hardware lanes that did not store
// run on only there, together with those that did.
//
// A block is left out if the first thing in it at which memory could be read is a meeting point anyway (one of `sites`).
std::vector<llvm::BasicBlock*> rejoining_blocks(llvm::Function& function, const std::vector<llvm::Instruction*>& writes,
                                                const std::vector<llvm::Instruction*>& sites);

}  // namespace assay::metal::pass
