// Finds the blocks that all lanes of a warp run together.
#include "metal/pass/nvptx/convergence.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>

namespace assay::metal::pass::nvptx {

Convergence::Convergence(llvm::Function& kernel, Meets meets) : uniformity_(kernel), dominators_(kernel), loops_(dominators_) {
  find_live(kernel, meets);
  find_postdominators();
  for (auto* block : blocks_) {
    if (!parts(*block)) continue;
    for (auto* parted : parted_at(*block)) parted_.insert(parted);
  }
}

void Convergence::find_live(llvm::Function& kernel, Meets meets) {
  llvm::SetVector<llvm::BasicBlock*> live;
  for (auto& block : kernel) {
    if (dominators_.isReachableFromEntry(&block) && llvm::any_of(block, meets)) live.insert(&block);
  }
  for (std::size_t index = 0; index < live.size(); ++index) {
    for (auto* before : llvm::predecessors(live[index])) {
      if (dominators_.isReachableFromEntry(before)) live.insert(before);
    }
  }
  for (auto* block : live) {
    numbers_[block] = static_cast<unsigned>(blocks_.size());
    blocks_.push_back(block);
  }
}

llvm::SmallVector<llvm::BasicBlock*, 4> Convergence::next(const llvm::BasicBlock& block) const {
  llvm::SmallSetVector<llvm::BasicBlock*, 4> result;
  for (const auto* successor : llvm::successors(&block)) {
    if (is_live(*successor)) result.insert(const_cast<llvm::BasicBlock*>(successor));
  }
  return llvm::SmallVector<llvm::BasicBlock*, 4>(result.begin(), result.end());
}

llvm::SmallVector<const llvm::BasicBlock*, 4> Convergence::next_within_iteration(const llvm::BasicBlock& block) const {
  llvm::SmallSetVector<const llvm::BasicBlock*, 4> result;
  for (const auto* successor : next(block)) {
    const auto* loop = loops_.getLoopFor(successor);
    if (loop == nullptr || loop->getHeader() != successor || !loop->contains(&block)) {
      result.insert(successor);
      continue;
    }
    llvm::SmallVector<llvm::BasicBlock*> exits;
    loop->getUniqueExitBlocks(exits);
    for (const auto* exit : exits) {
      if (is_live(*exit)) result.insert(exit);
    }
  }
  return llvm::SmallVector<const llvm::BasicBlock*, 4>(result.begin(), result.end());
}

// The end of the kernel: of the blocks with no live block behind them, the one that fewest branches lead to, and the last of these.
const llvm::BasicBlock* Convergence::last_block() const {
  const llvm::BasicBlock* last = nullptr;
  for (const auto& block : *blocks_.front()->getParent()) {
    if (!is_live(block) || !next_within_iteration(block).empty()) continue;
    if (last == nullptr || dominators_.getNode(&block)->getLevel() <= dominators_.getNode(last)->getLevel()) last = &block;
  }
  return last;
}

// The greatest solution of: a block postdominates itself, and what postdominates all that comes next. Lanes that leave the kernel before
// its end are missed by nobody there, so they count as coming to it.
void Convergence::find_postdominators() {
  const auto count = static_cast<unsigned>(blocks_.size());
  postdominators_.assign(count, llvm::BitVector(count, true));
  if (count == 0) return;
  const auto* last = last_block();
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (unsigned number = 0; number < count; ++number) {
      auto behind = next_within_iteration(*blocks_[number]);
      if (behind.empty() && last != nullptr && blocks_[number] != last) behind.push_back(last);
      llvm::BitVector all(count, !behind.empty());
      for (const auto* block : behind) all &= postdominators_[numbers_.lookup(block)];
      all.set(number);
      if (all == postdominators_[number]) continue;
      postdominators_[number] = std::move(all);
      is_changed = true;
    }
  }
}

llvm::SmallVector<llvm::BasicBlock*, 4> Convergence::ways_from(llvm::BasicBlock& branch, llvm::BasicBlock& block) const {
  llvm::SmallVector<llvm::BasicBlock*, 4> ways;
  if (loops_.getLoopFor(&branch) != loops_.getLoopFor(&block)) return ways;
  const auto comes_to = [&](const llvm::BasicBlock* from) {
    llvm::SmallSetVector<const llvm::BasicBlock*, 16> seen;
    seen.insert(from);
    for (std::size_t index = 0; index < seen.size() && !seen.contains(&block); ++index) {
      for (const auto* each : next_within_iteration(*seen[index])) seen.insert(each);
    }
    return seen.contains(&block);
  };
  for (auto* way : next(branch)) {
    if (postdominates(block, *way)) {
      ways.push_back(way);
    } else if (comes_to(way)) {
      return {};
    }
  }
  return ways;
}

llvm::BasicBlock* Convergence::same_lanes_before(llvm::BasicBlock& block) const {
  for (auto* node = dominators_.getNode(&block)->getIDom(); node != nullptr; node = node->getIDom()) {
    auto* before = node->getBlock();
    if (loops_.getLoopFor(before) == loops_.getLoopFor(&block) && postdominates(block, *before)) return before;
  }
  return nullptr;
}

// The nearest of the common postdominators: it has most postdominators itself.
llvm::BasicBlock* Convergence::meeting_block(const llvm::BasicBlock& block) const {
  llvm::BitVector common = postdominators_[numbers_.lookup(&block)];
  common.reset(numbers_.lookup(&block));
  llvm::BasicBlock* nearest = nullptr;
  unsigned most = 0;
  for (const unsigned number : common.set_bits()) {
    if (postdominators_[number].count() <= most) continue;
    most = postdominators_[number].count();
    nearest = blocks_[number];
  }
  return nearest;
}

llvm::SmallVector<llvm::BasicBlock*> Convergence::parted_at(llvm::BasicBlock& branch) const {
  const auto* meeting = meeting_block(branch);
  llvm::SmallSetVector<llvm::BasicBlock*, 16> parted;
  const auto add = [&](llvm::BasicBlock& from) {
    for (auto* block : next(from)) {
      if (block != meeting) parted.insert(block);
    }
  };
  add(branch);
  for (std::size_t index = 0; index < parted.size(); ++index) add(*parted[index]);
  return llvm::SmallVector<llvm::BasicBlock*>(parted.begin(), parted.end());
}

}  // namespace assay::metal::pass::nvptx
