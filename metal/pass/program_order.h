// Numbers the meeting points of a kernel in program order and counts the iterations of the loops around them.
//
// The runtime decides from both which lanes may meet: among the lanes of a SIMD-group that wait, those that are behind
// in program order go first, so lanes reconverge where the source's control flow rejoins.
#pragma once

#include <cstdint>
#include <vector>

namespace llvm {
class DominatorTree;
class Function;
class Instruction;
class Loop;
class LoopInfo;
class Value;
}  // namespace llvm

namespace assay::metal::pass {

struct OrderedSite {
  llvm::Instruction* instruction;
  std::vector<std::uint32_t> loops;  // numbers of the loops around it, outermost first
};

// The function's `sites` sorted so that, within one iteration of the loops that two sites share, the one that can lead to
// the other comes first. Loops hold together: no site outside a loop stands between two inside it.
std::vector<OrderedSite> program_order(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites);

// Emits the counting of iterations, for loops with a site only: Lane::iteration[depth] of `lane` holds how often the loop's
// header has been entered since the loop was. Loops must be in simplified form (one preheader, one latch). Returns false
// if they nest deeper than the runtime can follow.
bool count_iterations(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites, llvm::Value& lane);

}  // namespace assay::metal::pass
