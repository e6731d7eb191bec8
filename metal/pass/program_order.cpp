// Orders the blocks of a kernel, and counts loop iterations.
#include "metal/pass/program_order.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>

#include "metal/lane_abi.h"

namespace assay::metal::pass {
namespace {

constexpr const char* kNoMeetings = "assay.no_meetings";

// Works on one nesting level of the control flow graph, collapsed: a node is a block of that level, or the header of an inner loop.
class Orderer {
 public:
  Orderer(llvm::Function& function, llvm::LoopInfo& loops, const BlockRank& rank) : function_(function), loops_(loops), rank_(rank) {}

  std::vector<llvm::BasicBlock*> blocks() {
    order_level(nullptr, &function_.getEntryBlock());
    return std::move(result_);
  }

 private:
  // The block that represents `block` at the nesting level of `level`; nullptr if `block` lies outside of it.
  llvm::BasicBlock* representative(llvm::BasicBlock* block, llvm::Loop* level) {
    llvm::Loop* loop = loops_.getLoopFor(block);
    if (loop == level) return block;
    if (level != nullptr && !level->contains(block)) return nullptr;
    while (loop->getParentLoop() != level) loop = loop->getParentLoop();
    return loop->getHeader();
  }

  llvm::SmallVector<llvm::BasicBlock*> successors(llvm::BasicBlock* node, llvm::Loop* level) {
    llvm::SmallVector<llvm::BasicBlock*> result;
    llvm::SmallVector<llvm::BasicBlock*> targets;
    llvm::Loop* inner = loops_.getLoopFor(node);
    if (inner != level) {
      while (inner->getParentLoop() != level) inner = inner->getParentLoop();
      inner->getExitBlocks(targets);
    } else {
      targets.append(llvm::succ_begin(node), llvm::succ_end(node));
    }
    for (auto* target : targets) {
      auto* node_of_target = representative(target, level);
      const bool back_edge = level != nullptr && node_of_target == level->getHeader();
      if (node_of_target != nullptr && !back_edge) result.push_back(node_of_target);
    }
    if (rank_) {
      const auto comes_before = [&](const auto* a, const auto* b) { return rank_(*a) < rank_(*b); };
      for (auto* place = result.begin(); place != result.end(); ++place)
        std::rotate(std::upper_bound(result.begin(), place, *place, comes_before), place, place + 1);
    }
    return result;
  }

  void order_level(llvm::Loop* level, llvm::BasicBlock* start) {
    std::vector<llvm::BasicBlock*> postorder;
    llvm::DenseSet<llvm::BasicBlock*> visited;
    struct Frame {
      llvm::BasicBlock* node;
      llvm::SmallVector<llvm::BasicBlock*> next;
    };
    std::vector<Frame> stack;
    visited.insert(start);
    stack.push_back({start, successors(start, level)});
    while (!stack.empty()) {
      auto& frame = stack.back();
      if (frame.next.empty()) {
        postorder.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      // Taken from the back, so the first successor is finished last and comes first: the arm of an `if` before its `else`.
      auto* next = frame.next.pop_back_val();
      if (visited.insert(next).second) stack.push_back({next, successors(next, level)});
    }
    for (auto node = postorder.rbegin(); node != postorder.rend(); ++node) {
      llvm::Loop* loop = loops_.getLoopFor(*node);
      if (loop == level) {
        result_.push_back(*node);
      } else {
        while (loop->getParentLoop() != level) loop = loop->getParentLoop();
        order_level(loop, loop->getHeader());
      }
    }
  }

  llvm::Function& function_;
  llvm::LoopInfo& loops_;
  const BlockRank& rank_;
  std::vector<llvm::BasicBlock*> result_;
};

llvm::DenseSet<llvm::Loop*> loops_with_sites(llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites) {
  llvm::DenseSet<llvm::Loop*> result;
  for (auto* site : sites) {
    for (auto* loop = loops.getLoopFor(site->getParent()); loop != nullptr; loop = loop->getParentLoop()) result.insert(loop);
  }
  return result;
}

}  // namespace

std::vector<llvm::BasicBlock*> blocks_in_program_order(llvm::Function& function, llvm::LoopInfo& loops, const BlockRank& rank) {
  return Orderer(function, loops, rank).blocks();
}

std::vector<OrderedSite> program_order(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites) {
  const llvm::DenseSet<llvm::Instruction*> wanted(sites.begin(), sites.end());
  llvm::DenseMap<llvm::Loop*, std::uint32_t> numbers;
  std::vector<OrderedSite> result;
  for (auto* block : blocks_in_program_order(function, loops)) {
    for (auto& instruction : *block) {
      if (!wanted.contains(&instruction)) continue;
      OrderedSite site{&instruction, {}};
      for (auto* loop = loops.getLoopFor(block); loop != nullptr; loop = loop->getParentLoop()) {
        site.loops.insert(site.loops.begin(), numbers.try_emplace(loop, static_cast<std::uint32_t>(numbers.size())).first->second);
      }
      result.push_back(std::move(site));
    }
  }
  return result;
}

bool count_iterations(llvm::Function& function, llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites, llvm::Value& lane) {
  auto* word = llvm::Type::getInt32Ty(function.getContext());
  for (auto* loop : loops_with_sites(loops, sites)) {
    const auto depth = loop->getLoopDepth() - 1;
    if (depth >= abi::kMaxLoopDepth) return false;
    auto* header = loop->getHeader();
    llvm::IRBuilder<> builder(header, header->getFirstNonPHIIt());
    auto* count = llvm::PHINode::Create(word, 2, "assay.iteration", header->begin());
    auto* next = builder.CreateAdd(count, llvm::ConstantInt::get(word, 1));
    for (auto* predecessor : llvm::predecessors(header)) {
      count->addIncoming(loop->contains(predecessor) ? next : llvm::ConstantInt::get(word, 0), predecessor);
    }
    builder.CreateStore(count, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &lane,
                                                                  offsetof(abi::Lane, iteration) + depth * sizeof(std::uint32_t)));
  }
  return true;
}

void mark_loops_without(llvm::LoopInfo& loops, const std::vector<llvm::Instruction*>& sites) {
  const auto with = loops_with_sites(loops, sites);
  for (auto* loop : loops.getLoopsInPreorder()) {
    if (!with.contains(loop)) llvm::addStringMetadataToLoop(loop, kNoMeetings, 1);
  }
}

bool is_without_meetings(const llvm::Loop& loop) { return llvm::getBooleanLoopAttribute(&loop, kNoMeetings); }

}  // namespace assay::metal::pass
