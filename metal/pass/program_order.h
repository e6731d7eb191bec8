// Numbers the meeting points of a kernel in program order and counts the iterations of the loops around them.
//
// The runtime uses both to decide which lanes may meet. Of the waiting lanes of a SIMD-group, those that are behind in program order go
// first. So lanes reconverge where the source's control flow rejoins.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace llvm {
class DominatorTree;
class Function;
class Instruction;
class Loop;
class BasicBlock;
class LoopInfo;
class Value;
}  // namespace llvm

namespace assay::metal::pass {

struct OrderedSite {
  llvm::Instruction* instruction;
  std::vector<std::uint32_t> loops;  // numbers of the loops around it, outermost first
};

// The blocks of the function. A block comes before those that it can lead to within one iteration of the loops that they share, and the
// blocks of a loop stay together. Of two ways, the one with the smaller rank comes first, or else the first successor of the branch.
using BlockRank = std::function<std::uint32_t(const llvm::BasicBlock&)>;
std::vector<llvm::BasicBlock*> blocks_in_program_order(llvm::Function& function, llvm::LoopInfo& loops, const BlockRank& rank = {});

// Sorts the function's `sites`. Within one iteration of the loops that two sites share, a site comes before those that it can lead to.
// The sites of a loop stay together: no site outside a loop stands between two inside it.
std::vector<OrderedSite> program_order(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites);

// Emits code that counts iterations, only for loops that contain a site. Lane::iteration[depth] of `lane` is how often the loop's
// header was entered since the loop was entered. Loops must be in simplified form (one preheader, one latch). Returns false if they
// nest deeper than the runtime supports.
bool count_iterations(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites, llvm::Value& lane);

// Marks the loops that contain no site, so that one can tell them after the optimiser has unrolled those around them.
void mark_loops_without(llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites);

// Whether the loop is so marked. False also for one whose mark an optimiser dropped.
[[nodiscard]] bool is_without_meetings(const llvm::Loop& loop);

}  // namespace assay::metal::pass
