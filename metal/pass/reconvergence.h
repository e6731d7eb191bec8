// The points where lanes that took different branches meet again.
#pragma once

#include <vector>

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
}  // namespace llvm

namespace assay::metal::pass {

// Lets the default of a choice that cannot happen lead to one of the cases. Otherwise it would be an end of the kernel, and lanes that
// chose differently would not meet again before it.
void leave_out_impossible_defaults(llvm::Function& function);

// The blocks at which lanes must wait for each other, so that code behind a condition sees what `writes` stored under it: the immediate
// post-dominator of every branch that decides whether one of the writes runs. On the hardware, lanes that did not store wait there too,
// for those that did.
//
// A block is omitted if a meeting point (one of `sites`) already comes before anything in it that could read memory.
std::vector<llvm::BasicBlock*> rejoining_blocks(llvm::Function& function, const std::vector<llvm::Instruction*>& writes,
                                                const std::vector<llvm::Instruction*>& sites);

}  // namespace assay::metal::pass
